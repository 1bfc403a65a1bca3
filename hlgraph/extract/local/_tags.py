"""Gives every word of a sentence a one-letter tag from closed lists and endings, so that rules are patterns over letters.

The letters: ``M`` a name, ``D`` a date, ``#`` a number; ``b`` a form of "be" or "become", ``x`` one of "have", ``y`` a
modal verb, ``e`` "be" and "been", ``v`` another verb form, ``z`` a verb or a plural, ``g`` a word in -ing; ``d`` an
article or another determiner, ``k`` "his", "her", "its", "their"; ``i`` a preposition, ``o`` "of", ``t`` "to"; ``a`` an
adverb, ``N`` a negation, ``c`` "and", ``r`` "or"; ``w`` a relative word, ``u`` a conjunction, ``h`` and ``m`` pronouns;
``s`` a possessive; ``,`` a comma, ``(`` and ``)``, ``.`` any other mark; ``n`` any other word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from hlgraph.extract.local._grammar import APPROXIMATELY, DIRECTIONS, IRREGULAR, PLAIN, WORD_TAGS
from hlgraph.extract.local._units import Found

_PART = re.compile(r"['’]s\b|\d[\d.,:]*\d|[^\W_]+(?:[-'’.][^\W_]+)*|[^\w\s]")
_SILENT = frozenset("\"“”`«»„‘'’*_[]")
_MARKS = {",": ",", "(": "(", ")": ")", "&": "c", "%": "n", "$": "n", "£": "n", "€": "n", "/": "r"}
_LOWER = re.compile(r"[a-zß-öø-ÿ-]+")
_VERB_S = re.compile(r"[a-z]{2,}[a-rt-z]s")
_TAG_ENDINGS = (("ly", "a"), ("ed", "v"), ("ing", "g"))


class Tagged(NamedTuple):
    """A sentence as parallel sequences, one entry a word, mention or mark.

    Attributes
    ----------
    tags : one letter each
    words : as they stand in the sentence; the full name for a mention
    found : the mention, or None
    """

    tags: str
    words: list[str]
    found: list[Found | None]

    def phrase(self, start: int, end: int) -> str:
        """The words from ``start`` up to ``end``, without adverbs.

        Parameters
        ----------
        start : index of the first word
        end : index after the last word

        Returns
        -------
        str
            The words with spaces.
        """
        kept = [word for word, tag in zip(self.words[start:end], self.tags[start:end], strict=True) if tag != "a"]
        return " ".join(kept).replace(" 's", "'s").replace(" ,", ",")

    def name(self, at: int) -> str:
        """The name of the mention at an index; empty if there is none."""
        found = self.found[at]
        return found.name if found else ""


@lru_cache(maxsize=16_384)
def tag_of(word: str) -> str:
    """The letter of a word that is part of no mention.

    Examples
    --------
    >>> [tag_of(word) for word in ("was", "been", "founded", "starring", "the", "of", "quickly", "bridge", "plays")]
    ['b', 'e', 'v', 'g', 'd', 'o', 'a', 'n', 'z']
    """
    lower = word.lower()
    if known := WORD_TAGS.get(lower):
        return known
    if word[0].isdigit() and not word[-1].isalpha():
        return "#"
    if lower.endswith(("n't", "n’t")):
        return "N"
    if not _LOWER.fullmatch(word):
        return "n"
    if word in IRREGULAR:
        return "v"
    ended = next((tag for ending, tag in _TAG_ENDINGS if word.endswith(ending) and len(word) > len(ending) + 1), "")
    return ended or ("z" if word in PLAIN or _VERB_S.fullmatch(word) else "n")


def tagged(text: str, mentions: Sequence[Found]) -> Tagged:
    """The words of a sentence with their tags; quotation marks are left out, and a name inside another name.

    Parameters
    ----------
    text : the sentence
    mentions : its mentions, in order

    Returns
    -------
    Tagged
        The sentence.
    """
    tags: list[str] = []
    words: list[str] = []
    found: list[Found | None] = []
    position = 0
    for mention in (*mentions, None):
        if mention is not None and mention.start < position:
            continue
        for word in _PART.findall(text, position, len(text) if mention is None else mention.start):
            if word not in _SILENT:
                tag = tag_of(word) if word[0].isalnum() else "s" if word[0] in "'’" else _MARKS.get(word, ".")
                if tag == "o" and words and words[-1] in DIRECTIONS:
                    tags[-1] = "i"
                elif tag == "#" and words and words[-1] in APPROXIMATELY:
                    tags[-1] = "a"
                tags.append(tag)
                words.append(word)
                found.append(None)
        if mention is not None:
            tags.append("D" if mention.kind == "date" else "#" if mention.kind == "number" else "M")
            words.append(mention.name)
            found.append(mention)
            position = mention.end
    return Tagged("".join(tags), words, found)
