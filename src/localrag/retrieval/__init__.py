"""A query -> which chunks? Pure but for the injected index and embedder."""
