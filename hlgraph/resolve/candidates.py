"""Pairs of entities that may be the same: names with similar vectors (SYNONYM) or similar spelling, not yet decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hlgraph import progress
from hlgraph.algorithms import check
from hlgraph.algorithms.calibration import fitted_cosine
from hlgraph.errors import InputError
from hlgraph.ids import normalise_name
from hlgraph.records import Entity, Kind, Relationship
from hlgraph.resolve.names import CONTAINED, ONE_LETTER, SAME_WORDS, Pair, lexical_pairs
from hlgraph.resolve.synonyms import least_synonym
from hlgraph.stores.merges import Decision, grouped
from hlgraph.stores.protocols import PullShape, Scope, Stores
from hlgraph.subgraph import KINDS

_LEXICAL = 0.5
_PAGE = 1_000  # ids per read of a store
_MOST_SYNONYMS = 100  # SYNONYM edges read per entity


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """Thresholds and limits of the search for candidates.

    Attributes
    ----------
    lower : lowest cosine of two names that makes them a pair without other evidence; None (default): 0.8, fitted to the scale of
        the corpus (no lower one is stored)
    upper : lowest cosine at which a pair of names with the same words is certain, default 0.95 in every corpus, as such pairs
        are merged unseen
    lexical : lowest cosine of a pair where one name contains the other or they differ in one letter; None (default): 0.5, fitted
        to the scale of the corpus
    block : largest number of names with a common word, initials or half of their letters that are compared with each
        other, default 50
    most : largest number of pairs, default 1,000; certain pairs come first, then the order is by cosine

    Raises
    ------
    InputError
        A value is out of its bounds.
    """

    lower: float | None = None
    upper: float = 0.95
    lexical: float | None = None
    block: int = 50
    most: int = 1_000

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("lower", "upper", "lexical"):
            if getattr(self, name) is not None:
                check.probability(name, getattr(self, name))
        if self.lower is not None and self.lower > self.upper:
            raise InputError(f"lower is {self.lower} and upper is {self.upper}; lower must be at most upper")
        for name, least in (("block", 2), ("most", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}; it must be {least} or more")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two entities that may be the same.

    Attributes
    ----------
    alias : the entity with the shorter name (by words, then letters, then id)
    canonical : the entity with the longer name
    score : cosine of the names; 0 if one has no vector
    evidence : kinds of lexical evidence, in alphabetical order
    is_certain : the names have the same words and a cosine of at least the upper threshold; merged without a model
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
        """The evidence as a short text."""
        return ", ".join((*self.evidence, f"cosine {self.score:.2f}"))


class Candidates(NamedTuple):
    """The result of :func:`find_candidates`.

    Attributes
    ----------
    found : pairs, the certain ones first, then by cosine, ties by ids
    left_out : number of pairs beyond the limit of the query
    """

    found: tuple[Candidate, ...]
    left_out: int = 0


def find_candidates(
    corpus: str, query: CandidateQuery, *, stores: Stores, decisions: Iterable[Decision] = ()
) -> Candidates:
    """Pairs of entities that may be the same, except those that are decided or merged already.

    Reads all entities of the corpus and their SYNONYM edges page by page, and the vectors of lexical pairs. Time and memory
    grow with the number of entities, not with its square.

    Parameters
    ----------
    corpus : the corpus to search
    query : thresholds and limits
    stores : both stores
    decisions : all stored decisions of the corpus

    Returns
    -------
    Candidates
        At most ``query.most`` pairs.
    """
    held = tuple(decisions)
    groups, decided = grouped(held), {item.pair for item in held}
    with progress.step("read"):
        entities = {item.id: item for item in stores.graph.find(Kind.ENTITY, Scope(corpus)) if isinstance(item, Entity)}
    with progress.step("pair"):
        spelled = lexical_pairs({key: normalise_name(item.name) for key, item in entities.items()}, block=query.block)
    stats = stores.graph.stats(corpus, has_counts=False)
    calibration = stats[0].calibration if stats else None
    lower = least_synonym(calibration) if query.lower is None else query.lower
    lexical = fitted_cosine(_LEXICAL, Kind.ENTITY, calibration=calibration) if query.lexical is None else query.lexical
    if lower < least_synonym(calibration):
        raise InputError(
            f"lower is {lower}; no SYNONYM of less than {least_synonym(calibration)} is stored here, so choose that or more"
        )
    with progress.step("compare", len(entities), unit="entities"):
        cosines = _synonyms(corpus, sorted(entities), least=lower, stores=stores)
    others = [pair for pair in spelled if pair not in cosines]
    with progress.step("compare", len(others), unit="pairs"):
        cosines |= _cosines(corpus, others, stores=stores)
    found = []
    for pair in sorted(cosines.keys() | spelled.keys()):
        if not entities.keys() >= set(pair):  # another process added an entity during this read
            continue
        evidence = spelled.get(pair, ())
        score = cosines.get(pair, 0.0)
        is_weak = set(evidence) <= {CONTAINED, ONE_LETTER} and max(score, 0.0) < (lexical if evidence else lower)
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
    """The SYNONYM edges of some entities with a cosine of at least ``least``."""
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
        progress.advance("compare", len(ids[start : start + _PAGE]))
    return found


def _cosines(corpus: str, pairs: Sequence[Pair], *, stores: Stores) -> dict[Pair, float]:
    """The cosines of the names of these pairs; pairs without both vectors are left out."""
    found: dict[Pair, float] = {}
    for start in range(0, len(pairs), _PAGE):
        part = pairs[start : start + _PAGE]
        names = sorted({name for pair in part for name in pair})
        held, matrix = stores.vectors.vectors(Kind.ENTITY, corpus, ids=names)
        row = dict(zip(held, matrix, strict=True))
        for a, b in part:
            if a in row and b in row:
                found[a, b] = float(np.vecdot(row[a], row[b]))
        progress.advance("compare", len(part))
    return found


def statements_of(corpus: str, ids: Sequence[str], *, most: int, stores: Stores) -> Mapping[str, tuple[str, ...]]:
    """The ids of statements that mention each of these entities.

    Parameters
    ----------
    corpus : the corpus of the entities
    ids : ids of entities
    most : largest number of statements per entity; the lowest ids are kept
    stores : both stores

    Returns
    -------
    Mapping
        Ascending ids of statements, by id of the entity.
    """
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
