"""Translates a metadata filter into an SQLite condition that agrees with `hlgraph.where.matches` on every source."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hlgraph.where import And, Compare, Exists, In, Not, Op, Or, Where, metadata_key

Parameter = str | int | float

_COLUMNS = {"source_id": "source.id", "title": "source.title", "uri": "source.uri"}

# One row for each value of the key: the elements of an array, or the scalar itself joined with one dummy row. The key is
# compared as data because a JSON path cannot name every key (quotes, escapes) in all versions of SQLite.
_VALUES = (
    "EXISTS (SELECT 1 FROM json_each(source.metadata) AS m,"
    " json_each(CASE m.type WHEN 'array' THEN m.value ELSE '[0]' END) AS v WHERE m.key = {key} AND ({test}))"
)
_KEY = "EXISTS (SELECT 1 FROM json_each(source.metadata) AS m WHERE m.key = {key})"
_LISTED = "IN (SELECT value FROM json_each({values}))"
_TYPE = "iif(m.type = 'array', v.type, m.type)"
_ATOM = "iif(m.type = 'array', v.atom, m.atom)"

# SQLite parses an expression with a stack of 100, of which a leaf takes 30. In a filter that nests deeper than this, the
# leaves are computed first, as columns, and the expression uses the names of the columns.
_INLINE_DEPTH = 16
_HOISTED = "(SELECT {expression} FROM (SELECT {leaves}) AS leaf)"


def to_sql(where: Where) -> tuple[str, dict[str, Parameter]]:
    """A boolean expression over a row ``source`` with the columns id, uri, title (not NULL) and metadata (JSON object).

    Parameters
    ----------
    where : the filter

    Returns
    -------
    tuple
        The expression, safe to join with AND, and its named parameters ``w0``, ``w1``...; the text holds no data.
        It is never NULL, and runs on SQLite 3.38 and later.

    Examples
    --------
    >>> from hlgraph.where import parse
    >>> to_sql(parse('uri = "a" or not title in ("b", "c")'))[0]
    '(NOT source.title IN (SELECT value FROM json_each(:w1)) OR source.uri = :w0)'
    """
    writer = _Writer(is_inline=where.depth <= _INLINE_DEPTH)
    expression = writer.write(where)
    if not writer.leaves:
        return expression.wrapped, writer.params
    leaves = ", ".join(f"{leaf} AS p{number}" for number, leaf in enumerate(writer.leaves))
    return _HOISTED.format(expression=expression.text, leaves=leaves), writer.params


@dataclass(frozen=True, slots=True)
class _Expression:
    """SQL text, the operator at its top, if any, and its nesting depth."""

    text: str
    height: int = 0
    operator: Literal["AND", "OR", ""] = ""

    @property
    def wrapped(self) -> str:
        return f"({self.text})" if self.operator else self.text


@dataclass(frozen=True, slots=True)
class _Writer:
    is_inline: bool
    params: dict[str, Parameter] = field(default_factory=dict)
    leaves: list[str] = field(default_factory=list)

    def write(self, where: Where) -> _Expression:
        match where:
            case And() | Or():
                return _join("AND" if isinstance(where, And) else "OR", map(self.write, where.parts))
            case Not(part=Not(part=inner)):
                return self.write(inner)
            case Not():
                part = self.write(where.part)
                return _Expression(f"NOT {part.wrapped}", part.height + 1)
            case Compare(op=Op.NE):
                return self.write(Not(Compare(where.field, Op.EQ, where.value)))
        leaf = self._leaf(where)
        if self.is_inline:
            return _Expression(leaf)
        self.leaves.append(leaf)
        return _Expression(f"p{len(self.leaves) - 1}")

    def _leaf(self, where: Compare | In | Exists) -> str:
        key = metadata_key(where.field)
        if key is None:
            return "1" if isinstance(where, Exists) else self._test(where, _COLUMNS[where.field], "")
        name = self._bind(key)
        if isinstance(where, Exists):
            return _KEY.format(key=name)
        return _VALUES.format(key=name, test=self._test(where, _ATOM, _TYPE))

    def _test(self, where: Compare | In, atom: str, kind: str) -> str:
        """A test of one stored value against the filter; ``kind`` is its JSON type, empty for a text column."""
        values = where.values if isinstance(where, In) else (where.value,)
        texts = [value for value in values if isinstance(value, str)]
        numbers = [value for value in values if not isinstance(value, str | bool)]
        if not kind:
            return f"{atom} {self._wanted(where, texts)}" if texts else "0"
        truths = {value for value in values if isinstance(value, bool)}
        tests = [f"{kind} = '{str(truth).lower()}'" for truth in sorted(truths)]
        if texts:
            tests.append(f"{kind} = 'text' AND {atom} {self._wanted(where, texts)}")
        if numbers:
            tests.append(f"{kind} IN ('integer', 'real') AND {atom} {self._wanted(where, numbers)}")
        return " OR ".join(tests) or "0"

    def _wanted(self, where: Compare | In, values: Sequence[Parameter]) -> str:
        if isinstance(where, In):
            return _LISTED.format(values=self._bind(json.dumps(values)))
        if isinstance(values[0], float):
            # Use the JSON parser that reads the metadata, so that equal digits are equal numbers in every version.
            return f"{where.op} json_extract({self._bind(json.dumps(values[0]))}, '$')"
        return f"{where.op} {self._bind(values[0])}"

    def _bind(self, value: Parameter) -> str:
        name = f"w{len(self.params)}"
        self.params[name] = value
        return f":{name}"


def _join(operator: Literal["AND", "OR"], parts: Iterable[_Expression]) -> _Expression:
    """Join expressions into a tree of minimum height, the higher side first.

    SQLite limits the height of a tree, and uses stack for the right side.
    """
    heap = [(part.height, index, part) for index, part in enumerate(parts)]
    heapq.heapify(heap)
    for index in range(len(heap), 2 * len(heap) - 1):
        (_, _, right), (height, _, left) = heapq.heappop(heap), heapq.heappop(heap)
        first = left.text if left.operator == operator else left.wrapped
        joined = _Expression(f"{first} {operator} {right.wrapped}", height + 1, operator)
        heapq.heappush(heap, (joined.height, index, joined))
    return heap[0][2]
