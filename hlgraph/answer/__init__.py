"""From evidence to an answer with citations."""

from hlgraph.answer.chat import chat_answer
from hlgraph.answer.extractive import extractive_answer
from hlgraph.answer.report import ReportBounds, chat_report, extractive_report

__all__ = ["ReportBounds", "chat_answer", "chat_report", "extractive_answer", "extractive_report"]
