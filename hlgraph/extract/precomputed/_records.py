"""Parses and validates lines in the three forms, into one record type."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from hlgraph.errors import ExtractionError
from hlgraph.ids import normalise_name
from hlgraph.records import Mention, Triple


class Form(Enum):
    """The form of a line."""

    OWN = "id"
    TRIPLES = "passage_id, entities, triples"
    PROPOSITIONS = "passage_id, propositions"


@dataclass(frozen=True, slots=True)
class GivenStatement:
    """A statement of a record; ``span`` is None if the record gives none."""

    text: str
    mentions: tuple[Mention, ...] = ()
    topics: tuple[str, ...] = ()
    triples: tuple[Triple, ...] = ()
    details: tuple[str, ...] = ()
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """One line: the extraction of one document, or of one of its chunks.

    Attributes
    ----------
    key : id that the line names
    form : form of the line
    chunk : index of the chunk; None: the whole document
    statements, mentions, triples, topics : what was extracted
    digest : SHA-256 of the line
    """

    key: str
    form: Form
    chunk: int | None
    statements: tuple[GivenStatement, ...]
    mentions: tuple[Mention, ...]
    triples: tuple[Triple, ...]
    topics: tuple[str, ...]
    digest: str = field(compare=False)


class _Entity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    kind: str = ""


class _Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    subject: str
    predicate: str
    object: str | None = None
    complement: str | None = None


_Entities = tuple[str | _Entity, ...]
_Facts = tuple[tuple[str, str, str] | _Fact, ...]


class _Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    entities: _Entities = ()
    topics: tuple[str, ...] = ()
    facts: _Facts = ()
    details: tuple[str, ...] = ()
    span: tuple[int, int] | None = None


class _Proposition(msgspec.Struct, frozen=True):
    text: str
    entities: _Entities = ()


class _Head(msgspec.Struct, frozen=True):
    id: str | int | None = None
    passage_id: str | int | None = None
    statements: msgspec.Raw = msgspec.Raw()
    propositions: msgspec.Raw = msgspec.Raw()
    triples: msgspec.Raw = msgspec.Raw()
    entities: msgspec.Raw = msgspec.Raw()


class _Own(msgspec.Struct, frozen=True):
    chunk: int | None = None
    statements: tuple[_Statement, ...] = ()
    topics: tuple[str, ...] = ()
    entities: _Entities = ()
    triples: _Facts = ()


class _Extracted(msgspec.Struct, frozen=True):
    entities: _Entities = ()
    triples: tuple[tuple[str, str, str], ...] = ()


class _Proposed(msgspec.Struct, frozen=True):
    propositions: tuple[_Proposition, ...]


_HEAD = msgspec.json.Decoder(_Head)
_OWN = msgspec.json.Decoder(_Own)
_EXTRACTED = msgspec.json.Decoder(_Extracted)
_PROPOSED = msgspec.json.Decoder(_Proposed)
_MEND = "see the forms in the documentation of hlgraph.extract.precomputed"


class LineError(ExtractionError):
    """A line is not a valid record; ``key`` is the id that it names, empty if that could not be read."""

    def __init__(self, reason: str, key: str = "") -> None:
        super().__init__(reason)
        self.key = key


def read_record(line: bytes) -> Record:
    """The record of one line.

    Raises
    ------
    LineError
        The line is not a JSON object, names no id, or has a field of the wrong type.

    Examples
    --------
    >>> record = read_record(b'{"passage_id": 7, "entities": ["ada"], "triples": [["ada", "born in", "1815"]]}')
    >>> record.key, record.form.name, record.triples[0].is_literal
    ('7', 'TRIPLES', True)
    """
    key = ""
    try:
        head = _HEAD.decode(line)
        name = head.id if head.id is not None else head.passage_id
        key = "" if name is None else str(name).strip()
        return _read(line, head, key)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LineError(f"{error}; {_MEND}", key) from error
    except RecursionError as error:
        raise LineError("the JSON is nested too deeply; a record has four levels", key) from error


def _read(line: bytes, head: _Head, key: str) -> Record:
    if not key:
        raise LineError(f"the record has neither id nor passage_id; {_MEND}")
    digest = hashlib.sha256(line).hexdigest()
    if head.id is not None:
        if not (len(head.statements) or len(head.triples) or len(head.entities)):
            raise LineError(f"the record has neither statements nor triples nor entities; {_MEND}", key)
        own = _OWN.decode(line)
        statements = tuple(_statement(given, key) for given in own.statements)
        triples = tuple(_fact(fact, key) for fact in own.triples)
        return Record(key, Form.OWN, own.chunk, statements, _mentions(own.entities), triples, own.topics, digest)
    if len(head.propositions):
        proposed = _PROPOSED.decode(line)
        statements = tuple(
            _checked(GivenStatement(given.text, _mentions(given.entities)), key) for given in proposed.propositions
        )
        return Record(key, Form.PROPOSITIONS, None, statements, (), (), (), digest)
    if not (len(head.triples) or len(head.entities)):
        raise LineError(f"the record has neither propositions nor triples nor entities; {_MEND}", key)
    extracted = _EXTRACTED.decode(line)
    mentions = _mentions(extracted.entities)
    known = {normalise_name(mention.name) for mention in mentions}
    triples = tuple(Triple(s, p, o, bool(known) and normalise_name(o) not in known) for s, p, o in extracted.triples)
    return Record(key, Form.TRIPLES, None, (), mentions, triples, (), digest)


def _statement(given: _Statement, key: str) -> GivenStatement:
    triples = tuple(_fact(fact, key) for fact in given.facts)
    statement = GivenStatement(given.text, _mentions(given.entities), given.topics, triples, given.details, given.span)
    return _checked(statement, key)


def _checked(statement: GivenStatement, key: str) -> GivenStatement:
    if not statement.text.strip():
        raise LineError("a statement has no text; remove it or give it a text", key)
    return statement


def _fact(fact: tuple[str, str, str] | _Fact, key: str) -> Triple:
    if isinstance(fact, tuple):
        return Triple(*fact)
    if (fact.object is None) == (fact.complement is None):
        raise LineError("a fact needs an object (an entity) or a complement (a literal), and not both", key)
    is_literal = fact.object is None
    return Triple(fact.subject, fact.predicate, (fact.complement if is_literal else fact.object) or "", is_literal)


def _mentions(entities: _Entities) -> tuple[Mention, ...]:
    named = (Mention(item, "") if isinstance(item, str) else Mention(item.name, item.kind.lower()) for item in entities)
    return tuple(mention for mention in named if normalise_name(mention.name))
