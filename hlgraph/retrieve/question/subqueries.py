"""Split a question into sub-queries, by rules or with a chat model (TopoRAG, section 3.4).

This module also divides long questions into clauses (:func:`clauses`), and broad questions into aspects (ToPG Global, steps 1
and 2).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

from hlgraph.algorithms import check
from hlgraph.models.prompts import delimited
from hlgraph.retrieve.question.reply_parsing import ChatDecider, Decider, distinct, lines_in
from hlgraph.text import STOP_WORDS, content_words

MOST_SUBQUERIES = 5
"""Maximum number of sub-queries per question; the rest are dropped."""

_LETTER = r"[^\W\d_a-z][\w'’.&/-]*"
_CAPITAL = rf"(?:{_LETTER}|\d[\w'’.&/-]*)"
# "and" is left out, because it separates the two names in a question about two things.
_INNER = r"(?:of|the|de|del|la|le|du|van|von|der|den|di|da|for|in|on|a|an|to|at)"
_QUOTED = re.compile(r"[\"“«]([^\"”»]{2,100})[\"”»]")
_NAME = re.compile(rf"{_CAPITAL}(?:\s+{_CAPITAL}|(?:\s+{_INNER}){{1,3}}\s+{_LETTER})*")
_WORD = re.compile(r"\S+")
_OWNER = re.compile(r"['’]s?$")


class Splitter(Decider):
    """Split a question into sub-queries."""

    @abstractmethod
    def split(self, question: str) -> tuple[str, ...]:
        """Return the sub-queries, at least one: the question itself if it has no parts."""


SplitBy = Literal["whole", "names"]
"""How rules split a question: ``whole`` leaves it as it is, ``names`` applies :class:`NameSplitter`."""


@dataclass(frozen=True, slots=True)
class NameSplitter(Splitter):
    """Split a question with two or more names into the question and its names, without a chat model.

    A name is a quoted text, or a run of words that begin with a capital letter or a digit. Words such as "of" and "the" may stand
    inside a run. A question word or function word at the beginning of a run is not part of the name. A question with fewer than
    two names is not split.

    Entities are embedded by name, so the vector of a name is close to its entity. The vector of a question about two entities
    lies between them.

    Examples
    --------
    >>> NameSplitter().split("Was Mara Quill or the author of The Lord of Orne born first?")
    ('Was Mara Quill or the author of The Lord of Orne born first?', 'Mara Quill', 'The Lord of Orne')
    >>> NameSplitter().split("Who designed the Aldane Bridge?")
    ('Who designed the Aldane Bridge?',)
    """

    fingerprint: str = "names/1"

    def split(self, question: str) -> tuple[str, ...]:
        """See :meth:`Splitter.split`."""
        named = distinct(names(question), MOST_SUBQUERIES)
        return distinct([question, *named], MOST_SUBQUERIES) if len(named) > 1 else (question,)


class ChatSplitter(ChatDecider, Splitter):
    """Split a question with one call to a chat model. If the reply has no usable line, the question stays whole."""

    prompt = "subqueries"

    def split(self, question: str) -> tuple[str, ...]:
        """See :meth:`Splitter.split`."""
        subqueries = lines_in(self.reply({"question": delimited("question", question)}), MOST_SUBQUERIES)
        if not subqueries:
            self.tell("subqueries: the reply has no usable line, so the question stayed whole")
        return subqueries or (question,)


def names(question: str) -> list[str]:
    r"""Find the quoted texts and names in a question, in order of appearance.

    Examples
    --------
    >>> names('Is "a small boat" older than Mara Quill\'s bridge of 1931?')
    ['a small boat', 'Mara Quill', '1931']
    """
    spans = [(match.start(), match[1].strip()) for match in _QUOTED.finditer(question)]
    plain = _QUOTED.sub(lambda match: " " * len(match[0]), question)
    for match in _NAME.finditer(plain):
        for start, part in _parts(match):
            if len(part) > 1 and part.casefold() not in STOP_WORDS and not (part.isdigit() and len(part) < 4):
                spans.append((start, part))
    return [name for _, name in sorted(spans)]


def _parts(match: re.Match[str]) -> list[tuple[int, str]]:
    """Split a run into names, without leading function words. A possessive ends a name."""
    parts: list[tuple[int, str]] = []
    run: list[str] = []
    start = match.start()
    for word in _WORD.finditer(match[0]):
        if not run:
            # "Which", "In the" and "Was" begin a question, not a name; "The" may begin a title.
            if word[0].casefold() in STOP_WORDS and not (word[0] == "The" and match.start() + word.start()):
                continue
            start = match.start() + word.start()
        run.append(_OWNER.sub("", word[0]).rstrip(".") if _OWNER.search(word[0]) else word[0])
        if _OWNER.search(word[0]):
            parts.append((start, " ".join(run)))
            run = []
    return [*parts, (start, " ".join(run).rstrip("."))] if run else parts


# Clauses of long questions, by rules.

LONG_WORDS = 20
"""Minimum number of words in a question before it is divided into clauses."""

_LEAST_CONTENT = 3
_MOST = 5
_CUT = re.compile(
    r"[;:?]\s+"
    r"|,?\s+(?:while|whereas|whilst|although|compared\s+(?:to|with)|as\s+(?:well\s+as|opposed\s+to)|in\s+contrast\s+to|but"
    r"|rather\s+than)\s+"
    r"|,\s+(?:and|or|with|as|which|that|indicating|suggesting)\s+"
    r"|\s+and\s+(?=(?:the|another|an?|did|does|is|was|has)\s)"
    r"|,\s+(?=(?:the|another|did|does|is|was|has)\s)"
)


def clauses(question: str) -> tuple[str, ...]:
    """Divide a long question into clauses, in order. Any other question is returned whole.

    A clause with fewer than three content words is appended to the one before it. The conjunctions are English. A question in
    another language is split only at colons, semicolons and question marks.

    Examples
    --------
    >>> clauses("Who built the mill?")
    ('Who built the mill?',)
    >>> for clause in clauses(
    ...     "Does the Courier report say that the bridge at Ombry was closed after the flood, while the article in the "
    ...     "Haldrey Post describes how the mole was repaired?"
    ... ):
    ...     print(clause)
    Does the Courier report say that the bridge at Ombry was closed after the flood
    the article in the Haldrey Post describes how the mole was repaired
    """
    if len(question.split()) < LONG_WORDS:
        return (question,)
    parts: list[str] = []
    for part in _CUT.split(question):
        text = part.strip(" ,.?;:")
        if parts and len(content_words(text)) < _LEAST_CONTENT:
            parts[-1] = f"{parts[-1]} {text}".strip()
        elif text:
            parts.append(text)
    distinct = tuple(dict.fromkeys(parts))[:_MOST]
    return distinct if len(distinct) > 1 else (question,)


# Aspects of a broad question: by rules, or by a chat model (ToPG Global, steps 1 and 2).

_WORD_OF_QUESTION = re.compile(r"[\w'’.&/+-]*\w|[^\w\s]")


@dataclass(frozen=True, slots=True)
class FacetSplitter(Splitter):
    """Split a question into itself, its names and its runs of content words, without a chat model.

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
        check.at_least(1, most=self.most)

    def split(self, question: str) -> tuple[str, ...]:
        """See :meth:`Splitter.split`."""
        parts = (question, *names(question), *_runs(question))
        return distinct(filter(content_words, parts), self.most) or (question,)


@dataclass(frozen=True, slots=True)
class ChatDecomposer(ChatDecider, Splitter):
    """Ask a chat model for the aspects of a question, in one call. If the reply has no usable line, the question stays whole.

    Attributes
    ----------
    most : m, maximum number of parts (paper: 10)
    """

    prompt = "decompose"
    most: int = 10

    def __post_init__(self) -> None:
        """Check the parameters."""
        check.at_least(1, most=self.most)

    def split(self, question: str) -> tuple[str, ...]:
        """See :meth:`Splitter.split`."""
        values = {"question": delimited("question", question), "most": str(self.most)}
        aspects = lines_in(self.reply(values), self.most)
        if not aspects:
            self.tell("decompose: the reply has no usable line, so the question stayed whole")
        return aspects or (question,)


def _runs(question: str) -> list[str]:
    """Find the runs of adjacent content words."""
    runs: list[list[str]] = [[]]
    for word in _WORD_OF_QUESTION.findall(question):
        if word.casefold() in STOP_WORDS or not any(map(str.isalnum, word)):
            runs.append([])
        else:
            runs[-1].append(word)
    return [" ".join(run) for run in runs if run]
