"""From evidence to an answer with citations."""

from hlgraph.answer.chat import chat_answer
from hlgraph.answer.extractive import extractive_answer

__all__ = ["chat_answer", "extractive_answer"]
