"""Document -> chunks, pure: pages in, passages with exact offsets out."""
