"""The nodes of an image: ids, kinds and sources, numbered in the order of their ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

NO_SOURCE = -1
"""The source of a node that belongs to no single source: of a fact or an entity."""
_WIDTH = 32


class NodeTable(Protocol):
    """The nodes of a corpus; a node is its place in the order of ids."""

    @property
    def size(self) -> int:
        """The number of nodes."""

    def ids_of(self, at: NDArray[np.int64]) -> NDArray[np.bytes_]:
        """The ids of some nodes, bytes of length 32."""

    def kinds_of(self, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The kinds of some nodes, indices into KINDS."""

    def sources_of(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """The node of the source of each of some nodes, or ``NO_SOURCE``."""

    def find(self, ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """The node of each of some ids, bytes of length 32; -1 for an unknown id."""

    def plain(self) -> Nodes:
        """All nodes, as arrays."""


class Nodes(NamedTuple):
    """The nodes of a corpus as arrays, in the order of their ids.

    Attributes
    ----------
    ids : shape (n,), bytes of length 32
    kinds : shape (n,), indices into KINDS
    sources : shape (n,), the node of each node's source, or ``NO_SOURCE``
    """

    ids: NDArray[np.bytes_]
    kinds: NDArray[np.uint8]
    sources: NDArray[np.int32]

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self.ids)

    def ids_of(self, at: NDArray[np.int64]) -> NDArray[np.bytes_]:
        """See :meth:`NodeTable.ids_of`."""
        return self.ids[at]

    def kinds_of(self, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        """See :meth:`NodeTable.kinds_of`."""
        return self.kinds[at]

    def sources_of(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """See :meth:`NodeTable.sources_of`."""
        return self.sources[at].astype(np.int64)

    def find(self, ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """See :meth:`NodeTable.find`."""
        return find(self.ids, ids)

    def plain(self) -> Nodes:
        """See :meth:`NodeTable.plain`."""
        return self


def find(held: NDArray[np.bytes_], ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """The place of each of some ids in ascending ids; -1 for one that is not there.

    Parameters
    ----------
    held : ids to search, ascending
    ids : ids to find, of the same item size: otherwise numpy copies all of ``held`` to compare them
    """
    if not len(held) or not len(ids):
        return np.full(len(ids), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(held, ids), len(held) - 1)
    found: NDArray[np.int64] = np.where(held[at] == ids, at, -1)
    return found


def places(nodes: NodeTable, ids: Iterable[str]) -> NDArray[np.int64]:
    """The nodes with these ids, ascending and distinct; unknown ids are left out.

    Parameters
    ----------
    nodes : nodes of a corpus
    ids : ids of any length
    """
    wanted = [item.encode() for item in ids]
    found = nodes.find(np.array([item for item in wanted if len(item) <= _WIDTH], dtype=f"S{_WIDTH}"))
    return np.unique(found[found >= 0])
