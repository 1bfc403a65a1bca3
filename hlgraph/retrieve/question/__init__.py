"""Reads a question: its keywords, its sub-questions, its wording."""
