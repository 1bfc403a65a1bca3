"""Whether one source alone answers a question, by its words: then the question needs no second one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hlgraph.records import Chunk
from hlgraph.text import content_words, words

SHARE = 0.8
"""Share of the content words of a question that a source must have to answer it."""
_NAME = re.compile(r"[^\W\d_a-z][\w’'.&-]*(?: [^\W\d_a-z][\w’'.&-]*)*")


@dataclass(frozen=True, slots=True)
class SourceWords:
    """The words of one source, to look for names and words in.

    Attributes
    ----------
    source_id : the source
    line : its words in order, between spaces
    content : its content words
    """

    source_id: str
    line: str
    content: frozenset[str]

    def has(self, name: str) -> bool:
        """Whether the words of a name stand in the source side by side."""
        wanted = " ".join(words(name))
        return bool(wanted) and f" {wanted} " in self.line


def words_of(chunks: Iterable[Chunk]) -> list[SourceWords]:
    """The words of sources, from their chunks by place, in the order of the chunks."""
    parts: dict[str, list[str]] = {}
    for chunk in chunks:
        parts.setdefault(chunk.source_id, []).extend(words(" ".join((*chunk.headings, chunk.text))))
    return [SourceWords(name, f" {' '.join(tokens)} ", frozenset(tokens)) for name, tokens in parts.items()]


def names_in(text: str) -> tuple[str, ...]:
    """The names in a text, by their capitals; the first word is left out, because every question begins with a capital.

    Examples
    --------
    >>> names_in("Who sued Amazon, and also met Lina Khan?")
    ('Amazon', 'Lina Khan')
    """
    names = (match[0].strip(".'’") for match in _NAME.finditer(text) if match.start())
    return tuple(dict.fromkeys(name for name in names if name))


def answers_alone(source: SourceWords, question: str, *, answers: Sequence[str]) -> bool:
    """Whether a source has an answer, all names of the question, and four fifths of its content words.

    The check is conservative: a source that contains the words without their meaning also counts.

    Parameters
    ----------
    source : its words
    question : the text
    answers : accepted answers; none: a source without any of them counts as well, for a null question
    """
    if answers and not any(source.has(name) for name in answers):
        return False
    if not all(source.has(name) for name in names_in(question)):
        return False
    wanted = set(content_words(question))
    return len(wanted & source.content) >= SHARE * len(wanted)
