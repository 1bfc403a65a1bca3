"""Parses metadata filters from text and formats them as text; the grammar is in syntax.lark."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from importlib import resources
from typing import cast

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput, UnexpectedToken

from hlgraph.errors import WhereError
from hlgraph.records import Scalar
from hlgraph.where.filter import MAX_LENGTH, And, Compare, Exists, In, Not, Op, Or, Where, check_size

_EXAMPLE = 'category = "tech" and (year >= 2023 or tags in ("a", "b")) and not exists author'
_KEYWORDS = frozenset({"and", "or", "not", "in", "exists", "true", "false"})
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "/": "/", '"': '"', "'": "'"}
_MAX_DIGITS = 30  # a longer integer is out of range, and Python refuses to convert very long ones
_MAX_OPEN = 10_000  # parentheses, which are no levels of a filter
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


class _Builder(Transformer[Token, Where]):
    """Turns each rule of the grammar into a part of a filter."""

    def disjunction(self, parts: list[Where]) -> Or:
        return Or(tuple(parts))

    def conjunction(self, parts: list[Where]) -> And:
        return And(tuple(parts))

    def negation(self, parts: list[Where]) -> Not:
        return Not(parts[0])

    def existence(self, parts: list[str]) -> Exists:
        return Exists(parts[0])

    def comparison(self, parts: tuple[str, Token, Scalar]) -> Compare:
        name, sign, value = parts
        return Compare(name, Op({"==": "=", "<>": "!="}.get(sign, sign)), value)

    def membership(self, parts: tuple[str, tuple[Scalar, ...]]) -> In:
        return In(*parts)

    def absence(self, parts: tuple[str, tuple[Scalar, ...]]) -> Not:
        return Not(In(*parts))

    def values(self, parts: list[Scalar]) -> tuple[Scalar, ...]:
        return tuple(parts)

    def name(self, parts: list[Token]) -> str:
        token = parts[0]
        return token[1:-1].replace("``", "`") if token.type == "QUOTED_NAME" else str(token)

    def value(self, parts: list[Token]) -> Scalar:
        token = parts[0]
        if token.type == "STRING":
            return _ESCAPE.sub(lambda found: _unescape(token, found), token[1:-1])
        if token.type == "BOOLEAN":
            return token.lower() == "true"
        if token.lstrip("-").isdigit():
            if len(token) > _MAX_DIGITS:
                raise _PlacedError(_start(token), "an integer must fit into 64 bits")
            return int(token)
        return float(token)


def _start(token: Token) -> int:
    return token.start_pos or 0


def _unescape(token: Token, found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    if code not in _ESCAPED:
        position = _start(token) + 1 + found.start()
        raise _PlacedError(position, f"\\{code} is not an escape; write a backslash itself as \\\\")
    return _ESCAPED[code]


@cache
def _parser() -> Lark:
    grammar = resources.files("hlgraph.where").joinpath("syntax.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", transformer=_Builder(), maybe_placeholders=False)


def read(text: str) -> Where:
    """The filter that a text expresses; see `hlgraph.where.parse`."""
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


def _check_seen(seen: Counter[str], token: Token) -> None:
    """Count a token, and raise WhereError where the filter is beyond a limit already: the rest of it is not read."""
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
    found = text[position : position + 1]
    if "STRING" in accepted and found and found in "\"'":
        reason = f"the text that begins with {found} has no closing quote"
    elif "STRING" in accepted and found.isalnum():
        reason += "; put text in quotes"
    elif "NAME" in accepted and found.isalpha():
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


def write(where: Where) -> str:
    """The canonical text of a filter; see `hlgraph.where.to_text`."""
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


def _term(where: Where) -> str:
    return f"({write(where)})" if isinstance(where, And | Or) else write(where)


def _name(name: str) -> str:
    is_plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in _KEYWORDS
    return name if is_plain else f"`{name.replace('`', '``')}`"


def _values(where: In) -> str:
    return f"({', '.join(map(_literal, where.values))})"


def _literal(value: Scalar) -> str:
    """The text of a value: JSON, which the grammar reads back, with the shortest float that gives the same number."""
    return json.dumps(value, ensure_ascii=False)
