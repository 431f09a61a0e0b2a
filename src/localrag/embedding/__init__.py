"""Text -> unit vectors, with the model that ships in the package or one the user names."""
