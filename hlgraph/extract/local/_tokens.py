"""The capitalised words of a sentence, and what a chunk says about capitals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Token(NamedTuple):
    """A word that may be part of a name.

    ``word`` is without the possessive; ``is_first``: it opens a sentence or a quotation, so that its capital means nothing.
    """

    start: int
    end: int
    word: str
    is_first: bool
    is_possessive: bool

    @property
    def name_end(self) -> int:
        """Where the word ends without its possessive."""
        return self.end - 2 if self.is_possessive else self.end


class Shape(NamedTuple):
    """What the words of a chunk look like: the evidence for and against a capital being that of a name.

    ``lower``: words that occur in lower case; ``capital``: words with a capital where nothing but a name asks for one;
    ``acronyms``: capitals that stand in brackets of their own, "(WHO)".
    """

    lower: frozenset[str]
    capital: frozenset[str]
    acronyms: frozenset[str]
    is_german: bool


# A word from its first letter that is not known to be lower case, or a number. That this is a capital, and where the
# word begins, is asked afterwards: a pattern that begins with a plain set of characters is searched much faster.
_TOKEN = re.compile(
    r"[^\W\da-zß-öø-ÿ_][^\W_]*(?:(?:['’.&‐‑–-]|\.-)[^\W_]+)*"
    r"|\d(?<![^\W_].)(?:\d{0,3}(?![\w%-]|[.,]\d)|0th(?= Century [A-Z]))"
)
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_WORD = re.compile(r"[^\W\d_]+")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_BREAKS = ':.?!…•|"“«„([—–-'
_BREAK = re.compile(r"(?:[:.?!…•|]|[“\"«„(\[—–-])\s*$")
_LABEL = re.compile(r"(?:^|(?<=; ))[^:;]{1,80}(?=: )")
_CONTRACTION = re.compile(r"['’](?:m|d|t|ve|ll|re)$")
_LOWER_TAIL = re.compile(r"[-‐‑](?:based|born|owned|led|winning|nominated|area|backed|controlled|occupied)$")
_BRACKETED = re.compile(r"\(([A-Z][A-Z0-9&.-]{1,9})\)")
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht|ein|eine|mit|auf|von|den|dem|zu|wurde|sich|auch|werden)\b")
_ENGLISH = re.compile(r"\b(?:the|and|is|of|to|was|in|for|with|that)\b")


def tokens(text: str) -> list[Token]:
    """The words of a sentence that begin with a capital (or are written like "iPhone"), and the numbers, in order.

    Examples
    --------
    >>> [token.word for token in tokens("Ada's iPhone is a non-English, London-based Model 5.")]
    ['Ada', 'iPhone', 'London', 'Model', '5']
    """
    found = []
    head = _LETTER_OR_DIGIT.search(text)
    head_end = head.start() if head else 0
    for match in _TOKEN.finditer(text):
        word, start, end = match.group(), match.start(), match.end()
        if not (word[0].isupper() or word[0].isdigit()):
            continue
        before = text[start - 1] if start else " "
        if before.isalnum():
            if not before.islower() or (start > 1 and text[start - 2].isalnum()):
                continue  # inside a word
            start, word = start - 1, before + word
        elif before == "-" and text[start - 2 : start - 1].islower():
            continue  # "non-English"
        is_first = start <= head_end or _is_after_break(text, start)
        is_possessive = word[-2:-1] in ("'", "’") and word[-1] in "sS"
        if not is_possessive and _CONTRACTION.search(word):
            continue
        if is_possessive:
            word = word[:-2]
        elif "-" in word and (tail := _LOWER_TAIL.search(word)):
            word = word[: tail.start()]
            end = start + len(word)
        found.append(Token(start, end, word, is_first, is_possessive))
    return found


def is_title_case(text: str) -> bool:
    """Whether a line of six words or more is written like a headline, so that its capitals say little.

    Examples
    --------
    >>> is_title_case("What To Know About The New Tax Law"), is_title_case("Robert De Niro met Al Pacino and Joe Pesci.")
    (True, False)
    """
    if text.endswith((".", "。", ".”", '."')):
        return False
    long_words = _LONG_WORD.findall(text)
    return len(long_words) > 2 and text.count(" ") > 4 and 10 * sum(map(str.islower, long_words)) < 3 * len(long_words)


def headline_tokens(text: str) -> list[Token]:
    """The tokens of a headline, each as if it opened a sentence: only what the chunk knows as a name is one."""
    return [token._replace(is_first=True) for token in tokens(text)]


def row_tokens(text: str) -> list[Token]:
    """The tokens of a table row: its labels are no names, and the first word of a cell is one where it has a capital.

    Examples
    --------
    >>> [(token.word, token.is_first) for token in row_tokens("Seat: Paris; Mayor: Ada Roe")]
    [('Paris', False), ('Ada', False), ('Roe', False)]
    """
    labels = {i for match in _LABEL.finditer(text) for i in range(*match.span())}
    return [token._replace(is_first=False) for token in tokens(text) if token.start not in labels]


def _is_after_break(text: str, start: int) -> bool:
    """Whether a colon, a quotation mark, a bracket or a dash stands before a word."""
    if text[start - 1] == " " and text[start - 2 : start - 1] not in _BREAKS:
        return False
    return _BREAK.search(text, max(0, start - 4), start) is not None


def shape(text: str, sentences: Sequence[Sequence[Token]], *, known: Sequence[str]) -> Shape:
    """The evidence that a chunk gives about its own words; ``known`` are names, whatever the chunk says."""
    lower = {word for word in set(_WORD.findall(text)) if word.islower()}
    lower.difference_update(name.lower() for name in known)
    capital = {token.word for sentence in sentences for token in sentence if not token.is_first}
    acronyms = frozenset(_BRACKETED.findall(text))
    # In German all nouns have a capital, so that a capital alone says little.
    is_german = len(_GERMAN.findall(text)) > 2 + len(_ENGLISH.findall(text))
    return Shape(frozenset(lower), frozenset(capital.union(known)), acronyms, is_german)
