"""Ranking to cited answer: context, prompt, live citations, sentence checks, confidence."""
