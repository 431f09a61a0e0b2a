"""Tables of the stored pages, typed, and questions about them computed over all rows."""
