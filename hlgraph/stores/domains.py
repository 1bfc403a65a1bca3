"""The store of the domain of each corpus: kept with the graph, so that all processes and machines use the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hlgraph.errors import StoreError
from hlgraph.records import Domain

if TYPE_CHECKING:
    from hlgraph.stores.protocols import Stores


class DomainStore(Protocol):
    """The domains of corpora. A domain can exist before its corpus, and is no part of the graph that is searched."""

    def read(self, corpus: str) -> Domain | None:
        """The domain of a corpus; None if it has none."""

    def write(self, corpus: str, domain: Domain) -> None:
        """Sets the domain of a corpus, replacing the previous one. Needs the lock of the graph store.

        Parameters
        ----------
        corpus : name of the corpus
        domain : its new domain
        """

    def drop(self, corpus: str) -> None:
        """Removes the domain of a corpus, if it has one. Needs the lock of the graph store."""


def domain_store(stores: Stores) -> DomainStore:
    """The store that keeps the domains. Raises StoreError if these stores have none."""
    if stores.domains is None:
        raise StoreError("these stores keep no domains; open them with hlgraph.connect")
    return stores.domains


def domain_of(stores: Stores, corpus: str) -> Domain | None:
    """The domain of a corpus; None if it has none or if the stores keep no domains.

    Parameters
    ----------
    stores : stores of the corpus
    corpus : name of the corpus
    """
    return None if stores.domains is None else stores.domains.read(corpus)
