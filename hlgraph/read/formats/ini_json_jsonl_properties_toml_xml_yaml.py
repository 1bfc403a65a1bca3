"""Readers of values with names: JSON, JSON lines, YAML, TOML, INI, Java properties, and XML that holds data.

JSON lines are streamed, so a file of any length needs the memory of its longest line. All others are held in memory. Comments are
words of their file: one on the line of a value or directly above it becomes the value ``NAME comment`` beside it, and the others
stand above the values. Values of YAML, TOML, INI and properties whose names say that they are secrets are withheld.
"""

from __future__ import annotations

import configparser
import io
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
import yaml

from hlgraph.errors import ReadError
from hlgraph.read.bounds import MOST_CELLS, Produced, largest, refused
from hlgraph.read.content import Origin, ReadFailure, Text, clean, clean_title, decode, markdown_rows, read_bounded
from hlgraph.read.formats._blocks import Unread, heading, item
from hlgraph.read.formats._format import RowsFormat
from hlgraph.read.formats._xml import attribute, children, parsed, tag_of
from hlgraph.read.formats.log_text import chat_of, dialogues, text_document
from hlgraph.read.options import ReadOptions
from hlgraph.read.rows import (
    Flaw,
    Lines,
    Row,
    RowMapping,
    Table,
    cell_text,
    cell_value,
    groups_of_lists,
    groups_of_object,
    in_groups,
    metadata_value,
    not_text,
    numbered_leaves,
    object_row,
    pairs_of,
    records_of,
    row_lines,
    table_documents,
    too_long,
)
from hlgraph.records import Document, MetadataValue
from hlgraph.text import ACL

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_MOST_LEVELS = 100
_MOST_NAMED = 10
_MANY = 1_000  # rows that are documents whatever stands beside them
_AS_TEXT = "if it is plain text or a template, add --format text"


@dataclass(slots=True)
class _Comments:
    """The comments of a file, by the mapping and the name of the value that they stand beside."""

    loose: list[str] = field(default_factory=list)
    _beside: dict[int, dict[str, list[str]]] = field(default_factory=dict)

    def add(self, lines: Sequence[str], place: _Place = None) -> None:
        """Add a comment of some lines that stands beside a value, or beside none.

        A setting in it, such as "# port: 80", takes the lines above it: "port = 80: The port of the server."
        """
        said: list[str] = []
        is_key = False  # between the first and the last line of a private key
        for line in filter(None, map(_words_of, lines)):
            if is_key or _KEY_BLOCK.search(line):
                said += () if is_key else [_WITHHELD]
                is_key = "-----END" not in line
            elif off := _SWITCHED_OFF.fullmatch(line):
                self.loose.append(item(f"{off[1]} = {off[2]}{': ' if said else ''}{' '.join(said)}"))
                said = []
            else:
                said.append(line)
        text = " ".join(said)
        if text and place is None:
            self.loose.append(text)
        elif text and place is not None:
            self._beside.setdefault(id(place[0]), {}).setdefault(place[1], []).append(text)

    def names_alone(self, values: dict[str, object]) -> object:
        """The names of a mapping as a list if none of them has a value, else the mapping."""
        if not values or any(value is not None for value in values.values()):
            return values
        for texts in self._beside.pop(id(values), {}).values():
            self.loose += texts
        return list(values)

    def woven(self, value: object) -> object:
        """The value with each comment beside what it stands beside."""
        if not self._beside:
            return value
        if isinstance(value, list):
            return [self.woven(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        beside = self._beside.get(id(value), {})
        woven: dict[str, object] = {}
        for name, entry in value.items():
            woven[name] = self.woven(entry)
            if name in beside:
                woven[f"{name} comment"] = " ".join(beside[name])
        return woven


def _words_of(comment: str) -> str:
    """A line of a comment without its mark, and without the secrets in it; empty for a ruler."""
    text = comment.strip().lstrip("#;!").strip()
    text = _IN_URL.sub(rf"\1:{_WITHHELD}", _IN_COMMENT.sub(_without_secret, text))
    return text if any(map(str.isalnum, text)) else ""


def _without_secret(assigned: re.Match[str]) -> str:
    is_secret = _is_secret(assigned["name"], assigned["value"].strip("\"'"))
    return f"{assigned['name']}{assigned['sign']}{_WITHHELD}" if is_secret else assigned[0]


class _Values(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    values : the value of the file, or those of its documents
    comments : the comments that stand beside no value
    warnings : about what was not read
    value_of : converts a value to a metadata value
    """

    values: Sequence[object]
    comments: Sequence[str] = ()
    warnings: tuple[str, ...] = ()
    value_of: Callable[[object], MetadataValue | None] = metadata_value

    @property
    def are_settings(self) -> bool:
        """Whether people write such files: a name without a value says something."""
        return self.value_of is not metadata_value


_Parser: TypeAlias = Callable[[Origin, Text], _Values]
"""Parses the text of a file."""
_Place: TypeAlias = tuple[dict[str, object], str] | None
"""A mapping and the name of one of its values."""


def read_values(
    origin: Origin, stream: io.BufferedReader, *, options: ReadOptions, parse: _Parser
) -> Iterator[Document | ReadFailure]:
    """One document per object of a list, or one table of all of them if none has a text.

    A top-level object is one row. If it has no text column and exactly one of its values is a list of objects, that list
    holds the rows, unless these are texts and the other values say more. The other values with their names stand above the table.
    Several lists in JSON are tables below their names. Without such a list it is a table of its values and their names, and the
    objects of lists are numbered. A list without an object is a list of items. Each
    document of a YAML file is read by itself, unless each is a row: an object of plain values, or one with a text.

    Parameters
    ----------
    origin : the file, named in URIs and errors
    stream : its decompressed bytes
    options : the column mapping, the encoding and the size limit of the file
    parse : the parser of its format

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each row that is not an object, or has no text column while others have one.

    Raises
    ------
    ReadError
        The file is too large, not text or not of its format.
    """
    whole = _whole(origin, stream, options, parse)
    is_json = len(whole.values) == 1 and not whole.are_settings and not options.mapping
    if is_json:
        chat = chat_of(origin, whole.values[0], warnings=whole.warnings)
        chats = [chat] if chat else dialogues(origin, whole.values[0], warnings=whole.warnings)
        if chats:
            yield from in_groups(groups_of_object(whole.values[0]), chats)
            return
    for number, value in enumerate(whole.values, 1):
        place = Origin(f"{origin.uri}#{number}", origin.name) if len(whole.values) > 1 else origin
        mapping = RowMapping(options.mapping, value_of=whole.value_of)
        yield from in_groups(groups_of_object(value), _documents(place, whole._replace(values=(value,)), mapping))
        whole = whole._replace(comments=(), warnings=())


def _groups_within(origin: Origin, value: Any) -> dict[str, MetadataValue]:
    """The groups that the objects in the lists of an object name, if all of it is one source. Raises ReadError if they differ."""
    lists: dict[str, list[Any]] = {}
    _without_lists(value, lists, "")
    return groups_of_lists(origin, lists.values())


def values_table(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions, parse: _Parser) -> Table:
    """The objects of a list.

    Parameters
    ----------
    origin : the file, named in errors
    stream : its decompressed bytes
    options : the encoding and the size limit of the file
    parse : the parser of its format

    Raises
    ------
    ReadError
        The file cannot be read.
    """
    whole = _whole(origin, stream, options, parse)
    value = list(whole.values) if len(whole.values) > 1 else whole.values[0]
    return _table(_with_floats(value), whole, RowMapping(options.mapping))


def _with_floats(value: object) -> object:
    """A value whose decimals are floats."""
    if isinstance(value, dict):
        return {name: _with_floats(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_with_floats(entry) for entry in value]
    return float(value) if isinstance(value, Decimal) else value


def _whole(origin: Origin, stream: io.BufferedReader, options: ReadOptions, parse: _Parser) -> _Values:
    text = decode(origin, read_bounded(origin, stream, limit=options.max_bytes), encoding=options.encoding)
    whole = parse(origin, text)
    if whole.are_settings:
        whole = _without_secrets(whole)
    values = whole.values
    are_rows = len(values) > 1 and all(isinstance(value, dict) and _is_row(value, options) for value in values)
    return whole._replace(values=(list(values),) if are_rows else values)


_WITHHELD = "(withheld)"
_SECRET = re.compile(
    r"(?:^|_)(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|(?:api|access|account|private|secret|signing|encryption|master)_?key)$"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[\s.-]+")
_ELSEWHERE = re.compile(r"\s*(?:$|\$|%\w|\{\{|<|!|(?i:env|file|vault)s?:)")  # "${DB_PASSWORD}" says where the secret is
_ASSIGNED = re.compile(r"(\w+)=(.+)", re.DOTALL)
_IN_URL = re.compile(r"(?<=://)([^\s:/@]*):[^\s/@]+(?=@)")
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_VALUE = r"\"[^\"]*\"|'[^']*'|\S*[^\s.,;]"
# In a comment: a name with its value, and one that is all of its line.
_IN_COMMENT = re.compile(rf"(?<![\w.-])(?P<name>[\w.-]++)(?P<sign>\s?=\s?|: ?(?=(?:{_VALUE})$))(?P<value>{_VALUE})")
_SWITCHED_OFF = re.compile(rf"([a-z][\w.-]*(?=: )|[\w.-]*\w(?=\s?=))(?:: |\s?=\s?)({_VALUE}|[\[{{].*)")
_ANNOUNCED = re.compile(rf"(?<![\w.-])([\w.-]++)\s?[=:] ?{re.escape(_WITHHELD)}")


def _without_secrets(whole: _Values) -> _Values:
    """The values of a file of settings without its secrets: those that a name announces, of URLs, and private keys."""
    names: list[str] = []

    def shown(value: object, name: str) -> object:
        if isinstance(value, dict):
            pair = value.get("name") if value.keys() == {"name", "value"} else None
            return {key: shown(entry, str(pair or key) if key == "value" else str(key)) for key, entry in value.items()}
        if isinstance(value, list):
            return [shown(entry, name) for entry in value]
        text = cell_text(value)
        if isinstance(value, str) and (assigned := _ASSIGNED.fullmatch(value)) and _is_secret(*assigned.groups()):
            names.append(assigned[1])
            return f"{assigned[1]}={_WITHHELD}"
        if _KEY_BLOCK.search(text) or (not isinstance(value, bool) and _is_secret(name, text)):
            names.append(name)
            return _WITHHELD
        if _IN_URL.search(text) or _WITHHELD in text:  # of a comment
            names.extend(_ANNOUNCED.findall(text) or [name])
            return _IN_URL.sub(rf"\1:{_WITHHELD}", text)
        return value

    values = [shown(value, "") for value in (*whole.values, *whole.comments)][: len(whole.values)]
    if not names:
        return whole
    warning = f"withheld since they are secrets by their names or their form: {_first(list(dict.fromkeys(names)))}"
    return whole._replace(values=values, warnings=(*whole.warnings, warning))


def _is_secret(name: str, text: str) -> bool:
    return _SECRET.search(_HUMP.sub("_", name).lower()) is not None and _ELSEWHERE.match(text) is None


def _is_row(value: dict[str, object], options: ReadOptions) -> bool:
    has_text = RowMapping(options.mapping).has_text(value)
    return has_text or not any(isinstance(entry, dict | list) for entry in value.values())


def _documents(origin: Origin, whole: _Values, mapping: RowMapping) -> Iterator[Document | ReadFailure]:
    [value] = whole.values
    above = list(whole.comments)
    if isinstance(value, list) and value and not any(isinstance(entry, dict) for entry in value):
        items = [item(cell_text(entry)) for entry in value]
        yield text_document(origin, [*above, "\n".join(filter(None, items))], warnings=whole.warnings)
        return
    if whole.are_settings and isinstance(value, list) and not _are_objects(value):
        value = {"": value}
    if (
        isinstance(value, dict)
        and mapping.is_table(())
        and _entries(value, mapping) == [value]
        and not mapping.has_text(value)
    ):
        groups = _groups_within(origin, value)
        alone, has_values = _names_alone(value)
        lists = [
            name
            for name, entry in value.items()
            if isinstance(entry, list) and _are_objects(entry) and any(len(each) > 1 for each in entry)
        ]
        if len(lists) != 1 and not whole.are_settings:
            with suppress(ReadError):  # too many cells: each value with its path
                tables = [*_tables_of(value, lists, Produced(origin, 0, 0))]
                if len(tables) > 1:
                    yield from in_groups(groups, [text_document(origin, [*above, *tables], warnings=whole.warnings)])
                    return
        above += [f"without a value: {', '.join(alone)}"] if alone and whole.are_settings else []
        if not has_values and above:
            yield text_document(origin, above, warnings=whole.warnings)
        else:
            rows = pairs_of(value)
            pairs = table_documents(origin, rows, head=["", ""], unit="value", warnings=whole.warnings, above=above)
            yield from in_groups(groups, pairs)
    elif whole.are_settings and not isinstance(value, dict | list):
        yield text_document(origin, [*above, cell_text(value)], warnings=whole.warnings)
    else:
        comments = {"comment": above} if above else {}
        table = _table(value, whole, mapping)
        names = value.items() if whole.are_settings and isinstance(value, dict) else ()
        name = next((name for name, entry in names if entry is _entries(value, mapping)), "")
        yield from records_of(origin, table, mapping=mapping, beside=comments | _beside(value, mapping), name=name)


def _names_alone(value: dict[str, object]) -> tuple[list[str], bool]:
    """The names of an object that have no value, and whether another one has."""
    alone: list[str] = []
    count = 0
    with suppress(ValueError):  # too many values, which reading them reports
        for name, leaf in numbered_leaves(value):
            count += 1
            if not cell_text(leaf):
                alone.append(name)
    return alone, count > len(alone)


def _are_objects(entries: list[object]) -> bool:
    return all(isinstance(entry, dict) for entry in entries)


def _first(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _table(value: object, whole: _Values, mapping: RowMapping) -> Table:
    entries = _entries(value, mapping)
    rows = (object_row(number, entry) for number, entry in enumerate(entries, 1))
    return Table(rows, value_of=whole.value_of, warnings=whole.warnings)


def _beside(value: object, mapping: RowMapping) -> dict[str, object]:
    """The values of an object beside the list that holds its rows."""
    entries = _entries(value, mapping)
    if not isinstance(value, dict) or entries == [value]:
        return {}
    return {str(name): other for name, other in value.items() if other is not entries and other not in (None, "", [])}


def _entries(value: object, mapping: RowMapping) -> list[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and not mapping.has_text(value):
        lists = [entry for entry in value.values() if isinstance(entry, list) and any(entry) and _are_objects(entry)]
        # A recipe with a name and ingredients is more than its steps, which would be documents without them.
        others = [entry for entry in value.values() if len(lists) != 1 or entry is not lists[0]]
        has_texts = len(lists) == 1 and mapping.is_table(()) and any(map(mapping.has_text, lists[0]))
        is_short = has_texts and len(lists[0]) <= _MANY
        if len(lists) == 1 and not (is_short and len(str(others)) > len(str(lists[0]))):
            return lists[0]
    return [value]


# JSON and JSON lines.


def _json(origin: Origin, text: Text) -> _Values:
    try:
        value = msgspec.json.decode(text.text)
        if _is_cube(value):
            with suppress(
                AttributeError, LookupError, TypeError, ValueError
            ):  # of another kind: its values as they are
                value = _of_cube(value)
        return _Values((value,), warnings=text.warnings)
    except (msgspec.DecodeError, RecursionError) as error:
        mend = "if it holds one object per line, use --format jsonl"
        raise ReadError(origin.uri, f"is not JSON ({error})", mend) from error


def _is_cube(value: object) -> bool:
    """Whether a value is a table of a statistical office (JSON-stat), whose numbers are one list."""
    names = ("id", "size", "dimension", "value")
    return isinstance(value, dict) and value.get("class") == "dataset" and all(value.get(name) for name in names)


def _of_cube(cube: dict[str, Any]) -> dict[str, object]:
    """The numbers of a table of a statistical office as rows, each with its categories; what is said of the table stays.

    References
    ----------
    JSON-stat 2.0.
    """
    names: list[str] = []
    categories: list[list[str]] = []
    for key in cube["id"]:
        dimension = cube["dimension"][key]
        labels, places = dimension["category"].get("label", {}), dimension["category"].get("index", {})
        keys = sorted(places, key=places.__getitem__) if isinstance(places, dict) and places else places or list(labels)
        names.append(str(dimension.get("label") or key))
        categories.append([str(labels.get(each, each)) for each in keys])
    numbers = cube["value"]
    numbered = numbers.items() if isinstance(numbers, dict) else enumerate(numbers)
    rows: list[dict[str, object]] = []
    for at, number in numbered:
        place, row = int(at), dict[str, object]()
        for name, own in zip(reversed(names), reversed(categories), strict=True):
            place, own_place = divmod(place, len(own))
            row[name] = own[own_place]
        if number is not None:
            rows.append({name: row[name] for name in names} | {"value": number})
    about = {name: entry for name, entry in cube.items() if isinstance(entry, str | int | float)}
    return about | {"note": cube.get("note") or "", "value": rows}


def read_json_lines(
    origin: Origin, stream: io.BufferedReader, *, options: ReadOptions
) -> Iterator[Document | ReadFailure]:
    """One document per line that holds a JSON object, or tables if none of the first 1,000 has a text; blank lines are skipped.

    Parameters
    ----------
    origin : the file, named in URIs and errors
    stream : its decompressed bytes
    options : the column mapping, the encoding and the size limit of a line

    Returns
    -------
    Iterator[Document | ReadFailure]
        A failure for each line that is too long, not text, not a JSON object, or has no text column while others have one.

    Raises
    ------
    ReadError
        The file is binary.
    """
    table = json_lines_table(origin, stream, options=options)
    return records_of(origin, table, mapping=RowMapping(options.mapping))


def json_lines_table(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Table:
    """The objects of JSON lines.

    Parameters
    ----------
    origin : the file, named in errors
    stream : its decompressed bytes
    options : the encoding and the size limit of a row

    Raises
    ------
    ReadError
        The file cannot be read.
    """
    lines = row_lines(origin, stream, limit=options.max_bytes, encoding=options.encoding)
    return Table(_json_lines(lines, options.max_bytes), "line", warnings=lines.warnings)


def _json_lines(source: Lines, limit: int) -> Iterator[Row | Flaw]:
    encoding = source.encoding
    for number, line in enumerate(source.lines, 1):
        if line is None:
            yield Flaw(number, *too_long(limit))
        elif line.strip():
            try:
                value: object = msgspec.json.decode(line.decode(encoding))
            except UnicodeError:
                yield Flaw(number, *not_text(line, encoding))
            except (msgspec.DecodeError, RecursionError) as error:
                yield Flaw(number, f"is not JSON ({error})")
            else:
                yield object_row(number, value)


# YAML: its events, from which nothing but texts, numbers, lists and mappings is made.


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(("!", *(f"{_CORE}{name}" for name in ("map", "omap", "pairs", "seq", "set"))))
_RESOLVED_TAGS = frozenset(f"{_CORE}{name}" for name in ("bool", "float", "int", "null", "timestamp"))
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,17})\.\d{1,17}")
_COMMENT = re.compile(r"(?<!\S)#[^\n]*")
_MERGE = "<<"


class _Node(NamedTuple):
    """A value, the number of values in it, and that of their characters, with aliases expanded."""

    value: object
    values: int
    size: int


class _Yaml:
    """Builds the values of a YAML file from its events.

    Parameters
    ----------
    origin : the file, named in errors
    text : its text
    """

    def __init__(self, origin: Origin, text: str) -> None:
        self.comments = _Comments()
        self.repeated: list[str] = []
        self.binary = 0
        self._origin = origin
        self._text = text
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=_LOADER)
        self._anchors: dict[str, _Node | None] = {}
        self._place: _Place = None  # of the last name
        self._at = 0  # where the last scalar ends
        self._depth = self._count = self._size = 0

    def documents(self) -> Iterator[object]:
        """Yield the value of each document."""
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors, self._place = {}, None
                node = self._node(next(self._events))
                self._find_comments(next(self._events), None)
                yield self.comments.woven(node.value)
            elif isinstance(event, yaml.StreamEndEvent):
                self._find_comments(event, None)

    def _find_comments(self, event: yaml.Event, place: _Place) -> None:
        """Add the comments between the last scalar and an event: those right above the event stand beside its place."""
        first = self._at
        end, behind = _span(event)
        above: list[str] = []
        at = first
        for comment in _COMMENT.finditer(self._text, first, end):
            if at == first > 0 and "\n" not in self._text[first - 1 : comment.start()]:
                self.comments.add([comment[0]], self._place)
            else:
                if above and self._text.count("\n", at, comment.start()) > 1:
                    self.comments.add(above)
                    above = []
                above.append(comment[0])
            at = comment.end()
        self.comments.add(above, place if self._text.count("\n", at, end) == 1 else None)
        self._at = max(first, behind)

    def _node(self, event: yaml.Event) -> _Node:
        if isinstance(event, yaml.AliasEvent):
            node = self._anchors.get(str(event.anchor))
            if node is None:
                reason = f"line {self._line(event)}: the alias *{event.anchor} names no value above it"
                raise ReadError(self._origin.uri, f"is not YAML ({reason})", _AS_TEXT)
            self._grow(node.values, node.size)
            return node
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._anchors[anchor] = None
        count, size = self._count, self._size
        self._grow(1, 0)
        self._depth += 1
        if self._depth > _MOST_LEVELS:
            raise refused(self._origin, "levels", limit=_MOST_LEVELS)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        else:
            value = self._list() if isinstance(event, yaml.SequenceStartEvent) else self._mapping()
            tag = getattr(event, "tag", None)
            value = value if tag is None or tag in _PLAIN_TAGS else {_tag_name(tag): value}
        self._depth -= 1
        node = _Node(value, self._count - count, self._size - size)
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _grow(self, count: int, size: int) -> None:
        self._count += count
        self._size += size
        if self._count > MOST_CELLS:
            raise refused(self._origin, "values", limit=MOST_CELLS)
        most = largest(len(self._text))
        if self._size > most:
            reason = f"repeats values by aliases to more than {most:,} characters, as a bomb does"
            raise ReadError(self._origin.uri, reason, "leave it out")

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        self._find_comments(event, self._place)
        value, tag = str(event.value), event.tag
        self._grow(0, len(value))
        if event.style in ("|", ">"):
            head = self._text[slice(*_span(event))].partition("\n")[0]
            self.comments.add(_COMMENT.findall(head), self._place)
        if tag == f"{_CORE}binary":
            self.binary += 1
            return None
        if tag is None or tag in _RESOLVED_TAGS:
            return value if event.style else _plain_value(value)
        return value if tag in ("!", f"{_CORE}str") else f"{_tag_name(tag)} {value}".strip()

    def _line(self, event: yaml.Event) -> int:
        return event.start_mark.line + 1 if event.start_mark else 0

    def _list(self) -> object:
        values: list[object] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._node(event).value)
        return values

    def _mapping(self) -> object:
        values: dict[str, object] = {}
        merged: list[object] = []
        repeated: set[str] = set()
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent):
                name = str(event.value)
                self._find_comments(event, (values, name))
            node = self._node(event)
            name = name if isinstance(event, yaml.ScalarEvent) else cell_text(node.value)
            self._place = (values, name)
            value = self._node(next(self._events)).value
            if name == _MERGE and isinstance(value, dict | list):
                merged += value if isinstance(value, list) else [value]
            elif name in values:
                self.repeated.append(f"{name!r} in line {self._line(event)}")
                before = values[name]
                values[name] = [*(before if isinstance(before, list) and name in repeated else [before]), value]
                repeated.add(name)
            else:
                values[name] = value
        for mapping in merged:
            for name, value in mapping.items() if isinstance(mapping, dict) else ():
                values.setdefault(name, value)
        return self.comments.names_alone(values)


def _span(event: yaml.Event) -> tuple[int, int]:
    """The offsets at which an event begins and ends."""
    start, end = event.start_mark, event.end_mark
    return (start.index, end.index) if start and end else (0, 0)


def _tag_name(tag: str) -> str:
    return f"!!{tag.removeprefix(_CORE)}" if tag.startswith(_CORE) else tag


def _plain_value(text: str) -> object:
    """The value of a scalar without quotes, if it is unmistakably a number, true, false or none, else its text.

    ``NO``, ``on``, ``0777``, ``1_000`` and ``12:30`` are texts, as in YAML 1.2.
    """
    if text in _NULLS:
        return None
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    return text == "true" if text in ("true", "false") else text


def _typed(value: object) -> MetadataValue | None:
    """A value as metadata; decimals, which tables show with all their digits, as floats."""
    return metadata_value(_with_floats(value))


def _yaml(origin: Origin, text: Text) -> _Values:
    builder = _Yaml(origin, text.text)
    try:
        values = [value for value in builder.documents() if value not in (None, "", [], {})]
    except yaml.YAMLError as error:
        raise _not_yaml(origin, text.text, error) from error
    if values and not any(isinstance(value, dict | list) for value in values):
        raise ReadError(origin.uri, "holds no names with values", _AS_TEXT)
    warnings = text.warnings
    if builder.repeated:
        warnings += (f"names that are given twice, all of whose values are kept: {_first(builder.repeated)}",)
    if builder.binary:
        warnings += (f"not read: binary values ({builder.binary:,})",)
    return _Values(values or [{}], builder.comments.loose, warnings, _typed)


def _not_yaml(origin: Origin, text: str, error: yaml.YAMLError) -> ReadError:
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return ReadError(origin.uri, f"is not YAML ({getattr(error, 'reason', 'damaged')})", _AS_TEXT)
    line = text.split("\n", mark.line + 1)[: mark.line + 1][-1]
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return ReadError(origin.uri, f"is not YAML (line {mark.line + 1}: a tab indents it)", "indent it by spaces")
    problem = clean_title(str(getattr(error, "problem", None) or "damaged"))
    if "nesting depth" in problem:
        return refused(origin, "levels", limit=_MOST_LEVELS)
    return ReadError(origin.uri, f"is not YAML (line {mark.line + 1}: {problem})", _AS_TEXT)


# TOML.


_TOML_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|""?(?!"))*+"{3,5}' + r"|'''(?:[^']|''?(?!'))*+'{3,5}" + r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*+'|#[^\n]*+|\n",
    re.DOTALL,
)
_TOML_KEY = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_TOML_KEYS = rf"{_TOML_KEY}(?:[ \t]*+\.[ \t]*+{_TOML_KEY})*+"
_TOML_LINE = re.compile(rf"[ \t]*+(?:(\[\[?)[ \t]*+({_TOML_KEYS})[ \t]*+\]|({_TOML_KEYS})[ \t]*+=)")
_LONG_KEY = re.compile(rf"(?:{_TOML_KEY}[ \t]*+\.[ \t]*+){{{_MOST_LEVELS}}}")


def _toml(origin: Origin, text: Text) -> _Values:
    if _LONG_KEY.search(text.text):
        raise refused(origin, "levels", limit=_MOST_LEVELS)
    try:
        value = tomllib.loads(text.text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise ReadError(origin.uri, f"is not TOML ({error})", _AS_TEXT) from error
    comments = _Comments()
    _find_toml_comments(text.text, _TomlPlaces(value), comments)
    return _Values((comments.woven(value),), comments.loose, text.warnings, _typed)


def _find_toml_comments(text: str, places: _TomlPlaces, comments: _Comments) -> None:
    above: list[str] = []
    at = 0  # the beginning of the line
    place = places.of_line(text, at)
    for token in _TOML_TOKEN.finditer(text):
        if token[0] == "\n":
            line = text[at : token.start()].strip()
            if above and not line.startswith("#"):
                comments.add(above, place if line else None)
                above = []
            at = token.end()
            if here := places.of_line(text, at):
                comments.add(above, here)
                above, place = [], here
        elif token[0][0] == "#":
            if text[at : token.start()].strip():
                comments.add([token[0]], place)
            else:
                above.append(token[0])
    comments.add(above)


class _TomlPlaces:
    """Finds what a line of a TOML file names.

    Parameters
    ----------
    value : the value of the file
    """

    def __init__(self, value: dict[str, object]) -> None:
        self._value = self._table = value
        self._counts: Counter[int] = Counter()  # headers so far, by the list of their tables

    def of_line(self, text: str, at: int) -> _Place:
        """The place that the line from an offset names; None if it names none."""
        match = _TOML_LINE.match(text, at)
        if match is None:
            return None
        keys = next(iter(tomllib.loads(f"{match[2] or match[3]} = 0").items()))
        names = [keys[0]]
        while isinstance(keys[1], dict):
            keys = next(iter(keys[1].items()))
            names.append(keys[0])
        parent = self._within(self._value if match[1] else self._table, names[:-1])
        if parent is None or names[-1] not in parent:
            return None
        if match[1] == "[[":
            self._counts[id(parent[names[-1]])] += 1
        if match[1]:
            self._table = self._within(parent, names[-1:]) or {}
        return parent, names[-1]

    def _within(self, table: object, names: Sequence[str]) -> dict[str, object] | None:
        for name in names:
            table = table.get(name) if isinstance(table, dict) else None
            if isinstance(table, list):
                number = self._counts[id(table)]
                table = table[number - 1] if 0 < number <= len(table) else None
        return table if isinstance(table, dict) else None


# XML.


_ABOUT_FILE = frozenset(("schemaLocation", "noNamespaceSchemaLocation", "space", "dtd-version"))
_MARKUP = re.compile(r"<[a-zA-Z!/][^<>]*>")
_ENTITY = re.compile(r"&(?:#\d+|[a-z]+);")
_BREAKING = re.compile(
    r"<(?!/?(?:a|abbr|b|code|del|em|font|i|ins|mark|s|small|span|strong|su[bp]|u)\b)[a-zA-Z!/][^<>]*>"
)
_TITLED = ("title", "name", "label")
_ATOM = "{http://www.w3.org/2005/Atom}"
_KINDS_OF_TEXT = ("text", "html", "xhtml")
_FEEDS, _ENTRIES = ("feed", "channel"), ("entry", "item")


def read_xml(origin: Origin, stream: io.BufferedReader, *, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """The values of an XML file as those of JSON: elements and attributes are names, and elements of one name are a list.

    An element with words between its elements is one text. An outline (OPML) is a list. A title that the file has is that of the
    document. Of an export of MediaWiki each page is a document, in its last version.

    Parameters
    ----------
    origin : the file, named in URIs and errors
    stream : its decompressed bytes
    options : the column mapping and the size limit of the file

    Raises
    ------
    MissingExtraError
        lxml is not installed.
    ReadError
        It is damaged or too large.
    """
    data = read_bounded(origin, stream, limit=options.max_bytes)
    from hlgraph.read.formats.dita_docbook_fb2_jats_tei import prose_documents

    root = parsed(origin, data, extra="xml")
    if tag_of(root) == "mediawiki":
        yield from _wiki_pages(origin, root, options)
        return
    produced = Produced(origin, len(data), options.max_bytes)
    documents = [] if options.mapping else [*prose_documents(root, produced)]
    if documents:
        yield from documents
        return
    nodes = chain([*root.itersiblings(preceding=True)][::-1], root.iter(), root.itersiblings())
    remarks, unread = _Comments(), Unread(["encoded data"] * len(root.findall(".//*[@encoding='base64']")))
    for text in (str(node.text or "") for node in nodes if not isinstance(node.tag, str)):
        if _MARKUP.search(text):
            unread["element in a comment"] += 1
        else:
            remarks.add(text.split("\n"))
    value = _hoisted(_value_of(root))
    outlines = [*_outline(root, 0)] if tag_of(root) == "opml" else []
    if not any(cell_text(leaf) for _, leaf in numbered_leaves(value)):
        raise ReadError(origin.uri, "is empty: its elements hold no text")
    whole = _without_secrets(_Values((value,), remarks.loose, unread.warnings(), cell_value))
    tables = _own_tables(whole.values[0], Produced(origin, len(data), options.max_bytes), is_deep=not options.mapping)
    if outlines or tables:
        blocks = ["\n".join(outlines)] if outlines else tables
        document = text_document(origin, [*whole.comments, *blocks], warnings=whole.warnings)
        results = in_groups(_groups_within(origin, whole.values[0]), [document])
    else:
        results = _documents(origin, whole, RowMapping(options.mapping, value_of=cell_value))
    stem = clean_title(origin.stem)
    head = value.get("head")
    named = {**head, **value} if isinstance(head, dict) else value
    title = next((clean_title(str(named[name])) for name in _TITLED if isinstance(named.get(name), str)), "")
    is_feed = tag_of(root) in ("feed", "rss", "RDF")
    for result in in_groups(groups_of_object(whole.values[0]), results):
        if not isinstance(result, Document) or not title:
            yield result
        elif result.title == stem:
            yield replace(result, title=title)
        else:
            yield replace(result, metadata={**result.metadata, "feed": title}) if is_feed else result


def _own_tables(value: Any, produced: Produced, *, is_deep: bool) -> list[str]:
    """The tables of an XML file with several lists of objects, or with deeper ones, below its other values; else none."""
    lists = [
        name for name, entry in value.items() if isinstance(entry, list) and len(entry) > 1 and _are_objects(entry)
    ]
    tables: list[str] = []
    with suppress(ReadError):  # too many cells: each value with its path
        tables = [*_tables_of(value, lists, produced)] if len(lists) > 1 or (is_deep and not lists) else []
    rest = (
        {name: entry for name, entry in value.items() if name not in lists} if lists else _without_lists(value, {}, "")
    )
    alone, _ = _names_alone(rest)
    above = [f"without a value: {', '.join(alone)}"] if alone else []
    return [*above, *tables] if len(tables) > 1 else []


def _wiki_pages(origin: Origin, root: Element, options: ReadOptions) -> Iterator[Document | ReadFailure]:
    """The pages of an export of MediaWiki that lead to no other one."""
    from hlgraph.read.formats.wikitext import read_wikitext

    for number, page in enumerate(children(root, "page"), 1):
        texts = [str(each.text or "") for each in page.iter("{*}text")]
        if children(page, "redirect") or not any(map(str.strip, texts)):
            continue
        title = clean_title("".join(str(each.text or "") for each in children(page, "title")))
        place = Origin(f"{origin.uri}#{number}", origin.name)
        try:
            document = read_wikitext(place, texts[-1].encode(), options=replace(options, encoding="utf-8"))
        except ReadError as error:
            yield ReadFailure(place.uri, error)
        else:
            yield replace(document, title=title or document.title)


def _value_of(element: Element) -> dict[str, object]:
    """The attributes of an element, its text with the empty name, and the values of the elements in it."""
    value: dict[str, object] = {}
    if element.get("encoding") == "base64":
        return value
    kind = element.get("type") if str(element.tag).startswith(_ATOM) else None
    names = (str(name).rpartition("}")[2] for name in element.attrib)
    value |= {
        name: str(given)
        for name, given in zip(names, element.attrib.values(), strict=True)
        if name not in _ABOUT_FILE and (name != "type" or kind not in _KINDS_OF_TEXT)
    }
    inner = [child for child in element if tag_of(child)] if kind != "xhtml" else []
    has_words = any((child.tail or "").strip() for child in element)
    text = "".join(map(str, element.itertext())) if has_words or not inner else element.text or ""
    if kind == "xhtml":
        from lxml.etree import tostring

        text = str(tostring(element, encoding="unicode", with_tail=False))
    if text.strip():
        value[""] = _without_markup(text)
    for child in () if has_words else inner:
        own: object = _value_of(child)
        own = own.get("", "") if isinstance(own, dict) and own.keys() <= {""} else own
        name = tag_of(child)
        if name == "encoded":  # as feeds name the text of an entry; WordPress has an excerpt, too
            name = "excerpt" if "excerpt" in str(child.tag) else "content"
        _add_option(value, name, own)
    for name in _ENTRIES if tag_of(element) in _FEEDS else ():
        if isinstance(value.get(name), dict):  # a feed with one entry has a list, too
            value[name] = [value[name]]
    return value


def _tables_of(value: Any, names: Collection[str], produced: Produced) -> Iterator[str]:
    """The values of an object beside its lists of objects, then each of these as a table below its name.

    Without names, these are the lists of several objects inside of its objects.
    """
    lists: dict[str, list[Any]] = {name: value[name] for name in names}
    rest = {name: entry for name, entry in value.items() if name not in names}
    pairs = pairs_of(rest if names else _without_lists(rest, lists, ""))
    yield "\n\n".join(
        f"{row.columns['name']}: {cell_text(row.columns['value'])}"
        for row in pairs
        if isinstance(row, Row) and row.columns
    )
    for name, entries in lists.items():
        rows = [dict(numbered_leaves(entry)) for entry in entries]
        labels = [*dict.fromkeys(label for row in rows for label in row)]
        produced.add_cells(len(labels) * len(rows))
        yield heading(name, 2)
        yield markdown_rows(labels, ([cell_text(row.get(label, "")) for label in labels] for row in rows))


def _without_lists(value: dict[str, Any], lists: dict[str, list[Any]], path: str) -> dict[str, Any]:
    """An object without the lists of several objects inside of it, which are added to the others by the names that lead there."""
    rest: dict[str, Any] = {}
    for name, entry in value.items():
        way = f"{path} {name}".strip()  # which another list may have, too: {"a b": ...} beside {"a": {"b": ...}}
        if isinstance(entry, dict) and way.count(" ") < _MOST_NAMED:
            inner = _without_lists(entry, lists, way)
            rest |= {name: inner} if inner or not entry else {}
        elif (
            isinstance(entry, list)
            and len(entry) > 1
            and way not in lists
            and _are_objects(entry)
            and any(len(each) > 1 for each in entry)
        ):
            lists[way] = entry
        else:
            rest[name] = entry
    return rest


def _without_markup(text: str) -> str:
    """A text on one line, without the HTML that feeds write into it."""
    if _MARKUP.search(text) or _ENTITY.search(text):
        from lxml import html

        text = "".join(
            map(str, html.fragment_fromstring(_BREAKING.sub(r" \g<0>", text), create_parent=True).itertext())
        )
    return " ".join(clean(text).split())


def _hoisted(value: dict[str, object]) -> dict[str, object]:
    """The values of the only inner object, where a list of objects is deeper, with the others beside it: a feed's channel."""
    inner = [name for name, entry in value.items() if isinstance(entry, dict | list)]
    while len(inner) == 1 and inner != [ACL] and isinstance(within := value[inner[0]], dict):
        value = {name: entry for name, entry in value.items() if name != inner[0]} | within
        inner = [name for name, entry in value.items() if isinstance(entry, dict | list)]
    return value


def _outline(element: Element, depth: int) -> Iterator[str]:
    for child in children(element, "body", "outline"):
        if tag_of(child) == "outline":
            first = attribute(child, "text") or attribute(child, "title")
            others = (
                _without_markup(str(given))
                for name, given in child.attrib.items()
                if name not in ("text", "title", "type")
            )
            more = "; ".join(dict.fromkeys(filter(None, others)))
            yield item(f"{_without_markup(first)}{f' ({more})' if more else ''}", depth=depth)
        yield from _outline(child, depth + (tag_of(child) == "outline"))


# INI and Java properties.


_GAP = re.compile(r"[ \t]{100,}")  # configparser needs the square of the length of a gap
_TOP = "\0top"
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_PROPERTY = re.compile(r"((?:[^\\\s=:]|\\.)*+)[ \t\f]*+(?:[=:][ \t\f]*+)?(.*)", re.DOTALL)


def _ini(origin: Origin, text: Text) -> _Values:
    numbers = count()
    parser = configparser.RawConfigParser(
        allow_no_value=True, strict=False, default_section="\0", delimiters=("=", ":")
    )
    parser.optionxform = lambda optionstr: f"{optionstr}\0{next(numbers)}"  # type: ignore[method-assign] # each name is new
    plain = _GAP.sub(" ", text.text)
    try:
        parser.read_string(f"[{_TOP}]\n{plain}")
    except (configparser.Error, AttributeError, ValueError) as error:
        lines = [f"line {line - 1}" for line, _ in getattr(error, "errors", ())]
        reason = f"is not INI ({lines[0]} has no name)" if lines else "is not INI (a line goes on where none began)"
        raise ReadError(origin.uri, reason, _AS_TEXT) from error
    value: dict[str, object] = {}
    for section in parser.sections():
        names = value if section == _TOP else value.setdefault(section if section not in value else f"[{section}]", {})
        for option, given in parser.items(section):
            _add_option(names, option.partition("\0")[0], given)
    if parser.sections() == [_TOP] and not any(value.values()) and value:
        raise ReadError(origin.uri, "is not INI (it has no name with a value)", _AS_TEXT)
    comments = _Comments()
    _find_ini_comments(plain, value, comments)
    for name, entry in value.items():
        value[name] = comments.names_alone(entry) if isinstance(entry, dict) else entry
    return _Values((comments.woven(value),), comments.loose, text.warnings, cell_value)


def _add_option(names: object, name: str, given: object) -> None:
    """Add a value to a mapping; all values of a name that is given twice are kept, and lines below a name are a list."""
    if isinstance(given, str) and given.startswith("\n"):
        given = [line for line in given.split("\n") if line]
    if isinstance(names, dict):
        before = names.get(name)
        if name in names:
            given = [
                *(before if isinstance(before, list) else [before]),
                *(given if isinstance(given, list) else [given]),
            ]
        names[name] = given


def _find_ini_comments(text: str, value: dict[str, object], comments: _Comments) -> None:
    table: object = value
    place: _Place = None
    above: list[str] = []
    for line in map(str.strip, text.split("\n")):
        if line[:1] in ("#", ";") and line:
            above.append(line)
            continue
        if line.startswith("[") and (name := line[1 : line.rfind("]")]) in value:
            table, place = value[name], (value, name)
        elif isinstance(table, dict) and (name := re.split("[=:]", line, maxsplit=1)[0].strip()) in table:
            place = (table, name)
        comments.add(above, place if line else None)
        above = []
    comments.add(above)


def _properties(origin: Origin, text: Text) -> _Values:
    value: dict[str, object] = {}
    comments = _Comments()
    above: list[str] = []
    lines = iter(text.text.split("\n"))
    for line in (line.lstrip() for line in lines):
        if line[:1] in ("#", "!") and line:
            above.append(line)
            continue
        place: _Place = None
        if line:
            parts = [line]
            while (len(parts[-1]) - len(parts[-1].rstrip("\\"))) % 2:
                parts[-1] = parts[-1][:-1]
                parts.append(next(lines, "").lstrip())
            if match := _PROPERTY.fullmatch("".join(parts)):
                name, given = map(_unescaped, match.groups())
                _add_option(value, name, given.strip())
                place = (value, name)
        comments.add(above, place)
        above = []
    comments.add(above)
    if value and not any(value.values()):
        raise ReadError(origin.uri, "holds no names with values", _AS_TEXT)
    return _Values((comments.woven(value),), comments.loose, text.warnings, cell_value)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return clean(
        _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _ESCAPED.get(match[2], match[2]), text)
    )


def _with_rows(name: str, suffixes: tuple[str, ...], parse: _Parser) -> RowsFormat:
    return RowsFormat(name, suffixes, partial(read_values, parse=parse), table=partial(values_table, parse=parse))


FORMATS = (
    RowsFormat("ini", suffixes=(".cfg", ".ini"), read=partial(read_values, parse=_ini)),
    _with_rows("json", (".json",), _json),
    RowsFormat("jsonl", suffixes=(".jsonl", ".ndjson"), read=read_json_lines, table=json_lines_table),
    RowsFormat("properties", suffixes=(".properties",), read=partial(read_values, parse=_properties)),
    _with_rows("toml", (".toml",), _toml),
    RowsFormat(
        "xml",
        suffixes=(".atom", ".opml", ".rss", ".tmx", ".xlf", ".xliff"),
        read=read_xml,
        mend="check it with xmllint",
    ),
    _with_rows("yaml", (".yaml", ".yml"), _yaml),
)
