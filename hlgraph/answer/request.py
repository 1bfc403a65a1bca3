"""The parameters of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

from hlgraph.answer.choosing import check_choices
from hlgraph.answer.context import CONTEXT_TOKENS, check_context_tokens
from hlgraph.answer.verify import Unsupported, Verify
from hlgraph.errors import InputError
from hlgraph.records import ANSWER_K, REPORT_K

AnswerMode = Literal["short", "report"]
AnswerStyle = Literal["plain", "reason", "aligned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRequest:
    """One question, and how to answer it.

    Attributes
    ----------
    question : text of the question
    mode : ``short`` or ``report``
    k : number of pieces of evidence to retrieve; None: 20, for a report 200, and for a report by communities (``global``) all
        statements of the communities
    context_tokens : evidence that one call of the chat model reads, in estimated tokens (default 8,000, at least 200; ToPG's
        max_tokens_community_chunks and max_tokens_report: a community that is larger takes several calls); without a model, the
        evidence that an answer is chosen from
    unsupported : what happens to sentences that their evidence does not support: ``flag`` marks them (default), ``drop`` removes
        them
    verify : who checks the sentences: ``lexical`` looks up their words (default), ``chat`` asks the chat model in an extra call
    least_support : minimum support of the question by the evidence, from 0 to 1; below it the answer is refused, see
        :func:`hlgraph.answer.extractive.support`. None (default): 0.5 if there is no chat model and cosines are known, else 0,
        because a model recognises missing evidence itself
    choices : answers to choose one from, 2 to 26
    style : ``plain`` asks the chat model for the answer (default), ``reason`` for its reason and then the answer, each behind its
        label (GraphMPA, section 3.2 and appendix L), ``aligned`` for the same by the prompt that ``hlgraph align`` trains models
        on, of which such a model must not be asked another one; for short answers with a chat model

    Raises
    ------
    InputError : a value is invalid
    """

    question: str
    mode: AnswerMode = "short"
    k: int | None = None
    context_tokens: int = CONTEXT_TOKENS
    unsupported: Unsupported = "flag"
    verify: Verify = "lexical"
    least_support: float | None = None
    choices: Sequence[str] | None = None
    style: AnswerStyle = "plain"

    def __post_init__(self) -> None:
        """Reject invalid values before any work is done."""
        check_mode(self.mode)
        if isinstance(self.choices, str):
            raise InputError(f"choices is the text {self.choices!r}; give a list of texts")
        check_context_tokens(self.context_tokens)
        choices_of = {"unsupported": get_args(Unsupported), "verify": get_args(Verify), "style": get_args(AnswerStyle)}
        for name, choices in choices_of.items():
            if getattr(self, name) not in choices:
                raise InputError(f"{name} is {getattr(self, name)!r}; choose {' or '.join(map(repr, choices))}")
        if self.least_support is not None and not 0 <= self.least_support <= 1:
            raise InputError(f"least_support is {self.least_support}; choose a number from 0 (never refuse) to 1")
        if self.style != "plain" and self.mode == "report":
            raise InputError(f"style is {self.style!r}, which does not apply to a report; leave it out")
        if self.choices is not None:
            check_choices(self.choices)
            for option in fields(self):
                value = getattr(self, option.name)
                if option.name in ("mode", "unsupported", "verify", "style") and value != option.default:
                    raise InputError(f"{option.name} is {value!r}, which does not apply to choices; leave it out")

    @property
    def evidence_count(self) -> int:
        """Number of pieces of evidence to retrieve: ``k``, or the default of the mode."""
        return self.k if self.k is not None else REPORT_K if self.mode == "report" else ANSWER_K


def check_mode(mode: str) -> None:
    """Raise InputError for a mode other than ``short`` or ``report``."""
    if mode in ("vector", "text", "hybrid"):
        raise InputError(f"mode is {mode!r}, which is a search mode; write search_mode={mode!r}")
    if mode not in ("short", "report"):
        raise InputError(f"mode is {mode!r}; choose 'short' or 'report'")
