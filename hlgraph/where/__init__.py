"""The metadata filter, which restricts the sources that a search may see.

A filter is data (`Compare`, `In`, `Exists`, `And`, `Or`, `Not`). `parse` reads one from text, and `field` builds one in
Python:

>>> where = (field("category") == "tech") & ((field("year") >= 2023) | field("tags").is_in(["a", "b"]))
>>> to_text(where)
'category = "tech" and (year >= 2023 or tags in ("a", "b"))'
>>> parse(to_text(where)) == where
True

`matches` defines the meaning. A store that translates a filter (to SQL, Cypher or a search query) must agree with it:

- A filter is true or false, never unknown. A missing field makes ``=``, ``<``, ``<=``, ``>``, ``>=`` and ``in`` false.
  ``a != v`` is exactly ``not (a = v)``, so it is true for a missing field.
- A field with several values matches if any of them does.
- A text that is an instant (``2024-03-05T10:30:00+01:00``) compares as one, whatever its zone; without a zone it is UTC. A date
  sorts before all times of its day (:func:`hlgraph.text.canonical_time`).
- Numbers compare with numbers (``3 = 3.0``) and texts with texts, by code point. Booleans compare with booleans, for
  equality only. A comparison across types is false. A stored integer beyond 64 bits counts as the nearest float.

Every source has the fields ``uri``, ``title`` and ``source_id``. ``metadata.NAME`` is the metadata key NAME, even if one of
these three shadows it.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from enum import StrEnum
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any, ClassVar, NoReturn, cast

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput, UnexpectedToken

from hlgraph.errors import AccessError, InputError, WhereError
from hlgraph.records import AnyScalar, MetadataValue, Scalar, Source, plain_scalar
from hlgraph.text import ACL, UNSTORABLE, canonical_time

MAX_DEPTH = 50  # levels of nesting
MAX_NODES = 1_000  # conditions and operators of a filter
MAX_VALUES = 10_000  # of one `in (...)`
MAX_LENGTH = 1_000_000  # characters of a text
BUILT_IN_FIELDS = frozenset({"source_id", "title", "uri"})

_METADATA = "metadata."
_INT64 = 1 << 63
_MAX_SHOWN = 20  # field names listed in an error


class Op(StrEnum):
    """Comparison operators."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class _Combinable:
    """Adds the operators ``&``, ``|`` and ``~`` to filters; ``a & b & c`` is one conjunction of three parts."""

    __slots__ = ()

    def __and__(self, other: Where) -> And:
        return And(self._parts(And, other))

    def __or__(self, other: Where) -> Or:
        return Or(self._parts(Or, other))

    def _parts(self, kind: type[And | Or], other: Where) -> tuple[Where, ...]:
        if not isinstance(other, _Combinable):
            raise WhereError(f"a filter cannot be joined with {other!a:.60}; join it with another filter")
        sides = (cast("Where", self), other)
        return tuple(part for side in sides for part in (side.parts if isinstance(side, kind) else (side,)))

    def __invert__(self) -> Not:
        return Not(cast("Where", self))

    def __bool__(self) -> NoReturn:
        # `a and b`, `not a` and `1 <= field("x") <= 2` would otherwise silently drop a part.
        raise WhereError(
            "a filter has no truth value; combine filters with & | ~ instead of and, or, not, and write a range as "
            "two comparisons"
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Compare(_Combinable):
    """The condition ``field op value``; booleans can only be compared with ``=`` and ``!=``."""

    depth: ClassVar[int] = 1
    size: ClassVar[int] = 1
    field: str
    op: Op
    value: Scalar
    is_truth: bool = dataclasses.field(init=False, repr=False)  # in Python 1 == True, in a filter they differ

    def __post_init__(self) -> None:
        _check_name(self.field)
        object.__setattr__(self, "value", _checked_value(self.field, self.value))
        object.__setattr__(self, "is_truth", isinstance(self.value, bool))
        if isinstance(self.value, bool) and self.op not in {Op.EQ, Op.NE}:
            raise WhereError(f"{self.field} {self.op} {self.value}: true and false have no order; use = or !=")


@dataclasses.dataclass(frozen=True, slots=True)
class In(_Combinable):
    """The condition ``field in (values)``; false without values."""

    depth: ClassVar[int] = 1
    size: ClassVar[int] = 1
    field: str
    values: tuple[Scalar, ...]
    are_truths: tuple[bool, ...] = dataclasses.field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_name(self.field)
        check_size(1, values=len(self.values))
        object.__setattr__(self, "values", tuple(_checked_value(self.field, value) for value in self.values))
        object.__setattr__(self, "are_truths", tuple(isinstance(value, bool) for value in self.values))


@dataclasses.dataclass(frozen=True, slots=True)
class Exists(_Combinable):
    """The condition ``exists field``."""

    depth: ClassVar[int] = 1
    size: ClassVar[int] = 1
    field: str

    def __post_init__(self) -> None:
        _check_name(self.field)


def check_size(size: int, *, depth: int = 0, values: int = 0) -> None:
    """Raise WhereError for a filter beyond the limits. A parser calls this while it reads, so that it stops early.

    Parameters
    ----------
    size : number of conditions and operators
    depth : levels of nesting
    values : number of values of one ``in (...)``
    """
    if depth > MAX_DEPTH:
        raise WhereError(f"the filter is nested more than {MAX_DEPTH} levels deep; flatten it, or use `in (...)`")
    if size > MAX_NODES:
        raise WhereError(f"the filter has more than {MAX_NODES:,} conditions; use `in (...)` for lists of values")
    if values > MAX_VALUES:
        raise WhereError(f"`in (...)` lists more than {MAX_VALUES:,} values; make several filters of it")


@dataclasses.dataclass(frozen=True, slots=True)
class _Nest(_Combinable):
    """A filter composed of filters. The limits are checked on construction, so no filter beyond them exists."""

    depth: int = dataclasses.field(init=False, repr=False, compare=False)
    size: int = dataclasses.field(init=False, repr=False, compare=False)

    def _measure(self, parts: tuple[Where, ...]) -> None:
        depth = 1 + max(part.depth for part in parts)
        size = 1 + sum(part.size for part in parts)
        check_size(size, depth=depth)
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "size", size)


@dataclasses.dataclass(frozen=True, slots=True)
class _Junction(_Nest):
    parts: tuple[Where, ...]

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise WhereError(f"{type(self).__name__} needs at least two filters, but {len(self.parts)} were given")
        self._measure(self.parts)


class And(_Junction):
    """True if all of its two or more parts are true."""

    __slots__ = ()


class Or(_Junction):
    """True if any of its two or more parts is true."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Not(_Nest):
    """True if its part is false."""

    part: Where

    def __post_init__(self) -> None:
        self._measure((self.part,))


Where = Compare | In | Exists | And | Or | Not
AnyWhere = Where | str | Mapping[str, object]
"""A filter as callers pass it: data, a text for :func:`parse`, or a mapping for :func:`from_mapping`."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A field to compare: ``field("year") >= 2023``. A comparison returns a filter, so a `Field` has no equality or hash."""

    name: str

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, value: AnyScalar) -> Compare:  # type: ignore[override]
        return self._compared(Op.EQ, value)

    def __ne__(self, value: AnyScalar) -> Compare:  # type: ignore[override]
        return self._compared(Op.NE, value)

    def __lt__(self, value: AnyScalar) -> Compare:
        return self._compared(Op.LT, value)

    def __le__(self, value: AnyScalar) -> Compare:
        return self._compared(Op.LE, value)

    def __gt__(self, value: AnyScalar) -> Compare:
        return self._compared(Op.GT, value)

    def __ge__(self, value: AnyScalar) -> Compare:
        return self._compared(Op.GE, value)

    def _compared(self, op: Op, value: AnyScalar) -> Compare:
        return Compare(self.name, op, cast("Scalar", value))

    def is_in(self, values: Iterable[AnyScalar]) -> In:
        """The filter ``name in (values)``. Raises WhereError if ``values`` is not a list of values."""
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise WhereError(f"{self.name} in {values!a:.60}: give a list of values, such as [{values!a:.60}]")
        return In(self.name, tuple(islice(cast("Iterable[Scalar]", values), MAX_VALUES + 1)))

    def exists(self) -> Exists:
        """The filter ``exists name``."""
        return Exists(self.name)


def field(name: str) -> Field:
    """The field of this name, ready to compare."""
    return Field(name)


def parse(text: str) -> Where:
    """The filter that a text expresses.

    Conditions are ``field op value`` with ``= != < <= > >=`` (also ``==`` and ``<>``), ``field in (value, ...)``,
    ``field not in (...)`` and ``exists field``. They are joined by ``not`` (binds most tightly), ``and``, ``or`` and
    parentheses. Values are text in single or double quotes with the escapes of JSON, numbers, true and false. Field names
    consist of letters, digits and ``_ - . :``, or of anything in backticks. Keywords may be in any case.

    Raises
    ------
    WhereError
        The text is not a filter. The message gives the position, the line with a caret, what was expected, and an example.

    Examples
    --------
    >>> parse("year >= 2023 AND NOT exists author")
    And(parts=(Compare(field='year', op=<Op.GE: '>='>, value=2023), Not(part=Exists(field='author'))))
    """
    if len(text) > MAX_LENGTH:
        raise WhereError(f"the filter has {len(text):,} characters; at most {MAX_LENGTH:,} are allowed: shorten it")
    parser = _parser().parse_interactive(text)
    seen: Counter[str] = Counter()
    try:
        last: Token | None = None
        for last in parser.iter_parse():
            _check_seen(seen, last)
        return cast("Where", parser.feed_eof(last))  # type: ignore[no-untyped-call]
    except UnexpectedInput as error:
        error.interactive_parser = parser
        raise _unexpected(text, error) from None
    except _PlacedError as error:
        raise _misread(text, error.position, str(error)) from None


def from_mapping(values: Mapping[str, object]) -> Where:
    """The filter of a mapping: every field has its value, or one of a list of values.

    Raises
    ------
    WhereError
        The mapping is empty, or holds a value that cannot be compared.

    Examples
    --------
    >>> to_text(from_mapping({"category": "tech", "year": [2023, 2024]}))
    'category = "tech" and year in (2023, 2024)'
    """
    check_size(len(values))
    parts: list[Where] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            raise WhereError(
                f"{name}: a mapping means `=`, or `in` with a list of values, and {dict(value)!a:.60} is neither; write "
                f"the filter as a text, such as where='{name} >= 2023'"
            )
        if isinstance(value, list | tuple):
            parts.append(In(name, tuple(value)))
        else:
            parts.append(Compare(name, Op.EQ, cast("Scalar", value)))
    if not parts:
        raise WhereError("the filter is an empty mapping; leave it out, or write for example {'year': 2023}")
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def to_text(where: Where) -> str:
    """The canonical text of a filter: ``parse(to_text(where)) == where``.

    Examples
    --------
    >>> to_text(~field("in").is_in(["a", 2.0, True]))
    '`in` not in ("a", 2.0, true)'
    """
    match where:
        case And() | Or():
            return f" {type(where).__name__.lower()} ".join(map(_term, where.parts))
        case Not(part=In() as part):
            return f"{_name(part.field)} not in {_values(part)}"
        case Not():
            return f"not {_term(where.part)}"
        case Exists():
            return f"exists {_name(where.field)}"
        case In():
            return f"{_name(where.field)} in {_values(where)}"
    return f"{_name(where.field)} {where.op} {_literal(where.value)}"


def matches(where: Where, values: Mapping[str, MetadataValue]) -> bool:
    """Whether values satisfy a filter; the reference for every store (see the docstring of the module).

    Parameters
    ----------
    where : the filter
    values : values by field name, as from :func:`source_values`

    Returns
    -------
    bool
        Never unknown: a missing field makes a comparison false.

    Examples
    --------
    >>> matches(parse('tags = "a" and author != "x"'), {"tags": ("a", "b")})
    True
    """
    match where:
        case And():
            return all(matches(part, values) for part in where.parts)
        case Or():
            return any(matches(part, values) for part in where.parts)
        case Not():
            return not matches(where.part, values)
        case Exists():
            return where.field in values
        case Compare(op=Op.NE):
            return not matches(Compare(where.field, Op.EQ, where.value), values)
    actual = values.get(where.field, ())
    elements = actual if isinstance(actual, tuple) else (actual,)
    return any(_is_met(where, element) for element in elements)


def _is_met(where: Compare | In, element: Scalar) -> bool:
    if isinstance(where, Compare):
        return _holds(where.op, element, where.value)
    if isinstance(element, str):  # equals no other type; the groups of a caller may be many
        return element in where.values
    return any(_holds(Op.EQ, element, value) for value in where.values)


_TESTS: Mapping[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}


def _holds(op: Op, element: Scalar, value: Scalar) -> bool:
    for kind in (bool, str):  # bool first: to Python, True is a number
        if isinstance(element, kind) or isinstance(value, kind):
            return isinstance(element, kind) and isinstance(value, kind) and _TESTS[op](element, value)
    if isinstance(element, int) and not -_INT64 <= element < _INT64:
        try:
            element = float(element)
        except OverflowError:
            element = math.inf if element > 0 else -math.inf
    return _TESTS[op](element, value)


def fields(where: Where) -> frozenset[str]:
    """The names of all fields of a filter, as written.

    Examples
    --------
    >>> sorted(fields(parse("a = 1 or not exists b")))
    ['a', 'b']
    """
    return frozenset(condition.field for condition in _conditions(where))


def _conditions(where: Where) -> Iterator[Compare | In | Exists]:
    if isinstance(where, Compare | In | Exists):
        yield where
    else:
        for part in (where.part,) if isinstance(where, Not) else where.parts:
            yield from _conditions(part)


def metadata_key(name: str) -> str | None:
    """The metadata key that a field name refers to; None for ``uri``, ``title`` and ``source_id``.

    Examples
    --------
    >>> metadata_key("year"), metadata_key("metadata.title"), metadata_key("title")
    ('year', 'title', None)
    """
    return None if name in BUILT_IN_FIELDS else name.removeprefix(_METADATA)


def source_values(source: Source) -> dict[str, MetadataValue]:
    """The values of a source for `matches`: built-in fields, metadata keys that these do not shadow, and ``metadata.KEY``."""
    values = {key: value for key, value in source.metadata.items() if not key.startswith(_METADATA)}
    values.update((_METADATA + key, value) for key, value in source.metadata.items())
    return values | {"source_id": source.id, "title": source.title, "uri": source.uri}


def type_of(value: object) -> str:
    """The type by which a filter compares a value: ``text``, ``number`` or ``truth``."""
    return "text" if isinstance(value, str) else "truth" if isinstance(value, bool) else "number"


def check_fields(where: Where, known: Mapping[str, Collection[str]]) -> None:
    """Reject a filter that would silently match nothing or everything: an unknown field, another type, or an empty list.

    Parameters
    ----------
    where : the filter
    known : metadata keys that occur in the corpus, each with the types of its values (:func:`type_of`); none: they are unknown

    Raises
    ------
    WhereError
        A field is unknown: the message lists similar names and the known ones. A field has no value of the type that it is
        compared with, or is compared with an empty list: the message names its type.
    """
    for name in sorted(fields(where)):
        key = metadata_key(name)
        if key is None or key in known:
            continue
        names = sorted({*known, *BUILT_IN_FIELDS})
        near = difflib.get_close_matches(name, names, n=3)
        more = f" and {len(names) - _MAX_SHOWN:,} more" if len(names) > _MAX_SHOWN else ""
        raise WhereError(
            f"no source has a field {name!r}"
            + (f"; did you mean {' or '.join(map(repr, near))}?" if near else "")
            + f"; known fields: {', '.join(names[:_MAX_SHOWN])}{more}"
        )
    for part in _conditions(where):
        if not isinstance(part, Exists):
            key = metadata_key(part.field)
            _check_types(part, ("text",) if key is None else sorted(known[key]))


_SAID = {"text": "texts", "number": "numbers", "truth": "true or false"}
_WRITTEN = {
    "text": 'a text in quotes, such as "a"',
    "number": "a number without quotes, such as 2023",
    "truth": "true or false",
}


def _check_types(part: Compare | In, kinds: Sequence[str]) -> None:
    """Raise WhereError if no value of a field has a type that the condition compares; ``kinds`` are the types of its values."""
    said = " and ".join(_SAID[kind] for kind in kinds) or "values of several types"
    written = " or ".join(_WRITTEN[kind] for kind in kinds) or "values"
    if isinstance(part, In) and not part.values:
        raise WhereError(
            f"{part.field} in (): the list is empty, so no source matches; the field {part.field!r} holds {said}: write "
            f"{written}, or leave the condition out"
        )
    for value in part.values if isinstance(part, In) else (part.value,):
        if kinds and type_of(value) not in kinds:
            shown = json.dumps(value, ensure_ascii=False)[:60]
            raise WhereError(
                f"{part.field} is compared with {shown}, and the field {part.field!r} holds {said}; write {written}"
            )


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise WhereError(
            f"a field name is {name!a:.60}; give a text: the name of a metadata key, uri, title or source_id"
        )
    if not name:
        raise WhereError("a field name is empty; give the name of a metadata key, uri, title or source_id")
    _check_text("a field name", name)


def _checked_value(name: str, value: object) -> Scalar:
    """A value as it is compared, which every store can hold; its type is `object` because callers may not be type-checked."""
    value = plain_scalar(value)
    if name not in BUILT_IN_FIELDS:
        value = canonical_time(value)
    if isinstance(value, str):
        _check_text(f"a value for {name}", value)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise WhereError(f"{name}: {value} cannot be compared; use a finite number")
    elif isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise WhereError(f"{name}: an integer must fit into 64 bits; write a larger number with an exponent (1e20)")
    else:
        mend = f"; for a missing field use `not exists {name}`" if value is None else ""
        kind = type(value).__name__
        raise WhereError(f"{name}: a value must be a text, a number, true or false, but {kind} was given{mend}")
    return value


def _check_text(what: str, text: str) -> None:
    if UNSTORABLE.search(text):
        raise WhereError(f"{what} contains a NUL or a lone surrogate, which no store can hold; remove it: {text!a:.80}")


# Parser and formatter of the text form; the grammar is in syntax.lark.


_EXAMPLE = 'category = "tech" and (year >= 2023 or tags in ("a", "b")) and not exists author'
_KEYWORDS = frozenset({"and", "or", "not", "in", "exists", "true", "false"})
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "/": "/", '"': '"', "'": "'"}
_MAX_DIGITS = 30  # a longer integer is out of range, and Python refuses to convert very long ones
_MAX_OPEN = 10_000  # parentheses, which do not count as levels of a filter
_COLUMNS = 40  # characters shown on either side of an error

_VALUE = 'a value ("text", a number, true or false)'
_EXPECTED = {
    "NAME": "a field name",
    "QUOTED_NAME": "a field name",
    "OPERATOR": "a comparison (= != < <= > >=)",
    "_IN": "`in`",
    "_NOT": "`not`",
    "_EXISTS": "`exists`",
    "STRING": _VALUE,
    "NUMBER": _VALUE,
    "BOOLEAN": _VALUE,
    "_AND": "`and`",
    "_OR": "`or`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "COMMA": "`,`",
    "$END": "the end",
}


class _PlacedError(Exception):
    """A token that the grammar allows but a filter does not, with its position."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position


@v_args(inline=True)
class _Builder(Transformer[Token, Where]):
    """Turns each rule of the grammar into a part of a filter."""

    negation, existence, membership = Not, Exists, In

    def disjunction(self, *parts: Where) -> Or:
        return Or(parts)

    def conjunction(self, *parts: Where) -> And:
        return And(parts)

    def comparison(self, *parts: Any) -> Compare:
        name, sign, value = parts
        return Compare(name, Op({"==": "=", "<>": "!="}.get(sign, sign)), value)

    def absence(self, name: str, values: tuple[Scalar, ...]) -> Not:
        return Not(In(name, values))

    def values(self, *values: Scalar) -> tuple[Scalar, ...]:
        return values

    def name(self, token: Token) -> str:
        return token[1:-1].replace("``", "`") if token.type == "QUOTED_NAME" else str(token)

    def value(self, token: Token) -> Scalar:
        if token.type == "STRING":
            return _ESCAPE.sub(lambda match: _unescape(token, match), token[1:-1])
        if token.type == "BOOLEAN":
            return token.lower() == "true"
        if token.lstrip("-").isdigit():
            if len(token) > _MAX_DIGITS:
                raise _PlacedError(_start(token), "an integer must fit into 64 bits")
            return int(token)
        return float(token)


def _start(token: Token) -> int:
    return token.start_pos or 0


def _unescape(token: Token, match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    if code not in _ESCAPED:
        position = _start(token) + 1 + match.start()
        raise _PlacedError(position, f"\\{code} is not an escape; write a backslash itself as \\\\")
    return _ESCAPED[code]


@cache
def _parser() -> Lark:
    grammar = resources.files("hlgraph.where").joinpath("syntax.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", transformer=_Builder(), maybe_placeholders=False)


def _check_seen(seen: Counter[str], token: Token) -> None:
    """Count a token, and raise WhereError as soon as the filter exceeds a limit, without reading the rest."""
    seen[token.type] += 1
    if token.type == "_IN":
        seen["COMMA"] = 0
    size = seen["OPERATOR"] + seen["_IN"] + seen["_EXISTS"] + seen["_NOT"]
    check_size(size, values=seen["COMMA"])
    if seen["LPAR"] - seen["RPAR"] > _MAX_OPEN:
        raise WhereError(f"the filter has more than {_MAX_OPEN:,} parentheses inside of each other; leave some out")


def _unexpected(text: str, error: UnexpectedInput) -> WhereError:
    """The error for a token that the grammar does not allow at its position."""
    is_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    position = len(text.rstrip()) if is_end else error.pos_in_stream or 0
    accepted: set[str] = error.interactive_parser.accepts()  # type: ignore[no-untyped-call]
    *words, last = dict.fromkeys(word for name, word in _EXPECTED.items() if name in accepted)
    reason = f"expected {', '.join(words)}{' or ' * bool(words)}{last}"
    character = text[position : position + 1]
    if "STRING" in accepted and character and character in "\"'":
        reason = f"the text that begins with {character} has no closing quote"
    elif "STRING" in accepted and character.isalnum():
        reason += "; put text in quotes"
    elif "NAME" in accepted and character.isalpha():
        reason += "; put a field named like a keyword in backticks"
    return _misread(text, position, reason)


def _misread(text: str, position: int, reason: str) -> WhereError:
    """An error that shows the line of the mistake, shortened to 40 characters on either side."""
    start = max(text.rfind("\n", 0, position) + 1, position - _COLUMNS)
    end = text.find("\n", position)
    stop = min(len(text) if end < 0 else end, position + _COLUMNS)
    line = re.sub(r"\s", " ", text[start:stop])
    caret = " " * (position - start) + "^"
    return WhereError(f"filter, character {position + 1}: {reason}\n  {line}\n  {caret}\nexample: {_EXAMPLE}")


def _term(where: Where) -> str:
    return f"({to_text(where)})" if isinstance(where, And | Or) else to_text(where)


def _name(name: str) -> str:
    is_plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _KEYWORDS
    return name if is_plain else f"`{name.replace('`', '``')}`"


def _values(where: In) -> str:
    return f"({', '.join(map(_literal, where.values))})"


def _literal(value: Scalar) -> str:
    """The text of a value: JSON, which the grammar reads back, with the shortest float that gives the same number."""
    return json.dumps(value, ensure_ascii=False)


# Who may see a source. A source names its groups in the metadata field ``acl``; a caller who is in one of them sees it. Nothing is
# implied: a source without groups is seen by operators only, and ``public`` is a group that a source and a caller must name.


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the groups that the caller is in, or an operator, who sees every source.

    Attributes
    ----------
    groups : names of groups; a group that no source names admits nothing
    operates : whether every source is seen, whatever its groups
    opened, closed : uris of sources that are seen, or are not, whatever their stored groups say, ascending
    """

    groups: frozenset[str] = frozenset()
    operates: bool = False
    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()

    @classmethod
    def of(cls, groups: Iterable[str]) -> Caller:
        """A caller in these groups. Raises InputError for a single text, for no group, and for one that is not a text."""
        names = list(groups) if isinstance(groups, Set | list | tuple) else [None]
        if not all(isinstance(name, str) and name.strip() for name in names):
            raise InputError(f"the groups of a caller are {groups!a:.60}; give a set of texts, such as {{'finance'}}")
        if not names:
            raise InputError("a caller needs at least one group, such as 'public'; as_operator() sees every source")
        several = next((name for name in names if ";" in str(name)), None)
        if several is not None:  # no stored group has one: it would see nothing
            raise InputError(f"{several!r} is several groups, which ; separates; give each as a text of its own")
        return cls(frozenset(str(name).strip() for name in names))

    def narrowed(self, where: Where | None) -> Where | None:
        """A filter that admits only what the caller may see. A filter that this method returned stays as it is.

        Parameters
        ----------
        where : the filter of the caller; None admits all that the caller may see
        """
        if self.operates:
            return where
        admitted: Where = In(f"metadata.{ACL}", tuple(sorted(self.groups)))
        for start in range(0, len(self.closed), MAX_VALUES):
            admitted = And((admitted, Not(In("uri", self.closed[start : start + MAX_VALUES]))))
        for start in range(0, len(self.opened), MAX_VALUES):
            admitted = Or((admitted, In("uri", self.opened[start : start + MAX_VALUES])))
        return narrowed(where, admitted)

    def sees(self, groups: object) -> bool:
        """Whether the caller sees a source with this value of ``acl``; None for a source without groups."""
        return self.operates or not self.groups.isdisjoint(groups if isinstance(groups, tuple) else (groups,))


def narrowed(where: Where | None, admitted: Where) -> Where:
    """A filter that admits only what both filters admit. A filter that this function returned stays as it is.

    Parameters
    ----------
    where : a filter; None admits all
    admitted : a filter that holds whatever the other one says
    """
    if where is None or where == admitted:
        return admitted
    is_narrow = isinstance(where, And) and where.parts[0] == admitted
    return where if is_narrow else And((admitted, where))


def refuse_nobody(corpus: str, known: Collection[str]) -> None:
    """Raise AccessError if sources name groups, for a read without a caller.

    Parameters
    ----------
    corpus : name of the corpus
    known : metadata keys of its sources
    """
    if ACL in known:
        raise AccessError(
            f"sources of corpus {corpus!r} name groups, so a caller must be named: graph.as_caller({{'GROUP'}}) or "
            "--as GROUP; graph.as_operator() or --as-operator sees every source"
        )
