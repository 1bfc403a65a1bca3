"""Map the columns of a table to an entity and its facts: key, name, typed values and references.

:func:`table_mapping` reads a mapping from YAML, :class:`TableDocuments` converts rows to documents with it, and
:func:`check_table` compares it with a whole table before anything is stored. The text of a row has one line per fact,
``Label: value``; :mod:`hlgraph.extract.extractor` reads the facts from these lines. :func:`preview` infers a mapping from a table,
and :func:`as_yaml` writes it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from hlgraph.errors import InputError, ReadError
from hlgraph.ids import checksum, normalise_name
from hlgraph.read.content import Origin, clean
from hlgraph.read.rows import IN_FRAGMENT, Flaw, Row, column_of, hash_of, leaves, metadata_of, one_line, shown
from hlgraph.read.sql import SqlQuery
from hlgraph.records import Document, MetadataValue, Scalar
from hlgraph.text import canonical_time

if TYPE_CHECKING:
    pass

_Part = TypeVar("_Part")
ColumnType = Literal["text", "number", "date", "boolean", "reference"]
YES_NO = {"true": True, "yes": True, "y": True, "1": True, "false": False, "no": False, "n": False, "0": False}
_BETWEEN = ": "  # label and value in a line
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ISO_INSTANT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
_NUMBERS = {
    ".": re.compile(r"[+-]?((\d{1,3}(,\d{3})+|\d{1,3}([ ']\d{3})+|\d+)(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE),
    ",": re.compile(r"[+-]?((\d{1,3}(\.\d{3})+|\d{1,3}([ ']\d{3})+|\d+)(,\d*)?|,\d+)(e[+-]?\d+)?", re.IGNORECASE),
}
_NEGATIVE = re.compile(r"\(([^()-]+)\)|([^()]*\d)\s?-")  # as accountants write it
_NOTHING = frozenset(("n/a", "#n/a", "na", "null", "none", "-", "\u2013", "\u2014"))  # in columns that hold no text
_INT64 = 1 << 63
_MOST_WRONG = 0.1  # share of rows; more is a wrong mapping, not damaged rows
_SHOWN = 30  # columns in an error
_LONGEST_NAME = 1_000  # characters
_QUOTED = 80  # characters of a cell in an error


class TableColumn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the values of a column are read.

    Attributes
    ----------
    type : ``text``, ``number``, ``date`` or ``boolean`` (a fact with a literal object), or ``reference`` (a fact between two
        entities)
    label : label in the statement; default the name of the column
    predicate : predicate of the fact; default the label
    unit : unit of a number, which the cell may write before or behind it
    decimal : decimal sign of numbers that are written as text; the other sign may separate groups of three digits
    format : form of dates that are not written as ISO 8601, as in :meth:`datetime.datetime.strptime`
    kind : kind of the entities of a reference
    separator : separates the values of a cell with several references; default none, the cell is one
    """

    type: ColumnType = "text"
    label: str = ""
    predicate: str = ""
    unit: str = ""
    decimal: Literal[".", ","] = "."
    format: str = ""
    kind: str = ""
    separator: str = ""


class TableMapping(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, dict=True
):
    """Maps the columns of a table.

    Attributes
    ----------
    name : column with the name of the row's entity
    key : column that identifies a row; without one, an edited row is a new source
    kind : kind of the entities
    sheet : sheet of a workbook, default the first with rows
    sql : query whose result is the table ``sql:NAME``; default none, the tables are files
    columns : the columns that give facts. Columns that are not mapped become metadata of the row, without a fact
    """

    name: str
    key: str = ""
    kind: str = ""
    sheet: str = ""
    sql: SqlQuery | None = None
    columns: dict[str, TableColumn] = {}

    def __post_init__(self) -> None:
        """Refuse labels that are ambiguous, and options that have no effect. Raises InputError."""
        if not self.name:
            raise InputError("mapping of rows: its name is empty; give the column with the names of the entities")
        labels: dict[str, str] = {}
        for name, column in self.facts.items():
            label = self.label(name)
            if not label or _BETWEEN in f"{label} ":
                raise _wrong(name, f"its label {label!r} is empty or holds a colon; give it another label")
            if label in labels:
                raise _wrong(name, f"column {labels[label]!r} has the same label {label!r}; give one another label")
            labels[label] = name
            for option, types in _OF_TYPES.items():
                if getattr(column, option) not in ("", ".") and column.type not in types:
                    raise _wrong(name, f"{option} has no effect on a {column.type}; leave it out")
        if self.facts[self.name].type != "text":
            raise _wrong(self.name, "it is the name, so its type is text")

    @cached_property
    def facts(self) -> dict[str, TableColumn]:
        """The columns that are part of the statement, in its order: name, key, then the others."""
        first = [name for name in dict.fromkeys((self.name, self.key)) if name]
        return {name: self.columns.get(name, TableColumn()) for name in first} | dict(self.columns)

    def label(self, name: str) -> str:
        """The label of a column in the statement."""
        return self.facts[name].label or one_line(name)

    @cached_property
    def by_label(self) -> dict[str, tuple[str, TableColumn]]:
        """The name and the mapping of each column of the statement, by label."""
        return {self.label(name): (name, column) for name, column in self.facts.items()}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the mapping, without its query."""
        return checksum(msgspec.json.encode(msgspec.structs.replace(self, sql=None)).decode())

    def split(self, line: str) -> tuple[str, TableColumn, str]:
        """The column, its mapping and the value of a line of a row's text; an unknown label gives an empty column."""
        label, _, value = line.partition(_BETWEEN)
        name, column = self.by_label.get(label, ("", TableColumn()))
        return name, column, value


_TYPED = ("number", "date", "boolean")
_OF_TYPES = {
    "unit": ("number",),
    "decimal": ("number",),
    "format": ("date",),
    "kind": ("reference",),
    "separator": ("reference",),
}
AnyTableMapping: TypeAlias = TableMapping | Mapping[str, object] | str | Path


def _wrong(column: str, reason: str) -> InputError:
    return InputError(f"mapping of rows, column {column!r}: {reason}")


def table_mapping(source: AnyTableMapping) -> TableMapping:
    """A mapping from a YAML file, or from the same tree as an object.

    Parameters
    ----------
    source : path of a YAML file, or its tree; a mapping is returned unchanged. In ``columns``, a type alone may stand for a column

    Raises
    ------
    InputError
        The file cannot be read, or the mapping cannot be used.

    Examples
    --------
    >>> columns = {"Mass": {"type": "number", "unit": "kg"}, "Made": "date"}
    >>> mapping = table_mapping({"key": "No", "name": "Part", "columns": columns})
    >>> mapping.columns["Made"].type
    'date'
    """
    if isinstance(source, TableMapping):
        return source
    where, tree = _tree(source)
    columns = tree.get("columns")
    if isinstance(columns, Mapping):
        columns = {name: {"type": rule} if isinstance(rule, str) else rule or {} for name, rule in columns.items()}
        tree = {**tree, "columns": columns}
    return _converted(tree, TableMapping, where)


def query_of(path: str) -> SqlQuery:
    """The query of a YAML file with a mapping, which may lack everything else. Raises InputError if there is none."""
    where, tree = _tree(path)
    if not isinstance(tree.get("sql"), Mapping):
        raise InputError(f"{where}has no query; write sql: with connection: and query: below it")
    return _converted(tree["sql"], SqlQuery, where)


def is_list(path: str) -> bool:
    """Whether a YAML file holds a list, which is a table, and not a mapping of rows. Raises InputError if it is damaged."""
    return isinstance(_yaml(Path(path)), list)


def _tree(source: Mapping[str, object] | str | Path) -> tuple[str, Mapping[str, Any]]:
    """The name of a mapping for errors, and its tree."""
    where = f"{source}: " if isinstance(source, str | Path) else ""
    tree = _yaml(Path(source)) if isinstance(source, str | Path) else source
    if not isinstance(tree, Mapping):
        raise InputError(f"{where}a mapping of rows needs at least a name, such as name: Part; see hlgraph plan --rows")
    return where, tree


def _converted(tree: Mapping[str, object], kind: type[_Part], where: str) -> _Part:
    try:
        return msgspec.convert(dict(tree), kind)
    except msgspec.ValidationError as error:
        cause = error.__cause__
        raise InputError(f"{where}{cause if isinstance(cause, InputError) else f'mapping of rows: {error}'}") from error


def _yaml(path: Path) -> object:
    import yaml

    try:
        # All scalars are text: a column may be called No, which YAML reads as false.
        return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader makes no objects
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); give the YAML file with a mapping of rows"
        ) from error
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path}: is no mapping of rows ({' '.join(str(error).split())})") from error


# Cells


Value: TypeAlias = tuple[str, Scalar]
"""A cell as text for the statement, and as a typed value."""


class _CellError(ReadError):
    """A cell that cannot be read as the type of its column.

    Parameters
    ----------
    uri : URI of the row
    column : its column
    reason : why, as a predicate of the column
    """

    def __init__(self, uri: str, column: str, reason: str) -> None:
        super().__init__(uri, f"its column {column!r} {reason}", "correct the cell, or the mapping of its column")
        self.column = column


def number(cell: object, *, unit: str = "", decimal: str = ".") -> int | float | None:
    """The number in a cell, or None if the cell holds no number.

    Parameters
    ----------
    cell : a number, or a text that holds one, with or without the unit
    unit : see :class:`TableColumn`
    decimal : see :class:`TableColumn`

    Examples
    --------
    >>> number("1,250 kg", unit="kg"), number("1.250,5-", decimal=","), number("(1'250)"), number("n/a")
    (1250, -1250.5, -1250, None)
    """
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        return None
    if isinstance(cell, str):
        text = one_line(cell).replace("\u2212", "-").replace("\u2019", "'").removesuffix(unit).strip()
        if negative := _NEGATIVE.fullmatch(text):
            text = f"-{negative[1] or negative[2]}"
        sign = "-" if text.startswith("-") else ""
        text = sign + text.removeprefix("-").removesuffix(unit).removeprefix(unit).strip() if unit else text
        if not text.isascii() or not _NUMBERS[decimal].fullmatch(text):
            return None
        text = re.sub("[ ']", "", text).replace("." if decimal == "," else ",", "").replace(",", ".")
        cell = int(text) if text.lstrip("+-").isdecimal() and len(text) < _LONGEST_INT else float(text)
    if isinstance(cell, int):
        return cell if -_INT64 <= cell < _INT64 else float(cell)
    return cell if math.isfinite(cell) else None


_LONGEST_INT = 300  # digits; more overflow a float


def instant(cell: object, form: str = "") -> str | None:
    """The date in a cell, with or without a time, in its canonical form; None if it holds no date.

    Parameters
    ----------
    cell : a date, or a text that holds one
    form : see ``format`` of :class:`TableColumn`; default ISO 8601

    Examples
    --------
    >>> instant("2024-03-05"), instant("05/03/2024", "%d/%m/%Y"), instant("2024-02-31"), instant(2024)
    ('2024-03-05', '2024-03-05', None, None)
    """
    if isinstance(cell, date):
        return str(canonical_time(date.fromisoformat(shown(cell)) if _ISO_DATE.fullmatch(shown(cell)) else cell))
    text = shown(cell)
    try:
        if form:
            read = datetime.strptime(text, form)  # noqa: DTZ007 - canonical_time takes a time without a zone as UTC
            return str(canonical_time(read.date() if read.time() == time() else read))
        if _ISO_DATE.fullmatch(text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        return None
    canonical = str(canonical_time(text)) if _ISO_INSTANT.fullmatch(text) else text
    return canonical if canonical != text or canonical.endswith("+00:00") else None


def _values(cell: object, text: str, column: TableColumn) -> Sequence[Value] | None:
    """The values of a cell, which ``text`` shows; None if it is not of the type of its column."""
    if column.type == "text":
        return ((text, text),) if text else None
    if column.type == "number":
        read = number(cell, unit=column.unit, decimal=column.decimal)
        is_bare = not column.unit or text.endswith(column.unit) or text.startswith(column.unit)
        return None if read is None else ((text if is_bare else f"{text} {column.unit}", read),)
    if column.type == "date":
        canonical = instant(cell, column.format)
        return None if canonical is None else ((canonical, canonical),)
    if column.type == "boolean":
        return ((text, YES_NO[text.lower()]),) if text.lower() in YES_NO else None
    if column.separator or isinstance(cell, list | tuple):
        cells = cell if isinstance(cell, list | tuple) else text.split(column.separator)
        return [(each, each) for each in dict.fromkeys(map(shown, cells)) if each]
    return ((text, text),) if text else ()


def _check_names(uri: str, column: str, names: Iterable[Value]) -> None:
    """Refuse names of entities that are empty once they are normalised, or too long for an index."""
    for name, _ in names:
        if not (name[0].isalnum() or normalise_name(name)):
            raise _CellError(uri, column, f"is {name!r}, no name")
        if len(name) > _LONGEST_NAME:
            raise _CellError(uri, column, f"has {len(name):,} characters, more than a name's {_LONGEST_NAME:,}")


# Rows


class TableDocuments:
    """Converts rows to documents: the text has a line ``Label: value`` for each fact, the metadata have the typed values.

    Parameters
    ----------
    mapping : maps the columns
    value_of : converts a cell of a column that is not mapped to metadata
    """

    unused: tuple[str, ...] = ()  # check_table refuses columns that no row has

    def __init__(self, mapping: TableMapping, value_of: Callable[[object], MetadataValue | None]) -> None:
        self._mapping = mapping
        self._value_of = value_of
        self._facts = [
            (name, column, f"{mapping.label(name)}{_BETWEEN}", clean(name)) for name, column in mapping.facts.items()
        ]

    def key(self, origin: Origin, columns: Mapping[str, object]) -> str:
        """The key of a row; empty without a key column.

        Parameters
        ----------
        origin : the file
        columns : the values by column name

        Raises
        ------
        ReadError
            The key is empty.
        """
        key = shown(column_of(columns, self._mapping.key)) if self._mapping.key else ""
        if self._mapping.key and not key:
            raise _CellError(origin.uri, self._mapping.key, "is the key, and empty")
        if len(key) > _LONGEST_NAME:
            raise _CellError(origin.uri, self._mapping.key, f"is the key, and longer than {_LONGEST_NAME:,} characters")
        return key

    def facts(self, uri: str, columns: Mapping[str, object]) -> tuple[list[str], dict[str, MetadataValue]]:
        """The lines of the text of a row, and the typed values of its facts.

        Parameters
        ----------
        uri : URI of the row
        columns : the values by column name

        Raises
        ------
        ReadError
            It has no name, or a cell is not of the type of its column.
        """
        lines: list[str] = []
        metadata: dict[str, MetadataValue] = {}
        for name, column, start, metadata_name in self._facts:
            cell = columns[name] if name in columns else column_of(columns, name)
            text = shown(cell)
            is_nothing = column.type in _TYPED and text.lower() in _NOTHING
            if is_nothing or cell is None or cell == [] or (not text if isinstance(cell, str) else cell != cell):  # noqa: PLR0124 - NaN
                if name == self._mapping.name:
                    raise _CellError(uri, name, "is the name, and empty")
                continue
            values = _values(cell, text, column)
            if values is None:
                raise _CellError(uri, name, f"is {(text or str(cell))[:_QUOTED]!r}, no {column.type}")
            if column.type == "reference" or name == self._mapping.name:
                _check_names(uri, name, values)
            lines += [start + each for each, _ in values]
            if values:
                metadata[metadata_name] = values[0][1] if len(values) == 1 else tuple([typed for _, typed in values])
        return lines, metadata

    def document(self, origin: Origin, columns: Mapping[str, object]) -> Document:
        """Convert a row to a document.

        Parameters
        ----------
        origin : the file
        columns : the values by column name

        Raises
        ------
        ReadError
            The row has no key or no name, or a cell is not of the type of its column.
        """
        key = self.key(origin, columns)
        uri = f"{origin.uri}#{quote(key or hash_of(columns), safe=IN_FRAGMENT)}"
        lines, typed = self.facts(uri, columns)
        others = {name: cell for name, cell in columns.items() if name and name not in self._mapping.facts}
        metadata = metadata_of(others, value_of=self._value_of) | typed
        return Document(uri, "\n".join(lines), str(typed[self._facts[0][3]]), metadata, key=key or None)


def check_table(
    origin: Origin,
    rows: Iterable[Row | Flaw],
    *,
    mapping: TableMapping,
    value_of: Callable[[object], MetadataValue | None],
    unit: str = "row",
) -> None:
    """Compare a mapping with a whole table.

    A cell that cannot be read makes its row a failure and leaves the others. If that happens in more than a tenth of the rows,
    the mapping is wrong.

    Parameters
    ----------
    origin : the file
    rows : its rows
    mapping : maps its columns
    value_of : see :class:`TableDocuments`
    unit : word for a row in messages, ``line`` or ``row``

    Raises
    ------
    InputError
        No row has a mapped column, or more than a tenth of the rows cannot be read because of one column.
    """
    documents = TableDocuments(mapping, value_of)
    columns: dict[str, None] = {}
    missing = dict.fromkeys(mapping.facts)
    wrong: Counter[str] = Counter()
    first: dict[str, str] = {}
    numbers: dict[str, int] = {}
    count = 0
    for row in rows:
        if isinstance(row, Flaw):
            continue
        count += 1
        if not row.columns.keys() <= columns.keys():
            columns |= dict.fromkeys(row.columns)
        for name in [name for name in missing if _has(row.columns, name)]:
            del missing[name]
        try:
            key = documents.key(origin, row.columns)
            documents.facts(origin.uri, row.columns)
        except _CellError as error:
            wrong[error.column] += 1
            first.setdefault(error.column, f"{unit} {row.number}: {error.reason}")
            continue
        except (ValueError, RecursionError):  # the ingest reports the row
            continue
        if key and (earlier := numbers.setdefault(key, row.number)) != row.number:
            wrong[mapping.key] += 1
            first.setdefault(mapping.key, f"{unit}s {earlier} and {row.number} have the same key {key!r}")
    there = f"; its columns: {', '.join(list(columns)[:_SHOWN])}; nothing was written"
    if count and missing:
        raise InputError(f"{origin.uri}: the mapping names the column {next(iter(missing))!r}, which no row has{there}")
    for name, number_wrong in wrong.most_common(1):
        if number_wrong > _MOST_WRONG * count:
            reason = f"does not fit {number_wrong:,} of {count:,} rows ({first[name]})"
            raise InputError(f"{origin.uri}: the mapping of the column {name!r} {reason}{there}")


def _has(columns: Mapping[str, object], name: str) -> bool:
    return name in columns or column_of(columns, name) is not None


# Inference: the preview of a mapping, to correct by hand


_MOST_ROWS = 100_000  # rows that are looked at
_MOST_DISTINCT = 200_000  # values kept per column
_MOST_NESTED = 100  # values of a nested object
_LONGEST_INFERRED = 80  # characters of a name; longer values are text
_LEAST_REPEATED = 2  # mean rows per value of a reference
_KEYS = re.compile(r"(?:.*[\W_])?(?:id|key|no|nr|number|code|sku|isbn|uuid)\W*", re.IGNORECASE)
_NAMES = re.compile(r"(?:[^.]*[^.\w]|[^.]*_)?(?:name|title|label)\W*", re.IGNORECASE)
_CURRENCY = "AUD|CAD|CHF|CZK|DKK|EUR|GBP|JPY|NOK|PLN|SEK|USD"
_UNIT_OF_HEADER = re.compile(
    r"(?P<label>.*\S)(?:\s*[(\[](?P<unit>[^\s()\[\]\d]{1,8}|[^\s()\[\]]{1,4})[)\]]"
    rf"|\s(?P<currency>{_CURRENCY}|[$€£¥%]))"
)
_UNIT_OF_CELL = re.compile(rf"[+-]?(?P<before>[$€£¥₹]|{_CURRENCY})?\s?[+-]?[\d.,' ]*\d\s?(?P<behind>[^\d\s.,]{{0,8}})")
_CODE = re.compile(r"0[\d ']+")  # 01234, 030 123 456
_GROUP = re.compile(r"[^\d.,]*[1-9]\d{0,2}\.\d{3}\D*")  # 1.250 is ambiguous
_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%d %B %Y", "%B %d, %Y", "%d %b %Y")


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
        return all(len(text) <= _LONGEST_INFERRED for text in self.distinct)

    @property
    def is_unique(self) -> bool:
        """Whether no value occurs twice."""
        return self.is_scalar and len(self.distinct) == self.count

    def all(self, condition: Callable[[str], object]) -> bool:
        """Whether all values meet a condition."""
        return bool(self.distinct) and all(map(condition, self.distinct))


def infer_mapping(origin: Origin, rows: Iterable[Row | Flaw]) -> TableMapping:
    """A mapping that fits the first 100,000 rows of a table.

    The key is a column whose values are unique and never empty, of numbers only if its name says so or it is the first. The name is
    a text column, if possible also unique. Numbers, dates and booleans are columns whose every cell is one, but for cells such as
    ``n/a``. What 03/04/2024 and 1.250 mean, other cells must show, else the column is text. A reference is a column of short,
    capitalised values that repeat, or that are names of other rows; everything else is text. Numbers with leading zeros, such as
    postcodes, are text.

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
            nested = leaves(cell, name) if isinstance(cell, Mapping) else ()
            for path, value in chain(((name, cell),), islice(nested, _MOST_NESTED)):
                if path:
                    profiles.setdefault(path, _Profile()).add(value)
        if count >= _MOST_ROWS:
            break
    if not count:
        raise InputError(f"{origin.uri}: has no rows to infer a mapping from")
    scalar = {name: profile for name, profile in profiles.items() if profile.count and profile.is_scalar}
    types = {name: _column(name, profile) for name, profile in scalar.items()}
    if any(column.decimal == "," for column in types.values()):  # in such a table 1.250 is no longer ambiguous
        types = {name: _column(name, profile, has_comma=True) for name, profile in scalar.items()}
    unique = [
        name for name in types if profiles[name].is_unique and profiles[name].count == count and profiles[name].is_short
    ]
    first = next(iter(profiles))
    keys = [
        name
        for name in unique
        if types[name].type == "text" or (_is_whole(types[name], profiles[name]) and _is_key(name, first))
    ]
    key = next(filter(_KEYS.fullmatch, keys), keys[0] if keys else "")
    texts = [
        name
        for name in types
        if types[name].type == "text" and profiles[name].count == count and profiles[name].is_short
    ]
    candidates = [
        *(name for name in texts if _NAMES.fullmatch(name)),
        *(name for name in texts if name == key == first and not _KEYS.fullmatch(name)),
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


def _is_key(name: str, first: str) -> bool:
    """Whether a column of numbers may be the key: amounts are unique by chance."""
    return name == first or _KEYS.fullmatch(name) is not None


def _is_whole(column: TableColumn, profile: _Profile) -> bool:
    return column.type == "number" and all(text.lstrip("-").isdecimal() for text in profile.distinct)


def _column(name: str, profile: _Profile, *, has_comma: bool = False) -> TableColumn:
    """The type of a column, with its unit and its form; in a table whose other columns may have a comma before decimals."""
    header = _UNIT_OF_HEADER.fullmatch(name)
    texts = [text for text in profile.distinct if text.lower() not in _NOTHING]
    if texts and all(text.lower() in YES_NO and not text.isdecimal() for text in texts):
        return TableColumn(type="boolean")
    bare = [_NEGATIVE.sub(r"\1\2", text.replace("\u2212", "-").replace("\u2019", "'")) for text in texts]
    units = {(match["before"] or match["behind"]) if match else None for match in map(_UNIT_OF_CELL.fullmatch, bare)}
    named = (header["unit"] or header["currency"]) if header else ""
    unit = units.pop() if len(units) == 1 else "" if units <= {"", named} else None
    is_code = any(map(_CODE.fullmatch, texts))
    is_code = is_code or all(text.endswith("-") for text in texts)  # ages from 18 on
    if texts and unit is not None and not is_code:
        of_header = named if unit in ("", named) else ""
        label = header["label"] if header and of_header else ""
        unit = unit or of_header
        pointed = [text for text in texts if "." in text] if profile.is_text else []
        is_ambiguous = bool(pointed) and all(map(_GROUP.fullmatch, pointed))
        has_mark = any("," in text for text in texts)
        decimals: tuple[Literal[".", ","], ...] = (",", ".") if has_comma and has_mark else (".", ",")
        if is_ambiguous:
            decimals = (",",) if has_comma or has_mark else ()
        for decimal in decimals:
            if all(number(text, unit=unit, decimal=decimal) is not None for text in texts):
                return TableColumn(type="number", label=label, unit=unit, decimal=decimal)
    fitting = [form for form in ("", *_FORMATS) if texts and all(instant(text, form) is not None for text in texts)]
    if fitting and all(instant(text, form) == instant(text, fitting[0]) for form in fitting[1:] for text in texts):
        return TableColumn(type="date", format=fitting[0])
    return TableColumn()


def _reference(column: TableColumn, profile: _Profile, names: _Profile) -> TableColumn:
    """The column as a reference if its values are names of rows, or short, capitalised and repeated."""
    if column.type != "text" or not profile.is_short:
        return column
    is_row = profile.all(names.distinct.__contains__) and profile is not names
    is_name = profile.all(lambda text: text[0].isupper() and any(map(str.islower, text)))
    is_repeated = profile.count >= _LEAST_REPEATED * len(profile.distinct)
    return TableColumn(type="reference") if is_row or (is_name and is_repeated) else column


def as_yaml(mapping: TableMapping) -> str:
    """A mapping as the YAML file that :func:`hlgraph.read.table_mapping.table_mapping` reads."""
    import yaml

    tree = msgspec.to_builtins(mapping)
    columns = {
        name: rule if set(rule) - {"type"} else rule.get("type", "text")
        for name, rule in tree.get("columns", {}).items()
    }
    tree = tree | {"columns": columns}
    return str(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
