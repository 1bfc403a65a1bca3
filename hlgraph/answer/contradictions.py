"""Facts that contradict each other: several objects of a predicate that has one at a time, each with its sources and dates.

A predicate is *functional* if each of its subjects has one object ("was born in"), or, written ``^leads``, if each of its objects
has one subject. Functional predicates are given, or measured (:func:`agreements`). Facts are read through a scope, so a caller
learns nothing of other sources.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from hlgraph.errors import InputError
from hlgraph.extract.wording import content_set
from hlgraph.ids import shown
from hlgraph.records import (
    Answer,
    AnswerSentence,
    Chunk,
    Citation,
    Entity,
    Evidence,
    Fact,
    Kind,
    Relationship,
    Source,
    Statement,
)
from hlgraph.retrieve.session import evidence_of
from hlgraph.stores.batches import batched
from hlgraph.stores.protocols import GraphStore, PullShape, Scope, Stores, by_id
from hlgraph.text import content_words

LEAST_SUBJECTS = 10
"""Minimum number of subjects that two sources name, for a predicate to count as functional."""
LEAST_SHARE = 0.9
"""Minimum share of these that have one object."""
DATES = ("date", "published", "published_at", "issued", "year", "created", "modified")
"""Metadata fields that hold the date of a source; the first of them that is a year or begins with a date."""
_DATE = re.compile(r"-?\d{1,3}(\.0)?|\d{4}(\.0|[-/]\d.*)?", re.DOTALL)
_FACTS = 5_000
_IDS = 1_000
_ENTITY_FACTS = 1_000
_NODES = 1_000_000
_CACHED = 8
_STEM = 4
_TAKES_OFFICE = frozenset({"is", "became", "was appointed", "was elected", "was named"})
_SUPPORTED = PullShape(
    frozenset({Relationship.SUPPORTS}), frozenset({Kind.FACT, Kind.STATEMENT}), fan_out=100, node_cap=_NODES
)
_OF_ENTITY = PullShape(
    frozenset({Relationship.SUBJECT, Relationship.OBJECT}),
    frozenset({Kind.FACT, Kind.ENTITY}),
    fan_out=_ENTITY_FACTS,
    node_cap=10_000,
)


class Assertion(NamedTuple):
    """A statement that asserts an object.

    Attributes
    ----------
    text : the statement
    start, end : its span in the text of the source
    source : its source; of a version in a history with ``valid_from`` and ``valid_to``
    date : date of the source by its metadata, or the year; None: it has none
    """

    text: str
    start: int
    end: int
    source: Source
    date: str | None


class AssertedObject(NamedTuple):
    """One of the objects of a contradiction.

    Attributes
    ----------
    name : the object; with ``^`` before the predicate the subject
    is_present : whether a present source asserts it; False: only past versions in the history do
    assertions : the statements that assert it, those with the latest date first
    """

    name: str
    is_present: bool
    assertions: tuple[Assertion, ...]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Several objects of a subject, of which one at most should hold at a time.

    Attributes
    ----------
    subject : name of the subject; with ``^`` before the predicate of the object
    predicate : the predicate; ``^`` before it: each object has one subject
    objects : at least two, those with the latest date first
    """

    subject: str
    predicate: str
    objects: tuple[AssertedObject, ...]


class Agreement(NamedTuple):
    """How often sources agree about a predicate: of ``subjects`` that two sources or more name, ``agreeing`` have one object."""

    subjects: int
    agreeing: int

    @property
    def is_functional(self) -> bool:
        """Whether it is a functional predicate by the rule of :func:`agreements`."""
        return self.subjects >= LEAST_SUBJECTS and self.agreeing >= LEAST_SHARE * self.subjects


_R = TypeVar("_R", Entity, Fact, Source, Statement)
_Key: TypeAlias = tuple[str, str]
"""Id of a subject (of an object) and predicate (with ``^``)."""


class ScopedFacts:
    """The facts in a scope, their statements and sources.

    Parameters
    ----------
    graph : the store
    scope : corpus and sources that may be seen
    """

    def __init__(self, graph: GraphStore, scope: Scope) -> None:
        self._graph = graph
        self._scope = scope
        self.statements: dict[str, Statement] = {}
        self.sources: dict[str, Source] = {}
        self.supports: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self.same: Mapping[str, Collection[str]] = {}  # merged entities, which are taken as one

    def groups(self, batches: Iterable[Sequence[str]]) -> dict[_Key, list[Fact]]:
        """The facts of these batches that the scope asserts, by subject and predicate, and by object and ``^`` predicate.

        Only groups that at least two sources assert; their statements and sources are read.
        """
        for part in batches:
            for name, statement in self._links(part):
                self.supports.setdefault(name, []).append(statement)
        facts = self._read(Kind.FACT, sorted(self.supports), record_type=Fact)
        groups: defaultdict[_Key, list[Fact]] = defaultdict(list)
        keys = self.keys_of(facts.values())
        for fact in facts.values():
            for key in keys[fact.id]:
                groups[key].append(fact)
        several = {key: some for key, some in groups.items() if sum(len(self.supports[one.id]) for one in some) > 1}
        wanted = sorted({name for some in several.values() for one in some for name in self.supports[one.id]})
        self.statements |= self._read(Kind.STATEMENT, wanted, record_type=Statement)
        ids_of_sources = sorted({one.source_id for one in self.statements.values()})
        self.sources |= self._read(Kind.SOURCE, ids_of_sources, record_type=Source)
        return {key: some for key, some in several.items() if len(self._source_ids(some)) > 1}

    def beside(self, ids: Sequence[str], shape: PullShape) -> list[str]:
        """The ids of the facts that statements assert, or that are about entities.

        Parameters
        ----------
        ids : ids of the statements, or of the entities
        shape : the links between them and their facts
        """
        pulled = self._graph.pull(list(ids), shape, scope=self._scope)
        return [str(pulled.ids[at]) for at in pulled.nodes(Kind.FACT)]

    def of_statement(self, statement: str) -> list[Fact]:
        """The facts that a statement asserts."""
        return list(self._read(Kind.FACT, self.beside([statement], _SUPPORTED), record_type=Fact).values())

    def keys_of(self, facts: Iterable[Fact]) -> dict[str, list[_Key]]:
        """The groups of each fact, by its id.

        An office with its place may be one name ("CEO of Velm Power"); then "is", "became" and the like of it are "is CEO of", too.

        Parameters
        ----------
        facts : the facts
        """
        keys: dict[str, list[_Key]] = {}
        offices: dict[str, str] = {}
        for fact in facts:
            predicate = fact.predicate.lower()
            keys[fact.id] = [(fact.subject_id, predicate)]
            if fact.object_id is not None:
                keys[fact.id].append((fact.object_id, f"^{predicate}"))
                offices |= {fact.id: fact.object_id} if predicate in _TAKES_OFFICE else {}
        self.load_names(offices.values())
        for name, entity in offices.items():
            office, of, _ = self.name(entity).partition(" of ")
            keys[name] += [(entity, f"^is {office.lower()} of")] if of else []
        return keys

    def name(self, entity: str) -> str:
        """The name of an entity in the scope."""
        if entity not in self._names:
            self.load_names([entity])
        return self._names.get(entity, "")

    def subject(self, key: _Key) -> str:
        """The name of what a group is about: of the office "CEO of Velm Power" the company."""
        name = self.name(key[0])
        office, of, rest = name.partition(" of ")
        return rest if of and key[1] == f"^is {office.lower()} of" else name

    def load_names(self, ids: Iterable[str]) -> None:
        """Read the names of entities at once."""
        missing = sorted(set(ids) - self._names.keys())
        read = self._read(Kind.ENTITY, missing, record_type=Entity)
        self._names |= {name: read[name].name if name in read else "" for name in missing}

    def other_end(self, fact: Fact, key: _Key) -> tuple[str, str]:
        """The object of a fact (the subject, if the predicate begins with ``^``): what is the same for merged entities; name.

        Parameters
        ----------
        fact : the fact
        key : its group
        """
        if key[1].startswith("^"):
            entity = fact.subject_id
        elif fact.object_id is None:
            text = fact.text.partition(f" {fact.predicate} ")[2]
            return text, text
        else:
            entity = fact.object_id
        return min(self.same.get(entity, (entity,))), self.name(entity)

    def ends(self, key: _Key, some: Sequence[Fact]) -> list[list[Fact]]:
        """The facts of a group by what they name, if that differs: no words of one object are all among those of another one.

        What one statement says together ("in Hull Creek, Virginia") does not differ, nor do merged entities. Objects with digits
        differ from each other alone, and so do those without: a date and a place do not contradict.

        Parameters
        ----------
        key : the group
        some : its facts
        """
        named = [(fact, *self.other_end(fact, key)) for fact in some]
        clusters: list[tuple[set[str], list[Set[str]], bool, list[Fact]]] = []
        for fact, same, name in sorted(named, key=lambda one: (len(one[2]), one[2], one[0].id)):
            marks, said = {same, *self.supports[fact.id]}, content_set(name)
            has_digit = any(sign.isdigit() for sign in name)
            for known, words, digit, facts in clusters:
                is_part = any(said <= other or other <= said for other in words)
                if digit is has_digit and (is_part or not known.isdisjoint(marks)):
                    known.update(marks)
                    words.append(said)
                    facts.append(fact)
                    break
            else:
                clusters.append((marks, [said], has_digit, [fact]))
        kinds = [[facts for _, _, digit, facts in clusters if digit is has_digit] for has_digit in (False, True)]
        return max(kinds, key=len)

    def uris(self, some: Sequence[Fact]) -> set[str]:
        """The uris of the sources that assert facts."""
        return {self.sources[name].uri for name in self._source_ids(some)}

    def _source_ids(self, some: Sequence[Fact]) -> set[str]:
        return {statement.source_id for statement in self.assertions(some)}

    def assertions(self, some: Sequence[Fact]) -> list[Statement]:
        """The statements of facts, each once."""
        names = dict.fromkeys(name for fact in some for name in self.supports[fact.id] if name in self.statements)
        return [self.statements[name] for name in names if self.statements[name].source_id in self.sources]

    def _links(self, ids: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Facts and the statements that support them."""
        pulled = self._graph.pull(list(ids), _SUPPORTED, scope=self._scope)
        edges = pulled.edges.get(Relationship.SUPPORTS)
        if edges is not None:
            yield from ((str(pulled.ids[a]), str(pulled.ids[b])) for a, b in zip(*edges.nonzero(), strict=True))

    def _read(self, kind: Kind, ids: Sequence[str], *, record_type: type[_R]) -> dict[str, _R]:
        records = (
            record
            for at in range(0, len(ids), _IDS)
            for record in self._graph.records(kind, ids[at : at + _IDS], scope=self._scope)
        )
        return by_id(records, record_type)


def _joined(stores: Stores, scope: Scope) -> ScopedFacts:
    """The facts of a scope, in which merged entities are one."""
    facts, merges = ScopedFacts(stores.graph, scope), stores.graph.merges
    corpora = stores.graph.stats(scope.corpus, has_counts=False)
    if merges is not None and corpora and (aliases := merges.aliases(scope.corpus, version=corpora[0].version)):
        inside = set(aliases) if scope.where is None else set(aliases).intersection(stores.graph.entities(scope))
        facts.same = merges.aliases(scope.corpus, version=corpora[0].version, among=inside)
    return facts


def _measured(facts: ScopedFacts, groups: Mapping[_Key, Sequence[Fact]]) -> dict[str, Agreement]:
    counts: defaultdict[str, list[bool]] = defaultdict(list)
    for key, some in groups.items():
        if len(facts.uris(some)) > 1 and content_words(key[1]):
            counts[key[1]].append(len(facts.ends(key, some)) == 1)
    return {name: Agreement(len(agreeing), sum(agreeing)) for name, agreeing in sorted(counts.items())}


def agreements(stores: Stores, scope: Scope) -> dict[str, Agreement]:
    """How often the sources of a scope agree, for each predicate; ``^`` before a predicate: about the subject of an object.

    Of a subject that two sources or more name with the predicate, all facts have one object, or not. The first case says that the
    predicate has one object at a time; a predicate that each source fills with another object (visited, wrote) is in the second.

    A predicate is functional if at least 10 subjects are named so, and at least 90 % of them have one object. The numbers were set
    without looking at data: "nearly always", and the least number of subjects of which one may differ. Reads every fact of the
    scope.

    Parameters
    ----------
    stores : the stores
    scope : corpus and sources that may be seen
    """
    facts = _joined(stores, scope)
    return _measured(facts, facts.groups(batched(_every(stores, scope), _FACTS)))


def _every(stores: Stores, scope: Scope) -> Iterator[str]:
    return (record.id for record in stores.graph.find(Kind.FACT, Scope(scope.corpus)))


def contradictions(stores: Stores, scope: Scope, *, given: Collection[str] = ()) -> tuple[Contradiction, ...]:
    """The contradictions in a scope, by subject and predicate. Reads every fact of the scope.

    Parameters
    ----------
    stores : the stores
    scope : corpus and sources that may be seen
    given : functional predicates, beside those that are measured
    """
    facts = _joined(stores, scope)
    groups = facts.groups(batched(_every(stores, scope), _FACTS))
    functional = {name for name, agreement in _measured(facts, groups).items() if agreement.is_functional}
    known = predicates_of(given)
    chosen = {key: some for key, some in groups.items() if key[1] in functional or _bare(key[1]) in known}
    facts.load_names(key[0] for key in chosen)
    listed = [_contradiction(facts, key, chosen[key]) for key in chosen]
    return tuple(sorted((one for one in listed if one is not None), key=lambda one: (one.subject, one.predicate)))


def predicates_of(given: Collection[str]) -> frozenset[str]:
    """Predicates in small letters and without articles. Raises InputError for a text, and for an empty predicate.

    Parameters
    ----------
    given : predicates as a user writes them
    """
    if isinstance(given, str) or not all(isinstance(one, str) and one.strip(" ^") for one in given):
        raise InputError(
            f"functional predicates are {given!a:.60}; give a list of texts, such as 'was born in' or '^leads'"
        )
    return frozenset(map(_bare, given))


def _bare(predicate: str) -> str:
    """A predicate in small letters and without articles: "is capital of" is "is the capital of"."""
    return " ".join(word for word in predicate.lower().split() if word not in ("a", "an", "the"))


def _contradiction(facts: ScopedFacts, key: _Key, some: Sequence[Fact]) -> Contradiction | None:
    ends = facts.ends(key, some)
    if len(ends) < 2:
        return None
    objects = []
    for cluster in ends:
        said = sorted(
            (_assertion(statement, facts.sources[statement.source_id]) for statement in facts.assertions(cluster)),
            key=lambda one: (_latest(one), one.source.uri, one.start),
            reverse=True,
        )
        name = max((facts.other_end(fact, key)[1] for fact in cluster), key=len)
        objects.append(AssertedObject(name, any(one.source.valid_to is None for one in said), tuple(said)))
    objects.sort(key=lambda one: (one.is_present, _latest(one.assertions[0]), one.name), reverse=True)
    return Contradiction(facts.subject(key), key[1], tuple(objects))


def _latest(assertion: Assertion) -> str:
    return assertion.source.valid_from or assertion.date or ""


def _assertion(statement: Statement, source: Source) -> Assertion:
    return Assertion(statement.text, statement.start, statement.end, shown(source), date_of(source))


def date_of(source: Source) -> str | None:
    """The date of a source by its metadata.

    Parameters
    ----------
    source : the source

    Examples
    --------
    >>> date_of(Source("", "c", "doc:a", "", "", {"year": 1901}))
    '1901'
    """
    values = (str(source.metadata.get(name)) for name in DATES)
    return next((value[:10].partition(".")[0] for value in values if _DATE.fullmatch(value)), None)


# Beside an answer.

_MEASURED: WeakKeyDictionary[GraphStore, dict[object, frozenset[str]]] = WeakKeyDictionary()


def _functional(stores: Stores, scope: Scope) -> frozenset[str]:
    """The measured functional predicates of a scope; measured once per state."""
    states = [(stats.version, stats.state) for stats in stores.graph.stats(scope.corpus, has_counts=False)]
    key = (scope.corpus, scope.where, *states)
    known = _MEASURED.setdefault(stores.graph, {})
    if key not in known:
        measured = agreements(stores, scope)
        for old in list(known)[: -_CACHED + 1]:
            known.pop(old, None)
        known[key] = frozenset(name for name, agreement in measured.items() if agreement.is_functional)
    return known[key]


@dataclass(frozen=True, slots=True)
class Contradicting:
    """Finds what contradicts an answer.

    Parameters
    ----------
    stores : the stores
    scope : corpus and sources that may be seen
    given : functional predicates, beside those that are measured
    """

    stores: Stores
    scope: Scope
    given: frozenset[str] = frozenset()

    def added(self, answer: Answer) -> Answer | None:
        """The answer with what another source says in place of the fact that answers; None if no source does.

        The fact is one of the first cited statement; its subject is named in the question, and so is its predicate.

        Parameters
        ----------
        answer : an answer without a chat model
        """
        first = answer.citations[0] if answer.citations and answer.is_supported else None
        if first is None or not first.evidence.statement_id:
            return None
        other = self._other(answer.question, first.evidence)
        if other is None:
            return None
        known = {citation.evidence.statement_id: citation for citation in answer.citations}
        cited = known.get(other.statement_id)
        if cited is None:
            cited = Citation(max(citation.number for citation in answer.citations) + 1, other)
        marks = ((citation.number, citation.evidence.source) for citation in (first, cited))
        origins = "; ".join(f"{number}: {_origin(source)}" for number, source in marks)
        quoted = AnswerSentence(f"{' '.join(other.text.split())} [{cited.number}]", (cited.number,), is_supported=True)
        text = f"{answer.text} Another source says: {quoted.text} ({origins})"
        if other.statement_id in known:
            text = f"{answer.text} The sources of [{first.number}] and [{cited.number}] differ. ({origins})"
            return replace(answer, text=text)
        return replace(answer, text=text, citations=(*answer.citations, cited), sentences=(*answer.sentences, quoted))

    def _other(self, question: str, piece: Evidence) -> Evidence | None:
        """The latest statement that contradicts a piece about what is asked."""
        asked = content_set(question)
        stems = {word[:_STEM] for word in asked}
        facts = _joined(self.stores, self.scope)
        own: dict[_Key, Fact] = {}
        stated = facts.of_statement(piece.statement_id)
        keys_of = facts.keys_of(stated)
        for fact in stated:
            for key in keys_of[fact.id]:
                verbs = content_words(key[1].lstrip("^"))
                if verbs and stems.issuperset(verb[:_STEM] for verb in verbs):
                    own[key] = fact
        facts.load_names(key[0] for key in own)
        named = {key: content_set(facts.subject(key)) for key in sorted(own)}
        keys = [key for key, words in named.items() if words and words <= asked]
        groups = facts.groups([facts.beside(sorted({key[0] for key in keys}), _OF_ENTITY)]) if keys else {}
        for key in keys:
            ends = facts.ends(key, groups.get(key, ()))
            mine = [cluster for cluster in ends if own[key] in cluster]
            if len(ends) < 2 or not mine:
                continue
            if _bare(key[1]) not in self.given and key[1] not in _functional(self.stores, self.scope):
                continue
            said = [statement for cluster in ends if cluster not in mine for statement in facts.assertions(cluster)]
            order = {one.id: _assertion(one, facts.sources[one.source_id]) for one in said}
            latest = max(said, key=lambda one: (_latest(order[one.id]), order[one.id].source.uri, -one.start))
            return self._evidence(latest, facts)
        return None

    def _evidence(self, statement: Statement, facts: ScopedFacts) -> Evidence | None:
        chunks = by_id(self.stores.graph.records(Kind.CHUNK, [statement.chunk_id], scope=self.scope), Chunk)
        chunk, source = chunks.get(statement.chunk_id), shown(facts.sources[statement.source_id])
        return None if chunk is None else evidence_of(statement, chunk, source=source, score=0.0)


def _origin(source: Source) -> str:
    """The title of a source, and its date."""
    date = date_of(source) or (source.valid_from or "")[:10]
    return f"{source.title or source.uri}, {date or 'without a date'}"
