"""Decomposes a broad question into its aspects: by rules, or by a chat model (ToPG Global, steps 1 and 2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hlgraph.errors import InputError
from hlgraph.models.prompts import delimited
from hlgraph.models.seams import ChatModel
from hlgraph.retrieve.question import reply_parsing as replies
from hlgraph.retrieve.question.reply_parsing import unheard
from hlgraph.retrieve.question.subqueries import names
from hlgraph.text import STOP_WORDS, content_words

_WORD = re.compile(r"[\w'’.&/+-]*\w|[^\w\s]")


@dataclass(frozen=True, slots=True)
class FacetSplitter:
    """The question, then its names, then its runs of content words: stands in for a chat model.

    Attributes
    ----------
    most : m, maximum number of parts (paper: 10)

    Examples
    --------
    >>> FacetSplitter().split("How does soil health influence the yield of organic farms?")
    ('How does soil health influence the yield of organic farms?', 'soil health influence', 'yield', 'organic farms')
    """

    most: int = 10
    fingerprint: str = "facets/1"

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check_most(self.most)

    def split(self, question: str) -> tuple[str, ...]:
        """See :class:`hlgraph.retrieve.question.subqueries.Splitter`."""
        held: dict[str, str] = {}
        for item in (question, *names(question), *_runs(question)):
            if content_words(item):
                held.setdefault(item.strip().casefold(), item.strip())
        return tuple(held.values())[: self.most] or (question,)


@dataclass(frozen=True, slots=True)
class ChatDecomposer:
    """The aspects of a question that a chat model names, in one call. A reply without a usable line leaves the question whole.

    Errors of the model are raised as it raises them.

    Attributes
    ----------
    model : the chat model
    most : m, maximum number of parts (paper: 10)
    tell : receives a message when a reply could not be used (default: ignored)
    """

    model: ChatModel
    most: int = 10
    tell: Callable[[str], None] = field(default=unheard, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the parameters."""
        _check_most(self.most)

    @property
    def fingerprint(self) -> str:
        """The versions of the prompt and of the model."""
        return replies.fingerprint(self.model, "decompose")

    def split(self, question: str) -> tuple[str, ...]:
        """See :class:`hlgraph.retrieve.question.subqueries.Splitter`."""
        values = {"question": delimited("question", question), "most": str(self.most)}
        found = replies.lines_in(replies.ask(self.model, "decompose", values=values), self.most)
        if not found:
            self.tell("decompose: the reply has no usable line, so the question stayed whole")
        return found or (question,)


def _runs(question: str) -> list[str]:
    """Runs of adjacent content words."""
    found: list[list[str]] = [[]]
    for word in _WORD.findall(question):
        if word.casefold() in STOP_WORDS or not any(map(str.isalnum, word)):
            found.append([])
        else:
            found[-1].append(word)
    return [" ".join(run) for run in found if run]


def _check_most(most: int) -> None:
    if most < 1:
        raise InputError(f"most is {most}; it must be at least 1")
