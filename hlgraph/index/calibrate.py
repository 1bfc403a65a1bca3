"""Measures the scale of the cosines of a corpus while a change is prepared, from a sample that the ids choose."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.calibration import SAMPLE, measured
from hlgraph.change import VectorBlock
from hlgraph.records import Calibration, Kind
from hlgraph.stores.protocols import Stores

_KINDS = (Kind.ENTITY, Kind.STATEMENT, Kind.CHUNK)


def calibrated(blocks: Iterable[VectorBlock], corpus: str, *, names: int, stores: Stores) -> Calibration | None:
    """The scale of the cosines of a corpus once the rows of a change are in it.

    Of each kind the 1,024 rows with the lowest ids are measured. Ids are hashes, so they say nothing about a text, and equal
    corpora have equal samples.

    Parameters
    ----------
    blocks : the rows that the change adds
    corpus : its corpus
    names : number of names in the corpus after the change
    stores : hold the other rows

    Returns
    -------
    Calibration
        None with fewer than 128 names.
    """
    added = {block.kind: block for block in blocks}
    rows = {kind: _sample(kind, added.get(kind), corpus, stores=stores) for kind in _KINDS}
    return measured(rows, names=names)


def _sample(kind: Kind, added: VectorBlock | None, corpus: str, *, stores: Stores) -> NDArray[np.float32]:
    """The rows with the lowest ids, by ascending id."""
    new = {} if added is None else dict(zip(added.ids, added.matrix(), strict=True))
    wanted = heapq.nsmallest(SAMPLE, stores.vectors.ids(kind, corpus) | new.keys())
    held, matrix = stores.vectors.vectors(kind, corpus, ids=[item for item in wanted if item not in new])
    found = new | dict(zip(held, matrix, strict=True))
    chosen = [found[item] for item in wanted if item in found]
    return np.stack(chosen) if chosen else np.empty((0, 0), dtype=np.float32)
