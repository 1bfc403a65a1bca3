"""What keeps the domain of each corpus: with its graph, so that it is one for all processes and machines that use the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hlgraph.errors import StoreError
from hlgraph.records import Domain

if TYPE_CHECKING:
    from hlgraph.stores.protocols import Stores


class DomainStore(Protocol):
    """The domains of corpora. One can be there before its corpus is, and none of it is in the graph that is searched."""

    def read(self, corpus: str) -> Domain | None:
        """The domain of a corpus; None where nobody set one."""

    def write(self, corpus: str, domain: Domain) -> None:
        """Put a domain in the place of the one before. Needs the lock of the graph store."""

    def drop(self, corpus: str) -> None:
        """Remove the domain of a corpus; that there is none is no error. Needs the lock of the graph store."""


def domain_store(stores: Stores) -> DomainStore:
    """What keeps the domains of a pair of stores. Raises StoreError where nothing does."""
    if stores.domains is None:
        raise StoreError("this pair of stores keeps no domains; open it with hlgraph.connect")
    return stores.domains


def domain_of(stores: Stores, corpus: str) -> Domain | None:
    """The domain of a corpus; None where there is none, and for stores that keep none."""
    return None if stores.domains is None else stores.domains.read(corpus)
