"""The image of one version of a corpus: its nodes and links as arrays, on which every pull, match and whole read runs.

Nodes are numbered in the order of their ids. A pull reads only the rows of the nodes that it visits, so that its cost depends
on its shape and not on the size of a graph in files. A filter arrives as the sources that it admits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Kind, Relationship
from hlgraph.stores.image.arrays import (
    NO_NODES,
    NO_SOURCE,
    Links,
    NeighbourCheck,
    NodeTable,
    Pairs,
    Way,
    blocks,
    in_memory,
    is_among,
    places,
    strongest,
    to_matrix,
)
from hlgraph.stores.in_process import MENTIONED, matched
from hlgraph.stores.protocols import IdPage, Matched, MatchQuery, PullShape
from hlgraph.subgraph import KINDS, Csr, Subgraph

# Every store counts by these rules: RELATES adds up the statements behind the facts of two entities, CO_OCCURS the chunks that
# mention both. Of a chunk with very many entities the first 100 count: most mentioned first, then by id.

SAID = "said"
"""From a chunk to the entities that its statements mention, weighted by the number of these statements."""
PAIRED = 100
"""Maximum number of entities of one chunk that CO_OCCURS joins."""


def relates(links: Mapping[str, Links], is_asserted: NDArray[np.bool_] | None) -> Csr:
    """RELATES, from subject to object: the number of statements that support a fact of both. Linear in the facts.

    Parameters
    ----------
    links : links of SUPPORTS, SUBJECT and OBJECT
    is_asserted : which nodes a visible source asserts; None: all

    Returns
    -------
    Csr
        Shape (n, n) for n nodes.
    """
    subjects, objects = links[Relationship.SUBJECT].back, links[Relationship.OBJECT].back
    facts = np.arange(subjects.size)
    if is_asserted is None:
        counts = links[Relationship.SUPPORTS].there.counts(facts)
    else:
        supports = links[Relationship.SUPPORTS].there.plain()
        before = np.concatenate([[0], np.cumsum(is_asserted[supports.targets])])
        counts = np.diff(before[supports.starts])
    a, b, weights = related(facts[counts > 0], subjects, objects=objects, counts=counts[counts > 0])
    matrix = sp.csr_array((weights, (a, b)), shape=(subjects.size, subjects.size))
    matrix.sum_duplicates()
    return matrix


def related(facts: NDArray[np.int64], subjects: Way, *, objects: Way, counts: NDArray[np.int64]) -> Pairs:
    """Subject and object of each of some facts that has both, weighted by its count.

    Parameters
    ----------
    facts : the facts
    subjects, objects : SUBJECT and OBJECT, from the fact
    counts : number of statements that support each fact
    """
    has_both = (subjects.counts(facts) > 0) & (objects.counts(facts) > 0)
    some = facts[has_both]
    return subjects.of(some, most=1).target, objects.of(some, most=1).target, counts[has_both].astype(np.float32)


def co_occurs(links: Mapping[str, Links], is_asserted: NDArray[np.bool_] | None) -> Iterator[Pairs]:
    """CO_OCCURS, each pair once and the smaller id first, in blocks: the number of chunks that mention both entities.

    Memory is linear in the mentions and in one block.

    Parameters
    ----------
    links : links of ``SAID``
    is_asserted : which nodes a visible source asserts; None: all
    """
    said = links[SAID].there
    chunks = np.flatnonzero(said.counts(np.arange(said.size)))
    yield from paired(said, chunks if is_asserted is None else chunks[is_asserted[chunks]])


def paired(said: Way, chunks: NDArray[np.int64]) -> Iterator[Pairs]:
    """The pairs of entities that some chunks mention, as :func:`co_occurs` gives them.

    Parameters
    ----------
    said : links of ``SAID``, from the chunk
    chunks : the chunks, ascending
    """
    row, entity = _joined(said, chunks)
    number = np.bincount(row, minlength=len(chunks))
    one = np.ones(len(row), dtype=np.float32)
    entities, column = np.unique(entity, return_inverse=True)
    by_chunk = sp.csr_array((one, (row, column)), shape=(len(chunks), len(entities)))
    by_entity = sp.csr_array(by_chunk.T)
    work = np.zeros(len(entities), dtype=np.int64)
    np.add.at(work, column, number[row])
    for first, last in blocks(work):
        part = sp.coo_array(by_entity[first:last] @ by_chunk)
        a, b = entities[first + part.row], entities[part.col]
        is_first = a < b
        yield a[is_first], b[is_first], part.data[is_first].astype(np.float32)


def _joined(said: Way, chunks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places in ``chunks``, and entities: of each chunk at most ``PAIRED``, most mentioned first, then by id."""
    owner, target, weight = said.of(chunks)
    keep = np.ones(len(owner), dtype=bool)
    starts = np.searchsorted(owner, np.arange(len(chunks) + 1))
    for long in np.flatnonzero(np.diff(starts) > PAIRED):
        row = slice(int(starts[long]), int(starts[long + 1]))
        order = np.lexsort((target[row], -weight[row]))
        keep[row.start + order[PAIRED:]] = False
    return owner[keep], target[keep]


FOLLOWED = frozenset(Relationship) - {
    Relationship.SIMILAR,
    Relationship.MEMBER_OF,
    Relationship.PART_OF,
    Relationship.SUMMARISES,
}
"""The relationships that an image holds: all but those of communities, summaries and similar nodes."""
EVEN = FOLLOWED - {Relationship.RELATES, Relationship.CO_OCCURS, Relationship.SYNONYM}
"""Those of which every weight is 1."""
COUNTED: Mapping[str, frozenset[str]] = {
    Relationship.RELATES: frozenset({Relationship.SUPPORTS, Relationship.SUBJECT, Relationship.OBJECT}),
    Relationship.CO_OCCURS: frozenset({SAID}),
}
"""The links from which a derived relationship is counted."""


class Touched(NamedTuple):
    """What one patch touched.

    Attributes
    ----------
    before, after : marks of the states between which it leads
    nodes : ids of the nodes that came or went, bytes of length 32
    ends : by name of each relationship that the image has, the ids of the ends of the links that differ
    """

    before: Hashable
    after: Hashable
    nodes: NDArray[np.bytes_]
    ends: Mapping[str, NDArray[np.bytes_]]


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """The graph of one version of one corpus. Thread-safe.

    Attributes
    ----------
    nodes : the nodes
    links : links by name of the relationship, and :data:`SAID`; at least those that :func:`needed` names for a read
    version : version of the corpus
    mark : what tells the state of the corpus from all others, also from one of the same version; None: unknown
    trail : the last patches that led to this state, in their order
    """

    nodes: NodeTable
    links: Mapping[str, Links]
    _: KW_ONLY
    version: int
    mark: Hashable = None
    trail: tuple[Touched, ...] = ()

    def touched_since(self, mark: Hashable) -> tuple[Touched, ...] | None:
        """The patches that led from a state to this one; None if they are not known."""
        if mark is None:
            return None
        if mark == self.mark:
            return ()
        first = next((at for at, item in enumerate(self.trail) if item.before == mark), None)
        return None if first is None else self.trail[first:]

    def pull(self, seeds: Sequence[str], shape: PullShape, *, sources: NDArray[np.int64] | None) -> Subgraph:
        """Breadth-first search from the seeds.

        Parameters
        ----------
        seeds : ids of the nodes to start from
        shape : relationships, kinds and bounds
        sources : nodes of the sources that may be seen, ascending; None: all
        """
        may = self._check(shape, sources)
        edges = {item: self._scoped(item, sources) for item in sorted(shape.relationships & FOLLOWED)}
        frontier = places(self.nodes, seeds)
        frontier = frontier[may(frontier)]
        is_cut = len(frontier) > shape.node_cap
        frontier = reached = frontier[: shape.node_cap]
        for _ in range(shape.hops):
            neighbours, was_cut = strongest(
                list(edges.values()),
                frontier,
                fan_out=shape.fan_out,
                may=lambda at, seen=reached: ~is_among(at, seen) & may(at),  # type: ignore[misc]
            )
            room = shape.node_cap - len(reached)
            is_cut = is_cut or was_cut or len(neighbours) > room
            frontier = neighbours[:room]
            if not len(frontier):
                break
            reached = np.union1d(reached, frontier)
        inside = {item: links.induced(reached) for item, links in edges.items()}
        return self._subgraph(reached, inside, is_cut=is_cut)

    def whole(self, shape: PullShape, *, sources: NDArray[np.int64] | None) -> Subgraph:
        """All nodes of some kinds that may be seen, and all edges between them.

        Parameters
        ----------
        shape : kinds and relationships; its bounds are ignored
        sources : nodes of the sources that may be seen, ascending; None: all
        """
        at = np.flatnonzero(self._check(shape, sources)(np.arange(self.nodes.size)))
        edges = {item: self._scoped(item, sources) for item in sorted(shape.relationships & FOLLOWED)}
        return self._subgraph(at, {item: links.induced(at) for item, links in edges.items()})

    def match(self, query: MatchQuery, *, sources: NDArray[np.int64] | None) -> list[Matched]:
        """Statements by the number of names that they mention.

        Time and memory are linear in the statements that mention a name, of the largest hub one number a statement.

        Parameters
        ----------
        query : names and bounds
        sources : nodes of the sources that may be seen, ascending; None: all
        """
        back = self.links[Relationship.MENTIONS].back
        parts = [np.unique(back.of(places(self.nodes, name)).target) for name in query.names]
        statements, counts = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *parts]), return_counts=True)
        may = self._check(MENTIONED, sources)(statements)
        if query.among is not None:
            may &= is_among(statements, places(self.nodes, query.among))
        return matched(self.nodes.ids_of(statements[may]), counts[may], query=query)

    def page(self, kind: Kind, *, after: str, size: int, sources: NDArray[np.int64] | None) -> IdPage:
        """See :meth:`hlgraph.stores.protocols.GraphStore.page`. Reads no text; linear in the nodes, and in their links in a scope.

        Parameters
        ----------
        kind, after, size : see there
        sources : nodes of the sources that may be seen, ascending; None: all
        """
        may = self._check(one_kind(kind), sources)
        at = np.flatnonzero(may(np.arange(self.nodes.size)))
        first = bisect_right(at, after.encode(), key=lambda node: bytes(self.nodes.ids_of(np.array([node]))[0]))
        return IdPage(tuple(self.nodes.ids_of(at[first : first + size]).astype("<U32").tolist()), len(at))

    def count(self, relationships: Iterable[Relationship]) -> int:
        """The total number of links of these relationships."""
        return sum(self.links[item].there.total for item in relationships if item in self.links)

    def records(self) -> dict[str, int]:
        """The number of nodes of each kind, by its value."""
        numbers = np.bincount(self.nodes.kinds_of(np.arange(self.nodes.size)), minlength=len(KINDS))
        return {kind.value: number for kind, number in zip(KINDS, numbers.tolist(), strict=True)}

    def joined(self, name: str) -> list[tuple[str, str]]:
        """The ids of both ends of every link of a relationship.

        Parameters
        ----------
        name : name of the relationship, one of few links
        """
        way = self.links[name].there
        if not way.total:
            return []
        every = np.arange(self.nodes.size)
        starts = every[way.counts(every) > 0]
        gathered = way.of(starts)
        ends = (self.nodes.ids_of(at).astype("<U32").tolist() for at in (starts[gathered.owner], gathered.target))
        return list(zip(*ends, strict=True))

    def sources_but(self, left_out: NDArray[np.int64]) -> NDArray[np.int64]:
        """The nodes of all sources but some, ascending."""
        every = np.flatnonzero(self.nodes.kinds_of(np.arange(self.nodes.size)) == KINDS.index(Kind.SOURCE))
        return every[~is_among(every, left_out)]

    def _subgraph(self, at: NDArray[np.int64], edges: Mapping[Relationship, Csr], *, is_cut: bool = False) -> Subgraph:
        nodes = self.nodes
        return Subgraph(nodes.ids_of(at).astype("<U32"), np.array(nodes.kinds_of(at)), edges, self.version, is_cut)

    def _check(self, shape: PullShape, sources: NDArray[np.int64] | None) -> NeighbourCheck:
        """A check of which nodes may be entered: nodes of the wanted kinds that belong to a source that may be seen.

        Facts and entities have no source: they may be entered if a statement of such a source asserts them.
        """
        nodes = self.nodes
        is_kind = np.zeros(len(KINDS), dtype=bool)
        is_kind[[KINDS.index(kind) for kind in shape.kinds]] = True
        if sources is None:
            return lambda at: is_kind[nodes.kinds_of(at)]
        allowed = sources

        def may(at: NDArray[np.int64]) -> NDArray[np.bool_]:
            is_wanted = is_kind[nodes.kinds_of(at)]
            source_nodes = nodes.sources_of(at)
            is_visible = is_wanted & is_among(source_nodes, allowed)
            is_shared = is_wanted & (source_nodes == NO_SOURCE)
            is_visible[is_shared] = self._is_asserted(at[is_shared], allowed)
            return is_visible

        return may

    def _is_asserted(self, at: NDArray[np.int64], allowed: NDArray[np.int64]) -> NDArray[np.bool_]:
        is_asserted = np.zeros(len(at), dtype=bool)
        for way in (self.links[Relationship.MENTIONS].back, self.links[Relationship.SUPPORTS].there):
            for first, last in blocks(way.counts(at)):
                some = way.of(at[first:last])
                is_inside = is_among(self.nodes.sources_of(some.target), allowed)
                is_asserted[first + some.owner[is_inside]] = True
        return is_asserted

    def _scoped(self, relationship: Relationship, sources: NDArray[np.int64] | None) -> Links:
        """The links of a relationship in a scope; under a filter, a derived relationship is counted again in memory."""
        if sources is None or relationship not in COUNTED:
            return self.links[relationship]
        is_asserted = is_among(self.nodes.sources_of(np.arange(self.nodes.size)), sources)
        if relationship is Relationship.RELATES:
            return in_memory(relates(self.links, is_asserted))
        return in_memory(to_matrix(co_occurs(self.links, is_asserted), self.nodes.size))


def one_kind(kind: Kind) -> PullShape:
    """The shape of a read of the nodes of one kind, without relationships."""
    return PullShape(frozenset(), frozenset({kind}))


def needed(shape: PullShape, *, has_filter: bool) -> frozenset[str]:
    """The names of the links that a read needs, and of those from which counted ones are counted.

    Under a filter these are also the links that show what is asserted.

    Parameters
    ----------
    shape : shape of the read
    has_filter : whether the read may see some sources only
    """
    wanted = shape.relationships & FOLLOWED
    counted = frozenset[str]().union(*(COUNTED[item] for item in wanted if item in COUNTED))
    if not has_filter:
        return wanted | counted
    return (wanted - set(COUNTED)) | {Relationship.MENTIONS, Relationship.SUPPORTS} | counted


def empty() -> Image:
    """The image of a corpus that does not exist."""
    none = in_memory(sp.csr_array((0, 0), dtype=np.float32))
    return Image(NO_NODES, dict.fromkeys((*FOLLOWED, SAID), none), version=0)


def nothing(shape: PullShape) -> Subgraph:
    """The empty subgraph, for a corpus that does not exist."""
    return empty().whole(shape, sources=None)
