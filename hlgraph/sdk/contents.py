"""What a corpus contains, as a caller may see it: lists of sources, entities and facts, page by page, and each of them opened.

A page is in the order of ids, so that the id of its last record is where the next page begins, whatever was added or removed
meanwhile. A store reads one page by an index (:meth:`hlgraph.stores.protocols.GraphStore.page`). Entities that match words are in
the order of relevance.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import ClassVar, Generic, NamedTuple, TypeVar, overload

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.ids import entity_ids, shown, source_ids
from hlgraph.ingest.delete import full_name
from hlgraph.ingest.history import AsOf, past_of
from hlgraph.records import (
    KIND_OF,
    Chunk,
    Entity,
    Fact,
    Kind,
    Listing,
    Record,
    Relationship,
    Source,
    Statement,
    Tabular,
)
from hlgraph.retrieve.request import MAX_K, View
from hlgraph.retrieve.search import checked_corpus
from hlgraph.sdk.arguments import check_not_negative, checked, parsed
from hlgraph.stores.one_state import repeated
from hlgraph.stores.protocols import Aliases, CorpusStats, PullShape, Scope, Stores, by_id, find_records
from hlgraph.stores.trace import hasty
from hlgraph.subgraph import Subgraph
from hlgraph.where import And, AnyWhere, Caller, In, Where

PAGE = 20
"""Default number of records of a page, and of the facts and neighbours of an opened entity."""
AT_ONCE = 1_000
"""Number of records of a page of an iteration."""
_MATCH_PAGES = 20  # pages of entities that one page of matches looks at
_MOST_STATEMENTS = 5  # of a fact of an opened entity
_FAN_OUT, _NODE_CAP = 2_000, 50_000
_AROUND = PullShape(
    frozenset({Relationship.SUBJECT, Relationship.OBJECT, Relationship.SUPPORTS, Relationship.MENTIONS}),
    frozenset({Kind.ENTITY, Kind.FACT, Kind.STATEMENT}),
    hops=2,
    fan_out=_FAN_OUT,
    node_cap=_NODE_CAP,
)
_SUPPORT = PullShape.along(Relationship.SUPPORTS, fan_out=1_000_000, node_cap=1_000_001)  # of one fact: all are counted
T = TypeVar("T")
T_Record = TypeVar("T_Record", bound=Record)


@dataclass(frozen=True, slots=True)
class Page(Listing[T], Generic[T]):
    """Some records of a corpus, in the order of their ids.

    Attributes
    ----------
    records : the records
    total : number of all records that the filter and the caller's groups admit
    after : where the next page begins; None: there are no more
    record_type : class of the records, which names the columns also of a page without records
    """

    records: tuple[T, ...]
    total: int
    after: str | None
    record_type: type = field(default=Source, repr=False)

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T, ...]: ...
    def __getitem__(self, at: int | slice) -> T | tuple[T, ...]:
        return self.records[at]

    def _columns(self) -> tuple[str, ...]:
        return _COLUMNS[self.record_type]

    def _printed(self) -> tuple[str, ...]:
        return _PRINTED[self.record_type]

    def _footer(self) -> str:
        more = "" if self.after is None else f"; the next page: after={self.after!r}"
        return f"{len(self.records):,} of {self.total:,} shown{more}"

    def _rows(self) -> Iterator[Mapping[str, object]]:
        return map(row_of, self.records)


@dataclass(frozen=True, slots=True)
class SourceDetails:
    """A source with all that was read from it.

    Attributes
    ----------
    source : uri, title, metadata and version
    text : its text. White space between two chunks is not stored: line breaks stand for it
    chunks : by place; their offsets are those of ``text``
    statements : by place
    """

    source: Source
    text: str = field(repr=False)
    chunks: tuple[Chunk, ...] = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact with its names.

    Attributes
    ----------
    id : its id
    subject_id, subject : the entity that it is about
    predicate : the predicate
    object_id, object : an entity, or a literal, whose ``object_id`` is None
    """

    id: str
    subject_id: str
    subject: str
    predicate: str
    object_id: str | None
    object: str

    @property
    def text(self) -> str:
        """The fact in words."""
        return f"{self.subject} {self.predicate} {self.object}"


@dataclass(frozen=True, slots=True)
class SupportedFact:
    """A fact, and what says it.

    Attributes
    ----------
    fact : the fact
    statements : statements that support it, by source and place
    sources : the sources of these statements, by id
    total : number of statements that support it
    """

    fact: FactRow
    statements: tuple[Statement, ...] = field(repr=False)
    sources: Mapping[str, Source] = field(repr=False)
    total: int


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity, and the number of statements that mention it together with another one."""

    entity: Entity
    statements: int


@dataclass(frozen=True, slots=True)
class EntityDetails:
    """An entity, and what is around it. Merged entities count as one.

    Attributes
    ----------
    entity : its most frequent name and kind, and all names that mention it
    merged : the entities that are the same
    facts : those that most statements support first
    fact_count : number of its facts
    neighbours : entities that its statements mention, the most frequent first
    neighbour_count : number of all of them
    statement_count : number of statements that mention it
    is_cut : whether the counts are lower bounds, since the entity has more links than one read follows
    """

    entity: Entity
    merged: tuple[Entity, ...] = field(repr=False)
    facts: tuple[SupportedFact, ...] = field(repr=False)
    fact_count: int
    neighbours: tuple[Neighbour, ...] = field(repr=False)
    neighbour_count: int
    statement_count: int
    is_cut: bool = False


_ID = re.compile(r"[0-9a-f]{32}")
_WORD = re.compile(r"\w+")
_TYPES: Mapping[Kind, type] = {Kind.SOURCE: Source, Kind.ENTITY: Entity, Kind.FACT: FactRow}
_COLUMNS: Mapping[type, tuple[str, ...]] = {
    Source: ("id", "uri", "title", "version", "valid_from", "valid_to"),
    Entity: ("id", "name", "kind", "aliases"),
    FactRow: ("id", "subject_id", "subject", "predicate", "object_id", "object"),
}
_PRINTED: Mapping[type, tuple[str, ...]] = {
    Source: ("id", "title", "uri"),
    Entity: ("id", "name", "kind"),
    FactRow: ("id", "subject", "predicate", "object"),
}


def row_of(record: object) -> dict[str, object]:
    """A source, entity or fact as flat values by the name of their column; metadata as ``metadata.NAME``.

    Examples
    --------
    >>> row_of(FactRow("f", "s", "Mara Quill", "designed", None, "bridges"))["object"]
    'bridges'
    """
    values = {name: getattr(record, name) for name in _COLUMNS[type(record)]}
    if isinstance(record, Source):
        values |= {f"metadata.{key}": value for key, value in record.metadata.items()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


class Reading(NamedTuple):
    """One read of a corpus in one state, within a scope."""

    stores: Stores
    stats: CorpusStats
    scope: Scope

    def records(self, record_type: type[T_Record], ids: Sequence[str]) -> dict[str, T_Record]:
        """Records by id, in the order of the ids; those outside the scope are left out.

        Parameters
        ----------
        record_type : class of the records
        ids : their ids
        """
        records = self.stores.graph.records(KIND_OF[record_type], ids, scope=self.scope) if ids else []
        kept = (shown(record) if isinstance(record, Source) else record for record in records)
        return {record.id: record for record in kept if isinstance(record, record_type)}

    def facts(self, ids: Sequence[str]) -> list[FactRow]:
        """Facts with their names, in the order of the ids."""
        facts = self.records(Fact, ids).values()
        ends = sorted({end for fact in facts for end in (fact.subject_id, fact.object_id) if end})
        names = {entity.id: entity.name for entity in self.records(Entity, ends).values()}
        return [_row(fact, names) for fact in facts if fact.subject_id in names]

    def supported(
        self, facts: Sequence[FactRow], said: Mapping[str, Sequence[str]], *, most: int
    ) -> list[SupportedFact]:
        """Facts with the first of the statements that support each.

        Parameters
        ----------
        facts : the facts
        said : ids of the statements, by id of the fact
        most : number of statements of a fact
        """
        wanted = sorted({name for fact in facts for name in said.get(fact.id, ())[:most]})
        statements = self.records(Statement, wanted)
        sources = self.records(Source, sorted({statement.source_id for statement in statements.values()}))
        result: list[SupportedFact] = []
        for fact in facts:
            names = said.get(fact.id, ())
            some = sorted((statements[name] for name in names[:most] if name in statements), key=_place)
            of_fact = {
                statement.source_id: sources[statement.source_id]
                for statement in some
                if statement.source_id in sources
            }
            result.append(SupportedFact(fact, tuple(some), of_fact, len(names)))
        return result

    def aliases(self) -> Aliases:
        """The groups of merged entities, of those in sight."""
        merges = self.stores.graph.merges
        if merges is None:
            return {}
        groups = merges.aliases(self.scope.corpus, version=self.stats.version)
        if not groups or self.scope.where is None:
            return groups
        inside = {record.id for record in self.stores.graph.records(Kind.ENTITY, sorted(groups), scope=self.scope)}
        return merges.aliases(self.scope.corpus, version=self.stats.version, among=inside)


def _row(fact: Fact, names: Mapping[str, str]) -> FactRow:
    subject = names[fact.subject_id]
    literal = fact.text[len(subject) + len(fact.predicate) + 2 :]
    thing = literal if fact.object_id is None else names.get(fact.object_id, literal)
    return FactRow(fact.id, fact.subject_id, subject, fact.predicate, fact.object_id, thing)


def _place(statement: Statement) -> tuple[str, int, int, str]:
    return statement.source_id, statement.start, statement.end, statement.id


@dataclass(frozen=True, slots=True)
class Contents:
    """One corpus as one caller sees it.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it
    caller : who asks; None: no caller is named, which a corpus with groups refuses
    """

    corpus: str
    stores: Stores
    caller: Caller | None = None

    def _read(self, read: Callable[[Reading], T], *, where: AnyWhere | None = None, as_of: AsOf | None = None) -> T:
        """The result of a read of one state."""
        view = View(self.corpus, parsed(where), caller=self.caller)
        if as_of is not None:
            past = past_of(self.corpus, self.caller, stores=self.stores, where=parsed(where), as_of=as_of)
            view = View(past.corpus, parsed(where), as_of=past.moment, caller=past.caller)

        def work(stats: CorpusStats) -> T:
            return read(Reading(self.stores, stats, Scope(view.corpus, view.where, state=stats.state)))

        with hasty():
            with self.stores.snapshot() as is_pinned:
                if is_pinned:
                    return work(checked_corpus(view, self.stores))
            return repeated(lambda: checked_corpus(view, self.stores), work, corpus=self.corpus)

    def _page(
        self,
        kind: Kind,
        load: Callable[[Reading, Sequence[str]], Sequence[T]],
        *,
        where: AnyWhere | None,
        limit: int,
        after: str | None,
        as_of: AsOf | None,
    ) -> Page[T]:
        check_limit(limit)
        if after is not None and _ID.fullmatch(after) is None:
            raise _no_place(after)

        def read(reading: Reading) -> Page[T]:
            page = self.stores.graph.page(kind, reading.scope, after=after or "", size=limit)
            is_last = len(page.ids) < limit or self._is_last(kind, reading, page.ids[-1])
            records, next_after = tuple(load(reading, page.ids)), None if is_last else page.ids[-1]
            return Page(records, page.total, next_after, _TYPES[kind])

        return self._read(read, where=where, as_of=as_of)

    def _is_last(self, kind: Kind, reading: Reading, name: str) -> bool:
        return not self.stores.graph.page(kind, reading.scope, after=name, size=1).ids

    def _each(self, page: Callable[[str | None], Page[T]]) -> Iterator[T]:
        after: str | None = None
        while True:
            records = page(after)
            yield from records
            after = records.after
            if after is None:
                return


class Listed(Contents, Tabular):
    """The records of one kind as a caller sees them. Its table has one row per record of the corpus, read page by page."""

    __slots__ = ()
    _record_type: ClassVar[type]

    def each(self) -> Iterator[object]:
        """All records."""
        raise NotImplementedError

    def _columns(self) -> tuple[str, ...]:
        return _COLUMNS[self._record_type]

    def _rows(self) -> Iterator[Mapping[str, object]]:
        return map(row_of, self.each())


def together(part: Contents, read: Callable[[], T]) -> T:
    """The result of several reads of one state.

    Parameters
    ----------
    part : the sources, entities or facts of a corpus, as a caller sees them
    read : reads by its methods; may be called several times
    """
    return part._read(lambda _: read())


def check_limit(limit: int) -> None:
    """Raise InputError for a limit that is out of bounds."""
    if not 1 <= limit <= MAX_K:
        raise InputError(f"limit is {limit}; choose a number from 1 to {MAX_K:,}")


@checked
class Sources(Listed):
    """The sources of one corpus, as the caller sees them.

    Examples
    --------
    ::

        page = graph.sources.list(where="year >= 1900", limit=100)
        print(len(page), "of", page.total)
        print(graph.sources.open(page[0].uri).text)
        print(graph.sources.to_pandas()["title"])  # of all sources
    """

    __slots__ = ()
    _record_type = Source

    def list(
        self,
        *,
        where: AnyWhere | None = None,
        limit: int = PAGE,
        after: str | None = None,
        as_of: AsOf | None = None,
    ) -> Page[Source]:
        """A page of the sources.

        Parameters
        ----------
        where : filter over their metadata, as for :meth:`hlgraph.HLGraph.search`
        limit : number of sources (1 to 10,000)
        after : ``after`` of the page before; None: the first page
        as_of : the moment, as for :meth:`hlgraph.HLGraph.search`

        Raises
        ------
        UnknownNameError : there is no such corpus
        WhereError : the filter names a field that no source has
        AccessError : a source names groups, and no caller is named
        """
        return self._page(Kind.SOURCE, _sources, where=where, limit=limit, after=after, as_of=as_of)

    def each(self, *, where: AnyWhere | None = None, as_of: AsOf | None = None) -> Iterator[Source]:
        """All sources, read page by page. Each page is of one state; a writer may change the corpus between two.

        Parameters
        ----------
        where, as_of : see :meth:`list`
        """
        return self._each(lambda after: self.list(where=where, limit=AT_ONCE, after=after, as_of=as_of))

    def open(self, name: str, *, as_of: AsOf | None = None) -> SourceDetails:
        """One source with its text, chunks and statements.

        Parameters
        ----------
        name : its id, its uri, or the path of its file
        as_of : the moment, as for :meth:`hlgraph.HLGraph.search`

        Raises
        ------
        UnknownNameError : there is no such source, or the caller may not see it
        """

        def read(reading: Reading) -> SourceDetails:
            source = _source(reading, name, is_history=as_of is not None)
            if source is None:
                raise UnknownNameError(
                    f"{name}: corpus {self.corpus!r} has no source of this uri, path or id; hlgraph sources lists them"
                )
            scope = Scope(reading.scope.corpus, sources=(source.id,), state=reading.scope.state)
            chunks = sorted(find_records(self.stores.graph, Chunk, scope=scope), key=_chunk_place)
            statements = sorted(find_records(self.stores.graph, Statement, scope=scope), key=_place)
            return SourceDetails(source, _text(chunks), tuple(chunks), tuple(statements))

        return self._read(read, as_of=as_of)


def _sources(reading: Reading, ids: Sequence[str]) -> Sequence[Source]:
    return tuple(reading.records(Source, ids).values())


def _source(reading: Reading, name: str, *, is_history: bool) -> Source | None:
    """The source of an id, a uri or a path, in the scope."""
    graph, scope = reading.stores.graph, reading.scope
    uris = tuple(dict.fromkeys((name, full_name(name))))
    ids = [name, *(each for uri in uris for each in source_ids(scope.corpus, uri))]
    sources = reading.records(Source, ids)
    if not sources and is_history:  # the id of a version hashes its number, too
        versions = Scope(scope.corpus, _also(scope.where, In("uri", uris)), state=scope.state)
        sources = {name: shown(source) for name, source in by_id(graph.find(Kind.SOURCE, versions), Source).items()}
    return next(iter(sources.values()), None)


def _also(where: Where | None, other: Where) -> Where:
    return other if where is None else And((where, other))


def _chunk_place(chunk: Chunk) -> tuple[int, int, str]:
    return chunk.position, chunk.start, chunk.id


def _text(chunks: Sequence[Chunk]) -> str:
    """The text of a source from its chunks, which may overlap."""
    parts: list[str] = []
    size = 0
    for chunk in chunks:
        parts += "\n" * (chunk.start - size), chunk.text[max(0, size - chunk.start) :]
        size = max(size, chunk.end)
    return "".join(parts)


@checked
class Entities(Listed):
    """The entities of one corpus, as the caller sees them.

    Examples
    --------
    ::

        for entity in graph.entities.list(limit=100):
            print(entity.name, entity.kind)
        print(graph.entities.open("Mara Quill").facts)
    """

    __slots__ = ()
    _record_type = Entity

    def list(
        self,
        *,
        match: str | None = None,
        where: AnyWhere | None = None,
        limit: int = PAGE,
        after: str | None = None,
        as_of: AsOf | None = None,
    ) -> Page[Entity]:
        """A page of the entities that statements of admitted sources mention, named as these name them.

        Parameters
        ----------
        match : words that the names of an entity must have, or have as parts, in any order; None: every entity. The entity of
            this name comes first. Then come names that begin with the words, that have them as words, and that have them as
            parts, the shorter name first. A page looks at 20,000 entities at most, and orders these. So it may have fewer than
            ``limit`` although ``after`` is not None.
        where, limit, after, as_of : see :meth:`Sources.list`

        Raises
        ------
        UnknownNameError, WhereError, AccessError : see :meth:`Sources.list`
        """
        if match is None:
            return self._page(Kind.ENTITY, _entities, where=where, limit=limit, after=after, as_of=as_of)
        check_limit(limit)
        begin, last = _match_place(after)
        ids = entity_ids(self.corpus, match)
        named = () if begin else self._read(lambda reading: _entities(reading, ids), where=where, as_of=as_of)
        keyed, place = [((_EXACT, 0, entity.id), entity) for entity in named], begin or None
        for _ in range(_MATCH_PAGES):
            page = self.list(where=where, limit=AT_ONCE, after=place, as_of=as_of)
            keyed += [(_relevance(match, entity), entity) for entity in page if entity.id not in ids]
            place = page.after
            if place is None:
                break
        left = sorted((each for each in keyed if last < each[0] < _NO_MATCH), key=itemgetter(0))
        shown, next_after = left[:limit], None if place is None else _match_cursor(place, _BEST)
        if len(left) > limit:
            next_after = _match_cursor(begin, shown[-1][0])
        return Page(tuple(entity for _, entity in shown), page.total, next_after, Entity)

    def each(self, *, where: AnyWhere | None = None, as_of: AsOf | None = None) -> Iterator[Entity]:
        """All entities, read page by page; see :meth:`Sources.each`.

        Parameters
        ----------
        where, as_of : see :meth:`Sources.list`
        """
        return self._each(lambda after: self.list(where=where, limit=AT_ONCE, after=after, as_of=as_of))

    def open(
        self,
        name: str,
        *,
        where: AnyWhere | None = None,
        limit: int = PAGE,
        skip: int = 0,
        as_of: AsOf | None = None,
    ) -> EntityDetails:
        """One entity with its facts, their sources, its neighbours and the entities that were merged with it.

        Parameters
        ----------
        name : its id, or any of its names as it is stored
        where : filter over the metadata of the sources that may be seen
        limit : number of facts and of neighbours (1 to 10,000)
        skip : number of the first facts and neighbours that are left out
        as_of : the moment, as for :meth:`hlgraph.HLGraph.search`

        Raises
        ------
        UnknownNameError : there is no such entity, or nothing that the caller may see mentions it
        """
        check_limit(limit)
        check_not_negative(skip=skip)

        def read(reading: Reading) -> EntityDetails:
            ids = [name, *entity_ids(reading.scope.corpus, name)]
            entity = next(iter(reading.records(Entity, ids).values()), None)
            if entity is None:
                raise UnknownNameError(
                    f"{name}: corpus {self.corpus!r} has no entity of this name; hlgraph entities lists them"
                )
            return _opened(reading, entity, slice(skip, skip + limit))

        return self._read(read, where=where, as_of=as_of)


_EXACT, _BEGINS, _WORDS, _PARTS, _NONE = range(5)
_BEST, _NO_MATCH = (_EXACT, 0, ""), (_NONE, 0, "")
_MATCH_PLACE = re.compile(r"([0-9a-f]{32})?\.([0-4])\.(\d{1,9})\.([0-9a-f]{32})?")


def _relevance(match: str, entity: Entity) -> tuple[int, int, str]:
    """The key by which matches are ordered, the best first: how the name has the words, its length, and the id.

    Examples
    --------
    >>> names = ("Bridge", "bridge house", "Old Bridge", "Bridgeton", "Cambridge", "Mill")
    >>> [_relevance("bridge", Entity("e", "default", name))[0] for name in names]
    [0, 1, 2, 1, 3, 4]
    """
    words = match.casefold().split()
    names = [" ".join(name.casefold().split()) for name in (entity.name, *entity.aliases)]
    if not all(word in " ".join(names) for word in words):
        return _NONE, 0, entity.id
    text = " ".join(words)
    kinds = (
        _EXACT
        if name == text
        else _BEGINS
        if name.startswith(text)
        else _WORDS
        if set(words) <= set(_WORD.findall(name))
        else _PARTS
        for name in names
    )
    return *min(zip(kinds, map(len, names), strict=True)), entity.id


def _match_cursor(begin: str, last: tuple[int, int, str]) -> str:
    return f"{begin}.{last[0]}.{last[1]}.{last[2]}"


def _match_place(after: str | None) -> tuple[str, tuple[int, int, str]]:
    """The id after which the entities are looked at, and the key of the last match that was shown.

    Examples
    --------
    >>> _match_place(_match_cursor("", (1, 12, "0f7a94f6dcbde7d5038038302d3113bf")))
    ('', (1, 12, '0f7a94f6dcbde7d5038038302d3113bf'))
    """
    place = _MATCH_PLACE.fullmatch(".0.0." if after is None else after)
    if place is None:
        raise _no_place(after)
    begin, kind, length, last = place.groups(default="")
    return begin, (int(kind), int(length), last)


def _no_place(after: object) -> InputError:
    return InputError(f"after is {after!a:.60}, where no page ends; give the value after of the page before")


def _entities(reading: Reading, ids: Sequence[str]) -> Sequence[Entity]:
    return tuple(reading.records(Entity, ids).values())


def _opened(reading: Reading, entity: Entity, part: slice) -> EntityDetails:
    group = reading.aliases().get(entity.id, (entity.id,))
    around = reading.stores.graph.pull(group, _AROUND, scope=reading.scope)
    own = set(group)
    ends = [*links(around, Relationship.SUBJECT), *links(around, Relationship.OBJECT)]
    facts = {fact for end, fact in ends if end in own}
    said: dict[str, list[str]] = {fact: [] for fact in facts}
    for fact, statement in links(around, Relationship.SUPPORTS):
        if fact in facts:
            said[fact].append(statement)
    mentions = links(around, Relationship.MENTIONS)
    statements = {statement for statement, end in mentions if end in own}
    beside = Counter(end for statement, end in mentions if statement in statements and end not in own)
    best = sorted(facts, key=lambda fact: (-len(said[fact]), fact))[part]
    nearest = sorted(beside, key=lambda end: (-beside[end], end))[part]
    entities = reading.records(Entity, [*group, *nearest])
    return EntityDetails(
        entity,
        tuple(entities[name] for name in group if name != entity.id and name in entities),
        tuple(reading.supported(reading.facts(best), said, most=_MOST_STATEMENTS)),
        len(facts),
        tuple(Neighbour(entities[name], beside[name]) for name in nearest if name in entities),
        len(beside),
        len(statements),
        around.is_cut,
    )


def links(graph: Subgraph, relationship: Relationship) -> Sequence[tuple[str, str]]:
    """Both ends of the edges of a relationship, ordered by their ids.

    Parameters
    ----------
    graph : a subgraph
    relationship : the relationship
    """
    edges = graph.edges.get(relationship)
    if edges is None:
        return ()
    starts, ends = edges.nonzero()
    return sorted(zip(graph.ids[starts].tolist(), graph.ids[ends].tolist(), strict=True))


def supported_fact(reading: Reading, name: str, *, part: slice) -> SupportedFact:
    """A fact with some of the statements that support it. Raises UnknownNameError if it is not in the scope.

    Parameters
    ----------
    reading : the corpus, and what may be seen of it
    name : id of the fact
    part : places of the statements among all, by ascending id
    """
    facts = reading.facts([name])
    if not facts:
        raise UnknownNameError(
            f"{name}: the corpus has no fact of this id; hlgraph show ENTITY lists those of an entity"
        )
    pulled = reading.stores.graph.pull([name], _SUPPORT, scope=reading.scope)
    said = [statement for fact, statement in links(pulled, Relationship.SUPPORTS) if fact == name]
    opened = reading.supported(facts, {name: said[part]}, most=len(said))[0]
    return replace(opened, total=len(said))
