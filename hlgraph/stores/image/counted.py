"""The two derived relationships that are counted, RELATES and CO_OCCURS, from what some sources of a corpus assert.

Both stores count by these rules: RELATES adds up the statements behind the facts of two entities, CO_OCCURS the chunks that
mention both. Of a chunk with very many entities the first 100 count: most mentioned first, then by id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Relationship
from hlgraph.stores.image.links import Links, Pairs, blocks
from hlgraph.subgraph import Csr

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
    supports, subjects, objects = (
        links[Relationship.SUPPORTS].there,
        links[Relationship.SUBJECT].back,
        links[Relationship.OBJECT].back,
    )
    size = len(supports.starts) - 1
    if is_asserted is None:
        counts = np.diff(supports.starts)
    else:
        before = np.concatenate([[0], np.cumsum(is_asserted[supports.targets])])
        counts = np.diff(before[supports.starts])
    has_both = (np.diff(subjects.starts) > 0) & (np.diff(objects.starts) > 0)
    facts = np.flatnonzero(has_both & (counts > 0))
    ends = subjects.targets[subjects.starts[facts]], objects.targets[objects.starts[facts]]
    found = sp.csr_array((counts[facts].astype(np.float32), ends), shape=(size, size))
    found.sum_duplicates()
    return found


def co_occurs(links: Mapping[str, Links], is_asserted: NDArray[np.bool_] | None) -> Iterator[Pairs]:
    """CO_OCCURS, each pair once and the smaller id first, in blocks: the number of chunks that mention both entities.

    Memory is linear in the mentions and in one block.

    Parameters
    ----------
    links : links of ``SAID``
    is_asserted : which nodes a visible source asserts; None: all
    """
    chunk, entity = _joined(links[SAID], is_asserted)
    size = len(links[SAID].there.starts) - 1
    chunks, row = np.unique(chunk, return_inverse=True)
    number = np.bincount(row, minlength=len(chunks))
    one = np.ones(len(row), dtype=np.float32)
    by_chunk = sp.csr_array((one, (row, entity)), shape=(len(chunks), size))
    by_entity = sp.csr_array(by_chunk.T)
    entities = np.flatnonzero(np.diff(by_entity.indptr))
    work = np.zeros(size, dtype=np.int64)
    np.add.at(work, entity, number[row])
    for first, last in blocks(work[entities]):
        some = entities[first:last]
        part = sp.coo_array(by_entity[some] @ by_chunk)
        a, b = some[part.row], part.col
        is_first = a < b
        yield a[is_first], b[is_first], part.data[is_first].astype(np.float32)


def _joined(said: Links, is_asserted: NDArray[np.bool_] | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Chunks and entities: of each visible chunk at most ``PAIRED``, most mentioned first, then by id."""
    starts, targets, weights = said.there
    chunk = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keep = np.ones(len(chunk), dtype=bool) if is_asserted is None else is_asserted[chunk]
    for long in np.flatnonzero(np.diff(starts) > PAIRED):
        row = slice(int(starts[long]), int(starts[long + 1]))
        order = np.lexsort((targets[row], -weights[row]))
        keep[row.start + order[PAIRED:]] = False
    return chunk[keep], targets[keep].astype(np.int64)
