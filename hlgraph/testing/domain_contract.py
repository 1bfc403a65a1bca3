"""Contract suite of DomainStore. Subclass :class:`DomainStoreContract` and define a fixture ``stores``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hlgraph.errors import StoreError
from hlgraph.records import Domain
from hlgraph.stores.protocols import DomainStore, Stores, domain_of, domain_store
from hlgraph.testing.corpus import CORPUS, fill, snapshot

DOMAIN = Domain(('Brücke "x"', "engineer"), ("repairs; costs", "'); DROP TABLE domain; --"), "domain/1+openai:m")


def _put(stores: Stores, domain: Domain, corpus: str = CORPUS) -> DomainStore:
    store = domain_store(stores)
    with stores.graph.lock():
        store.write(corpus, domain)
    return store


class DomainStoreContract:
    """Tests that every DomainStore must pass, together with its GraphStore."""

    def test_an_empty_store_has_no_domain(self, stores: Stores) -> None:
        assert domain_of(stores, CORPUS) is None

    def test_a_domain_comes_back_as_it_went_in_and_is_of_one_corpus(self, stores: Stores) -> None:
        _put(stores, DOMAIN)
        assert domain_of(stores, CORPUS) == DOMAIN
        assert domain_of(stores, f"{CORPUS} of others") is None

    def test_it_is_there_before_the_corpus_and_makes_none(self, stores: Stores) -> None:
        _put(stores, DOMAIN)
        assert stores.graph.stats(CORPUS) == ()
        fill(stores)
        assert domain_of(stores, CORPUS) == DOMAIN

    def test_a_later_domain_takes_the_place_of_an_earlier_one(self, stores: Stores) -> None:
        _put(stores, DOMAIN)
        for later in (replace(DOMAIN, kinds=()), Domain((), ("weather",)), DOMAIN):
            assert _put(stores, later).read(CORPUS) == later

    def test_what_was_dropped_is_gone_and_dropping_twice_is_as_once(self, stores: Stores) -> None:
        store = _put(stores, DOMAIN)
        _put(stores, DOMAIN, "other")
        with stores.graph.lock():
            store.drop(CORPUS)
            store.drop(CORPUS)
        assert (store.read(CORPUS), store.read("other")) == (None, DOMAIN)

    def test_the_graph_is_as_it_was(self, stores: Stores) -> None:
        fill(stores)
        before, version = snapshot(stores, CORPUS), stores.graph.stats(CORPUS)[0]
        _put(stores, DOMAIN)
        assert (snapshot(stores, CORPUS), stores.graph.stats(CORPUS)[0]) == (before, version)

    def test_writing_needs_the_lock(self, stores: Stores) -> None:
        _put(stores, DOMAIN)
        with pytest.raises(StoreError):
            domain_store(stores).write(CORPUS, Domain(("ship",)))
        with pytest.raises(StoreError):
            domain_store(stores).drop(CORPUS)
        assert domain_of(stores, CORPUS) == DOMAIN
