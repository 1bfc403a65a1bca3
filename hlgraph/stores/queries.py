"""The query library: every Cypher statement is a file ``cypher/<stage>/<verb>_<noun>.cypher``, checked when loaded.

A file begins with a header of ``//`` lines: what the statement does, then its parameters, then its columns; ``-`` stands
for an empty list::

    // Statements that mention an entity, by ascending id.
    // params: corpus, entity, k
    // columns: id, text
    MATCH (e:Entity {id: $entity})<-[:MENTIONS]-(s:Statement {corpus: $corpus})
    RETURN s.id AS id, s.text AS text ORDER BY id LIMIT $k

The declared parameters must be those that the statement uses, and the declared columns those of its last ``RETURN``, in
order. A query whose header and statement disagree therefore fails before it is sent, and callers can rely on the header.
Queries for analysts also describe each parameter (:mod:`hlgraph.stores.queries`) and end with an example::

    // $k integer 1.. = 25: maximum number of rows
    // example: hlgraph cypher run list_mentions --entity "Mara Quill"
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias, Union, cast, get_args, overload

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.records import Listing, plain_scalar
from hlgraph.stores.migrate import folder
from hlgraph.where import Where, from_mapping, to_text
from hlgraph.where import parse as parse_filter

# The parameters of a query: the header line that declares kind, bounds, default and meaning, and the check of values.
#
# A line of the header, after those of parameters and columns::
#
#     // $hops integer 1..6 = 4: maximum number of steps
#
# Bounds and default are optional; a parameter without a default is required. A value of the kind ``entity`` or ``source`` is
# a name or an id, and the query receives the id. A ``filter`` is a filter of metadata, and the query receives the sources that
# it admits: ``{listed: [ids], admits: true}`` (or all but these ids: false), null for an empty filter. ``kinds`` are kinds of
# entities with commas between them, and the query receives their list. ``changes`` is a number of last edits of the corpus,
# and the query receives what they did: ``{sources: [ids], statements: [ids of new ones], removed: [[label, id]], unknown: 0}``.


ParameterKind: TypeAlias = Literal[
    "text", "integer", "number", "boolean", "entity", "source", "filter", "kinds", "changes"
]
"""The kind of a value: a text, a whole number, any number, true or false, an entity or source by name or id, a filter of
metadata, kinds of entities, or a number of last edits."""
ParameterValue: TypeAlias = str | int | float | bool

_NUMBER = r"-?\d+(?:\.\d+)?"
_LINE = re.compile(
    rf"\$(?P<name>\w+) (?P<kind>{'|'.join(get_args(ParameterKind))})"
    rf"(?: (?P<low>{_NUMBER})?\.\.(?P<high>{_NUMBER})?)?(?: = (?P<default>\S.*?))?: (?P<meaning>\S.*)"
)
_FORM = "'// $name kind low..high = default: meaning', where the kind is " + ", ".join(get_args(ParameterKind))
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_AN = {
    "integer": "a whole number",
    "changes": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "filter": "a filter, such as year >= 1900",
    "kinds": "kinds of entities, such as person, place",
}
_MOST = 1 << 63


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a query.

    Attributes
    ----------
    name : name without the ``$``
    kind : kind of its values
    meaning : what it does, for the help
    default : None: the parameter is required
    low, high : inclusive bounds; None: unbounded
    """

    name: str
    kind: ParameterKind
    meaning: str
    default: ParameterValue | None = None
    low: float | None = None
    high: float | None = None

    @property
    def is_named(self) -> bool:
        """Whether the value is the name or the id of a record."""
        return self.kind in ("entity", "source")

    @property
    def shape(self) -> str:
        """Kind, bounds and default in words.

        Examples
        --------
        >>> parse_line("$hops integer 1..6 = 4: maximum number of steps").shape
        'integer 1..6, default 4'
        """
        bounds = "" if self.low is None and self.high is None else f" {_short(self.low)}..{_short(self.high)}"
        default = "needed" if self.default is None else f"default {_short(self.default)}"
        return f"{self.kind}{' (name or id)' if self.is_named else ''}{bounds}, {default}"

    def read(self, text: str) -> ParameterValue:
        """Parse a value from the command line.

        Raises InputError for a text that is not a value of the kind, and for a value out of bounds.

        Examples
        --------
        >>> parse_line("$hops integer 1..6 = 4: maximum number of steps").read("3")
        3
        """
        value: ParameterValue = text
        try:
            if self.kind in ("integer", "changes"):
                value = int(text)
            elif self.kind == "number":
                value = float(text)
            elif self.kind == "boolean":
                value = _TRUTHS[text.lower()]
        except (ValueError, KeyError) as error:
            raise self._refused(text) from error
        return self.check(value)

    def check(self, value: object) -> ParameterValue:
        """Return the value if it has the right kind and is within the bounds; a whole number is also a number.

        Raises InputError otherwise.
        """
        value = plain_scalar(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if self.kind == "filter" and not isinstance(value, str):
            value = _filter_text(value)
        elif self.kind == "kinds" and isinstance(value, list | tuple | set | frozenset):
            value = ", ".join(map(str, sorted(value) if isinstance(value, set | frozenset) else value))
        fits = {
            "integer": is_number and isinstance(value, int),
            "changes": is_number and isinstance(value, int),
            "number": is_number,
            "boolean": isinstance(value, bool),
        }.get(self.kind, isinstance(value, str) and bool(value.strip() or not self.is_named))
        if not fits:
            raise self._refused(value)
        checked = cast(ParameterValue, value)
        if isinstance(checked, str):
            if self.kind == "filter" and checked.strip():
                parse_filter(checked)
            return checked
        low, high = -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high
        if not low <= checked <= high or not -_MOST <= checked < _MOST:
            raise InputError(
                f"{self.name} is {value}; choose {_AN[self.kind]} in {_short(self.low)}..{_short(self.high)}"
            )
        return float(checked) if self.kind == "number" else checked

    def _refused(self, value: object) -> InputError:
        wanted = _AN.get(self.kind, "a name or an id" if self.is_named else "a text")
        return InputError(f"{self.name} is {value!r}; give {wanted}: {self.meaning}")


def parse_line(line: str) -> Parameter:
    """Parse a header line, without its ``//``, into a parameter.

    Raises InputError for a line of another form, and for a default of the wrong kind or out of bounds.

    Examples
    --------
    >>> parse_line("$share number 0..1 = 0.1: the least share of sources")
    Parameter(name='share', kind='number', meaning='the least share of sources', default=0.1, low=0.0, high=1.0)
    """
    match = _LINE.fullmatch(line)
    is_numeric = match is not None and match["kind"] in ("integer", "number", "changes")
    if match is None or ((match["low"] or match["high"]) and not is_numeric):
        raise InputError(f"has the line '// {line}'; write {_FORM}")
    low, high = (None if match[bound] is None else float(match[bound]) for bound in ("low", "high"))
    parameter = Parameter(match["name"], cast(ParameterKind, match["kind"]), match["meaning"], None, low, high)
    if match["default"] is None:
        return parameter
    text = match["default"]
    default = parameter.read(text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text)
    return Parameter(parameter.name, parameter.kind, parameter.meaning, default, low, high)


def _filter_text(value: object) -> object:
    """The text of a filter that is data or a mapping; any other value unchanged."""
    if isinstance(value, Mapping):
        return to_text(from_mapping(value))
    return to_text(value) if isinstance(value, Where) else value


def _short(value: ParameterValue | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else value if isinstance(value, str) and value else repr(value)


STAGES = ("admin", "analyst", "index", "persist", "retrieve")
"""The folders of the library."""

_NAME = re.compile(rf"(?:{'|'.join(STAGES)})/[a-z]+(?:_[a-z0-9]+)+")
# Text that is not code: comments, strings, names in backticks. The first to begin wins, so '//' in a string is a string.
_OPAQUE = re.compile(
    r"//[^\n]* | /\*.*?\*/ | '(?:\\.|[^'\\])*' | \"(?:\\.|[^\"\\])*\" | `(?:``|[^`])*`", re.DOTALL | re.VERBOSE
)
_QUOTED = "•"
_UNCLOSED = re.compile(r"['\"`]|/\*")
_PARAMETER = re.compile(r"\$(?!\()(\w*)")  # $(...) is a computed label, not a parameter
_RETURN = re.compile(r"(?<![.$:\w])RETURN\b(?:\s+DISTINCT\b)?", re.IGNORECASE)
_AFTER_RETURN = re.compile(r"(?<![.$:\w])(?:ORDER\s+BY|SKIP|OFFSET|LIMIT|UNION)\b", re.IGNORECASE)
_LABEL = re.compile(r"((?<![:|&!])[:|&!]!?\s*)([A-Z][a-z]+[A-Za-z]*)\b")
_INDEX_NAME = re.compile(r"'hlgraph_\w+'")
_NAMED = re.compile(r"\b((?:CONSTRAINT|INDEX)\s+)(hlgraph_\w+\s+IF\s+NOT\s+EXISTS\s+FOR\s+\(n:)")
_COLUMN = re.compile(r"(?:.*\bAS\s+)?([A-Za-z_]\w*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Query:
    """One statement of the library, with everything that its header declares.

    Attributes
    ----------
    name : ``<stage>/<verb>_<noun>``
    text : the text that is sent
    params : names of the parameters
    columns : names of the columns, in order
    summary : what the statement does
    parameters : descriptions of the parameters, in the order of the header; empty if the header has none
    example : a command that calls the query; empty if the header has none
    """

    name: str
    text: str
    params: frozenset[str]
    columns: tuple[str, ...]
    summary: str
    parameters: tuple[Parameter, ...] = ()
    example: str = ""


def names(root: Path | None = None) -> tuple[str, ...]:
    """The names of all queries, sorted: ``<stage>/<verb>_<noun>``.

    Raises InputError for a file that is neither a query nor a README.md, and for a name of another form.
    """
    library = root or folder("cypher")
    names = []
    for path in sorted(library.rglob("*")):
        where = path.relative_to(library)
        # Editors and desktops leave hidden files behind; skip them.
        if path.is_dir() or path.name == "README.md" or any(part.startswith(".") for part in where.parts):
            continue
        name = where.with_suffix("").as_posix()
        if path.suffix != ".cypher" or not _NAME.fullmatch(name):
            raise InputError(
                f"{where.as_posix()}: not the name of a query; rename it to <stage>/<verb>_<noun>.cypher in lower case,"
                f" where <stage> is one of {', '.join(STAGES)}"
            )
        names.append(name)
    return tuple(sorted(names))


def load(name: str, root: Path | None = None) -> Query:
    """The query of this name. Queries of hlgraph's own library are read only once.

    Parameters
    ----------
    name : ``<stage>/<verb>_<noun>``
    root : folder of another library; None: hlgraph's own

    Raises
    ------
    UnknownNameError
        The library has no such query.
    InputError
        The file breaks a rule of the library.
    """
    return _own(name) if root is None else _read(name, root)


@cache
def text_of(name: str, prefix: str) -> str:
    """The text of a query of hlgraph's own library, as it is sent to a database with this prefix of labels.

    Parameters
    ----------
    name : ``<stage>/<verb>_<noun>``
    prefix : setting ``neo4j.label_prefix``
    """
    return prefixed(load(name).text, prefix)


def prefixed(text: str, prefix: str) -> str:
    """A statement whose labels, and the names of its constraints and indexes, begin with a prefix.

    Labels of hlgraph are written like ``ChangePart``, types of relationships like ``IN_CHUNK``, which stay as they are. An
    index on a type keeps its name, because a database can have only one on the same properties.

    Parameters
    ----------
    text : one statement, or several
    prefix : letters, digits and underscores; empty: the text as it is

    Examples
    --------
    >>> prefixed("MATCH (s:Source {id: 'a:Source'})<-[:FROM]-(n:Chunk|Topic) WHERE n:!Chunk RETURN n // a :Source", "My_")
    "MATCH (s:My_Source {id: 'a:Source'})<-[:FROM]-(n:My_Chunk|My_Topic) WHERE n:!My_Chunk RETURN n // a :Source"
    >>> prefixed("CREATE INDEX hlgraph_source_uri IF NOT EXISTS FOR (n:Source) ON (n.uri)", "My_")
    'CREATE INDEX My_hlgraph_source_uri IF NOT EXISTS FOR (n:My_Source) ON (n.uri)'
    >>> prefixed("CALL db.index.fulltext.queryNodes('hlgraph_entity_names', $name) YIELD node", "My_")
    "CALL db.index.fulltext.queryNodes('My_hlgraph_entity_names', $name) YIELD node"
    """
    if not prefix:
        return text
    parts, end = [], 0
    for opaque in _OPAQUE.finditer(text):
        said = opaque[0]
        named = f"'{prefix}{said[1:]}" if _INDEX_NAME.fullmatch(said) else said
        parts += [_prefixed_code(text[end : opaque.start()], prefix), named]
        end = opaque.end()
    return "".join([*parts, _prefixed_code(text[end:], prefix)])


def _prefixed_code(code: str, prefix: str) -> str:
    code = _NAMED.sub(rf"\g<1>{prefix}\g<2>", code)
    return _LABEL.sub(rf"\g<1>{prefix}\g<2>", code)


def load_all(root: Path | None = None) -> dict[str, Query]:
    """All queries by name. Raises InputError for a file that breaks a rule of the library."""
    return {name: load(name, root) for name in names(root)}


@cache
def _own(name: str) -> Query:
    return _read(name, folder("cypher"))


def _read(name: str, library: Path) -> Query:
    path = library / f"{name}.cypher"
    if not _NAME.fullmatch(name) or not path.is_file():
        near = difflib.get_close_matches(name, names(library))
        raise UnknownNameError(
            f"no query {name!r} in {library}" + (f"; did you mean {' or '.join(near)}?" if near else "")
        )
    try:
        return parse(name, path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error


def parse(name: str, text: str) -> Query:
    """Parse the text of a query file.

    Parameters
    ----------
    name : name of the query
    text : header and statement

    Raises
    ------
    InputError
        The header is missing, the text does not hold exactly one statement, or header and statement disagree.

    Examples
    --------
    >>> query = parse("admin/count_sources", '''// How many sources a corpus has.
    ... // params: corpus
    ... // columns: sources
    ... MATCH (s:Source {corpus: $corpus}) RETURN count(s) AS sources;
    ... ''')
    >>> sorted(query.params), query.columns, query.summary
    (['corpus'], ('sources',), 'How many sources a corpus has.')
    """
    summary, declared, columns, more = _header(name, text)
    code = _code(name, text)
    if code.endswith(";"):
        code = code[:-1].rstrip()
    if not code.strip():
        raise _broken(name, "holds no statement", "write one below the header")
    if ";" in code:
        raise _broken(name, "holds two statements", "give each its own file")
    used = _parameters(name, code)
    if used != set(declared):
        facts = [
            f"{what} {', '.join('$' + each for each in sorted(some))}"
            for what, some in (("uses", used - set(declared)), ("does not use", set(declared) - used))
            if some
        ]
        raise _broken(
            name, f"{' and '.join(facts)}, contrary to its header", "correct the line '// params:' or the statement"
        )
    returned = _returned(name, code)
    if returned != columns:
        raise _broken(
            name,
            f"returns {', '.join(returned) or 'nothing'}, but its header says {', '.join(columns) or 'nothing'}",
            "correct the line '// columns:' or the last RETURN",
        )
    parameters = _described(name, more, declared)
    example = more[-1].removeprefix("example:").strip() if len(more) > len(parameters) else ""
    return Query(name, text[: len(code)].strip(), frozenset(used), columns, summary, parameters, example)


def _header(name: str, text: str) -> tuple[str, tuple[str, ...], tuple[str, ...], list[str]]:
    """Summary, parameters, columns, and the lines that follow them."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line.removeprefix("//").strip())
    end = 1 + next((number for number, line in enumerate(lines) if line.startswith("columns:")), 0)
    more = lines[end:]
    *summary, params, columns = lines[:end] if end > 2 else ["", "", ""]
    if not (all(summary) and params.startswith("params:") and columns.startswith("columns:")):
        raise _broken(
            name,
            "has no complete header",
            "begin the file with '// what it does', then '// params: a, b', then '// columns: x, y' ('-' for none)",
        )
    return " ".join(summary), _listed(name, params), _listed(name, columns), more


def _described(name: str, lines: list[str], declared: tuple[str, ...]) -> tuple[Parameter, ...]:
    """The descriptions of the parameters: either none, or one for each parameter, in their order."""
    described = lines[:-1] if lines and lines[-1].startswith("example:") else lines
    try:
        parameters = tuple(parse_line(line) for line in described)
    except InputError as error:
        raise InputError(f"{name}.cypher {error}") from error
    if parameters and tuple(item.name for item in parameters) != declared:
        raise _broken(
            name,
            f"describes {', '.join(item.name for item in parameters)}, but takes {', '.join(declared) or 'nothing'}",
            "give each parameter one line '// $name kind: meaning', in the order of '// params:'",
        )
    return parameters


def _listed(name: str, line: str) -> tuple[str, ...]:
    label, _, rest = line.partition(":")
    if rest.strip() == "-":
        return ()
    entries = tuple(each.strip() for each in rest.split(","))
    if not all(each.isidentifier() for each in entries) or len(set(entries)) < len(entries):
        raise _broken(
            name, f"has the line '// {line}'", f"list each of its {label} once, separated by commas, or write '-'"
        )
    return entries


def _code(name: str, text: str) -> str:
    """The text up to the end of its code, at the same positions, with comments, strings and quoted names masked."""
    code = _OPAQUE.sub(lambda match: (" " if match[0].startswith("/") else _QUOTED) * len(match[0]), text)
    if unclosed := _UNCLOSED.search(code):
        line = text.count("\n", 0, unclosed.start()) + 1
        raise _broken(name, f"has an unclosed {unclosed[0]} in line {line}", "close it")
    return code.rstrip()


def _parameters(name: str, code: str) -> set[str]:
    used = {match[1] for match in _PARAMETER.finditer(code)}
    if not all(each.isidentifier() for each in used):
        raise _broken(name, "has a $ that no plain name follows", "name parameters as in Python: $corpus")
    return used


def _returned(name: str, code: str) -> tuple[str, ...]:
    """The names of the columns of the last RETURN that is not inside brackets (a subquery, a map)."""
    flat = _flat(name, code)
    returns = list(_RETURN.finditer(flat))
    if not returns:
        return ()
    rest = flat[returns[-1].end() :]
    end = _AFTER_RETURN.search(rest)
    columns = []
    for item in (rest[: end.start()] if end else rest).split(","):
        column = _COLUMN.fullmatch(item.strip())
        if column is None:
            raise _broken(
                name, f"returns {' '.join(item.split())!r} without a name", "name the column: RETURN ... AS name"
            )
        columns.append(column[1])
    return tuple(columns)


def _flat(name: str, code: str) -> str:
    """The code with everything inside brackets blanked out."""
    flat, depth = [], 0
    for character in code:
        if character in ")]}":
            depth -= 1
        flat.append(character if depth == 0 or character == "\n" else " ")
        if character in "([{":
            depth += 1
        if depth < 0:
            break
    if depth:
        raise _broken(name, "has brackets that do not match", "correct the statement")
    return "".join(flat)


def _broken(name: str, reason: str, fix: str) -> InputError:
    return InputError(f"{name}.cypher {reason}; {fix}")


# Queries of users: their limits and their results; see :meth:`hlgraph.stores.protocols.GraphStore.cypher`.

Plain: TypeAlias = Union[bool, int, float, str, list["Plain"], dict[str, "Plain"], None]  # noqa: UP007 - refers to itself
"""A cell of a result, as a JSON value. A date is an ISO 8601 text, a node a map of ``labels`` and ``properties``, a
relationship a map of ``type``, ``properties``, ``start`` and ``end``, a path a map of ``nodes`` and ``relationships``."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one query. Raises InputError for a value out of range.

    Attributes
    ----------
    timeout : maximum running time in seconds, above 0 and at most 86,400
    max_rows : maximum number of rows to return, at least 1
    """

    timeout: float = 30.0
    max_rows: int = 1_000

    def __post_init__(self) -> None:
        """Check the values."""
        if not 0 < self.timeout <= 86_400:
            raise InputError(f"timeout is {self.timeout}; choose seconds above 0, up to a day")
        if self.max_rows < 1:
            raise InputError(f"max_rows is {self.max_rows}; choose 1 or more")


@dataclass(frozen=True, slots=True)
class Table(Listing[Mapping[str, "Plain"]]):
    """The result of a query. It has the length of its rows, and iterates over them.

    Attributes
    ----------
    columns : in the order of the query
    rows : one mapping of column to value per row
    is_cut : whether the query had more rows than :attr:`Limits.max_rows`
    milliseconds : from sending the query to its last row, including the lookup of names
    params : the parameters sent: defaults filled in, names replaced by ids
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Plain], ...]
    is_cut: bool
    milliseconds: float
    params: Mapping[str, ParameterValue]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Plain]: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Mapping[str, Plain], ...]: ...
    def __getitem__(self, at: int | slice) -> Mapping[str, Plain] | tuple[Mapping[str, Plain], ...]:
        return self.rows[at]

    def _columns(self) -> tuple[str, ...]:
        return self.columns

    def _rows(self) -> Iterable[Mapping[str, Plain]]:
        return self.rows

    def _footer(self) -> str:
        return (
            f"{len(self):,} row{'s' * (len(self) != 1)}{', and there are more: raise max_rows' if self.is_cut else ''}"
        )
