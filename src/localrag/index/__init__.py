"""The library on disk: catalog, text, vectors and queue, behind one protocol."""
