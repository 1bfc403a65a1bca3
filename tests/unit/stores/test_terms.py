"""Terms of a text: how words are split and stemmed. The stemmer is compared with another implementation of the same algorithm."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph import HLGraph
from hlgraph.records import Document, Kind
from hlgraph.stores.embedded import text_rows
from hlgraph.stores.embedded.text_rows import entries, query_words
from hlgraph.stores.opensearch.writes import terms
from hlgraph.stores.protocols import VectorQuery
from hlgraph.stores.terms import parts, stem


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("ies", "i"), ("seyyed", "seyi"), ("μs", "μs"), ("puɳe", "puɳe"), ("əs", "əs")],  # as OpenSearch has them
        *[("caresses", "caress"), ("ponies", "poni"), ("feed", "feed"), ("agreed", "agre"), ("hopping", "hop")],
        *[("falling", "fall"), ("filing", "file"), ("happy", "happi"), ("sky", "sky"), ("relational", "relat")],
        *[("possibly", "possibl"), ("archaeology", "archaeolog"), ("adoption", "adopt"), ("onion", "onion")],
        *[("controll", "control"), ("rate", "rate"), ("cease", "ceas"), ("a", "a"), ("is", "is"), ("1880s", "1880")],
        *[("𐌰s", "𐌰"), ("𐌰𐌰ed", "𐌰𐌰ed"), ("a𐌰𐌰ed", "a𐌰𐌰"), ("x" * 70 + "aings", "x" * 70 + "a")],
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.fixture(scope="module")
def porter() -> Iterator[Callable[[str], str]]:
    """The stemmer of SQLite."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute("CREATE VIRTUAL TABLE one USING fts5 (words, tokenize = 'porter unicode61')")
    database.execute("CREATE VIRTUAL TABLE stems USING fts5vocab (one, 'instance')")

    def stemmed(word: str) -> str:
        database.execute("DELETE FROM one")
        database.execute("INSERT INTO one (words) VALUES (?)", (word,))
        return str(database.execute("SELECT term FROM stems").fetchone()[0])

    with contextlib.closing(database):
        yield stemmed


_ENDED = st.builds(
    str.__add__,
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8),
    st.sampled_from(
        ["s", "ies", "ed", "eed", "ing", "ational", "izer", "bli", "logi", "icate", "ness", "ement", "tion", "y", "ll"]
    ),
)


@given(word=_ENDED)
def test_another_implementation_agrees(porter: Callable[[str], str], word: str) -> None:
    if word != "ies" and "yy" not in word:  # it drops the wrong letter of "ies", and takes "yy" for two consonants
        assert stem(word) == porter(word)


def test_words_are_split_and_stemmed_alike_in_both_stores() -> None:
    text = "The U.S. cafés of Ångström, μs and Seyyed's 1,000.50 ies"
    single = [line for line in entries([text])[0].splitlines() if " " not in line]
    assert single == [stem(term) for term in terms(text)]
    assert query_words(["u.s.", "ies", "—"]) == ["u s", "i"]
    assert parts("a\u0301b") == ("ab",)


def test_a_repair_writes_the_terms_of_an_older_store_again(graph: HLGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores written before have other terms for a few words."""

    def found() -> int:
        return len(graph._opened.stores.vectors.search(VectorQuery(Kind.CHUNK, graph.corpus, 3, text="seyyed")))

    text_rows._lines.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(text_rows, "_stems", lambda word: ("sei",) if word == "seyyed" else (stem(word),))
        graph.ingest([Document("doc:a", "Seyyed built the mill of Orle.", "Orle")])
    text_rows._lines.cache_clear()
    assert found() == 0
    graph.reconcile(repair=True)
    assert found() == 1
