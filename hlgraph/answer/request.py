"""What an answer is asked for, and who writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hlgraph.answer.chat import chat_answer
from hlgraph.answer.extractive import extractive_answer
from hlgraph.answer.report import ReportBounds, chat_report, extractive_report
from hlgraph.errors import InputError
from hlgraph.models.seams import ChatModel
from hlgraph.records import Answer, Evidence
from hlgraph.retrieve.request import Mode, SearchOptions

AnswerMode = Literal["short", "report"]
SHORT_K, REPORT_K = 20, 200
"""How many pieces of evidence are looked at, where the caller does not say."""


class AnswerOptions(SearchOptions, total=False):
    """What else an answer takes by name: options of the search, and how its seeds are searched (default ``vector``)."""

    search_mode: Mode


def check_mode(mode: str) -> None:
    """Raise InputError for another mode than ``short`` or ``report``."""
    if mode in ("vector", "text", "hybrid"):
        raise InputError(f"mode is {mode!r}, which is a way to search; write search_mode={mode!r}")
    if mode not in ("short", "report"):
        raise InputError(f"mode is {mode!r}; choose 'short' or 'report'")


def split_options(options: AnswerOptions) -> tuple[Mode, SearchOptions]:
    """How seeds are searched, and the other options of the search."""
    rest: SearchOptions = {}
    if "diversity" in options:
        rest["diversity"] = options["diversity"]
    if "tabular" in options:
        rest["tabular"] = options["tabular"]
    if "explain" in options:
        rest["explain"] = options["explain"]
    return options.get("search_mode", "vector"), rest


def evidence_count(mode: AnswerMode, k: int | None) -> int:
    """So many pieces of evidence are looked at. Raises InputError for another mode than ``short`` or ``report``."""
    check_mode(mode)
    if k is not None:
        return k
    return REPORT_K if mode == "report" else SHORT_K


def answer_of(
    question: str, evidence: Sequence[Evidence], *, mode: AnswerMode, chat: ChatModel | None, max_tokens: int
) -> Answer:
    """The answer of a mode: by the chat model where there is one, else from the evidence itself."""
    if mode == "report":
        bounds = ReportBounds(max_tokens=max_tokens)
        if chat is None:
            return extractive_report(question, evidence, bounds=bounds)
        return chat_report(question, evidence, model=chat, bounds=bounds)
    if chat is None:
        return extractive_answer(question, evidence)
    return chat_answer(question, evidence, model=chat, max_tokens=max_tokens)
