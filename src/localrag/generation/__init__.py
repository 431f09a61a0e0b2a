"""Answers in words: a chat model behind Ollama, and the ruler for its context window."""
