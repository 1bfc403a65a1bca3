"""The facts of a corpus with their supporting statements, read in bulk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hlgraph import progress
from hlgraph.errors import UnknownNameError
from hlgraph.ids import checksum
from hlgraph.records import Chunk, Entity, Fact, Kind, Record, Relationship, Source, Statement, Topic
from hlgraph.sdk.arguments import checked
from hlgraph.stores.protocols import GraphStore, PullShape, Scope, Stores

__all__ = ["Facts", "StoredFacts"]

_FACTS_AT_ONCE = 5_000
_IDS_AT_ONCE = 1_000
_SOURCES_AT_ONCE = 200
_SUPPORTS = frozenset({Relationship.SUPPORTS})
_IN_CHUNK = frozenset({Relationship.IN_CHUNK})
_TOPIC_KINDS = frozenset({Kind.CHUNK, Kind.TOPIC})
_KINDS = frozenset({Kind.FACT, Kind.STATEMENT})
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
class Facts:
    """The facts of one corpus.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            stored = graph.facts.read()
            for fact, statements in stored.facts:
                print(fact.text, stored.statements[statements[0]].text)
    """

    def __init__(self, corpus: str, stores: Stores) -> None:
        self._corpus = corpus
        self._stores = stores

    def read(self) -> StoredFacts:
        """All facts with their statements, entities and sources: one read per kind, and one pull per 5,000 facts.

        Returns
        -------
        StoredFacts

        Raises
        ------
        UnknownNameError : there is no such corpus
        """
        graph, scope = self._graph(), Scope(self._corpus)
        with progress.step("read"):
            sources = {item.id: item for item in graph.find(Kind.SOURCE, scope) if isinstance(item, Source)}
            facts = [item for item in graph.find(Kind.FACT, scope) if isinstance(item, Fact)]
            supporting = self._supporting(graph, [item.id for item in facts])
            wanted = sorted({name for names in supporting.values() for name in names})
            ends = sorted({end for item in facts for end in (item.subject_id, item.object_id) if end})
            statements = {
                item.id: item for item in self._records(Kind.STATEMENT, wanted) if isinstance(item, Statement)
            }
            entities = {item.id: item for item in self._records(Kind.ENTITY, ends) if isinstance(item, Entity)}
        # A change that another process publishes meanwhile may remove records; their facts are left out.
        supported = tuple(
            (item, tuple(name for name in supporting.get(item.id, ()) if name in statements))
            for item in facts
            if item.subject_id in entities and (item.object_id is None or item.object_id in entities)
        )
        fingerprint = checksum(self._corpus, *sorted(sources), "facts", *(item.id for item in facts))
        return StoredFacts(self._corpus, sources, entities, statements, supported, fingerprint)

    def sources(self) -> list[str]:
        """The ids of all sources, ascending. Raises UnknownNameError if there is no such corpus."""
        return sorted(source.id for source in self._graph().find(Kind.SOURCE, Scope(self._corpus)))

    def chunks(self, source_ids: Sequence[str]) -> Iterator[list[Chunk]]:
        """The chunks of sources, 200 sources at a time, each list by source, then by place.

        Parameters
        ----------
        source_ids : ids of sources

        Yields
        ------
        list of Chunk
        """
        graph = self._graph()
        for start in range(0, len(source_ids), _SOURCES_AT_ONCE):
            scope = Scope(self._corpus, sources=tuple(source_ids[start : start + _SOURCES_AT_ONCE]))
            chunks = [item for item in graph.find(Kind.CHUNK, scope) if isinstance(item, Chunk)]
            yield sorted(chunks, key=lambda item: (item.source_id, item.position, item.id))

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
        graph, ids = self._graph(), sorted({*chunk_ids})
        shape = PullShape(_IN_CHUNK, _TOPIC_KINDS, hops=1, fan_out=_MOST_STATEMENTS, node_cap=_NODE_CAP)
        links: list[tuple[str, str]] = []
        for start in range(0, len(ids), _IDS_AT_ONCE):
            pulled = graph.pull(ids[start : start + _IDS_AT_ONCE], shape, scope=Scope(self._corpus))
            edges = pulled.edges.get(Relationship.IN_CHUNK)
            if edges is not None:
                links += [(str(pulled.ids[a]), str(pulled.ids[b])) for a, b in zip(*edges.nonzero(), strict=True)]
        topics = self._records(Kind.TOPIC, sorted({topic for topic, _ in links}))
        names = {topic_record.id: topic_record.name for topic_record in topics if isinstance(topic_record, Topic)}
        names_of: dict[str, set[str]] = {}
        for topic, chunk in links:
            if topic in names:
                names_of.setdefault(chunk, set()).add(names[topic])
        return {chunk: tuple(sorted(topic_names)) for chunk, topic_names in names_of.items()}

    # Parts

    def _graph(self) -> GraphStore:
        if not self._stores.graph.stats(self._corpus, has_counts=False):
            raise UnknownNameError(f"there is no corpus {self._corpus!r}; ingest something first")
        return self._stores.graph

    def _records(self, kind: Kind, ids: Sequence[str]) -> Iterator[Record]:
        for start in range(0, len(ids), _IDS_AT_ONCE):
            part = ids[start : start + _IDS_AT_ONCE]
            yield from self._stores.graph.records(kind, part, scope=Scope(self._corpus))

    def _supporting(self, graph: GraphStore, ids: Sequence[str]) -> dict[str, list[str]]:
        """Ids of the statements that support each fact."""
        shape = PullShape(_SUPPORTS, _KINDS, hops=1, fan_out=_MOST_STATEMENTS, node_cap=_NODE_CAP)
        supporting: dict[str, list[str]] = {}
        for start in range(0, len(ids), _FACTS_AT_ONCE):
            pulled = graph.pull(ids[start : start + _FACTS_AT_ONCE], shape, scope=Scope(self._corpus))
            links = pulled.edges.get(Relationship.SUPPORTS)
            if links is None:
                continue
            for fact, statement in zip(*links.nonzero(), strict=True):
                supporting.setdefault(str(pulled.ids[fact]), []).append(str(pulled.ids[statement]))
        return {fact: sorted(names) for fact, names in supporting.items()}
