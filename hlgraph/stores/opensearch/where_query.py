"""Translates a metadata filter into a query that agrees with `hlgraph.where.matches` on every source.

The index of sources has one keyword field, ``conditions``. Every value of every metadata key is one keyword, which sorts
like the value: a hash of the key (of fixed length, so that keys cannot overlap), a letter for the type, and the value. Each
condition of a filter is then one clause over this field, whatever its type. The mapping therefore does not grow with the
keys of the data, and sources may use one key with different types.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from fractions import Fraction

from hlgraph.errors import WhereError
from hlgraph.ids import content_id
from hlgraph.records import Scalar, Source
from hlgraph.stores.opensearch.wire import Json
from hlgraph.where import And, Compare, Exists, In, Not, Op, Or, Where, metadata_key

FIELD = "conditions"

_LONGEST = 8_000  # maximum number of characters of a value that are compared; a keyword holds 32,766 bytes
_HASH = 20
_EXISTS, _NUMBER, _TEXT, _TRUTH = "e", "n", "s", "t"
_AFTER_NUMBER, _AFTER_TEXT = "o", "t"
_SHIFT = 1 << 15
_INT64 = 1 << 63
_MOST = 1.7976931348623157e308


def conditions(source: Source) -> list[str]:
    """The keywords of a source, sorted."""
    keywords: set[str] = set()
    for name, value in (("source_id", source.id), ("title", source.title), ("uri", source.uri)):
        keywords.update(_key(name, None) + item for item in _values(value))
    for key, field_value in source.metadata.items():
        prefix = _key("", key)
        keywords.add(prefix + _EXISTS)
        for element in field_value if isinstance(field_value, tuple | list) else (field_value,):
            keywords.update(prefix + item for item in _values(element))
    return sorted(keywords)


def to_query(where: Where) -> Json:
    """The query over ``conditions`` that matches the sources that the filter admits.

    Raises
    ------
    WhereError
        A text in the filter is longer than 7,999 characters.

    Examples
    --------
    >>> from hlgraph.where import parse
    >>> sorted(to_query(parse("a = true or not exists b"))["bool"])
    ['minimum_should_match', 'should']
    """
    match where:
        case And():
            return {"bool": {"filter": [to_query(part) for part in where.parts]}}
        case Or():
            return {"bool": {"should": [to_query(part) for part in where.parts], "minimum_should_match": 1}}
        case Not(part=Not(part=inner)):
            return to_query(inner)
        case Not():
            return {"bool": {"must_not": [to_query(where.part)]}}
        case Compare(op=Op.NE):
            return {"bool": {"must_not": [to_query(Compare(where.field, Op.EQ, where.value))]}}
    return _leaf(where)


def _leaf(where: Compare | In | Exists) -> Json:
    key = metadata_key(where.field)
    if isinstance(where, Exists):
        return {"match_all": {}} if key is None else {"term": {FIELD: _key("", key) + _EXISTS}}
    prefix = _key(where.field, key)
    if isinstance(where, In):
        wanted = [prefix + _encoded(where.field, value) for value in where.values]
        return {"terms": {FIELD: list[Json](dict.fromkeys(wanted))}}
    wanted_one = prefix + _encoded(where.field, where.value)
    if where.op is Op.EQ:
        return {"term": {FIELD: wanted_one}}
    is_text = isinstance(where.value, str)
    first = prefix + (_TEXT if is_text else _NUMBER)
    after = prefix + (_AFTER_TEXT if is_text else _AFTER_NUMBER)
    bounds: dict[Op, Json] = {
        Op.LT: {"gte": first, "lt": wanted_one},
        Op.LE: {"gte": first, "lte": wanted_one},
        Op.GT: {"gt": wanted_one, "lt": after},
        Op.GE: {"gte": wanted_one, "lt": after},
    }
    return {"range": {FIELD: bounds[where.op]}}


def _key(field: str, key: str | None) -> str:
    """The hash of a metadata key, or of a field that every source has."""
    return content_id("field", field)[:_HASH] if key is None else content_id("key", key)[:_HASH]


def _encoded(field: str, value: Scalar) -> str:
    if isinstance(value, str) and len(value) >= _LONGEST:
        raise WhereError(
            f"{field}: the text to compare with has {len(value):,} characters; this store compares at most "
            f"{_LONGEST - 1:,}, use a shorter one"
        )
    return next(_values(value))


def _values(value: Scalar) -> Iterator[str]:
    """The type letter and the sortable form of a value; nothing for NaN, which equals no value.

    A long text is truncated, which no filter can observe, because filters reject texts of this length.
    """
    if isinstance(value, bool):
        yield f"{_TRUTH}{int(value)}"
    elif isinstance(value, str):
        yield _TEXT + value[:_LONGEST]
    elif not (isinstance(value, float) and math.isnan(value)):
        yield _NUMBER + _ordered(value)


def _ordered(value: float) -> str:
    """A number as text that sorts exactly like the number: the nearest double, then the difference from it.

    Examples
    --------
    >>> _ordered(3) == _ordered(3.0), _ordered(2**53) < _ordered(2**53 + 1) < _ordered(2.0**53 + 2)
    (True, True)
    """
    rest = 0
    if isinstance(value, int) and -_INT64 <= value < _INT64:
        nearest = float(value)
        rest = int(Fraction(value) - Fraction(nearest))
    elif abs(value) > _MOST:  # outside the range of doubles: beyond the largest one, and not equal to it
        nearest, rest = (_MOST, 1) if value > 0 else (-_MOST, -1)
    else:
        nearest = float(value)
    bits: int = struct.unpack(">Q", struct.pack(">d", nearest + 0.0))[0]
    bits = bits ^ 0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else bits | 1 << 63
    return f"{bits:016x}{rest + _SHIFT:04x}"
