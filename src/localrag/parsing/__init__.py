"""A file -> its pages as Markdown, read in a child process with limits and no network."""
