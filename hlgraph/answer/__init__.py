"""From evidence to an answer with citations."""

from hlgraph.answer.events import AnswerEvent, AnswerEvidence, AnswerPiece
from hlgraph.answer.extractive import extractive_answer
from hlgraph.answer.report import ReportBounds, chat_report, extractive_report
from hlgraph.answer.request import AnswerMode, AnswerRequest, AnswerStyle
from hlgraph.answer.verify import Unsupported, Verify
from hlgraph.answer.writer import chat_answer

__all__ = [
    "AnswerEvent",
    "AnswerEvidence",
    "AnswerMode",
    "AnswerPiece",
    "AnswerRequest",
    "AnswerStyle",
    "ReportBounds",
    "Unsupported",
    "Verify",
    "chat_answer",
    "chat_report",
    "extractive_answer",
    "extractive_report",
]
