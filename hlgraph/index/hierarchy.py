"""The hierarchy of summaries over the chunks of a corpus (GraphMPA), maintained by rebuilding only what a change touched.

Layer 0 consists of the chunks, one summary per long source and, on request, one per large chunk. Similar nodes are joined,
their communities are summarised, and the summaries form the next layer, up to the number of layers. A community of level n
contains all chunks and summaries of sources below it. So a deletion removes them from all levels at once, together with the
summary of the community. A node of layer 0 without similar nodes is a community of its own without a summary.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.algorithms.calibration import fitted_cosine
from hlgraph.algorithms.communities import extended, leiden
from hlgraph.algorithms.distances import similarity_graph
from hlgraph.errors import InputError
from hlgraph.ids import summary_id
from hlgraph.index.communities import derived_store
from hlgraph.index.embed import check_model
from hlgraph.index.summaries import (
    Group,
    LongSource,
    Summariser,
    Written,
    centre_of,
    large_chunks,
    long_sources,
    summaries_of_sources,
    words_from,
)
from hlgraph.models.protocols import Embedder
from hlgraph.persist.journal import finish
from hlgraph.records import Calibration, Chunk, Community, Kind, Source, Summary
from hlgraph.stores.batches import batched
from hlgraph.stores.derived import DerivedStore, Made, Run, Saved, Summarised, community_id, run_named, with_sources
from hlgraph.stores.protocols import Scope, Stores, by_id, existing

_LOG = logging.getLogger(__name__)
RUN = "hierarchy"
"""The name of the run."""
_THRESHOLD = 0.5
_NEW = 0.2
"""Share of new nodes above which everything is clustered again, because the old communities would fit badly."""
_BATCH = 5_000
"""Vectors per read of the store."""


@dataclass(frozen=True, slots=True)
class HierarchyQuery:
    """Parameters of the hierarchy. The defaults are those of the paper, if it gives any.

    Attributes
    ----------
    layers : number of layers including the chunks, 1 to 6, default 3; the paper finds 2 or 3 best. With 1 there are no
        communities, only chunks and the summaries of long sources and large chunks
    neighbours : number of nearest nodes that each node is joined to, 1 to 1,000, default 10
    threshold : tau, the lowest cosine of an edge, 0 to 1; None (default): 0.5, fitted to the scale of the corpus. Chunks
        without a neighbour at or above it stay alone; :attr:`BuiltHierarchy.alone` counts them
    max_size : largest number of nodes of a community, 2 to 1,000, default 10, since the length of a summary is limited; the
        paper has no such limit
    seed : seed of the random number generator, default 0; equal corpus, parameters and seed give equal layers
    long_source : number of tokens above which a source gets its own summary as a node of the first layer, default 4,000;
        0 for none. One summary covers what is too long to read at once. The paper has no such summary
    large_chunk : size in tokens of the large chunks that get their own summary as nodes of the first layer, default 0 for none.
        The paper summarises every large chunk (S_D); each costs one call of the model

    Raises
    ------
    InputError
        A value is out of its bounds.

    References
    ----------
    GraphMPA, section 3.1, Algorithm 1; section 4.3 (layers).
    """

    layers: int = 3
    neighbours: int = 10
    threshold: float | None = None
    max_size: int = 10
    seed: int = 0
    long_source: int = 4_000
    large_chunk: int = 0

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name, least, most in (
            ("layers", 1, 6),
            ("neighbours", 1, 1_000),
            ("max_size", 2, 1_000),
            ("seed", 0, 1 << 31),
            ("long_source", 0, 1 << 31),
            ("large_chunk", 0, 1 << 31),
        ):
            if not least <= getattr(self, name) <= most:
                raise InputError(f"{name} is {getattr(self, name)}; it must be from {least} to {most}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise InputError(f"threshold is {self.threshold}; it must be from 0 to 1, as the cosines of neighbours are")

    @property
    def least(self) -> float:
        """The threshold as a number; 0.5 if it is None."""
        return _THRESHOLD if self.threshold is None else self.threshold

    def fitted(self, calibration: Calibration | None) -> HierarchyQuery:
        """The same query with a number as its threshold; a threshold of None is fitted to the scale of a corpus.

        Parameters
        ----------
        calibration : calibration of the corpus; None gives 0.5
        """
        if self.threshold is not None:
            return self
        return replace(self, threshold=fitted_cosine(_THRESHOLD, Kind.CHUNK, calibration=calibration))

    def parameters(self, summariser: Summariser) -> str:
        """Everything that the result depends on besides the corpus, as one line of text."""
        large = f" large_chunk={self.large_chunk}" if self.large_chunk else ""
        return (
            f"layers={self.layers} neighbours={self.neighbours} threshold={self.least:g} max_size={self.max_size} "
            f"seed={self.seed} long_source={self.long_source}{large} summaries={summariser.fingerprint}"
        )


def hierarchy_query(values: Mapping[str, float | str]) -> HierarchyQuery:
    """The query with these values of its parameters; texts are read as numbers.

    Parameters
    ----------
    values : by name of the parameter, such as ``{"layers": 2, "threshold": "0.5"}``

    Raises
    ------
    InputError
        There is no such parameter, or a value is no number or out of its bounds.
    """
    known = {each.name: float if each.name == "threshold" else int for each in fields(HierarchyQuery)}
    for name in values:
        if name not in known:
            raise InputError(f"a hierarchy has no parameter {name!r}; it has {', '.join(known)}")
    try:
        return HierarchyQuery(**{name: known[name](value) for name, value in values.items()})  # type: ignore[arg-type]
    except ValueError as error:
        raise InputError(f"a parameter of the hierarchy is no number: {error}; give one") from error


@dataclass(frozen=True, slots=True)
class BuiltHierarchy:
    """The result of :func:`build_hierarchy`.

    Attributes
    ----------
    run : the run that is stored now
    chunks : number of chunks
    communities : number of communities with a summary, per level, the finest first
    written : number of new summaries
    kept : number of summaries that were reused because their inputs have not changed
    saved : numbers of added, removed and kept communities
    is_unchanged : True if the stored layers were up to date, so that nothing was done
    is_whole : True if everything was clustered again
    sources : number of summaries of long sources and of large chunks, which ``written`` and ``kept`` include
    alone : number of nodes of layer 0 (chunks, and summaries of sources) that are in no community of two or more
    """

    run: Run
    chunks: int = 0
    communities: tuple[int, ...] = ()
    written: int = 0
    kept: int = 0
    saved: Saved = field(default_factory=lambda: Saved(0, 0, 0))
    is_unchanged: bool = False
    is_whole: bool = True
    sources: int = 0
    alone: int = 0


class _Node(NamedTuple):
    """A node of a layer.

    Attributes
    ----------
    key : id of the chunk or summary
    chunk_ids : the chunks below it
    members : the members that this node brings into a community: the chunks and summaries of sources below it, or itself
    vector : shape (d,)
    was_in : its community in the last run; empty for a new node
    about : for the summary of a community, the id of the community
    text : for a summary, its text
    parts : for a summary, the statements and chunks that its words come from
    """

    key: str
    chunk_ids: tuple[str, ...]
    members: tuple[str, ...]
    vector: NDArray[np.float32]
    was_in: str = ""
    about: str = ""
    text: str = ""
    parts: tuple[str, ...] = ()


class _Grouped(NamedTuple):
    """The nodes of a community, and the community of the last run that it continues (empty for a new one)."""

    continues: str
    nodes: list[_Node]


class _Last(NamedTuple):
    """The last run: the level-0 community of each node of layer 0, the parent of each community, the summaries by id."""

    of_node: dict[str, str]
    parents: dict[str, str]
    summaries: dict[str, Summarised]


@dataclass(slots=True)
class _Work:
    """The inputs of a build, and its results so far."""

    corpus: str
    query: HierarchyQuery
    run: Run
    scheme: int
    stores: Stores
    embedder: Embedder
    summariser: Summariser
    last: _Last
    of_node: Mapping[str, str]
    communities: list[Community]
    members: dict[str, tuple[str, ...]]
    summaries: list[Summarised]
    is_new: bool
    is_rehearsal: bool = False
    written: int = 0
    source_of: dict[str, str] = field(default_factory=dict)

    def summary_name(self, subject: str, below: Iterable[str]) -> tuple[str, str]:
        """The id of the summary of a community or source, and the hash of its inputs: the nodes below and the summariser."""
        return summary_id(subject, self.summariser.fingerprint, sorted(below), scheme=self.scheme)

    def write(self, groups: Sequence[Group]) -> list[tuple[Written, NDArray[np.float32]]]:
        """The summary of each group with the vector of its text."""
        if not groups:
            return []
        with progress.step("summarise", len(groups), unit="summaries"):
            written = self.summariser.summarise(groups, self.corpus, stores=self.stores)
        texts = [summary.text for summary in written]
        if self.is_rehearsal:
            return list(zip(written, (group.centre for group in groups), strict=True))
        with progress.step("embed", len(texts), unit="texts"):
            vectors = self.embedder.embed(texts)
        self.embedder.forget(texts)  # the store keeps the vectors and deletes them together with the summaries
        self.written += len(written)
        return list(zip(written, vectors, strict=True))


def build_hierarchy(
    corpus: str,
    query: HierarchyQuery,
    *,
    stores: Stores,
    embedder: Embedder,
    summariser: Summariser,
    is_whole: bool = False,
) -> BuiltHierarchy:
    """Build the layers of a corpus, or update them to its present state.

    Interrupted changes are finished first. If the corpus and the parameters are the same as in the last run, nothing is done.
    After a change, new chunks join the most similar communities, and only communities whose members changed are summarised
    again. So the cost of a model is proportional to the change. If more than 20 % of the nodes are new, or the parameters
    differ, or ``is_whole`` is True, everything is clustered again; a summary of the same chunks by the same
    summariser is still reused.

    Parameters
    ----------
    corpus : the corpus to summarise
    query : parameters of the hierarchy
    stores : both stores
    embedder : the model of the corpus, which embeds the summaries
    summariser : writes the summaries
    is_whole : cluster everything again, default False

    Returns
    -------
    BuiltHierarchy
        The stored run, with the numbers of communities and summaries.

    Raises
    ------
    UnknownNameError
        There is no such corpus.
    ModelMismatchError
        The corpus was embedded with another model.
    StoreLockedError
        Another process is writing.
    MissingExtraError
        The extra ``communities`` is not installed.
    StoreError
        The stores keep no derived data.
    ModelError
        The summariser failed; then nothing is stored.
    """
    derived = derived_store(stores)
    with stores.graph.lock(corpus) as pending:
        for change in pending:
            finish(change, stores)
        work = _begun(corpus, query, stores=stores, embedder=embedder, summariser=summariser, is_whole=is_whole)
        if isinstance(work, Run):
            return _unchanged(work, stores)
        chunks, sources, is_new = _summarised(work)
        built = Made(
            sorted(work.communities, key=lambda community: (community.level, community.id)),
            work.members,
            _with_sources(work),
        )
        run = replace(work.run, stamp=built.stamp)
        with progress.step("persist"):
            saved = derived.save(run, built)
        return BuiltHierarchy(
            run,
            chunks,
            _counts(work.summaries, work.query.layers - 1),
            work.written,
            len(work.summaries) - work.written,
            saved,
            is_whole=is_new,
            sources=sources,
            alone=alone_among(work.communities),
        )


def rehearse_hierarchy(
    corpus: str,
    query: HierarchyQuery,
    *,
    stores: Stores,
    embedder: Embedder,
    summariser: Summariser,
    is_whole: bool = False,
) -> None:
    """Ask the summariser for what :func:`build_hierarchy` would ask it, and store nothing.

    Parameters
    ----------
    corpus, query, stores, embedder, is_whole : see :func:`build_hierarchy`
    summariser : counts what it is asked; the mean of the vectors of its members stands for the vector of a summary, so nothing
        is embedded

    Raises
    ------
    UnknownNameError, ModelMismatchError, MissingExtraError, StoreError : see :func:`build_hierarchy`
    """
    work = _begun(corpus, query, stores=stores, embedder=embedder, summariser=summariser, is_whole=is_whole)
    if isinstance(work, _Work):
        work.is_rehearsal = True
        _summarised(work)


def _begun(
    corpus: str,
    query: HierarchyQuery,
    *,
    stores: Stores,
    embedder: Embedder,
    summariser: Summariser,
    is_whole: bool,
) -> _Work | Run:
    """The inputs of a build, or the last run if nothing has changed since."""
    derived = derived_store(stores)
    stats = existing(stores.graph, corpus)
    check_model([stats], embedder)
    query = query.fitted(stats.calibration)
    parameters = query.parameters(summariser)
    stored = run_named(derived, corpus, name=RUN)
    is_same = stored is not None and stored.parameters == parameters
    if stored is not None and is_same and not stored.is_stale and not is_whole:
        return stored
    run = Run(corpus, RUN, stats.version, parameters, query.layers - 1, summariser.fingerprint)
    last = _read_last(derived, corpus)
    of_node = last.of_node if is_same and not is_whole else {}
    return _Work(
        corpus, query, run, stats.ids, stores, embedder, summariser, last, of_node, [], {}, [], is_new=not is_same
    )


def _summarised(work: _Work) -> tuple[int, int, bool]:
    """Cluster and summarise every layer: the numbers of chunks and of sources with summaries, and if all was clustered again."""
    with progress.step("read"):
        chunks, long = _chunks(work, work.of_node)
    sources = _sources(work, chunks, long=long, of_node=work.of_node)
    nodes = sorted(chunks + sources, key=lambda node: node.key)
    is_new = sum(not node.was_in for node in nodes) > _NEW * len(nodes)
    _build(work, [node._replace(was_in="") for node in nodes] if is_new else nodes)
    return len(chunks), len(sources), is_new or work.is_new


def _unchanged(run: Run, stores: Stores) -> BuiltHierarchy:
    derived = derived_store(stores)
    summaries = derived.summaries(run.corpus, RUN).items
    chunks = stores.graph.stats(run.corpus)[0].records[Kind.CHUNK]
    return BuiltHierarchy(
        run,
        chunks,
        _counts(summaries, run.levels),
        kept=len(summaries),
        is_unchanged=True,
        is_whole=False,
        sources=sum(bool(summary.source_id) for summary in summaries),
        alone=alone_among(derived.communities(run.corpus, RUN, level=0)),
    )


def alone_among(communities: Iterable[Community]) -> int:
    """The number of nodes of layer 0 that are in no community of two or more."""
    return sum(community.size == 1 for community in communities if community.level == 0)


def _counts(summaries: Sequence[Summarised], levels: int) -> tuple[int, ...]:
    of_level = [summarised.summary.level for summarised in summaries if not summarised.source_id]
    return tuple(map(int, np.bincount(np.array(of_level, dtype=np.int64), minlength=levels)))


def _read_last(derived: DerivedStore, corpus: str) -> _Last:
    communities = derived.communities(corpus, RUN)
    members = derived.members([record.id for record in communities if record.level == 0])
    return _Last(
        {record.id: name for name, some in members.items() for record in some},
        {record.id: record.parent_id for record in communities if record.parent_id},
        {record.summary.id: record for record in derived.summaries(corpus, RUN).items},
    )


def _chunks(work: _Work, of_node: Mapping[str, str]) -> tuple[list[_Node], list[LongSource]]:
    """The chunks with a vector, by id, with their communities of the last run; and their long sources and large chunks."""
    chunks = by_id(work.stores.graph.find(Kind.CHUNK, Scope(work.corpus)), Chunk)
    nodes: list[_Node] = []
    for part in batched(sorted(chunks), _BATCH):
        ids, matrix = work.stores.vectors.vectors(Kind.CHUNK, work.corpus, ids=part)
        nodes += [
            _Node(name, (name,), (name,), row, of_node.get(name, "")) for name, row in zip(ids, matrix, strict=True)
        ]
    work.source_of = {name: chunk.source_id for name, chunk in chunks.items()}
    have = {node.key for node in nodes}
    embedded = [chunk for name, chunk in chunks.items() if name in have]
    long = [*long_sources(embedded, work.query.long_source), *large_chunks(embedded, work.query.large_chunk)]
    return nodes, list({(source.id, source.chunk_ids): source for source in long}.values())


def _sources(
    work: _Work, chunks: Sequence[_Node], *, long: Sequence[LongSource], of_node: Mapping[str, str]
) -> list[_Node]:
    """The summaries of long sources, reused or written, as nodes of the layer of the chunks."""
    vectors = {node.key: node.vector for node in chunks}
    summaries = summaries_of_sources(
        long,
        work.corpus,
        vectors=vectors,
        known=work.last.summaries,
        names=[work.summary_name(source.id, source.chunk_ids) for source in long],
        write=work.write,
    )
    work.summaries += summaries
    return [
        _Node(
            summarised.summary.id,
            summarised.chunk_ids,
            (summarised.summary.id,),
            summarised.vector,
            of_node.get(summarised.summary.id, ""),
            text=summarised.summary.text,
            parts=words_from(summarised),
        )
        for summarised in summaries
    ]


def _with_sources(work: _Work) -> list[Summarised]:
    """The summaries, written or kept, with the present states of the sources that they rest on in their hashes."""
    records = by_id(work.stores.graph.find(Kind.SOURCE, Scope(work.corpus)), Source)
    source_of = work.source_of | {each.summary.id: each.source_id for each in work.summaries if each.source_id}
    summaries = []
    for each in work.summaries:
        below = each.chunk_ids if each.source_id else work.members[each.community_id]
        versions = {name: records[name].version for name in {source_of[member] for member in below}}
        hashed = with_sources(each.summary.input_hash, versions)
        summaries.append(each._replace(summary=replace(each.summary, input_hash=hashed)))
    return summaries


def _build(work: _Work, nodes: list[_Node]) -> None:
    """Cluster and summarise level by level. The summaries are the nodes of the next level."""
    for level in range(work.query.layers - 1):
        if not nodes:
            break
        with progress.step("cluster"):
            groups = _grouped(nodes, work.query)
        built = [_community(work, level, group=group.nodes) for group in groups]
        parents = {
            node.about: community.id for community, group in zip(built, groups, strict=True) for node in group.nodes
        }
        work.communities = [
            replace(community, parent_id=parents[community.id]) if community.id in parents else community
            for community in work.communities
        ]
        work.communities += built
        nodes = _summarise(work, [pair for pair in zip(built, groups, strict=True) if len(pair[1].nodes) > 1])


def _grouped(nodes: Sequence[_Node], query: HierarchyQuery) -> list[_Grouped]:
    """The communities of a layer. Old nodes stay in their community; new nodes join one or form new ones."""
    names = sorted({node.was_in for node in nodes if node.was_in})
    place = {name: at for at, name in enumerate(names)}
    labels = np.array([place.get(node.was_in, -1) for node in nodes], dtype=np.int64)
    new = np.flatnonzero(labels < 0)
    graph = similarity_graph(
        np.stack([node.vector for node in nodes]),
        k=query.neighbours,
        threshold=query.least,
        only=new,
        rng=np.random.default_rng(query.seed),
    )
    if len(new) == len(nodes):
        grouped = leiden(graph, max_size=query.max_size, seed=query.seed).finest
    else:
        grouped = extended(graph, labels, max_size=query.max_size, seed=query.seed)
    inside: defaultdict[int, list[_Node]] = defaultdict(list)
    for node, label in zip(nodes, grouped.tolist(), strict=True):
        inside[label].append(node)
    return [_Grouped(names[label] if label < len(names) else "", inside[label]) for label in sorted(inside)]


def _community(work: _Work, level: int, *, group: Sequence[_Node]) -> Community:
    members = tuple(sorted({name for node in group for name in node.members}))
    name = community_id(work.run, level, members=members, scheme=work.scheme)
    work.members[name] = members
    return Community(name, work.corpus, level, len(members))


def _summarise(work: _Work, pairs: Sequence[tuple[Community, _Grouped]]) -> list[_Node]:
    """The summaries of communities, reused or written, as the nodes of the next layer."""
    names = [work.summary_name(community.id, [node.key for node in group.nodes]) for community, group in pairs]
    missing = [at for at, (name, _) in enumerate(names) if name not in work.last.summaries]
    groups = [_as_group(pairs[at][1].nodes) for at in missing]
    fresh = {
        names[at][0]: Summarised(
            Summary(names[at][0], work.corpus, written.text, pairs[at][0].level, names[at][1]),
            pairs[at][0].id,
            vector,
            written.parts,
        )
        for at, (written, vector) in zip(missing, work.write(groups), strict=True)
    }
    nodes: list[_Node] = []
    for (name, _), (community, group) in zip(names, pairs, strict=True):
        summarised = fresh.get(name) or work.last.summaries[name]
        work.summaries.append(summarised)
        was_in = work.last.parents.get(group.continues, "") if group.continues else ""
        nodes.append(
            _Node(
                name,
                tuple(sorted({below for node in group.nodes for below in node.chunk_ids})),
                work.members[community.id],
                summarised.vector,
                was_in,
                community.id,
                summarised.summary.text,
                summarised.parts,
            )
        )
    _LOG.debug("level %d: %d summaries, %d written", pairs[0][0].level if pairs else 0, len(nodes), len(missing))
    return sorted(nodes, key=lambda node: node.key)


def _as_group(nodes: Sequence[_Node]) -> Group:
    texts = tuple(node.text for node in nodes if node.text)
    beside = tuple(node.key for node in nodes if node.key in node.chunk_ids) if texts else ()
    parts: set[str] = set()
    if any(node.parts for node in nodes):  # next to summaries of sources, a chunk is its own part
        parts = {part for node in nodes for part in node.parts or node.chunk_ids}
    chunk_ids = tuple(sorted({name for node in nodes for name in node.chunk_ids}))
    return Group(chunk_ids, centre_of(np.stack([node.vector for node in nodes])), texts, tuple(sorted(parts)), beside)
