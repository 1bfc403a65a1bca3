"""Splits a text into terms like the full-text index of the embedded store, so that both stores rank alike.

SQLite's tokenizer ``unicode61`` splits the words of :func:`hlgraph.text.words` at every character that is neither a letter
nor a digit, and removes single accents from Latin letters. This module does the same before the text is sent, and leaves
only stemming to the server.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from hlgraph.text import content_words, words

_ASCII = re.compile(r"[a-z0-9]+")
# The combining marks that unicode61 treats as part of the preceding letter; other marks separate words.
_ACCENTS = frozenset(
    {*range(0x300, 0x305), *range(0x306, 0x30D), 0x30F, 0x311, 0x31B, *range(0x323, 0x329), 0x32D, 0x32E, 0x330, 0x331}
)


def terms(text: str) -> list[str]:
    """All terms of a text, in order.

    Examples
    --------
    >>> terms("The U.S. café, 1,000.50")
    ['the', 'u', 's', 'cafe', '1', '000', '50']
    """
    return [term for word in words(text) for term in _parts(word)]


def phrases(question: str) -> list[tuple[str, ...]]:
    """The words to search for, each once, as the terms that must be next to each other.

    Function words are left out, unless the question has no others.

    Examples
    --------
    >>> phrases("Who was in the U.S. in 1950?")
    [('u', 's'), ('1950',)]
    """
    wanted = dict.fromkeys(content_words(question) or words(question))
    return [parts for parts in map(_parts, wanted) if parts]


@lru_cache(maxsize=65_536)
def _parts(word: str) -> tuple[str, ...]:
    if word.isascii():
        return tuple(_ASCII.findall(word))
    parts: list[str] = []
    part = ""
    for char in word:
        code = ord(char)
        if code in _ACCENTS:
            continue
        if unicodedata.category(char)[0] in "LN" or unicodedata.category(char) == "Co":
            part += _plain(char)
        elif part:
            parts.append(part)
            part = ""
    return (*parts, part) if part else tuple(parts)


def _plain(char: str) -> str:
    """A Latin letter without its single accent; any other character unchanged."""
    taken_apart = unicodedata.normalize("NFD", char)
    is_accented = len(taken_apart) == 2 and taken_apart[0].isascii() and unicodedata.combining(taken_apart[1])
    return taken_apart[0] if is_accented else char
