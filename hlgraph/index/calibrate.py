"""Measures the scale of the cosines of a corpus while a change is prepared, from a sample that the texts choose."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.calibration import SAMPLE, measured
from hlgraph.change import VectorBlock
from hlgraph.ids import checksum
from hlgraph.records import Calibration, Kind
from hlgraph.stores.protocols import Row, Stores

_KINDS = (Kind.ENTITY, Kind.STATEMENT, Kind.CHUNK)
_Key = tuple[str, str]  # the hash of an embedded text, and the id


def calibrated(
    blocks: Iterable[VectorBlock],
    corpus: str,
    *,
    names: int,
    stores: Stores,
    stored: Callable[[Kind], Iterable[Row]],
) -> Calibration | None:
    """The scale of the cosines of a corpus once the rows of a change are in it.

    Of each kind the 1,024 rows whose texts have the lowest hashes are measured, in that order. A hash says nothing about the
    meaning of a text, and nothing but the texts decides, so corpora of the same texts have the same scale, whatever their names
    are and in whatever order they grew. Reads the texts of all rows; a corpus is measured when it has doubled.

    Parameters
    ----------
    blocks : the rows that the change adds
    corpus : its corpus
    names : number of names in the corpus after the change
    stores : hold the other rows
    stored : the texts of the other rows of a kind, as they were embedded

    Returns
    -------
    Calibration
        None with fewer than 128 names.
    """
    added = {block.kind: block for block in blocks}
    rows = {
        kind: _sample(kind, added.get(kind), corpus, stores=stores, keys=map(_key, stored(kind))) for kind in _KINDS
    }
    return measured(rows, names=names)


def _sample(
    kind: Kind, added: VectorBlock | None, corpus: str, *, stores: Stores, keys: Iterable[_Key]
) -> NDArray[np.float32]:
    """The rows whose texts have the lowest hashes, in the order of these; rows of one text have one vector."""
    new = {} if added is None else dict(zip(added.ids, added.matrix(), strict=True))
    texts = () if added is None else zip(map(checksum, added.texts), added.ids, strict=True)
    chosen = heapq.nsmallest(SAMPLE, chain(texts, (key for key in keys if key[1] not in new)))
    held, matrix = stores.vectors.vectors(kind, corpus, ids=[item for _, item in chosen if item not in new])
    found = new | dict(zip(held, matrix, strict=True))
    sample = [found[item] for _, item in chosen if item in found]
    return np.stack(sample) if sample else np.empty((0, 0), dtype=np.float32)


def _key(row: Row) -> _Key:
    return checksum(row.text), row.id
