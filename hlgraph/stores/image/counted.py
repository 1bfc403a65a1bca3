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
from hlgraph.stores.image.links import Links, Pairs, Way, blocks
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
    subjects, objects = links[Relationship.SUBJECT].back, links[Relationship.OBJECT].back
    facts = np.arange(subjects.size)
    if is_asserted is None:
        counts = links[Relationship.SUPPORTS].there.counts(facts)
    else:
        supports = links[Relationship.SUPPORTS].there.plain()
        before = np.concatenate([[0], np.cumsum(is_asserted[supports.targets])])
        counts = np.diff(before[supports.starts])
    a, b, weights = related(facts[counts > 0], subjects, objects=objects, counts=counts[counts > 0])
    found = sp.csr_array((weights, (a, b)), shape=(subjects.size, subjects.size))
    found.sum_duplicates()
    return found


def related(facts: NDArray[np.int64], subjects: Way, *, objects: Way, counts: NDArray[np.int64]) -> Pairs:
    """Subject and object of each of some facts that has both, weighted by its count.

    Parameters
    ----------
    facts : the facts
    subjects, objects : SUBJECT and OBJECT, from the fact
    counts : number of statements that support each fact
    """
    has_both = (subjects.counts(facts) > 0) & (objects.counts(facts) > 0)
    some = facts[has_both]
    return subjects.of(some, most=1).target, objects.of(some, most=1).target, counts[has_both].astype(np.float32)


def co_occurs(links: Mapping[str, Links], is_asserted: NDArray[np.bool_] | None) -> Iterator[Pairs]:
    """CO_OCCURS, each pair once and the smaller id first, in blocks: the number of chunks that mention both entities.

    Memory is linear in the mentions and in one block.

    Parameters
    ----------
    links : links of ``SAID``
    is_asserted : which nodes a visible source asserts; None: all
    """
    said = links[SAID].there
    chunks = np.flatnonzero(said.counts(np.arange(said.size)))
    yield from paired(said, chunks if is_asserted is None else chunks[is_asserted[chunks]])


def paired(said: Way, chunks: NDArray[np.int64]) -> Iterator[Pairs]:
    """The pairs of entities that some chunks mention, as :func:`co_occurs` gives them.

    Parameters
    ----------
    said : links of ``SAID``, from the chunk
    chunks : the chunks, ascending
    """
    row, entity = _joined(said, chunks)
    number = np.bincount(row, minlength=len(chunks))
    one = np.ones(len(row), dtype=np.float32)
    entities, column = np.unique(entity, return_inverse=True)
    by_chunk = sp.csr_array((one, (row, column)), shape=(len(chunks), len(entities)))
    by_entity = sp.csr_array(by_chunk.T)
    work = np.zeros(len(entities), dtype=np.int64)
    np.add.at(work, column, number[row])
    for first, last in blocks(work):
        part = sp.coo_array(by_entity[first:last] @ by_chunk)
        a, b = entities[first + part.row], entities[part.col]
        is_first = a < b
        yield a[is_first], b[is_first], part.data[is_first].astype(np.float32)


def _joined(said: Way, chunks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places in ``chunks``, and entities: of each chunk at most ``PAIRED``, most mentioned first, then by id."""
    owner, target, weight = said.of(chunks)
    keep = np.ones(len(owner), dtype=bool)
    starts = np.searchsorted(owner, np.arange(len(chunks) + 1))
    for long in np.flatnonzero(np.diff(starts) > PAIRED):
        row = slice(int(starts[long]), int(starts[long + 1]))
        order = np.lexsort((target[row], -weight[row]))
        keep[row.start + order[PAIRED:]] = False
    return owner[keep], target[keep]
