"""From evidence to an answer with citations."""

from hlgraph.answer.chat import chat_answer
from hlgraph.answer.events import AnswerEvent, AnswerEvidence, AnswerPiece
from hlgraph.answer.extractive import extractive_answer
from hlgraph.answer.report import ReportBounds, chat_report, extractive_report
from hlgraph.answer.request import AnswerRequest

__all__ = [
    "AnswerEvent",
    "AnswerEvidence",
    "AnswerPiece",
    "AnswerRequest",
    "ReportBounds",
    "chat_answer",
    "chat_report",
    "extractive_answer",
    "extractive_report",
]
