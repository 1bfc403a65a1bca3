"""Numbers of a text in normalised spelling: separators, signs, currencies, scales and percent."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import NamedTuple

SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
"""Words after a number, and the power of ten that each multiplies it by."""
_GAPS = "\u00a0\u2009\u202f"  # spaces between the digit groups of one number
_CURRENCIES = "$€£¥₹"
_DIGITS = re.compile(rf"\d(?:[\d.,{_GAPS}]*\d)?")  # begins with a digit, so that a search is fast
_BEFORE = re.compile(
    rf"(?P<first>[{_CURRENCIES}])?(?P<sign>[-\u2212])?(?:(?P<second>[{_CURRENCIES}])\s?)?(?P<point>\.)?\Z"
)
_BEHIND = re.compile(
    rf"(?:\s(?P<scale>{'|'.join(SCALES)})\b)?"
    rf"(?:\s?(?P<percent>%|(?:percent|per cent|pct)\b)|\s?(?P<currency>[{_CURRENCIES}])(?!\d))?",
    re.IGNORECASE,
)
_COMMA_GROUPS = re.compile(rf"\d{{1,3}}(?:[,{_GAPS}]\d{{3}})+(?:\.\d+)?")
_DOT_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?")
_COMMA_DECIMAL = re.compile(r"\d+,(?:\d{1,2}|\d{4,})")
_PLAIN = re.compile(r"\d+|\d*\.\d+")
_THREE_DECIMALS = re.compile(r"[1-9]\d{0,2}\.\d{3}")  # thousands in some languages, decimals in others
_MOST_DIGITS = 25  # within the precision of Decimal
_ENDS_BEFORE = frozenset(f"{_CURRENCIES}-\u2212.")  # what _BEFORE can end with, beside white space
_BEGINS_BEHIND = frozenset(f"{_CURRENCIES}%pP")  # what the parts of _BEHIND begin with, after white space or none
_BEGINS_SCALE = frozenset(letter for scale in SCALES for letter in (scale[0], scale[0].upper()))


class Number(NamedTuple):
    """A number in a text.

    Attributes
    ----------
    start, end : its span in the text
    value : normalised digits, without sign, currency, scale and percent
    text : normalised, with sign, currency, scale and percent
    """

    start: int
    end: int
    value: str
    text: str


def numbers(text: str) -> list[Number]:
    """The numbers of a text that are written in digits, in order, without digits inside words.

    ``1,000`` is ``1000``, ``3.50`` is ``3.5``, ``3 million`` is ``3000000``, ``5 percent`` is ``5%``, ``5 €`` is ``€5``. Digits
    that are not a quantity (``007``, ``1.2.3``) and ambiguous ones (``1.000``) are kept as they are.

    Examples
    --------
    >>> [number.text for number in numbers("From -1,000 to $3.50 million (B12, 1990-1995)")]
    ['-1000', '$3500000', '1990', '1995']
    """
    return [_number(text, match) for match in _DIGITS.finditer(text) if not _is_inside(text, match.start())]


def spelled(value: Decimal) -> str:
    """A quantity without trailing zeros and without an exponent."""
    return f"{value.normalize():f}"


def _is_inside(text: str, start: int) -> bool:
    return start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_")


def _number(text: str, match: re.Match[str]) -> Number:
    start, end = match.span()
    sign, currency, point = _before(text, start)
    quantity = _quantity(point + match[0])
    value = quantity if isinstance(quantity, str) else spelled(quantity)
    whole = value
    if _has_behind(text, end) and (behind := _BEHIND.match(text, end)):
        end = behind.end()
        if scale := behind["scale"]:
            scaled = scale.lower() if isinstance(quantity, str) else ""
            whole = value + scaled if isinstance(quantity, str) else spelled(quantity.scaleb(SCALES[scale.lower()]))
        currency = currency or behind["currency"] or ""
        whole += "%" if behind["percent"] else ""
    return Number(start, end, value, f"{sign}{currency}{whole}")


def _has_behind(text: str, end: int) -> bool:
    """Whether a scale, a percent sign or a currency may follow; most numbers have none, and the expression is slow."""
    if text[end : end + 1].isspace():
        following = text[end + 1 : end + 2]
        return following in _BEGINS_SCALE or following in _BEGINS_BEHIND
    return text[end : end + 1] in _BEGINS_BEHIND


def _before(text: str, start: int) -> tuple[str, str, str]:
    """Sign, currency and decimal point before the first digit; a dash between two words or numbers is not a sign."""
    last = text[start - 1 : start]
    if last not in _ENDS_BEFORE and not (last.isspace() and text[start - 2 : start - 1] in _CURRENCIES):
        return "", "", ""
    begin = max(0, start - 5)
    match = _BEFORE.search(text[begin:start])
    if match is None:
        return "", "", ""
    at = begin + match.start("sign")
    is_sign = match["sign"] and (at == 0 or text[at - 1].isspace() or text[at - 1] in "(" + _CURRENCIES)
    at = begin + match.start("point")
    is_point = match["point"] and not (at > 0 and text[at - 1].isalnum())
    return "-" if is_sign else "", match["first"] or match["second"] or "", "." if is_point else ""


def _quantity(digits: str) -> Decimal | str:
    """The quantity that digits with separators mean; the digits themselves if that is ambiguous."""
    plain = digits if digits.isascii() else "".join(_ascii(each) for each in digits)
    if plain.isdigit() and plain[0] != "0" and len(plain) <= _MOST_DIGITS:
        return Decimal(plain)
    whole = re.split(r"[.,]", plain, maxsplit=1)[0]
    if (len(whole) > 1 and whole[0] == "0") or len(plain) > _MOST_DIGITS:
        return plain
    if _COMMA_GROUPS.fullmatch(plain):
        return Decimal(re.sub(rf"[,{_GAPS}]", "", plain))
    if _DOT_GROUPS.fullmatch(plain):
        return Decimal(plain.replace(".", "").replace(",", "."))
    is_plain = _PLAIN.fullmatch(plain) and not _THREE_DECIMALS.fullmatch(plain)
    return Decimal(plain.replace(",", ".")) if is_plain or _COMMA_DECIMAL.fullmatch(plain) else plain


def _ascii(each: str) -> str:
    return str(unicodedata.decimal(each)) if each.isdecimal() else each
