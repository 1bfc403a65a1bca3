"""Locates given words in a chunk: exactly, ignoring case and white space, or by shared words."""

from __future__ import annotations

from functools import cached_property

from hlgraph.records import Mention
from hlgraph.text import content_words, sentences, words


def spelled(text: str) -> str:
    """The words of a text with a space around each, so that ``in`` finds whole words only.

    Examples
    --------
    >>> spelled("Ada Lovelace's") in spelled("It was Ada LOVELACE.")
    True
    """
    return f" {' '.join(words(text))} "


class ChunkText:
    """The text of a chunk, prepared for search; expensive parts are computed at first use."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def spelled(self) -> str:
        """The words of the chunk, in the form of :func:`spelled`."""
        return spelled(self.text)

    @cached_property
    def _content(self) -> frozenset[str]:
        return frozenset(content_words(self.text))

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """The chunk in lower case with single spaces, and the offset in the chunk of each character."""
        characters: list[str] = []
        offsets: list[int] = []
        for offset, character in enumerate(self.text):
            folded = " " if character.isspace() else character.lower()
            if len(folded) != 1:
                folded = character
            if folded != " " or (characters and characters[-1] != " "):
                characters.append(folded)
                offsets.append(offset)
        return "".join(characters), offsets

    @cached_property
    def _sentences(self) -> list[tuple[tuple[int, int], str]]:
        return [((start, end), spelled(self.text[start:end])) for start, end in sentences(self.text)]

    @cached_property
    def _sentence_words(self) -> list[tuple[tuple[int, int], frozenset[str]]]:
        return [((start, end), frozenset(content_words(self.text[start:end]))) for start, end in sentences(self.text)]

    def find(self, given: str) -> tuple[int, int] | None:
        """The span of given words: exact, else ignoring case and white space; None if the chunk does not hold them."""
        given = given.strip()
        start = self.text.find(given)
        if start >= 0:
            return start, start + len(given)
        folded, offsets = self._folded
        needle = ChunkText(given)._folded[0]
        start = folded.find(needle) if needle else -1
        return (offsets[start], offsets[start + len(needle) - 1] + 1) if start >= 0 else None

    def share(self, given: str) -> float:
        """Fraction of the given content words that occur in the chunk, from 0 to 1."""
        wanted = set(content_words(given)) or set(words(given))
        return len(wanted & self._content) / len(wanted) if wanted else 0.0

    def closest(self, given: str) -> tuple[int, int] | None:
        """Span of the sentence with the most of the given content words, the first of equals; None below half of them."""
        wanted = frozenset(content_words(given))
        best, most = None, 0
        for span, held in self._sentence_words:
            shared = len(wanted & held)
            if shared > most:
                best, most = span, shared
        return best if 2 * most >= len(wanted) else None

    def sentence_with(self, *names: str) -> tuple[int, int] | None:
        """Span of the first sentence that contains all of these names; None if there is none."""
        wanted = [spelled(name) for name in names]
        return next((span for span, held in self._sentences if all(name in held for name in wanted)), None)

    def as_written(self, mention: Mention) -> Mention:
        """The mention in the chunk's own spelling if its record has it in lower case, else unchanged."""
        name = mention.name
        if name != name.lower():
            return mention
        folded, offsets = self._folded
        start = folded.find(name)
        while start >= 0:
            end = start + len(name)
            if not (folded[start - 1 : start].isalnum() or folded[end : end + 1].isalnum()):
                written = " ".join(self.text[offsets[start] : offsets[end - 1] + 1].split())
                return Mention(written, mention.kind)
            start = folded.find(name, end)
        return mention
