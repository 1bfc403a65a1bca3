"""SYNONYM edges between entities whose names have similar vectors (PropRAG, section 4.2: a cosine of at least 0.8)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.calibration import fitted_cosine
from hlgraph.algorithms.similarity import Pairs, ThresholdIndex, pairs_within
from hlgraph.change import Synonym, VectorBlock
from hlgraph.ids import normalise_name
from hlgraph.records import Calibration, Entity, Kind
from hlgraph.stores.protocols import Scope, Stores, by_id

SYNONYM_THRESHOLD = 0.8
"""Lowest cosine of two names that makes them synonyms, for the shipped embedder; :func:`least_synonym` fits it to a corpus."""

_LETTERS = 3
_SAMPLE = 4_096  # entities that give an index its directions
_DIGITS = re.compile(r"\d+")
_AMOUNT = re.compile(r"[$€£¥₹]?\s*\d")  # also an amount of money: "$4 million"
_MONTH = re.compile(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b")


def is_eligible(name: str) -> bool:
    """Whether a normalised name can have synonyms: it has at least three letters and is neither a number nor a date.

    Similar numbers and dates mean different things. As synonyms, all years would form one clique.

    Examples
    --------
    >>> [is_eligible(name) for name in ("lothair ii", "12 km", "may 1990", "$4 million", "eu", "apollo 11")]
    [True, False, False, False, False, True]
    """
    letters = sum(map(str.isalpha, name))
    has_digits = bool(_DIGITS.search(name))
    return letters >= _LETTERS and not _AMOUNT.match(name) and not (has_digits and _MONTH.search(name))


def least_synonym(calibration: Calibration | None, usual: float = SYNONYM_THRESHOLD) -> float:
    """Lowest cosine of two names of a corpus that makes them synonyms: ``usual``, fitted to the scale of the corpus.

    Parameters
    ----------
    calibration : calibration of the corpus; None returns ``usual``
    usual : the cosine for the shipped embedder, default 0.8
    """
    return usual if calibration is None else fitted_cosine(usual, Kind.ENTITY, calibration=calibration)


def synonyms(
    names: Mapping[str, str],
    new: Sequence[str],
    *,
    matrix: NDArray[np.float32],
    corpus: str,
    stores: Stores,
    least: float = SYNONYM_THRESHOLD,
) -> Iterator[Synonym]:
    """Synonym pairs of a new entity and any other, stored or new. Each pair occurs once, in ascending order of ids.

    Names with digits are synonyms only if the digits are equal. For a fixed ``least`` the pairs do not depend on how the
    entities were divided into changes.

    Parameters
    ----------
    names : normalised name of each new entity, by id
    new : ids of the new entities
    matrix : their vectors, shape (n, d)
    corpus : the corpus of the entities
    stores : where stored entities are looked up
    least : lowest cosine of a pair, default 0.8

    Returns
    -------
    Iterator
        Links ordered by their pair of ids.
    """
    at = [place for place, name in enumerate(new) if is_eligible(names[name])]
    if not at:
        return
    chosen = [(new[place], names[new[place]]) for place in at]
    rows = np.ascontiguousarray(matrix[at])
    yield from _linked(pairs_within(rows, threshold=least), chosen, chosen, rows, _Stored(corpus, stores, least))


class _Stored(NamedTuple):
    """The stored entities of a corpus, and the lowest cosine of a pair."""

    corpus: str
    stores: Stores
    least: float


def _linked(
    inside: Pairs,
    chosen: Sequence[tuple[str, str]],
    others: Sequence[tuple[str, str]],
    rows: NDArray[np.float32],
    stored: _Stored,
) -> Iterator[Synonym]:
    """The synonyms of some new entities: among ``others``, which are new too, and among those that are stored.

    Parameters
    ----------
    inside : pairs of places in ``chosen`` and in ``others``
    chosen, others : id and normalised name of entities
    rows : the vectors of ``chosen``
    stored : the stored entities
    """
    cosines: dict[tuple[str, str], float] = {}
    for a, b, cosine in zip(inside.queries, inside.base, inside.similarities, strict=True):
        (one, name), (other, name_of_other) = chosen[a], others[b]
        if _digits(name) == _digits(name_of_other):
            cosines[_pair(one, other)] = float(cosine)
    corpus, stores, least = stored
    near = stores.vectors.neighbours(Kind.ENTITY, corpus, vectors=rows, threshold=least)
    records = stores.graph.records(Kind.ENTITY, sorted(set(near.ids)), scope=Scope(corpus))
    names = {name: normalise_name(entity.name) for name, entity in by_id(records, Entity).items()}
    for a, other, cosine in zip(near.queries, near.ids, near.similarities, strict=True):
        (one, name), name_of_other = chosen[a], names.get(other, "")
        if other != one and name_of_other and is_eligible(name_of_other) and _digits(name) == _digits(name_of_other):
            cosines[_pair(one, other)] = float(cosine)
    for (a, b), cosine in sorted(cosines.items()):
        yield Synonym(a, b, round(cosine, 5))


class SynonymFinder:
    """Finds the pairs of :func:`synonyms` for the new entities of a change that is too large for memory, part by part.

    Parameters
    ----------
    corpus : the corpus of the entities
    stores : where stored entities are looked up
    least : lowest cosine of a pair
    """

    def __init__(self, corpus: str, stores: Stores, *, least: float) -> None:
        self._stored = _Stored(corpus, stores, least)
        self._index: ThresholdIndex | None = None
        self._entities: list[tuple[str, str]] = []

    def pairs(self, block: VectorBlock, rows: NDArray[np.float32], *, without: Collection[str]) -> Iterator[Synonym]:
        """The synonyms of the entities of a part among those of the parts up to it, and among stored ones.

        Parameters
        ----------
        block : ids and texts of the entities
        rows : the vectors of all entities up to these, shape (n, d), such as a memory map
        without : ids of entities that are stored, so that they count as such
        """
        first = len(rows) - len(block.ids)
        fresh = list(zip(block.ids, block.texts, strict=True))
        self._entities += [pair if is_eligible(pair[1]) and pair[0] not in without else ("", "") for pair in fresh]
        if self._index is None:
            self._index = ThresholdIndex(np.asarray(rows[:_SAMPLE]))
        self._index.attach(rows)
        at = [place for place in range(len(fresh)) if self._entities[first + place][0]]
        if not at:
            return
        vectors = np.ascontiguousarray(rows[first:][at])
        near = self._index.query(vectors, threshold=self._stored.least)
        is_earlier = near.base < np.array(at, dtype=np.intp)[near.queries] + first
        is_earlier &= np.array([bool(self._entities[row][0]) for row in near.base.tolist()], dtype=bool)
        inside = Pairs(near.queries[is_earlier], near.base[is_earlier], near.similarities[is_earlier])
        yield from _linked(inside, [fresh[place] for place in at], self._entities, vectors, self._stored)


def _digits(name: str) -> list[str]:
    return _DIGITS.findall(name)


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)
