"""Whether a chunk says what a proposition says, by words alone: its names, numbers, dates and negations must be there.

The rule finds what the chunk lacks or denies. It does not find a wrong pair of names that both occur; a chat model can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple, get_args

from hlgraph.errors import InputError
from hlgraph.extract.extractor import ChunkInput
from hlgraph.extract.wording import MONTH_PATTERN, MONTHS, Wording, denies

Ground = Literal["words", "chat", "off"]
GROUNDS: tuple[Ground, ...] = get_args(Ground)

_MONTHS = tuple(month[:3] for month in MONTHS)
_MONTH = rf"(?P<month>{MONTH_PATTERN.lower()})\b\.?"
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4})(?!\d)"
_DATES = tuple(
    re.compile(rf"(?<![\w.]){form}", re.IGNORECASE)
    for form in (
        r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?!\d)",
        rf"{_DAY}(?=\s?(?:[–-]|and|to)\s?\d{{1,2}}\s{_MONTH}(?:,?\s{_YEAR})?)",
        rf"{_DAY}\s(?:of\s)?{_MONTH}(?:,?\s{_YEAR})?",
        rf"{_MONTH}\s{_DAY}(?!\d)(?:,?\s{_YEAR})?",
        rf"(?P<day>\d{{1,2}})[./](?P<month>\d{{1,2}})[./]{_YEAR}",
        rf"(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})/{_YEAR}",
    )
)
_LAST_DAY = 31
_WORD = re.compile(r"[^\W_][\w'’-]*|[^\w\s]")
_CAPITALS = re.compile(r"\b(?:[A-Z]\.?){2,6}")
_INSIDE_NAMES = frozenset({"of", "the", "and", "for", "de"})


class _Date(NamedTuple):
    """A day of a month; ``year`` is None if the text has none."""

    start: int
    end: int
    year: int | None
    month: int
    day: int


def check_ground(name: str) -> None:
    """Raise InputError for a way of grounding that does not exist."""
    if name not in GROUNDS:
        raise InputError(f"ground is {name!r}; choose words, chat or off")


class Grounds:
    """What a chunk says, with its title, its headings and the lines above it.

    Parameters
    ----------
    chunk : the chunk

    Examples
    --------
    >>> grounds = Grounds(ChunkInput("Ada Falk opened it on 1931-05-14. It did not sink.", title="The Orlen"))
    >>> grounds.objection("Ada Falk opened the Orlen on 14 May 1931.")
    ''
    >>> grounds.objection("Ben Falk opened the Orlen on 15 May 1931.")
    'the text has no 15 May 1931, Ben'
    >>> grounds.objection("The Orlen did sink.")
    'the evidence denies it: sink'
    """

    def __init__(self, chunk: ChunkInput) -> None:
        self._text = chunk.text
        self._places = chunk.surroundings

    @cached_property
    def _wording(self) -> Wording:
        return Wording([self._text], places=self._places)

    @cached_property
    def _dates(self) -> list[_Date]:
        return [date for text in (self._text, *self._places) for date in _dates(text)]

    @cached_property
    def _is_denied_above(self) -> bool:
        """Whether the lines above deny something, as "Do none of the following:" does."""
        return any(map(denies, self._places))

    @cached_property
    def _short(self) -> set[str]:
        """The words in capitals: short forms."""
        return {_plain(word) for text in (self._text, *self._places) for word in _CAPITALS.findall(text)}

    @cached_property
    def _spelled_out(self) -> set[str]:
        """The initials of the names of several words."""
        return {initials for text in (self._text, *self._places) for initials in _runs(text)}

    def objection(self, proposition: str, names: Sequence[str] = ()) -> str:
        """The reason why the chunk does not say a proposition; empty if its words give none.

        Parameters
        ----------
        proposition : its text
        names : names in it, so that the first word of the sentence is known as one

        Returns
        -------
        str
            One sentence without a full stop.
        """
        lacking, rest = self._lacking_dates(proposition)
        words = dict.fromkeys((*self._wording.lacking(rest), *self._names(names, rest)))
        if words:
            runs = _runs(proposition)
            shortened = {word for initials in runs.keys() & self._short for word in runs[initials]}
            lacking += [word for word in words if word not in shortened and _plain(word) not in self._spelled_out]
        if lacking:
            return f"the text has no {', '.join(lacking)}"
        return "" if self._is_denied_above else self._wording.contradiction(proposition)

    def _names(self, names: Sequence[str], sentence: str) -> Iterator[str]:
        """The capitalised words of these names that occur in the sentence and not in the texts."""
        for name in names:
            for word in name.split():
                if word[:1].isupper() and word in sentence and self._wording.lacking(f"the {word}"):
                    yield word

    def _lacking_dates(self, sentence: str) -> tuple[list[str], str]:
        """The dates of a sentence that the texts do not have, and the sentence without its dates."""
        lacking: list[str] = []
        rest = sentence
        dates = _dates(sentence) if self._dates else []
        for span in sorted({(date.start, date.end) for date in dates}, reverse=True):
            if not any(self._has_date(date) for date in dates if (date.start, date.end) == span):
                lacking.insert(0, sentence[slice(*span)])
            rest = f"{rest[: span[0]]}then{rest[span[1] :]}"
        return lacking, rest

    def _has_date(self, date: _Date) -> bool:
        years = {other.year for other in self._dates if (other.month, other.day) == (date.month, date.day)}
        if date.year is None or date.year in years:
            return bool(years)
        return None in years and not self._wording.lacking(str(date.year))


def _dates(text: str) -> list[_Date]:
    """The days in a text. One that can be read with either the day or the month first is in the list both ways."""
    dates: list[_Date] = []
    for form in _DATES:
        for match in form.finditer(text):
            parts = match.groupdict()
            month = int(parts["month"]) if parts["month"].isdigit() else 1 + _MONTHS.index(parts["month"][:3].lower())
            year = int(parts["year"]) if parts["year"] else None
            date = _Date(*match.span(), year, month, int(parts["day"]))
            # Shares no character with the others, or is another reading of the same.
            is_new = all(date[:2] == own[:2] or date.end <= own.start or own.end <= date.start for own in dates)
            if 1 <= date.month <= len(_MONTHS) and 0 < date.day <= _LAST_DAY and is_new:
                dates.append(date)
    return dates


def _runs(text: str) -> dict[str, list[str]]:
    """The runs of two capitalised words or more, by their initials; each also without its first word."""
    runs: dict[str, list[str]] = {}
    run: list[str] = []
    for word in (*_WORD.findall(text), "."):
        if word[0].isupper():
            run.append(word)
            continue
        for part in (run, run[1:]):
            if len(part) > 1:
                runs.setdefault("".join(each[0] for each in part), list(part))
        if word not in _INSIDE_NAMES:
            run = []
    return runs


def _plain(word: str) -> str:
    return word.replace(".", "")
