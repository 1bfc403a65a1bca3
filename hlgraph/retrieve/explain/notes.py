"""What a retrieval notes down while it runs: seeds, hops and paths. Kept only when an explanation was asked for."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlgraph.errors import InputError
from hlgraph.records import Hit, Kind

MOST_SEEDS = 100
"""Seeds of one search that are kept; how many there were is kept too."""
MOST_BEST = 10
"""Nodes of one hop that are kept."""
MOST_PATHS = 100
"""Paths of one strategy that are kept, the best."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One depth of a search over the graph.

    Attributes
    ----------
    depth : from 1; below 0: one more than that of the hop before
    expanded : how many nodes or paths were gone on from
    kept : how many are left after pruning
    pruned : why others were left out, and how many for each reason, in words such as ``beam width``
    best : the nodes with the highest scores, best first; the first ten are kept
    kind : what the nodes of ``best`` are
    name : what the hop is, where a strategy has several kinds of them
    """

    depth: int
    expanded: int
    kept: int
    pruned: Mapping[str, int] = field(default_factory=dict)
    best: Sequence[Hit] = ()
    kind: Kind = Kind.STATEMENT
    name: str = ""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Where a walk began: the nodes of one kind that one search or rule gave, best first, and how many there were."""

    kind: Kind
    hits: tuple[Hit, ...]
    count: int
    origin: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Path:
    """Nodes in the order in which they were walked, their kinds, and the score of the whole."""

    ids: tuple[str, ...]
    kinds: tuple[Kind, ...]
    score: float
    part: str = ""


@dataclass(slots=True)
class Notes:
    """The notes of one retrieval, in the order in which they were made.

    ``dropped``: how many ranked nodes became no evidence, by reason.
    """

    seeds: list[Seeds] = field(default_factory=list)
    hops: list[tuple[Hop, str]] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    part: str = ""

    def clear(self) -> None:
        """Forget what was noted: the strategy runs anew, with wider bounds."""
        self.seeds.clear()
        self.hops.clear()
        self.paths.clear()
        self.dropped.clear()

    def add_hop(self, hop: Hop) -> None:
        """Note a hop of the part."""
        if hop.depth < 0:
            hop = replace(hop, depth=max((old.depth for old, part in self.hops if part == self.part), default=0) + 1)
        self.hops.append((hop, self.part))

    def add_seeds(self, kind: Kind, hits: Sequence[Hit], *, origin: str) -> None:
        """Note seeds of one kind; the same kind from the same origin again replaces them."""
        made = Seeds(kind, tuple(hits[:MOST_SEEDS]), len(hits), origin, self.part)
        same = [
            at for at, old in enumerate(self.seeds) if (old.kind, old.origin, old.part) == (kind, origin, self.part)
        ]
        if same:
            self.seeds[same[0]] = made
        else:
            self.seeds.append(made)

    def add_path(self, ids: Sequence[str], score: float, *, kinds: Sequence[Kind]) -> None:
        """Note a path; of each part of a strategy the best are kept, ties by ids."""
        if len(kinds) != len(ids):
            raise InputError(f"a path of {len(ids)} nodes has {len(kinds)} kinds; give one for all, or one a node")
        made = Path(tuple(ids), tuple(kinds), float(score), self.part)
        others = [path for path in self.paths if path.part != self.part]
        mine = [path for path in self.paths if path.part == self.part and path.ids != made.ids]
        self.paths = [*others, *sorted([*mine, made], key=lambda path: (-path.score, path.ids))[:MOST_PATHS]]

    @contextlib.contextmanager
    def named(self, part: str) -> Iterator[None]:
        """What is noted in the block belongs to this part of the strategy."""
        before, self.part = self.part, part
        try:
            yield
        finally:
            self.part = before
