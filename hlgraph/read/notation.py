"""What Office files and pages store as formatting or markup, as plain text: raised characters, equations, lists, drawings.

The functions need only the interface of :mod:`xml.etree.ElementTree`, which lxml shares.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import count, groupby, repeat
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.read.content import clean, clean_title
from hlgraph.read.tables import Cell, Grid
from hlgraph.records import Detail

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from hlgraph.read.bounds import Produced


def local_name(element: Element) -> str:
    """The tag of an element without its namespace; empty for comments and processing instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Element | None, name: str, *, default: str = "") -> str:
    """The attribute with a local name.

    Parameters
    ----------
    element : an element; None has no attributes
    name : name without its namespace
    default : value if it is missing, default empty
    """
    if element is None:
        return default
    return next((str(value) for key, value in element.attrib.items() if str(key).rpartition("}")[2] == name), default)


def child(element: Element | None, *path: str) -> Element | None:
    """The first child with a local name, its first child with the next name, and so on; None if there is none."""
    for name in path:
        if element is None:
            return None
        element = next((each for each in element if local_name(each) == name), None)
    return element


def children(element: Element | None) -> Iterable[Element]:
    """The children of an element; none if there is no element."""
    return () if element is None else element


def is_on(element: Element | None) -> bool:
    """Whether an Office property is present and not switched off."""
    return element is not None and attribute(element, "val", default="1") not in ("0", "false", "off")


def alternative(element: Element) -> Element:
    """What a reader shows of ``mc:AlternateContent``: the first choice, else the fallback."""
    choice = child(element, "Choice")
    fallback = child(element, "Fallback")
    return choice if choice is not None else element if fallback is None else fallback


# Characters of symbol fonts, raised and lowered characters.


_GREEK = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ",
)
_SYMBOLS = {
    0xA3: "≤",
    0xA5: "∞",
    0xAE: "→",
    0xB0: "°",
    0xB1: "±",
    0xB3: "≥",
    0xB4: "×",
    0xB7: "•",
    0xB9: "≠",
    0xBB: "≈",
    0xD6: "√",
}
_DINGBATS = {0x6F: "☐", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑", 0xE0: "→"}


def symbol(font: str, code: str) -> str:
    """A character that Word stores as a font and a number; empty if its meaning is not known.

    Parameters
    ----------
    font : name of the font
    code : number of the character, hexadecimal

    Examples
    --------
    >>> symbol("Symbol", "F061"), symbol("Wingdings", "F0FE"), symbol("Arial", "2264")
    ('α', '☑', '≤')
    """
    if not re.fullmatch(r"[0-9A-Fa-f]{1,4}", code):
        return ""
    number = int(code, 16)
    if not 0xF000 <= number <= 0xF0FF:
        return chr(number)
    number -= 0xF000
    if font == "Symbol":
        return _SYMBOLS.get(number) or chr(number).translate(_GREEK) if number in _SYMBOLS or number < 0x7F else ""
    return _DINGBATS.get(number, "") if font.startswith("Wingdings") else ""


_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")


def shifted(text: str, *, is_raised: bool) -> str:
    """An exponent or index as characters of that kind, because 10 and 6 must not become 106.

    Parameters
    ----------
    text : the characters
    is_raised : raised, else lowered

    Examples
    --------
    >>> "10" + shifted("6", is_raised=True), "H" + shifted("2", is_raised=False), "2" + shifted("nd", is_raised=True)
    ('10⁶', 'H₂', '2nd')
    >>> "x" + shifted("a+b", is_raised=True)
    'x^a+b'
    """
    moved = text.translate(_RAISED if is_raised else _LOWERED)
    if not any(char.isascii() for char in moved if not char.isspace()):
        return moved
    return f"^{text}" if is_raised and not text.isalpha() else text


# Equations.


_ATOM = re.compile(r"\w+|\d[\d.,]*|[^\w\s]")
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}


def equation(element: Element) -> str:
    """An equation of Office (OMML) on one line, in the notation of UnicodeMath.

    Parameters
    ----------
    element : ``oMath``, or any element inside of one

    References
    ----------
    ISO/IEC 29500-1, 22.1; Unicode Technical Note 28.
    """
    name = local_name(element)
    if name == "t":
        return element.text or ""
    if name.endswith("Pr") or name in ("del", "moveFrom"):
        return ""
    inner = _EQUATIONS.get(name)
    return inner(element) if inner else "".join(map(equation, element))


def _part(element: Element, name: str) -> str:
    inner = child(element, name)
    return "" if inner is None else equation(inner).strip()


def _parts(element: Element, name: str) -> list[str]:
    return [equation(each).strip() for each in element if local_name(each) == name]


def _setting(element: Element, name: str, default: str = "") -> str:
    """A value from the properties of an element, such as the character of an operator."""
    properties = next((each for each in element if local_name(each).endswith("Pr")), None)
    return attribute(child(properties, name), "val", default=default)


def _grouped(text: str) -> str:
    """A text in brackets unless it is one word, number or character, or has brackets around all of it."""
    if not text or _ATOM.fullmatch(text):
        return text
    open_brackets = 0
    for at, char in enumerate(text):
        open_brackets += (char == "(") - (char == ")")
        if not open_brackets:
            return text if at == len(text) - 1 and char == ")" else f"({text})"
    return f"({text})"


def _script(text: str, *, is_raised: bool) -> str:
    if not text:
        return ""
    moved = text.translate(_RAISED if is_raised else _LOWERED)
    if not any(char.isascii() or char.isspace() for char in moved):
        return moved
    return ("^" if is_raised else "_") + _grouped(text)


def _scripts(element: Element) -> str:
    low, high = _script(_part(element, "sub"), is_raised=False), _script(_part(element, "sup"), is_raised=True)
    base = _part(element, "e")
    return f"{low}{high}{base}" if local_name(element) == "sPre" else f"{_grouped(base)}{low}{high}"


def _fraction(element: Element) -> str:
    over, under = _part(element, "num"), _part(element, "den")
    if _setting(element, "type") == "noBar":
        return f"{over}¦{under}"
    return f"{_grouped(over)}/{_grouped(under)}"


def _root(element: Element) -> str:
    degree, base = _part(element, "deg"), _part(element, "e")
    return f"{_ROOTS[degree]}({base})" if degree in _ROOTS else f"√({degree}&{base})"


def _operator(element: Element) -> str:
    low, high = (_grouped(_part(element, name)) for name in ("sub", "sup"))
    limits = (f"_{low}" if low else "") + (f"^{high}" if high else "")
    return f"{_setting(element, 'chr', '∫')}{limits} {_part(element, 'e')}"


def _delimited(element: Element) -> str:
    inner = _setting(element, "sepChr", "|").join(_parts(element, "e"))
    return f"{_setting(element, 'begChr', '(')}{inner}{_setting(element, 'endChr', ')')}"


def _function(element: Element) -> str:
    return f"{_part(element, 'fName')} {_part(element, 'e')}"


def _limit(element: Element) -> str:
    mark = "_" if local_name(element) == "limLow" else "^"
    return f"{_part(element, 'e')}{mark}{_grouped(_part(element, 'lim'))}"


def _accent(element: Element) -> str:
    is_bar = local_name(element) == "bar"
    mark = (
        ("\u0305" if _setting(element, "pos") == "top" else "\u0332") if is_bar else _setting(element, "chr", "\u0302")
    )
    return f"{_grouped(_part(element, 'e'))}{mark}"


_EQUATIONS: dict[str, Callable[[Element], str]] = {
    "f": _fraction,
    "rad": _root,
    "nary": _operator,
    "d": _delimited,
    "func": _function,
    "limLow": _limit,
    "limUpp": _limit,
    "acc": _accent,
    "bar": _accent,
    "m": lambda element: "; ".join(_parts(element, "mr")),
    "mr": lambda element: ", ".join(_parts(element, "e")),
    "eqArr": lambda element: "; ".join(_parts(element, "e")),
    **dict.fromkeys(("sSup", "sSub", "sSubSup", "sPre"), _scripts),
}


def mathml(element: Element) -> str:
    """A formula in MathML on one line, in the notation of UnicodeMath; annotations are left out.

    Parameters
    ----------
    element : ``math``, or any element inside of one

    References
    ----------
    W3C, MathML Core, 3.3 and 3.4.
    """
    name = local_name(element)
    if name in ("annotation", "annotation-xml"):
        return ""
    if name == "mtext":
        return "".join(map(str, element.itertext()))
    parts = [mathml(each).strip() for each in element if isinstance(each.tag, str)]
    first, second, third = [*parts, "", "", ""][:3]
    if name in ("msup", "msub", "msubsup"):
        low, high = ("", second) if name == "msup" else (second, third)
        text = _grouped(first) + _script(low, is_raised=False) + _script(high, is_raised=True)
    elif name == "mfrac":
        text = f"{_grouped(first)}/{_grouped(second)}"
    elif name == "mroot":
        text = f"{_ROOTS[second]}({first})" if second in _ROOTS else f"√({second}&{first})"
    elif name in ("msqrt", "mtr"):
        text = f"√({''.join(parts)})" if name == "msqrt" else f"{', '.join(parts)}; "
    else:
        text = "".join([(element.text or "").strip(), *parts])
    return text


# Numbers of lists.


_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl")),
    *((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_MOST_LETTERS = 780  # z thirty times
_LIST_MARK = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})\)|\d{1,3}\.")  # what hlgraph.text takes for an item
_PLACE = re.compile(r"%([1-9])")
LEVELS = 9


def numeral(value: int, form: str) -> str:
    """A number of a list in a format of Office; decimal for formats that are not known.

    Parameters
    ----------
    value : the number
    form : name of the format, such as ``lowerRoman``

    Examples
    --------
    >>> [numeral(4, form) for form in ("decimal", "lowerRoman", "upperLetter", "decimalZero", "ordinal")]
    ['4', 'iv', 'D', '04', '4th']
    >>> numeral(28, "lowerLetter")
    'bb'
    """
    kind = form.lower()
    if kind.endswith("roman") and 0 < value < 4000:
        text = ""
        for size, letters in _ROMAN:
            text += letters * (value // size)
            value %= size
        return text.upper() if form.startswith("upper") else text
    if kind.endswith("letter") and 0 < value <= _MOST_LETTERS:
        return chr((65 if form.startswith("upper") else 97) + (value - 1) % 26) * ((value - 1) // 26 + 1)
    if form == "decimalZero":
        return f"{value:02}"
    if form == "ordinal":
        last = "th" if value // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
        return f"{value}{last}"
    return "" if form == "none" else str(value)


def list_marks(form: str, first: int = 1) -> Iterator[str]:
    """The markers of the items of a list, without end.

    Parameters
    ----------
    form : name of a format of Office, such as ``lowerRoman``; dashes if it is empty
    first : number of the first item, default 1

    Examples
    --------
    >>> from itertools import islice
    >>> [list(islice(list_marks(form, 2), 2)) for form in ("decimal", "lowerLetter", "")]
    [['2.', '3.'], ['b)', 'c)'], ['-', '-']]
    """
    numbers = (numeral(number, form) for number in count(first)) if form else repeat("")
    return (f"{number}{'.' if number.isdecimal() else ')'}" if number else "-" for number in numbers)


def struck(text: str) -> str:
    """A text as Markdown strikes it out, between its white space.

    Examples
    --------
    >>> struck("49.90 "), struck(" ")
    ('~~49.90~~ ', ' ')
    """
    words = text.strip()
    return text.replace(words, f"~~{words}~~", 1) if words else text


def list_item(text: str, label: str, *, level: int) -> str:
    """A line of Markdown for an item of a list: its label is the marker if it can be, else its first words.

    Parameters
    ----------
    text : text of the item
    label : its number; empty for a bullet
    level : its level, from 0

    Examples
    --------
    >>> [list_item("Open it.", label, level=0) for label in ("", "1.", "(b)", "4.2")]
    ['- Open it.', '1. Open it.', '(b) Open it.', '- 4.2 Open it.']
    """
    line = " ".join(text.split())
    mark = label if _LIST_MARK.fullmatch(label) else f"- {label}".rstrip()
    return f"{' ' * (4 * min(level, LEVELS))}{mark} {line}" if line else ""


class _Level(NamedTuple):
    start: int
    form: str
    shape: str
    restarts_after: int | None  # number of the deepest level after which it restarts; None: any level above
    is_legal: bool
    style: str
    indent: int  # of the text, in twentieths of a point; -1: not said


class ListNumbers:
    """Counts the items of the numbered lists of a Word document.

    Parameters
    ----------
    numbering : root of the numbering part; None if the file has none
    lists_of_styles : list that each style belongs to, by the id of the style

    References
    ----------
    ISO/IEC 29500-1, 17.9.
    """

    def __init__(self, numbering: Element | None, lists_of_styles: Mapping[str, str]) -> None:
        self._shared: dict[str, dict[int, _Level]] = {}  # levels by abstract list
        self._lists: dict[str, str] = {}  # abstract list of each list
        self._own: dict[str, dict[int, _Level]] = {}  # levels that a list replaces
        self._starts: dict[str, dict[int, int]] = {}  # numbers at which a list starts anew
        self._counters: dict[str, list[int | None]] = {}
        links: dict[str, str] = {}
        for each in children(numbering):
            if local_name(each) == "abstractNum":
                key = attribute(each, "abstractNumId")
                self._shared[key] = dict(_levels(each))
                if style := attribute(child(each, "numStyleLink"), "val"):
                    links[key] = lists_of_styles.get(style, "")
            elif local_name(each) == "num":
                self._add_list(each)
        for key, number in links.items():
            self._shared[key] = self._shared.get(self._lists.get(number, ""), {})

    def _add_list(self, element: Element) -> None:
        number = attribute(element, "numId")
        self._lists[number] = attribute(child(element, "abstractNumId"), "val")
        self._starts[number], self._own[number] = {}, {}
        for each in element:
            if local_name(each) == "lvlOverride":
                level = _integer(attribute(each, "ilvl"), 0)
                self._own[number].update(_levels(each))
                if (start := child(each, "startOverride")) is not None:
                    self._starts[number][level] = _integer(attribute(start, "val"), 1)

    def level_of(self, number: str, style: str) -> int:
        """The level of a list that belongs to a style; 0 if none does.

        Parameters
        ----------
        number : id of the list
        style : id of the style
        """
        levels = self._shared.get(self._lists.get(number, ""), {})
        return next((at for at, level in levels.items() if level.style == style), 0)

    def indent_of(self, number: str, level: int) -> int:
        """The left indent of the text of items, in twentieths of a point; -1 if the list says none.

        Parameters
        ----------
        number : id of the list
        level : level of the items, from 0
        """
        levels = {**self._shared.get(self._lists.get(number, ""), {}), **self._own.get(number, {})}
        return levels[level].indent if level in levels else -1

    def label(self, number: str, level: int) -> str | None:
        """The label of the next item of a list: empty for a bullet; None if there is no such list.

        Parameters
        ----------
        number : id of the list
        level : level of the item, from 0
        """
        shared = self._lists.get(number)
        if shared is None or not 0 <= level < LEVELS:
            return None
        levels = {**self._shared.get(shared, {}), **self._own[number]}
        if level not in levels:
            return None
        self._count(shared, number, level, levels)
        form = levels[level].form
        if form == "bullet":
            return ""
        counters = self._counters[shared]

        def place(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            own = levels.get(at)
            if own is None:
                return ""
            value = counters[at]
            shown = own.form if not levels[level].is_legal else "decimal"
            return numeral(own.start if value is None else value, shown)

        return _PLACE.sub(place, levels[level].shape).strip()

    def _count(self, shared: str, number: str, level: int, levels: Mapping[int, _Level]) -> None:
        counters = self._counters.setdefault(shared, [None] * LEVELS)
        value = counters[level]
        anew = self._starts[number].pop(level, None)  # once per list
        counters[level] = anew if anew is not None else levels[level].start if value is None else value + 1
        for below in range(level + 1, LEVELS):
            after = levels[below].restarts_after if below in levels else None
            if after is None or level < after:
                counters[below] = None


def left_indent(element: Element, *, default: int) -> int:
    """The left indent that a paragraph, a style or a level of a list of Word sets, in twentieths of a point.

    Parameters
    ----------
    element : the paragraph, style or level
    default : the result if it sets none
    """
    indent = child(element, "pPr", "ind")
    return _integer(attribute(indent, "left") or attribute(indent, "start"), default)


def _levels(element: Element) -> Iterator[tuple[int, _Level]]:
    for each in element:
        if local_name(each) != "lvl":
            continue
        restart = attribute(child(each, "lvlRestart"), "val")
        yield (
            _integer(attribute(each, "ilvl"), 0),
            _Level(
                _integer(attribute(child(each, "start"), "val"), 1),
                attribute(child(each, "numFmt"), "val", default="decimal"),
                attribute(child(each, "lvlText"), "val"),
                _integer(restart, 0) if restart else None,
                is_on(child(each, "isLgl")),
                attribute(child(each, "pStyle"), "val"),
                left_indent(each, default=-1),
            ),
        )


def _integer(text: str, default: int) -> int:
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else default


# Numbers as a number format shows them.


_MARKS = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]|_.|\*.|(?P<plain>[$€£¥₹ ])|(?P<code>.)'
)
_SECTION = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*$)')  # a semicolon outside of quotes


_DECIMALS = re.compile(r"\.(0+)")
_LONGEST_FORMAT = 255  # Excel's limit


def shown_number(value: float, shape: str) -> str:
    """A number with all digits, at least the decimals of its format, and the unit or currency that the format writes beside it.

    Parameters
    ----------
    value : the number
    shape : the format

    Examples
    --------
    >>> shown_number(0.125, "0%"), shown_number(12, '#,##0 "EUR"'), shown_number(3.5, "0.00"), shown_number(3.0, "General")
    ('12.5%', '12 EUR', '3.50', '3')
    """
    places, before, behind = literals(shape)
    if "%" in places:
        return f"{before}{value * 100:.12g}%{behind}"
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    digits = str(int(value) if is_whole else value)
    least = _DECIMALS.search(places)
    if least and "e" not in digits and "E" not in places:
        whole, _, decimals = digits.partition(".")
        digits = f"{whole}.{decimals.ljust(len(least[1]), '0')}"
    return f"{before}{digits}{behind}"


@lru_cache(maxsize=1024)
def literals(shape: str) -> tuple[str, str, str]:
    """The places for digits in a number format, and the text that it writes before and behind the number."""
    places = before = behind = ""
    for mark in _MARKS.finditer(_SECTION.split(shape[:_LONGEST_FORMAT], maxsplit=1)[0]):
        if mark["code"]:
            places += mark["code"]
            continue
        text = mark["quoted"] or mark["escaped"] or mark["currency"] or mark["plain"] or ""
        if any(place in places for place in "0#?"):
            behind += text
        else:
            before += text
    return (places, before, behind) if any(place in places for place in "0#?") else (places, "", "")


# Drawings of Office files.

_DAY_0 = date(1899, 12, 30)  # of the serial numbers of dates
_CATEGORIES = ("cat", "xVal")
_VALUES = ("val", "yVal", "bubbleSize")


class _Series(NamedTuple):
    names: tuple[str, ...]
    categories: tuple[tuple[int, str], ...]
    values: tuple[dict[int, str], ...]


def chart_text(chart: Element, produced: Produced) -> str:
    """The title of a chart, and its categories and series as a Markdown table.

    Series with other categories have a table of their own.

    Parameters
    ----------
    chart : root of the chart part
    produced : counts the cells
    """
    plots = child(chart, "chart", "plotArea")
    if plots is None:
        return ""
    titles = [text for text in (words_of(child(chart, "chart", "title")), *_axis_titles(plots, "valAx")) if text]
    corner = " / ".join((*_axis_titles(plots, "catAx"), *_axis_titles(plots, "dateAx")))
    blocks = ["\n".join(titles)] if titles else []
    series = [each for plot in plots for each in plot if local_name(each) == "ser"]
    read = [_series(each, number) for number, each in enumerate(series, 1)]
    for categories, group in groupby(read, key=lambda one: one.categories):
        blocks.append(_series_table(corner, dict(categories), [*group], produced))
    return "\n\n".join(filter(None, blocks))


def chart_titles(chart: Element) -> str:
    """The title of a chart and those of its axes, for a chart beside the table that it shows."""
    plots = children(child(chart, "chart", "plotArea"))
    titles = (child(chart, "chart", "title"), *(child(axis, "title") for axis in plots))
    return "; ".join(filter(None, map(words_of, titles)))


def _series_table(corner: str, labels: dict[int, str], group: list[_Series], produced: Produced) -> str:
    columns = [values for one in group for values in one.values]
    places = sorted({at for points in (labels, *columns) for at in points})
    produced.add_cells(len(places) * (len(columns) + 1))
    head = [Cell(corner, is_head=True), *(Cell(name, is_head=True) for one in group for name in one.names)]
    rows = [[Cell(labels.get(at, "")), *(Cell(values.get(at, "")) for values in columns)] for at in places]
    return Grid([head, *rows], produced=produced).markdown()


def _axis_titles(plots: Element, name: str) -> list[str]:
    return [text for axis in plots if local_name(axis) == name if (text := words_of(child(axis, "title")))]


def _series(element: Element, number: int) -> _Series:
    name = " ".join(_cached(child(element, "tx")).values()) or f"Series {number}"
    categories: dict[int, str] = {}
    values: list[dict[int, str]] = []
    for each in element:
        if local_name(each) in _CATEGORIES:
            categories = _cached(each)
        elif local_name(each) in _VALUES:
            values.append(_cached(each))
    names = (name, *(f"{name} size" for _ in values[1:])) if values else ()
    return _Series(names, tuple(categories.items()), tuple(values))


def _cached(element: Element | None) -> dict[int, str]:
    """The cached values by index. A category with several levels has the outer ones in front."""
    if element is None:
        return {}
    levels = [_points(each) for each in element.iter() if local_name(each) == "lvl"]
    if not levels:
        return _points(element)
    inner, *outer = levels
    names = [""] * len(outer)
    joined: dict[int, str] = {}
    for at in sorted({at for level in levels for at in level}):
        names = [level.get(at, name) for level, name in zip(outer, names, strict=True)]
        joined[at] = " ".join(filter(None, (*reversed(names), inner.get(at, ""))))
    return joined


def _points(element: Element) -> dict[int, str]:
    shape = ""
    points: dict[int, str] = {}
    for each in element.iter():
        if local_name(each) == "formatCode":
            shape = each.text or ""
        elif local_name(each) == "pt" and (index := attribute(each, "idx")).isdecimal() and len(index) < 10:
            value = child(each, "v")
            text = value.text if value is not None else ""
            points[int(index)] = clean_title(clean(_shown(text or "", attribute(each, "formatCode", default=shape))))
    if not points:  # a literal name
        points = {at: clean_title(clean(each.text or "")) for at, each in enumerate(element) if local_name(each) == "v"}
    return points


def _shown(text: str, shape: str) -> str:
    try:
        value = float(text)
    except ValueError:
        return text
    places = literals(shape)[0].lower()
    if "y" in places and 0 < value < 2_958_466:  # the year 9999
        return (_DAY_0 + timedelta(days=int(value))).isoformat()
    return shown_number(value, shape) if shape and shape != "General" else text


def words_of(element: Element | None) -> str:
    """The text of a title or a shape on one line."""
    if element is None:
        return ""
    paragraphs = [each for each in element.iter() if local_name(each) == "p"]
    texts = ("".join(part.text or "" for part in each.iter() if local_name(part) == "t") for each in paragraphs)
    values = (each.text or "" for each in element.iter() if local_name(each) == "v")
    return clean_title(clean(" ".join((*texts, *values))))


_NO_NODES = ("parTrans", "pres", "sibTrans")


def diagram_text(model: Element) -> str:
    """The texts of SmartArt as a nested list.

    Parameters
    ----------
    model : root of the data part of the diagram
    """
    nodes: dict[str, str] = {}
    for each in children(child(model, "ptLst")):
        if attribute(each, "type") not in _NO_NODES:
            nodes[attribute(each, "modelId")] = words_of(child(each, "t"))
    below: dict[str, list[tuple[int, str]]] = {}
    has_parent: set[str] = set()
    for each in children(child(model, "cxnLst")):
        if attribute(each, "type", default="parOf") == "parOf":
            order = attribute(each, "srcOrd", default="0")
            place = int(order) if order.isdecimal() and len(order) < 10 else 0
            below.setdefault(attribute(each, "srcId"), []).append((place, attribute(each, "destId")))
            has_parent.add(attribute(each, "destId"))
    return "\n".join(_outline([key for key in nodes if key not in has_parent], nodes, below))


def _outline(tops: Iterable[str], nodes: dict[str, str], below: dict[str, list[tuple[int, str]]]) -> Iterator[str]:
    """The nodes depth first, each once; nodes without text do not count as a level."""
    seen: set[str] = set()
    stack = [(key, 0) for key in reversed([*tops])]
    stack = [(key, 0) for key in reversed([*nodes])] + stack  # those in a cycle come last
    while stack:
        key, level = stack.pop()
        if key in seen or key not in nodes:
            continue
        seen.add(key)
        if nodes[key]:
            yield list_item(nodes[key], "", level=level)
        inner = sorted(below.get(key, ()), reverse=True)
        stack += [(each, level + bool(nodes[key])) for _, each in inner]


# Inline XBRL: what a filing says of its numbers without showing it.


MARKS = re.compile("[\u2801-\u28ff]{2}")  # Braille, which stands behind numbers while the page is extracted
_MARK, _BASE = 0x2801, 255
_MOST_FACTS = _BASE**2
_COMMA, _ZERO = ("commadecimal", "dotcomma"), ("zero", "dash")  # parts of names of formats


def marked_facts(tree: Element) -> list[tuple[str, str]]:
    """Put a mark behind each number that is a fact, in place. The hidden header of a filing has none.

    Returns
    -------
    list
        For each mark, in their order: the number as it is shown, and what it stands for, such as
        ``1,234 is us-gaap:Revenues 1,234,000,000 USD, 2025-01-01 to 2025-12-31``.

    References
    ----------
    XBRL International, Inline XBRL 1.1, "ix:nonFraction".
    """
    contexts = {str(each.get("id")): _period(each) for each in tree.iter("xbrli:context")}
    units = {str(each.get("id")): _unit(each) for each in tree.iter("xbrli:unit")}
    facts: list[tuple[str, str]] = []
    for element in list(tree.iter("ix:nonfraction"))[:_MOST_FACTS]:
        shown = MARKS.sub("", _said(element))
        about = (_value(element, shown), units.get(str(element.get("unitref")), ""))
        value = " ".join(filter(None, (str(element.get("name", "")), *about)))
        if not shown or any(each.tag == "ix:header" for each in element.iterancestors()):
            continue
        value = ", ".join(filter(None, (value, contexts.get(str(element.get("contextref"))))))
        facts.append((shown, f"{shown} is {value}"))
        mark = "".join(chr(_MARK + digit) for digit in divmod(len(facts) - 1, _BASE))
        if len(element):
            element[-1].tail = f"{(element[-1].tail or '').rstrip()}{mark}"
        else:
            element.text = f"{(element.text or '').rstrip()}{mark}"
    return facts


def _said(element: Element) -> str:
    return " ".join("".join(map(str, element.itertext())).split())


def _period(context: Element) -> str:
    """The time of a fact, and the members of dimensions that it is about."""
    dates = [_said(each) for name in ("startdate", "enddate", "instant") for each in context.iter(f"xbrli:{name}")]
    members = [_said(each) for each in context.iter("xbrldi:explicitmember", "xbrldi:typedmember")]
    return ", ".join(filter(None, (" to ".join(dates), *members)))


def _unit(unit: Element) -> str:
    names = [_said(each).rpartition(":")[2] for each in unit.iter("xbrli:measure")]
    return "/".join(name for name in names if name != "pure")


def _value(element: Element, shown: str) -> str:
    """The number of a fact with its scale and its sign; empty if its format is not known."""
    form = re.sub(r"[^a-z]", "", str(element.get("format", "")).lower().rpartition(":")[2])
    digits = re.sub(r"[\s\u00a0']", "", shown)
    if any(part in form for part in _COMMA):
        digits = digits.replace(".", "").replace(",", ".")
    elif any(part in form for part in _ZERO) and "dec" not in form:
        digits = "0"
    else:
        digits = digits.replace(",", "")
    scale = str(element.get("scale") or "0")
    if not re.fullmatch(r"\d{1,30}(?:\.\d{1,30})?", digits) or not re.fullmatch(r"[-+]?\d{1,2}", scale):
        return ""
    number = Decimal(digits).scaleb(int(scale)) * (-1 if element.get("sign") == "-" else 1)
    return f"{number:,f}".rstrip("0").rstrip(".") if "." in f"{number:f}" else f"{number:,f}"


def unmarked(text: str, facts: Sequence[tuple[str, str]]) -> tuple[str, tuple[Detail, ...]]:
    """The text without marks, and what the marks stand for.

    Parameters
    ----------
    text : a text with marks
    facts : those of :func:`marked_facts`
    """
    parts: list[str] = []
    details: list[Detail] = []
    at = size = 0
    for mark in MARKS.finditer(text) if facts else ():
        parts.append(text[at : mark.start()])
        size += mark.start() - at
        at = mark.end()
        number = (ord(mark[0][0]) - _MARK) * _BASE + ord(mark[0][1]) - _MARK
        if number < len(facts):
            shown, detail = facts[number]
            details.append(Detail(max(0, size - len(shown)), size, detail))
    return "".join([*parts, text[at:]]), tuple(sorted(details))
