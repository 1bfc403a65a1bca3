"""Which entities may be one: like names by their vectors (SYNONYM) or by their letters, without what was decided before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hlgraph.algorithms import check
from hlgraph.errors import InputError
from hlgraph.ids import normalise_name
from hlgraph.records import Entity, Kind, Relationship
from hlgraph.resolve.names import CONTAINED, ONE_LETTER, SAME_WORDS, Pair, lexical_pairs
from hlgraph.resolve.synonyms import SYNONYM_THRESHOLD
from hlgraph.stores.merges import Decision, grouped
from hlgraph.stores.protocols import PullShape, Scope, Stores
from hlgraph.subgraph import KINDS

_PAGE = 1_000
_MOST_SYNONYMS = 100


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """Which pairs of entities to look at.

    Attributes
    ----------
    lower : the least cosine of two names that makes a pair by itself (default 0.8; no lower one is stored)
    upper : from this cosine on a pair whose names have the same words is certain (default 0.95)
    lexical : the least cosine of a pair of names of which one holds the other, or that differ in one letter (default 0.5)
    block : how many names that share a word, initials or half of their letters are compared with each other (default 50)
    most : so many pairs at most, the certain ones first, then by cosine (default 1,000)

    Raises InputError for a value out of its bounds.
    """

    lower: float = 0.8
    upper: float = 0.95
    lexical: float = 0.5
    block: int = 50
    most: int = 1_000

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("lower", "upper", "lexical"):
            check.probability(name, getattr(self, name))
        if not SYNONYM_THRESHOLD <= self.lower <= self.upper:
            raise InputError(
                f"lower is {self.lower} and upper {self.upper}; lower must be from {SYNONYM_THRESHOLD} to upper"
            )
        for name, least in (("block", 2), ("most", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be {least} or more")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two entities that may be one.

    Attributes
    ----------
    alias, canonical : the second has the longer name, by words, then by letters, then by id
    score : cosine of the names; 0 where one has no vector
    evidence : what speaks for it beside the cosine, in the order of the alphabet
    is_certain : the names have the same words and the cosine is at the upper threshold: merged without a question
    """

    alias: Entity
    canonical: Entity
    score: float
    evidence: tuple[str, ...] = ()
    is_certain: bool = False

    @property
    def pair(self) -> Pair:
        """Both ids, ascending."""
        return min(self.alias.id, self.canonical.id), max(self.alias.id, self.canonical.id)

    @property
    def why(self) -> str:
        """The evidence in a few words."""
        return ", ".join((*self.evidence, f"cosine {self.score:.2f}"))


class Candidates(NamedTuple):
    """The pairs, the certain ones first, then by cosine, ties by ids; and how many more there are."""

    found: tuple[Candidate, ...]
    left_out: int = 0


def find_candidates(
    corpus: str, query: CandidateQuery, *, stores: Stores, decisions: Iterable[Decision] = ()
) -> Candidates:
    """Pairs of entities that may be one, without those that were decided about or are one already.

    Reads all entities of the corpus and their SYNONYM edges, page by page, and the vectors of lexical pairs: its time and
    memory grow with the entities, never with their square.
    """
    held = tuple(decisions)
    groups, decided = grouped(held), {item.pair for item in held}
    entities = {item.id: item for item in stores.graph.find(Kind.ENTITY, Scope(corpus)) if isinstance(item, Entity)}
    spelled = lexical_pairs({key: normalise_name(item.name) for key, item in entities.items()}, block=query.block)
    cosines = _synonyms(corpus, sorted(entities), least=query.lower, stores=stores)
    cosines |= _cosines(corpus, [pair for pair in spelled if pair not in cosines], stores=stores)
    found = []
    for pair in sorted(cosines.keys() | spelled.keys()):
        if not entities.keys() >= set(pair):  # another process added one while this one was reading
            continue
        evidence = spelled.get(pair, ())
        score = cosines.get(pair, 0.0)
        is_weak = set(evidence) <= {CONTAINED, ONE_LETTER} and max(score, 0.0) < (
            query.lexical if evidence else query.lower
        )
        if pair in decided or is_weak or groups.is_one(*pair):
            continue
        is_certain = SAME_WORDS in evidence and score >= query.upper
        alias, canonical = sorted((entities[name] for name in pair), key=_length)
        found.append(Candidate(alias, canonical, round(score, 5), evidence, is_certain))
    found.sort(key=lambda item: (not item.is_certain, -item.score, item.pair))
    return Candidates(tuple(found[: query.most]), max(0, len(found) - query.most))


def _length(entity: Entity) -> tuple[int, int, str]:
    return len(entity.name.split()), len(entity.name), entity.id


def _synonyms(corpus: str, ids: Sequence[str], *, least: float, stores: Stores) -> dict[Pair, float]:
    """The SYNONYM edges of some entities from a cosine on."""
    found: dict[Pair, float] = {}
    shape = PullShape(
        frozenset({Relationship.SYNONYM}),
        frozenset({Kind.ENTITY}),
        hops=1,
        fan_out=_MOST_SYNONYMS,
        node_cap=_PAGE * (_MOST_SYNONYMS + 1),
    )
    for start in range(0, len(ids), _PAGE):
        graph = stores.graph.pull(ids[start : start + _PAGE], shape, scope=Scope(corpus))
        edges = graph.edges[Relationship.SYNONYM].tocoo()
        for a, b, cosine in zip(graph.ids[edges.row], graph.ids[edges.col], edges.data.tolist(), strict=True):
            if cosine >= least - 1e-6:
                found[min(str(a), str(b)), max(str(a), str(b))] = cosine
    return found


def _cosines(corpus: str, pairs: Sequence[Pair], *, stores: Stores) -> dict[Pair, float]:
    """Of the names of each of these pairs that have vectors."""
    found: dict[Pair, float] = {}
    for start in range(0, len(pairs), _PAGE):
        part = pairs[start : start + _PAGE]
        names = sorted({name for pair in part for name in pair})
        held, matrix = stores.vectors.vectors(Kind.ENTITY, corpus, ids=names)
        row = dict(zip(held, matrix, strict=True))
        for a, b in part:
            if a in row and b in row:
                found[a, b] = float(np.vecdot(row[a], row[b]))
    return found


def statements_of(corpus: str, ids: Sequence[str], *, most: int, stores: Stores) -> Mapping[str, tuple[str, ...]]:
    """The ids of statements that mention each of these entities: those of the first ids, at most ``most`` of each."""
    found: dict[str, tuple[str, ...]] = {}
    kinds = frozenset({Kind.STATEMENT, Kind.ENTITY})
    for start in range(0, len(ids), _PAGE):
        part = ids[start : start + _PAGE]
        shape = PullShape(
            frozenset({Relationship.MENTIONS}), kinds, hops=1, fan_out=most, node_cap=len(part) * (most + 1)
        )
        graph = stores.graph.pull(part, shape, scope=Scope(corpus))
        edges = graph.edges[Relationship.MENTIONS].tocsc()
        for at in np.flatnonzero(graph.kinds == KINDS.index(Kind.ENTITY)):
            rows = np.sort(edges.indices[edges.indptr[at] : edges.indptr[at + 1]])[:most]
            found[str(graph.ids[at])] = tuple(graph.ids[rows].tolist())
    return found
