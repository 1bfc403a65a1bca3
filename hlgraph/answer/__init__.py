"""From evidence to an answer with citations."""

from hlgraph.answer.answering import AnswerEvent, AnswerEvidence, AnswerMode, AnswerPiece, AnswerRequest, AnswerStyle
from hlgraph.answer.constraints import in_conversation
from hlgraph.answer.extractive import extractive_answer
from hlgraph.answer.report import ReportBounds, chat_report, extractive_report
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
    "in_conversation",
]
