"""The facts of a corpus with their supporting statements: page by page, or in bulk."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlgraph import progress
from hlgraph.errors import AccessError
from hlgraph.ids import checksum
from hlgraph.ingest.history import AsOf
from hlgraph.records import Chunk, Entity, Fact, Kind, Record, Relationship, Source, Statement, Topic
from hlgraph.sdk.arguments import check_not_negative, checked
from hlgraph.sdk.contents import (
    AT_ONCE,
    PAGE,
    FactRow,
    Listed,
    Page,
    Reading,
    SupportedFact,
    check_limit,
    supported_fact,
)
from hlgraph.stores.batches import batched
from hlgraph.stores.protocols import GraphStore, PullShape, Scope, by_id, existing, find_records
from hlgraph.where import AnyWhere

_FACTS_AT_ONCE = 5_000
_IDS_AT_ONCE = 1_000
_SOURCES_AT_ONCE = 200
_MOST_STATEMENTS = 100
_NODE_CAP = 1_000_000


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """All facts of a corpus in one state.

    Attributes
    ----------
    corpus : its name
    sources, entities : by id; the entities are those of the facts
    statements : the statements that support a fact, by id
    facts : by ascending id, each with the ids of up to 100 statements that support it, ascending
    fingerprint : hash of the ids of all sources and facts; it differs between corpora and between states
    """

    corpus: str
    sources: Mapping[str, Source]
    entities: Mapping[str, Entity]
    statements: Mapping[str, Statement]
    facts: tuple[tuple[Fact, tuple[str, ...]], ...]
    fingerprint: str


@checked
class Facts(Listed):
    """The facts of one corpus: page by page as the caller sees them, or all of them for an operator.

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            for fact in graph.facts.list(limit=100):
                print(fact.text)
            stored = graph.facts.read()
            for fact, statements in stored.facts:
                print(fact.text, stored.statements[statements[0]].text)
    """

    __slots__ = ()
    _record_type = FactRow

    def list(
        self,
        *,
        where: AnyWhere | None = None,
        limit: int = PAGE,
        after: str | None = None,
        as_of: AsOf | None = None,
    ) -> Page[FactRow]:
        """A page of the facts that statements of admitted sources support, named as these name them.

        Parameters
        ----------
        where, limit, after, as_of : see :meth:`hlgraph.sdk.contents.Sources.list`

        Raises
        ------
        UnknownNameError, WhereError, AccessError : see :meth:`hlgraph.sdk.contents.Sources.list`
        """
        return self._page(Kind.FACT, Reading.facts, where=where, limit=limit, after=after, as_of=as_of)

    def each(self, *, where: AnyWhere | None = None, as_of: AsOf | None = None) -> Iterator[FactRow]:
        """All facts, read page by page; see :meth:`hlgraph.sdk.contents.Sources.each`.

        Parameters
        ----------
        where, as_of : see :meth:`hlgraph.sdk.contents.Sources.list`
        """
        return self._each(lambda after: self.list(where=where, limit=AT_ONCE, after=after, as_of=as_of))

    def open(
        self,
        name: str,
        *,
        where: AnyWhere | None = None,
        limit: int = _MOST_STATEMENTS,
        skip: int = 0,
        as_of: AsOf | None = None,
    ) -> SupportedFact:
        """One fact with the statements that support it, and their sources.

        Parameters
        ----------
        name : its id
        where : filter over the metadata of the sources that may be seen
        limit : number of statements
        skip : number of the first statements that are left out
        as_of : the moment, as for :meth:`hlgraph.HLGraph.search`

        Raises
        ------
        UnknownNameError : there is no such fact, or nothing that the caller may see supports it
        """
        check_limit(limit)
        check_not_negative(skip=skip)
        part = slice(skip, skip + limit)
        return self._read(lambda reading: supported_fact(reading, name, part=part), where=where, as_of=as_of)

    def read(self) -> StoredFacts:
        """All facts with their statements, entities and sources: one read per kind, and one pull per 5,000 facts.

        Returns
        -------
        StoredFacts

        Raises
        ------
        UnknownNameError : there is no such corpus
        """
        graph, scope = self._graph(), Scope(self.corpus)
        with progress.step("read"):
            sources = by_id(graph.find(Kind.SOURCE, scope), Source)
            facts = list(find_records(graph, Fact, scope=scope))
            supporting: dict[str, set[str]] = {}
            kinds = frozenset({Kind.FACT, Kind.STATEMENT})
            fact_ids = [item.id for item in facts]
            for fact, statement in self._links(fact_ids, Relationship.SUPPORTS, kinds=kinds, size=_FACTS_AT_ONCE):
                supporting.setdefault(fact, set()).add(statement)
            wanted = sorted(set().union(*supporting.values()))
            ends = sorted({end for item in facts for end in (item.subject_id, item.object_id) if end})
            statements = by_id(self._records(Kind.STATEMENT, wanted), Statement)
            entities = by_id(self._records(Kind.ENTITY, ends), Entity)
        # A change that another process publishes meanwhile may remove records; their facts are left out.
        supported = tuple(
            (item, tuple(name for name in sorted(supporting.get(item.id, ())) if name in statements))
            for item in facts
            if item.subject_id in entities and (item.object_id is None or item.object_id in entities)
        )
        fingerprint = checksum(self.corpus, *sorted(sources), "facts", *(item.id for item in facts))
        return StoredFacts(self.corpus, sources, entities, statements, supported, fingerprint)

    def sources(self) -> builtins.list[str]:
        """The ids of all sources, ascending. Raises UnknownNameError if there is no such corpus."""
        return sorted(source.id for source in self._graph().find(Kind.SOURCE, Scope(self.corpus)))

    def chunks(self, source_ids: Sequence[str]) -> Iterator[builtins.list[Chunk]]:
        """The chunks of sources, 200 sources at a time, each list by source, then by place.

        Parameters
        ----------
        source_ids : ids of sources

        Yields
        ------
        list of Chunk
        """
        graph = self._graph()
        for part in batched(source_ids, _SOURCES_AT_ONCE):
            chunks = by_id(graph.find(Kind.CHUNK, Scope(self.corpus, sources=tuple(part))), Chunk)
            yield sorted(chunks.values(), key=lambda item: (item.source_id, item.position, item.id))

    def records(self, kind: Kind, ids: Sequence[str]) -> dict[str, Record]:
        """Records by id, read 1,000 at a time; unknown ids are left out.

        Parameters
        ----------
        kind : ``source``, ``chunk``, ``statement``, ``fact`` or ``entity``
        ids : their ids
        """
        self._graph()
        return {item.id: item for item in self._records(kind, sorted({*ids}))}

    def topics(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Topic names by chunk, in alphabetical order: one pull per 1,000 chunks.

        Parameters
        ----------
        chunk_ids : ids of chunks
        """
        self._graph()
        kinds = frozenset({Kind.CHUNK, Kind.TOPIC})
        links = list(self._links(sorted({*chunk_ids}), Relationship.IN_CHUNK, kinds=kinds, size=_IDS_AT_ONCE))
        topics = by_id(self._records(Kind.TOPIC, sorted({topic for topic, _ in links})), Topic)
        names_of: dict[str, set[str]] = {}
        for topic, chunk in links:
            if topic in topics:
                names_of.setdefault(chunk, set()).add(topics[topic].name)
        return {chunk: tuple(sorted(topic_names)) for chunk, topic_names in names_of.items()}

    def topic_chunks(self) -> dict[Topic, tuple[str, ...]]:
        """All topics, by ascending id, with the ids of their chunks, ascending: one read, and one pull per 1,000 topics."""
        topics = by_id(self._graph().find(Kind.TOPIC, Scope(self.corpus)), Topic)
        kinds = frozenset({Kind.CHUNK, Kind.TOPIC})
        chunks: dict[str, set[str]] = {}
        for topic, chunk in self._links(sorted(topics), Relationship.IN_CHUNK, kinds=kinds, size=_IDS_AT_ONCE):
            chunks.setdefault(topic, set()).add(chunk)
        return {topics[name]: tuple(sorted(chunks.get(name, ()))) for name in sorted(topics)}

    # Parts

    def _graph(self) -> GraphStore:
        if self.caller is not None and not self.caller.operates:
            raise AccessError(
                "this reads every source, which needs the right to operate; callers can list, each and open"
            )
        existing(self.stores.graph, self.corpus)
        return self.stores.graph

    def _records(self, kind: Kind, ids: Sequence[str]) -> Iterator[Record]:
        for part in batched(ids, _IDS_AT_ONCE):
            yield from self.stores.graph.records(kind, part, scope=Scope(self.corpus))

    def _links(
        self, ids: Sequence[str], relationship: Relationship, *, kinds: frozenset[Kind], size: int
    ) -> Iterator[tuple[str, str]]:
        """The links of some records, ``size`` records at a time."""
        shape = PullShape(frozenset({relationship}), kinds, hops=1, fan_out=_MOST_STATEMENTS, node_cap=_NODE_CAP)
        for part in batched(ids, size):
            pulled = self.stores.graph.pull(part, shape, scope=Scope(self.corpus))
            edges = pulled.edges.get(relationship)
            if edges is not None:
                yield from ((str(pulled.ids[a]), str(pulled.ids[b])) for a, b in zip(*edges.nonzero(), strict=True))
