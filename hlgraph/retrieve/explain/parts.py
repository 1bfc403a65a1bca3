"""The parts of an explanation. Ids of nodes stand next to their names, so each part is readable by itself."""

from __future__ import annotations

import bisect
import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlgraph.errors import InputError
from hlgraph.records import Hit, Kind


@dataclass(frozen=True, slots=True)
class NodeTrace:
    """A node of the graph as an explanation names it.

    Attributes
    ----------
    id, kind : of the node
    name : the name of an entity or topic, the beginning of a statement or summary, title and beginning of a chunk, the title of a
        source; empty if the record is gone
    score : its score in this part of the explanation; higher is better; None without one
    seed_rank : its best rank, from 1, among the seeds of its kind over all searches; None if no search found it
    """

    id: str
    kind: Kind
    name: str
    score: float | None = None
    seed_rank: int | None = None


@dataclass(frozen=True, slots=True)
class SeedTrace:
    """Seeds of one kind from one search or rule.

    Attributes
    ----------
    kind : kind of the seeds
    origin : the mode of the search (vector, text, hybrid) or a word of the strategy such as ``keywords``
    count : number of seeds
    best : the best of them, with their names
    part : part of a strategy that has several; else empty
    """

    kind: Kind
    origin: str
    count: int
    best: tuple[NodeTrace, ...]
    part: str = ""


@dataclass(frozen=True, slots=True)
class HopTrace:
    """One depth of a search over the graph.

    Attributes
    ----------
    depth : from 1
    expanded : number of nodes or paths that were expanded
    kept : number that is left after pruning
    pruned : number of pruned ones by reason
    best : the nodes with the highest scores, best first
    name : name of the hop, if a strategy has several kinds of hops
    part : part of a strategy that has several; else empty
    """

    depth: int
    expanded: int
    kept: int
    pruned: Mapping[str, int]
    best: tuple[NodeTrace, ...]
    name: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class PathTrace:
    """A path of a walk.

    Attributes
    ----------
    nodes : in the order of the walk
    score : of the whole path
    joined_by : for each step the names of the nodes that join its two ends (``a ~ b``: two entities that are synonyms); empty
        if the ends are neighbours in the graph, or if nothing joins them
    jumps : numbers of the steps, from 1, whose ends nothing joins: the walk jumped there
    part : part of a strategy that has several; else empty
    """

    nodes: tuple[NodeTrace, ...]
    score: float
    joined_by: tuple[tuple[str, ...], ...] = ()
    jumps: tuple[int, ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class BasisTrace:
    """A chunk or statement that a summary rests on, and its place.

    Attributes
    ----------
    node : with its cosine to the question as score
    uri : of its source
    start, end : offset of its first character in the text of the source, and offset after its last one
    """

    node: NodeTrace
    uri: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ResultTrace:
    """The origin of one piece of evidence.

    Attributes
    ----------
    number : rank of the evidence, from 1
    node : the statement, chunk or summary; its ``seed_rank`` is as in :class:`NodeTrace`
    paths : numbers of the paths that lead to it, from 1
    is_stale : for a summary, whether a source that it rests on has changed since the build
    rests_on : for a summary, the chunks and statements that it rests on, as in :class:`hlgraph.records.Evidence`
    """

    number: int
    node: NodeTrace
    paths: tuple[int, ...]
    is_stale: bool = False
    rests_on: tuple[BasisTrace, ...] = ()


@dataclass(frozen=True, slots=True)
class StoreCost:
    """The total cost of the calls to one store, as far as it is known: calls, round trips, milliseconds, rows and bytes."""

    store: str
    calls: int
    round_trips: int
    milliseconds: float
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the drawing.

    Attributes
    ----------
    node : with its name
    number : its rank as evidence, from 1; 0 if it is not evidence
    is_on_path : whether it is highlighted as part of a path
    """

    node: NodeTrace
    number: int = 0
    is_on_path: bool = False


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge of the drawing.

    Attributes
    ----------
    start, end : ids of its ends
    relationship : its name; ``path`` if only the walk joins the ends
    is_on_path : whether it is highlighted as part of a path
    """

    start: str
    end: str
    relationship: str
    is_on_path: bool = False


@dataclass(frozen=True, slots=True)
class EvidenceGraph:
    """The evidence, its entities, chunks and sources, and the paths to it.

    Attributes
    ----------
    nodes, edges : the drawn nodes and edges
    left_out : number of nodes of each kind that are not drawn
    """

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)


# Notes of a running retrieval: seeds, hops and paths. They are kept only if an explanation was requested.

MOST_SEEDS = 100
"""Maximum number of kept seeds of one search; their total number is kept too."""
MOST_BEST = 10
"""Maximum number of kept nodes of one hop."""
MOST_PATHS = 100
"""Maximum number of kept paths of one part of a strategy, the best ones."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One depth of a search over the graph.

    Attributes
    ----------
    depth : from 1; a negative value means one more than the depth of the previous hop
    expanded : number of nodes or paths that were expanded
    kept : number that is left after pruning
    pruned : number of pruned nodes or paths by reason, in words such as ``beam width``
    best : the nodes with the highest scores, best first; the first ten are kept
    kind : kind of the nodes of ``best``
    name : name of the hop, if a strategy has several kinds of hops
    kinds : kind of each node of ``best``, if they differ
    """

    depth: int
    expanded: int
    kept: int
    pruned: Mapping[str, int] = field(default_factory=dict)
    best: Sequence[Hit] = ()
    kind: Kind = Kind.STATEMENT
    name: str = ""
    kinds: Sequence[Kind] = ()

    @property
    def nodes(self) -> list[tuple[Hit, Kind]]:
        """The first ten nodes of ``best``, with their kinds."""
        return list(zip(self.best, self.kinds or [self.kind] * len(self.best), strict=True))[:MOST_BEST]


@dataclass(frozen=True, slots=True)
class Seeds:
    """The starting points of a walk: the seeds of one kind from one search or rule.

    Attributes
    ----------
    kind : kind of the seeds
    hits : best first; at most 100 are kept
    count : number of seeds before that limit
    origin : the search or rule
    part : part of the strategy; empty for a strategy without parts
    """

    kind: Kind
    hits: tuple[Hit, ...]
    count: int
    origin: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Path:
    """A path of a walk: its nodes in order, their kinds, and the score of the whole path."""

    ids: tuple[str, ...]
    kinds: tuple[Kind, ...]
    score: float
    part: str = ""


@dataclass(slots=True)
class Notes:
    """The notes of one retrieval, in the order in which they were made.

    Attributes
    ----------
    seeds, hops, paths : the notes; each hop with the part of the strategy that made it
    dropped : number of ranked nodes that did not become evidence, by reason
    part : the part of the strategy that runs now
    is_kept : whether notes are taken; if not, work done only for notes can be skipped
    """

    seeds: list[Seeds] = field(default_factory=list)
    hops: list[tuple[Hop, str]] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    part: str = ""
    is_kept: bool = True

    def clear(self) -> None:
        """Discard the notes, because the strategy runs again with wider bounds."""
        self.seeds.clear()
        self.hops.clear()
        self.paths.clear()
        self.dropped.clear()

    def add_hop(self, hop: Hop) -> None:
        """Note what one depth of a search expanded, kept and pruned, and its best nodes."""
        if not self.is_kept:
            return
        if hop.depth < 0:
            hop = replace(hop, depth=max((old.depth for old, part in self.hops if part == self.part), default=0) + 1)
        self.hops.append((hop, self.part))

    def add_seeds(self, kind: Kind, hits: Sequence[Hit], *, origin: str) -> None:
        """Note where the walk begins; replaces earlier seeds of the same kind, origin and part.

        Parameters
        ----------
        kind : kind of the seeds
        hits : best first
        origin : the search or rule that gave them, in a word or two
        """
        if not self.is_kept:
            return
        seeds = Seeds(kind, tuple(hits[:MOST_SEEDS]), len(hits), origin, self.part)
        labels = [(old.kind, old.origin, old.part) for old in self.seeds]
        at = labels.index((kind, origin, self.part)) if (kind, origin, self.part) in labels else len(labels)
        self.seeds[at : at + 1] = [seeds]

    def add_path(
        self, ids: Sequence[str], score: float, *, kind: Kind = Kind.STATEMENT, kinds: Sequence[Kind] = ()
    ) -> None:
        """Note a path; the 100 best of each part of a strategy are kept, ties by ids.

        Parameters
        ----------
        ids : nodes in the order of the walk
        score : of the whole path; higher is better
        kind : of all nodes
        kinds : one per node, if they differ

        Raises
        ------
        InputError : ``kinds`` and ``ids`` differ in length
        """
        if not self.is_kept:
            return
        kinds = kinds or [kind] * len(ids)
        if len(kinds) != len(ids):
            raise InputError(
                f"a path of {len(ids)} nodes has {len(kinds)} kinds; give one kind for all nodes, or one for each"
            )
        new = Path(tuple(ids), tuple(kinds), float(score), self.part)
        others = [path for path in self.paths if path.part != self.part]
        mine = [path for path in self.paths if path.part == self.part and path.ids != new.ids]
        bisect.insort(mine, new, key=lambda path: (-path.score, path.ids))
        self.paths = [*others, *mine[:MOST_PATHS]]

    @contextlib.contextmanager
    def named(self, part: str) -> Iterator[None]:
        """Attribute the notes made in the block to one part of a strategy that has several."""
        before, self.part = self.part, part
        try:
            yield
        finally:
            self.part = before
