"""Ids: equal exactly when their fields are, whatever the fields hold."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hlgraph import ids
from hlgraph.change import MentionLink
from hlgraph.extract.extractor import ChunkInput
from hlgraph.persist.assemble import Extracted, assemble
from hlgraph.persist.compare import ChunkPlan, compare
from hlgraph.records import Chunk, Document, Extraction, Kind, Mention, Proposition, Source
from hlgraph.stores.derived import Run, community_id

# Where names go wrong: marks that are reordered, letters that fold to several, compatibility forms, all kinds of space.
_HARD = "aAßẞİıſKÅΑαΣςσͅᾴ̸̀̈ﬁ①½㎏ǅͺ¨´≮　\u00a0\u2003\u200b\u00ad\u0085\x1f\t '\"“”«»()[]{}<>,;:.-_"
names = st.text(st.sampled_from(_HARD), max_size=8) | st.text(max_size=12)
fields = st.lists(st.text(st.sampled_from("ab\0\x01\x08"), max_size=4) | st.text(max_size=4), max_size=4)


def test_an_id_is_the_hash_of_its_length_prefixed_fields() -> None:
    expected = hashlib.sha256(b"".join(len(part).to_bytes(8, "big") + part for part in (b"topic", b"s", "é".encode())))
    assert ids.content_id("topic", "s", "é") == expected.hexdigest()[:32]


@given(fields, fields)
@example(["ab", "c"], ["a", "bc"])
@example(["a", ""], ["a"])
@example([""], [])
@example(["a\0\0\0\0\0\0\0\x01b"], ["a", "b"])
@example(["\ud800"], ["\\ud800"])
def test_ids_are_equal_only_for_equal_fields(one: list[str], other: list[str]) -> None:
    assert (ids.content_id("k", *one) == ids.content_id("k", *other)) is (one == other)


@given(fields)
def test_the_kind_is_hashed_separately_from_the_fields(given_fields: list[str]) -> None:
    made = [ids.content_id(kind, *given_fields) for kind in Kind]
    assert len(set(made)) == len(made)
    assert ids.content_id("topic", "x", *given_fields) != ids.content_id("topicx", *given_fields)


@given(names)
@example("\u0345\u0301a")
@example("ΑΙ\u0345")
@example("<\u0338a>")
def test_name_normalisation_is_idempotent(name: str) -> None:
    once = ids.normalise_name(name)
    assert ids.normalise_name(once) == once


@given(names)
def test_spellings_of_a_name_normalise_to_the_same_text(name: str) -> None:
    once = ids.normalise_name(name)
    composed, decomposed = unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)
    for typed in (f"  {name}\n", f"“{name}”", f"({name})", decomposed, composed.casefold()):
        assert ids.normalise_name(typed) == once


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("STRASSE", "Straße"),
        ("ﬁsh", "FISH"),
        ("Café", "Cafe\u0301"),
        ("Ａpollo\u30001１", "apollo 11"),
        ("New\tYork\u00a0\nCity", "new york city"),
        ("ΟΔΟΣ", "οδος"),
    ],
)
def test_names_that_are_the_same(one: str, other: str) -> None:
    assert ids.entity_id("c", one) == ids.entity_id("c", other)


@pytest.mark.parametrize(("one", "other"), [("U.S.", "US"), ("C", "C++"), ("Mara Quill", "MaraQuill"), ("a-b", "a b")])
def test_names_that_differ(one: str, other: str) -> None:
    assert ids.entity_id("c", one) != ids.entity_id("c", other)


@pytest.mark.parametrize("name", ["", "  ", "“”", "'\"'", "( , )", "\u3000\u00a0"])
def test_a_name_of_punctuation_normalises_to_empty(name: str) -> None:
    assert ids.normalise_name(name) == ""


def test_mutable_properties_do_not_change_an_id() -> None:
    assert ids.source_id("c", "u") != ids.source_id("d", "u")
    assert ids.chunk_id("s", "text", 0) != ids.chunk_id("s", "text", 1)
    assert ids.chunk_id("s", "text", 0) != ids.chunk_id("t", "text", 0)
    assert ids.topic_id("s", "River") == ids.topic_id("s", " RIVER ")
    assert ids.statement_id("s", "It fell.") != ids.statement_id("s", "it fell.")
    literal = ids.fact_id("c", "Bridge", "opened in", "1931", is_literal=True)
    assert literal == ids.fact_id("c", "bridge", "Opened  in", "1931", is_literal=True)
    assert literal != ids.fact_id("c", "Bridge", "opened in", "1931", is_literal=False)
    assert literal != ids.fact_id("c", "Bridge opened", "in", "1931", is_literal=True)
    assert ids.checksum("a", "b") != ids.checksum("ab", "")


_MAKERS = {
    "source": lambda corpus, scheme: ids.source_id(corpus, "doc:1", scheme=scheme),
    "chunk": lambda corpus, scheme: ids.chunk_id(_MAKERS["source"](corpus, scheme), "It fell.", 0, scheme=scheme),
    "topic": lambda corpus, scheme: ids.topic_id(_MAKERS["source"](corpus, scheme), "River", scheme=scheme),
    "statement": lambda corpus, scheme: ids.statement_id(_MAKERS["source"](corpus, scheme), "It fell.", scheme=scheme),
    "entity": lambda corpus, scheme: ids.entity_id(corpus, "Quill", scheme=scheme),
    "fact": lambda corpus, scheme: ids.fact_id(corpus, "Quill", "met", "Orne", is_literal=False, scheme=scheme),
    "community": lambda corpus, scheme: community_id(
        Run(corpus, "r", 1, "", 1, ""), 0, members=[_MAKERS["chunk"](corpus, scheme)], scheme=scheme
    ),
    "summary": lambda corpus, scheme: ids.summary_id(
        _MAKERS["source"](corpus, scheme), "s", [_MAKERS["chunk"](corpus, scheme)], scheme=scheme
    )[0],
}


@pytest.mark.parametrize("kind", _MAKERS)
def test_only_the_second_half_of_an_id_hashes_the_corpus_name(kind: str) -> None:
    one, other = (_MAKERS[kind](name, ids.WITHOUT_NAME) for name in ("staging", "production"))
    assert len(one) == len(other) == 32
    assert (one[:16] == other[:16], one[16:] == other[16:]) == (True, False)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("source", "d2ca5b39bda6cfb733e5e022a36ea02a"),
        ("chunk", "90c98a1e3f6522bad968507b958e85ba"),
        ("topic", "ca4fd11c872f8c60d955bf8bf0503c1e"),
        ("statement", "d681f25c9a0f1991b18a438a79b49532"),
        ("entity", "7975e578f2937ae684e79bd8b0a09d78"),
        ("fact", "a7d63822f7d5764b7d0b8fddd780086b"),
        ("community", "18e7df3f208d684d4fc44fdcb7b524f7"),
        ("summary", "90c78ec44868b7d354a0a0dbc83ff618"),
    ],
)
def test_the_old_scheme_gives_the_old_ids(kind: str, expected: str) -> None:
    assert _MAKERS[kind]("staging", ids.WITH_NAME) == expected


def test_the_scheme_is_determined_from_the_sources() -> None:
    found = [Source(_MAKERS["source"]("staging", scheme), "staging", "doc:1", "", "", {}) for scheme in ids.SCHEMES]
    assert [ids.scheme_of("staging", [item]) for item in found] == list(ids.SCHEMES)
    assert ids.scheme_of("staging", ()) == ids.WITHOUT_NAME


def test_the_kind_of_an_entity_does_not_change_its_id() -> None:
    links: list[MentionLink] = []
    for kind in ("person", "place", ""):
        compared = compare(Document("doc:1", "Quill"), "c", stored=None, processing=())
        assert compared is not None
        proposition = Proposition("Quill", 0, 5, mentions=(Mention("Quill", kind),))
        plan = _plan_of(compared.source.id)
        change = assemble("c", [Extracted(compared, plan, (Extraction((proposition,)),))])
        links += change.mentions
    assert {link.entity_id for link in links} == {ids.entity_id("c", "quill")}
    assert [link.kind for link in links] == ["person", "place", ""]


def _plan_of(source: str) -> ChunkPlan:
    return ChunkPlan(((Chunk(ids.chunk_id(source, "Quill", 0), source, "Quill", 0, 5, 0, 1), ChunkInput("Quill")),))
