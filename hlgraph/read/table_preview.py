"""Infer a mapping from a table: its key, name, numbers with units, dates, booleans and references.

The result is a preview to correct by hand: :func:`as_yaml` writes it as the file that ``hlgraph ingest --rows`` takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from hlgraph.errors import InputError
from hlgraph.read.content import Origin
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import Flaw, Row, shown
from hlgraph.read.stream import tables
from hlgraph.read.table_mapping import YES_NO, TableColumn, TableMapping, instant, number, query_of

MOST_ROWS = 100_000  # rows that are looked at
_MOST_DISTINCT = 200_000  # values kept per column
_LONGEST_NAME = 80  # characters of a name; longer values are text
_LEAST_REPEATED = 2  # mean rows per value of a reference
_KEYS = re.compile(r"(?:.*[\W_])?(?:id|key|no|nr|number|code|sku|isbn|uuid)\W*", re.IGNORECASE)
_NAMES = re.compile(r"(?:.*[\W_])?(?:name|title|label)\W*", re.IGNORECASE)
_UNIT_OF_HEADER = re.compile(r"(?P<label>.*\S)\s*[(\[](?P<unit>[^\s()\[\]\d]{1,8}|[^\s()\[\]]{1,4})[)\]]")
_UNIT_OF_CELL = re.compile(r"(?P<before>[$€£¥₹]?)\s?[+-]?[\d.,]*\d\s?(?P<behind>[^\d\s.,]{0,8})")
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d %B %Y", "%B %d, %Y", "%d %b %Y")


@dataclass(slots=True)
class _Profile:
    """What the rows show about a column.

    Attributes
    ----------
    count : cells that are not empty
    distinct : their values as text
    is_scalar : no cell holds a list or an object
    is_text : some cell is text
    """

    count: int = 0
    distinct: dict[str, int] = field(default_factory=dict)
    is_scalar: bool = True
    is_text: bool = False

    def add(self, cell: object) -> None:
        """Count a cell."""
        text = shown(cell)
        if isinstance(cell, list | tuple | dict):
            self.is_scalar = False
        if not text:
            return
        self.count += 1
        self.is_text = self.is_text or isinstance(cell, str)
        if text in self.distinct or len(self.distinct) < _MOST_DISTINCT:
            self.distinct[text] = self.distinct.get(text, 0) + 1

    @property
    def is_short(self) -> bool:
        """Whether all values are as short as names."""
        return all(len(text) <= _LONGEST_NAME for text in self.distinct)

    @property
    def is_unique(self) -> bool:
        """Whether no value occurs twice."""
        return self.is_scalar and len(self.distinct) == self.count

    def all(self, condition: Callable[[str], object]) -> bool:
        """Whether all values meet a condition."""
        return bool(self.distinct) and all(map(condition, self.distinct))


def infer_mapping(origin: Origin, rows: Iterable[Row | Flaw]) -> TableMapping:
    """A mapping that fits the first 100,000 rows of a table.

    The key is a column whose values are unique and never empty, the name a text column, if possible also unique. Numbers, dates
    and booleans are columns whose every cell is one. A reference is a column of short, capitalised values that repeat, or that
    are names of other rows; everything else is text. Numbers with leading zeros, such as postcodes, are text.

    Parameters
    ----------
    origin : the file, named in errors
    rows : its rows

    Raises
    ------
    InputError
        There are no rows, or no column can be the name.
    """
    profiles: dict[str, _Profile] = {}
    count = 0
    for row in rows:
        if isinstance(row, Flaw):
            continue
        count += 1
        for name, cell in row.columns.items():
            if name:
                profiles.setdefault(name, _Profile()).add(cell)
        if count >= MOST_ROWS:
            break
    if not count:
        raise InputError(f"{origin.uri}: has no rows to infer a mapping from")
    types = {name: _column(name, profile) for name, profile in profiles.items() if profile.count and profile.is_scalar}
    unique = [
        name for name in types if profiles[name].is_unique and profiles[name].count == count and profiles[name].is_short
    ]
    keys = [name for name in unique if types[name].type in ("text", "number") and not _is_decimal(profiles[name])]
    key = next(filter(_KEYS.fullmatch, keys), keys[0] if keys else "")
    texts = [
        name
        for name in types
        if types[name].type == "text" and profiles[name].count == count and profiles[name].is_short
    ]
    candidates = [
        *(name for name in texts if _NAMES.fullmatch(name)),
        *(name for name in texts if name in unique and name != key),
        *([key] if key else texts),
    ]
    if not candidates:
        there = ", ".join(profiles)
        raise InputError(
            f"{origin.uri}: no column can be the name: none is short text in every row; its columns: {there}"
        )
    chosen = candidates[0]
    columns = {
        name: _reference(column, profiles[name], profiles[chosen])
        for name, column in types.items()
        if name not in (key, chosen)
    }
    return TableMapping(name=chosen, key=key, columns=columns)


def _is_decimal(profile: _Profile) -> bool:
    return not profile.is_text and any(not text.lstrip("-").isdecimal() for text in profile.distinct)


def _column(name: str, profile: _Profile) -> TableColumn:
    """The type of a column, with its unit and its form."""
    header = _UNIT_OF_HEADER.fullmatch(name)
    if profile.all(lambda text: text.lower() in YES_NO and not text.isdecimal()):
        return TableColumn(type="boolean")
    units = {
        (match["before"] or match["behind"]) if match else None
        for match in map(_UNIT_OF_CELL.fullmatch, profile.distinct)
    }
    unit = units.pop() if len(units) == 1 else "" if units <= {"", header["unit"] if header else ""} else None
    is_code = any(len(text) > 1 and text[0] == "0" and text.isdecimal() for text in profile.distinct)
    if unit is not None and not is_code:
        of_header = header["unit"] if header and unit in ("", header["unit"]) else ""
        label = header["label"] if header and of_header else ""
        unit = unit or of_header
        decimals: tuple[Literal["."], Literal[","]] = (".", ",")
        for decimal in decimals:
            if all(number(text, unit=unit, decimal=decimal) is not None for text in profile.distinct):
                return TableColumn(type="number", label=label, unit=unit, decimal=decimal)
    for form in ("", *_FORMATS):
        if all(instant(text, form) is not None for text in profile.distinct):
            return TableColumn(type="date", format=form)
    return TableColumn()


def _reference(column: TableColumn, profile: _Profile, names: _Profile) -> TableColumn:
    """The column as a reference if its values are names of rows, or short, capitalised and repeated."""
    if column.type != "text" or not profile.is_short:
        return column
    is_row = profile.all(names.distinct.__contains__) and profile is not names
    is_name = profile.all(lambda text: text[0].isupper() and any(map(str.islower, text)))
    is_repeated = profile.count >= _LEAST_REPEATED * len(profile.distinct)
    return TableColumn(type="reference") if is_row or (is_name and is_repeated) else column


def preview(paths: Sequence[str], options: ReadOptions) -> TableMapping:
    """The mapping of :func:`infer_mapping` for the first table of some paths.

    Parameters
    ----------
    paths : see :func:`hlgraph.read.discover.discover`; a YAML file holds the query of a mapping, and the table is its result
    options : how the table is read

    Raises
    ------
    InputError
        There is no table, no mapping fits it, or the query fails.
    """
    query = None
    if len(paths) == 1 and paths[0].lower().endswith((".yaml", ".yml")):
        query = query_of(paths[0])
        options, paths = replace(options, rows=TableMapping(name="name", sql=query)), ["sql:query"]
    for origin, table in tables(paths, options):
        return msgspec.structs.replace(infer_mapping(origin, table.rows), sql=query)
    raise InputError(
        f"there is no table among {', '.join(paths) or 'no paths'}; give CSV, XLSX, Parquet, JSON or JSON lines"
    )


def as_yaml(mapping: TableMapping) -> str:
    """A mapping as the YAML file that :func:`hlgraph.read.table_mapping.table_mapping` reads."""
    import yaml

    tree = msgspec.to_builtins(mapping)
    columns = {
        name: rule if set(rule) - {"type"} else rule.get("type", "text") for name, rule in tree["columns"].items()
    }
    tree = tree | {"columns": columns}
    return str(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
