"""A prompt -> streamed text from a local model, and the ruler for prompts."""
