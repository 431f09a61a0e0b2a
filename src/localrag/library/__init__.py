"""Which files are in the library, and how does one get in? Idempotent by content hash."""
