"""A question and its ranking -> a cited answer."""
