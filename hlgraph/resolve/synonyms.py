"""SYNONYM edges between entities whose names have similar vectors (PropRAG, section 4.2: a cosine of at least 0.8)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.calibration import fitted_cosine
from hlgraph.algorithms.similarity import pairs_within
from hlgraph.change import Synonym
from hlgraph.ids import normalise_name
from hlgraph.records import Calibration, Entity, Kind
from hlgraph.stores.protocols import Scope, Stores, by_id

SYNONYM_THRESHOLD = 0.8
"""Lowest cosine of two names that makes them synonyms, for the shipped embedder; :func:`least_synonym` fits it to a corpus."""

_LETTERS = 3
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
    chosen = [new[place] for place in at]
    rows = np.ascontiguousarray(matrix[at])
    cosines: dict[tuple[str, str], float] = {}
    inside = pairs_within(rows, threshold=least)
    for a, b, cosine in zip(inside.queries, inside.base, inside.similarities, strict=True):
        if _digits(names[chosen[a]]) == _digits(names[chosen[b]]):
            cosines[_pair(chosen[a], chosen[b])] = float(cosine)
    near = stores.vectors.neighbours(Kind.ENTITY, corpus, vectors=rows, threshold=least)
    records = stores.graph.records(Kind.ENTITY, sorted(set(near.ids)), scope=Scope(corpus))
    stored = {name: normalise_name(entity.name) for name, entity in by_id(records, Entity).items()}
    for a, other, cosine in zip(near.queries, near.ids, near.similarities, strict=True):
        name = stored.get(other, "")
        if other != chosen[a] and name and is_eligible(name) and _digits(names[chosen[a]]) == _digits(name):
            cosines[_pair(chosen[a], other)] = float(cosine)
    for (a, b), cosine in sorted(cosines.items()):
        yield Synonym(a, b, round(cosine, 5))


def _digits(name: str) -> list[str]:
    return _DIGITS.findall(name)


def _pair(a: str, b: str) -> tuple[str, str]:
    return (a, b) if a < b else (b, a)
