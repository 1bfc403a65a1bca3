"""The scale of the cells of a table ("in millions"), and whether a number of a statement is the value of a cell."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from hlgraph.retrieve.evidence.numbers import SCALES, Number, numbers
from hlgraph.retrieve.evidence.tables import Cell

_WORDS = "|".join(SCALES)
_SCALE = re.compile(
    rf"(?:\(\s*|\bin\s+|[$€£¥₹]\s?|\b[A-Z]{{3}}\s)(?:[^\W\d]+\s)?(?P<word>{_WORDS})s?\b|(?<![\d,.])['’]?(?P<zeros>000)(?:'?s\b|\b)",
    re.IGNORECASE,
)
_EXCEPT = re.compile(r"\bexcept|\bunless", re.IGNORECASE)
_EXCEPTED = re.compile(r"\b(?:shares?|units?|number|employees)\b", re.IGNORECASE)
_RATIO = re.compile(r"%|\b(?:percent|per cent|percentage|per)\b", re.IGNORECASE)
_PERCENT = re.compile(r"%|\b(?:percent|per cent|percentage)\b", re.IGNORECASE)
_MONTH = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?)\.?\s\Z",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class Said(NamedTuple):
    """A number of a statement.

    Attributes
    ----------
    digits : without sign, currency and scale
    quantity : with the scale; None where the digits are no plain quantity
    step : the unit of its last digit, as a quantity
    has_scale : a scale is said ("5.2 billion")
    is_percent : it is said in per cent
    is_year : it may be a year: four digits without a comma
    """

    digits: str
    quantity: Decimal | None
    step: Decimal
    has_scale: bool
    is_percent: bool
    is_year: bool


def said(text: str) -> list[Said]:
    """The numbers of a statement, in order, without the days of dates.

    Examples
    --------
    >>> [(each.digits, each.has_scale) for each in said("On June 30, revenue was $5.2 billion, or 12 %.")]
    [('5.2', True), ('12', False)]
    """
    return [
        _said(text, each) for each in numbers(text) if not _MONTH.search(text[max(0, each.start - 12) : each.start])
    ]


def is_meant(number: Said, cell: Cell) -> bool:
    """Whether a number of a statement can be the value of a cell.

    Digits have to be equal where the statement says no scale: it repeats the table. Where it says one, the quantities have to be
    equal, or the quantity of the cell, rounded to the last digit that is said, where that has two digits at least. A cell whose
    table says no scale is compared by its digits. Per cent is never a quantity of something else, and a year no value with a
    comma.

    Parameters
    ----------
    number : of the statement
    cell : of a table

    Returns
    -------
    bool

    Examples
    --------
    >>> cell = Cell(0, 9, "Revenue", "2023", "(in millions)", "5,234")
    >>> [is_meant(said(text)[0], cell) for text in ("5,234", "$5.234 billion", "$5.2 billion", "5,234 thousand", "5.3 billion")]
    [True, True, True, False, False]
    """
    return any(_is_same(number, _said(cell.value, each), cell) for each in numbers(cell.value))


def _is_same(number: Said, value: Said, cell: Cell) -> bool:
    is_ratio = value.is_percent or _RATIO.search(f"{cell.column} {cell.row}") is not None
    if number.is_percent and not (is_ratio or _PERCENT.search(cell.caption)):
        return False
    if number.is_year and not value.is_year:
        return False
    power = 0 if value.has_scale or is_ratio else _power(cell)
    if number.has_scale and (power or value.has_scale or is_ratio):
        return _is_near(number, value, power or 0)
    if number.digits == value.digits:
        return True
    return (
        bool(power)
        and not number.has_scale
        and number.quantity is not None
        and number.quantity == _scaled(value, power or 0)
    )


def _is_near(number: Said, value: Said, power: int) -> bool:
    quantity = _scaled(value, power)
    if number.quantity is None or quantity is None:
        return False
    if number.quantity == quantity:
        return True
    is_rough = len(number.digits.replace(".", "").lstrip("0")) >= 2 and number.step > Decimal(1).scaleb(power)
    return is_rough and (quantity / number.step).to_integral_value(ROUND_HALF_UP) * number.step == number.quantity


def _scaled(value: Said, power: int) -> Decimal | None:
    return None if value.quantity is None else value.quantity.scaleb(power)


def _power(cell: Cell) -> int | None:
    """The power of ten of a cell's table; None where none is said, several are, or this row is an exception."""
    for part in (cell.row, cell.column, cell.caption):
        powers = {3 if match["zeros"] else SCALES[match["word"].lower()] for match in _SCALE.finditer(part)}
        if powers:
            is_exception = _EXCEPT.search(part) is not None and _EXCEPTED.search(cell.row) is not None
            return powers.pop() if len(powers) == 1 and not is_exception else None
    return None


def _said(text: str, number: Number) -> Said:
    written = text[number.start : number.end]
    word = re.search(rf"\b({_WORDS})\b", written, re.IGNORECASE)
    power = SCALES[word[1].lower()] if word else 0
    plain = re.fullmatch(r"\d+(?:\.(\d+))?", number.value)
    quantity = Decimal(number.value).scaleb(power) if plain else None
    # Zeros at the end are digits, too: 5.20 is more exact than 5.2.
    decimals = (
        re.search(r"[.](\d+)", written) if plain and "." in number.value else re.search(r"[.](0+)(?!\d)", written)
    )
    step = Decimal(1).scaleb(power - (len(decimals[1]) if decimals else 0))
    is_year = _YEAR.fullmatch(written) is not None
    return Said(number.value, quantity, step, word is not None, number.text.endswith("%"), is_year)
