"""From evidence to an answer with citations."""

from hlgraph.answer.extractive import extractive_answer

__all__ = ["extractive_answer"]
