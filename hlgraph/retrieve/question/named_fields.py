"""Finds, by rules, the metadata values that a question names: a publisher, an author, a date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hlgraph.records import Metadata, MetadataValue

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
]
_NUMBER = {name: number for number, name in enumerate(_MONTHS[:12], 1)}
_NUMBER |= {name[:3]: number for name, number in list(_NUMBER.items())} | {"sept": 9}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_DATES = (
    re.compile(rf"\b{_MONTH}\s+(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+))?(?P<year>\d{{4}})\b", re.IGNORECASE),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+(?P<year>\d{{4}})\b", re.IGNORECASE),
)
_ISO = re.compile(r"\b\d{4}-\d{2}(?:-\d{2})?\b")
_IS_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
_LONGEST = 100  # a longer value is a text, no name
_LEADING = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)


class Named(NamedTuple):
    """What a question may name of a source.

    Attributes
    ----------
    question : its text, with single spaces
    dates : ISO dates, ``2023-10-06``, or months, ``2023-10``
    """

    question: str
    dates: tuple[str, ...]

    def matches(self, metadata: Metadata) -> tuple[str, ...]:
        """The fields of a source that the question names, ascending.

        A text is named if the question has it, with its capitals; without a capital or a digit it is a common word, and never
        is. A leading article does not count. A value that begins with an ISO date is named by that day or that month.

        Examples
        --------
        >>> named("What did The Courier print on May 3, 1931?").matches(
        ...     {"publisher": "Courier", "published": "1931-05-03T08:00:00", "kind": "print"}
        ... )
        ('published', 'publisher')
        """
        return tuple(sorted(field for field, value in metadata.items() if any(map(self._has, _texts(value)))))

    def _has(self, value: str) -> bool:
        if _IS_DATE.match(value):
            return any(value.startswith(date) for date in self.dates)
        text = _LEADING.sub("", " ".join(value.split()))
        if not 2 <= len(text) <= _LONGEST or not (text[0].isupper() or (text[0].isdigit() and not text.isdigit())):
            return False
        return text in self.question and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self.question) is not None


def named(question: str) -> Named:
    """What a question may name of a source.

    Dates are read with English names of months, and as ISO dates. A year alone is too common to count.

    Examples
    --------
    >>> named("What changed between October 6, 2023 and 7 Nov 2023?").dates
    ('2023-10-06', '2023-11-07')
    """
    text = " ".join(question.split())
    found = {match[0] for match in _ISO.finditer(text)}
    for match in (match for pattern in _DATES for match in pattern.finditer(text)):
        month = f"{match['year']}-{_NUMBER[match['month'].lower()]:02}"
        found.add(f"{month}-{int(match['day']):02}" if match["day"] else month)
    # A month is named by itself only where no day of it is.
    return Named(
        text, tuple(sorted(item for item in found if not any(o != item and o.startswith(item) for o in found)))
    )


def is_date(value: MetadataValue) -> bool:
    """Whether a value begins with an ISO date, or any of several does."""
    return any(_IS_DATE.match(text) for text in _texts(value))


def _texts(value: MetadataValue) -> Iterable[str]:
    values = value if isinstance(value, tuple | list) else (value,)
    return (item for item in values if isinstance(item, str))


def matches(question: str, metadata: Mapping[str, Metadata]) -> dict[str, tuple[str, ...]]:
    """The fields that a question names of each source that has any, by the key of the source.

    Parameters
    ----------
    question : the question
    metadata : of each source, by its key

    Returns
    -------
    dict
    """
    wanted = named(question)
    found = {key: wanted.matches(held) for key, held in metadata.items()}
    return {key: fields for key, fields in found.items() if fields}
