"""What an answer is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hlgraph.answer.choosing import check_choices
from hlgraph.answer.context import CONTEXT_TOKENS, check_context_tokens
from hlgraph.answer.verify import Unsupported, Verify
from hlgraph.errors import InputError

AnswerMode = Literal["short", "report"]
SHORT_K, REPORT_K = 20, 200
"""How many pieces of evidence are looked at, where the caller does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """One question, and how it is answered.

    Attributes
    ----------
    mode : ``short`` or ``report``
    k : how many pieces of evidence are looked at; None: 20, for a report 200
    context_tokens : of the evidence that one call of the chat model reads, estimated (default 8,000, at least 200; ToPG's
        max_tokens_community_chunks); without a model, of the evidence that an answer is chosen from
    unsupported : ``flag`` names the sentences whose evidence does not support them (default), ``drop`` takes them out
    verify : who says so: ``lexical`` looks for their words (default), ``chat`` asks the chat model, one call more
    least_support : evidence that speaks less of the question than this, from 0 to 1, is none; see
        :func:`hlgraph.answer.refusal.support`. None (default): 0.5 without a chat model where cosines are known, else 0: a
        model says so itself
    choices : answers to choose one from, at least two

    Raises
    ------
    InputError : a value that cannot be used
    """

    question: str
    mode: AnswerMode = "short"
    k: int | None = None
    context_tokens: int = CONTEXT_TOKENS
    unsupported: Unsupported = "flag"
    verify: Verify = "lexical"
    least_support: float | None = None
    choices: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be answered before anything is done."""
        check_mode(self.mode)
        if isinstance(self.choices, str):
            raise InputError(f"choices is the text {self.choices!r}; give a list of texts")
        check_context_tokens(self.context_tokens)
        if self.unsupported not in ("flag", "drop"):
            raise InputError(f"unsupported is {self.unsupported!r}; choose 'flag' or 'drop'")
        if self.verify not in ("lexical", "chat"):
            raise InputError(f"verify is {self.verify!r}; choose 'lexical' or 'chat'")
        if self.least_support is not None and not 0 <= self.least_support <= 1:
            raise InputError(f"least_support is {self.least_support}; choose a number from 0 (never refuse) to 1")
        if self.choices is not None:
            check_choices(self.choices)
            for name, value, usual in (
                ("mode", self.mode, "short"),
                ("verify", self.verify, "lexical"),
                ("unsupported", self.unsupported, "flag"),
            ):
                if value != usual:
                    raise InputError(f"{name} is {value!r}, which one of several choices has no use for; leave it out")

    @property
    def evidence_count(self) -> int:
        """So many pieces of evidence are looked at."""
        return self.k if self.k is not None else REPORT_K if self.mode == "report" else SHORT_K


def check_mode(mode: str) -> None:
    """Raise InputError for another mode than ``short`` or ``report``."""
    if mode in ("vector", "text", "hybrid"):
        raise InputError(f"mode is {mode!r}, which is a way to search; write search_mode={mode!r}")
    if mode not in ("short", "report"):
        raise InputError(f"mode is {mode!r}; choose 'short' or 'report'")
