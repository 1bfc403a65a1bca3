"""Splits a question into sub-queries: given by the caller, by rules, or by a chat model (TopoRAG, section 3.4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from hlgraph.errors import InputError
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import asking_about
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.models.protocols import ChatModel
from hlgraph.retrieve.question import reply_parsing as replies
from hlgraph.retrieve.question.reply_parsing import unheard
from hlgraph.text import STOP_WORDS, content_words

MOST_SUBQUERIES = 5
"""Of one question; what a splitter gives beyond is left out."""

_PROMPT = Path(__file__).parent / "prompts" / "subqueries.md"
_MAX_TOKENS = 2048  # models that think first need room for that too
_THOUGHTS = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.):])\s*")
_LONGEST = 500

_LETTER = r"[^\W\d_a-z][\w'’.&/-]*"
_CAPITAL = rf"(?:{_LETTER}|\d[\w'’.&/-]*)"
# No "and": between two names it parts them, and that is what questions about two things have.
_INNER = r"(?:of|the|de|del|la|le|du|van|von|der|den|di|da|for|in|on|a|an|to|at)"
_QUOTED = re.compile(r"[\"“«]([^\"”»]{2,100})[\"”»]")
_NAME = re.compile(rf"{_CAPITAL}(?:\s+{_CAPITAL}|(?:\s+{_INNER}){{1,3}}\s+{_LETTER})*")
_WORD = re.compile(r"\S+")
_OWNER = re.compile(r"['’]s?$")


class Splitter(Protocol):
    """Splits a question into sub-queries."""

    @property
    def fingerprint(self) -> str:
        """Name and version, for explanations."""

    def split(self, question: str) -> tuple[str, ...]:
        """The sub-queries, at least one; the question itself where it has no parts."""


SplitBy = Literal["whole", "names"]
"""The splitters without a model by name, see :func:`splitter_named`."""


@dataclass(frozen=True, slots=True)
class WholeSplitter:
    """The question as it is, without sub-queries."""

    fingerprint: str = "whole"

    def split(self, question: str) -> tuple[str, ...]:
        """See :meth:`Splitter.split`."""
        return (question,)


@dataclass(frozen=True, slots=True)
class GivenSplitter:
    """The sub-queries that the caller gives, for any question; blank ones and repetitions are left out."""

    subqueries: tuple[str, ...]
    fingerprint: str = "given"

    def split(self, question: str) -> tuple[str, ...]:
        """See :meth:`Splitter.split`."""
        return _distinct(list(self.subqueries)) or (question,)


@dataclass(frozen=True, slots=True)
class NameSplitter:
    """The question, then each name in it, where it has two names or more: stands in for a chat model.

    Names are quoted texts, and runs of words that begin with a capital letter or a digit, with words such as "of" and "the"
    inside. A question word or function word at the beginning of a run is no part of the name. A question with one name, or
    without one, has one part: itself.

    Why names: an entity is embedded by its name, so a name finds its entity, and a question about two things lies between both.

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
        found = _distinct(names(question))
        return _distinct([question, *found]) if len(found) > 1 else (question,)


@dataclass(frozen=True, slots=True)
class ChatSplitter:
    """The sub-queries that a chat model writes, in one call a question, even where a search asks again and looks wider.

    A reply without a usable line leaves the question whole. Errors of the model are raised as it raises them.

    Parameters
    ----------
    model : the chat model
    tell : receives a message when a reply could not be used (default: ignored)
    """

    model: ChatModel
    tell: Callable[[str], None] = field(default=unheard, repr=False, compare=False)
    _last: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def fingerprint(self) -> str:
        """The versions of the prompt and of the model."""
        return f"{read_prompt(_PROMPT).version}+{self.model.fingerprint}"

    def split(self, question: str) -> tuple[str, ...]:
        """See :meth:`Splitter.split`."""
        held = self._last.get(question)
        if held is not None:
            return held
        prompt = read_prompt(_PROMPT)
        user = prompt.filled({"question": delimited("question", question)})
        asked = asking_about(self.model, Purpose(prompt=prompt.version))
        completion = asked.complete(prompt.system, user, max_tokens=_MAX_TOKENS)
        lines = [_BULLET.sub("", line).strip() for line in _THOUGHTS.sub("", completion.text).splitlines()]
        usable = [line for line in lines if any(map(str.isalnum, line)) and len(line) <= _LONGEST]
        found = _distinct(usable)
        if not found:
            self.tell("subqueries: the reply has no usable line, so the question stayed whole")
        found = found or (question,)
        self._last.clear()
        self._last[question] = found
        return found


def splitter_named(name: SplitBy) -> Splitter:
    """The splitter of a name: ``whole`` (:class:`WholeSplitter`) or ``names`` (:class:`NameSplitter`)."""
    return NameSplitter() if name == "names" else WholeSplitter()


def names(question: str) -> list[str]:
    r"""Quoted texts and names of a question, in the order of the text.

    Examples
    --------
    >>> names('Is "a small boat" older than Mara Quill\'s bridge of 1931?')
    ['a small boat', 'Mara Quill', '1931']
    """
    found = [(match.start(), match[1].strip()) for match in _QUOTED.finditer(question)]
    plain = _QUOTED.sub(lambda match: " " * len(match[0]), question)
    for match in _NAME.finditer(plain):
        for start, part in _parts(match):
            if len(part) > 1 and part.casefold() not in STOP_WORDS and not (part.isdigit() and len(part) < 4):
                found.append((start, part))
    return [name for _, name in sorted(found)]


def _parts(match: re.Match[str]) -> list[tuple[int, str]]:
    """The names of a run, without function words at its front; a possessive separates two names."""
    parts: list[tuple[int, str]] = []
    held: list[str] = []
    start = match.start()
    for word in _WORD.finditer(match[0]):
        if not held:
            # "Which", "In the", "Was" begin a question, no name; "The" may begin a title.
            if word[0].casefold() in STOP_WORDS and not (word[0] == "The" and match.start() + word.start()):
                continue
            start = match.start() + word.start()
        held.append(_OWNER.sub("", word[0]).rstrip(".") if _OWNER.search(word[0]) else word[0])
        if _OWNER.search(word[0]):
            parts.append((start, " ".join(held)))
            held = []
    return [*parts, (start, " ".join(held).rstrip("."))] if held else parts


def _distinct(subqueries: list[str]) -> tuple[str, ...]:
    held: dict[str, str] = {}
    for item in subqueries:
        if item.strip():
            held.setdefault(item.strip().casefold(), item.strip())
    return tuple(held.values())[:MOST_SUBQUERIES]


# Cuts long questions into clauses, by rules.


LONG_WORDS = 20
"""Minimum number of words of a question that is cut; a shorter one is one thought."""

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
    """The clauses of a long question, in order; any other question is its only clause.

    A clause has at least three content words; a shorter one joins the clause before it. The joining words are English.
    A question in another language is cut at colons and semicolons only.

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
    found = tuple(dict.fromkeys(parts))[:_MOST]
    return found if len(found) > 1 else (question,)


# Decomposes a broad question into its aspects: by rules, or by a chat model (ToPG Global, steps 1 and 2).


_WORD_OF_QUESTION = re.compile(r"[\w'’.&/+-]*\w|[^\w\s]")


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
    for word in _WORD_OF_QUESTION.findall(question):
        if word.casefold() in STOP_WORDS or not any(map(str.isalnum, word)):
            found.append([])
        else:
            found[-1].append(word)
    return [" ".join(run) for run in found if run]


def _check_most(most: int) -> None:
    if most < 1:
        raise InputError(f"most is {most}; it must be at least 1")
