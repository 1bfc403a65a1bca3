"""What a retrieval notes while it runs: seeds, hops and paths. Kept only when an explanation was requested."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlgraph.errors import InputError
from hlgraph.records import Hit, Kind

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
    name : name of the hop, where a strategy has several kinds of hops
    kinds : kind of each node of ``best``, where they differ
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
        """The nodes that are kept of ``best``, with their kinds."""
        return list(zip(self.best, self.kinds or [self.kind] * len(self.best), strict=True))[:MOST_BEST]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where a walk began: the seeds of one kind from one search or rule.

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
    seeds, hops, paths : what was noted; each hop with the part of the strategy that made it
    dropped : number of ranked nodes that became no evidence, by reason
    part : the part of the strategy that runs now
    """

    seeds: list[Seeds] = field(default_factory=list)
    hops: list[tuple[Hop, str]] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    part: str = ""

    def clear(self) -> None:
        """Discard the notes: the strategy runs again, with wider bounds."""
        self.seeds.clear()
        self.hops.clear()
        self.paths.clear()
        self.dropped.clear()

    def add_hop(self, hop: Hop) -> None:
        """Note a hop of the current part."""
        if hop.depth < 0:
            hop = replace(hop, depth=max((old.depth for old, part in self.hops if part == self.part), default=0) + 1)
        self.hops.append((hop, self.part))

    def add_seeds(self, kind: Kind, hits: Sequence[Hit], *, origin: str) -> None:
        """Note seeds; they replace earlier ones of the same kind, origin and part.

        Parameters
        ----------
        kind : kind of the seeds
        hits : best first
        origin : the search or rule that gave them
        """
        made = Seeds(kind, tuple(hits[:MOST_SEEDS]), len(hits), origin, self.part)
        same = [
            at for at, old in enumerate(self.seeds) if (old.kind, old.origin, old.part) == (kind, origin, self.part)
        ]
        if same:
            self.seeds[same[0]] = made
        else:
            self.seeds.append(made)

    def add_path(self, ids: Sequence[str], score: float, *, kinds: Sequence[Kind]) -> None:
        """Note a path; the 100 best of each part of a strategy are kept, ties by ids.

        Parameters
        ----------
        ids : nodes in the order of the walk
        score : of the whole path
        kinds : kind of each node

        Raises
        ------
        InputError : ``kinds`` and ``ids`` differ in length
        """
        if len(kinds) != len(ids):
            raise InputError(
                f"a path of {len(ids)} nodes has {len(kinds)} kinds; give one kind for all nodes, or one for each"
            )
        made = Path(tuple(ids), tuple(kinds), float(score), self.part)
        others = [path for path in self.paths if path.part != self.part]
        mine = [path for path in self.paths if path.part == self.part and path.ids != made.ids]
        self.paths = [*others, *sorted([*mine, made], key=lambda path: (-path.score, path.ids))[:MOST_PATHS]]

    @contextlib.contextmanager
    def named(self, part: str) -> Iterator[None]:
        """Attributes the notes made in the block to this part of the strategy."""
        before, self.part = self.part, part
        try:
            yield
        finally:
            self.part = before
