"""Whatever a model replies in the right form becomes an extraction that can be stored."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from hlgraph.extract import ChunkInput
from hlgraph.extract.chat._extractor import to_extraction
from hlgraph.extract.chat.messages import FoundEntities, FoundPropositions, parse
from hlgraph.ids import normalise_name

_WORD = st.sampled_from(
    ["Mara", "Quill", "the", "Bridge", "BRIDGE", "of", "1931", "Orne", "é", "東京", "…", "\ud800", "\0", "x"]
)
_PHRASE = st.lists(_WORD, min_size=1, max_size=5).map(" ".join)
_FACT = st.fixed_dictionaries({"subject": _PHRASE, "predicate": _PHRASE, "object": _PHRASE})
_PROPOSITION = st.fixed_dictionaries(
    {
        "text": _PHRASE,
        "topics": st.lists(_PHRASE, max_size=2),
        "entities": st.lists(_PHRASE, max_size=4),
        "facts": st.lists(_FACT, max_size=3),
    }
)
_ENTITY = st.fixed_dictionaries({"name": _PHRASE, "kind": st.sampled_from(["", "Person", "\udfff"])})


def _has_words(tree: object) -> bool:
    """Whether every text has something left when NUL and white space are taken out."""
    if isinstance(tree, dict):
        return all(_has_words(value) for key, value in tree.items() if key != "kind")
    if isinstance(tree, list):
        return all(map(_has_words, tree))
    return bool(str(tree).replace("\0", "").strip())


@given(
    st.lists(_PHRASE, max_size=12).map(". ".join),
    st.lists(_ENTITY, max_size=5).filter(_has_words),
    st.lists(_PROPOSITION, max_size=5).filter(_has_words),
)
def test_spans_lie_in_the_chunk_and_facts_join_what_is_mentioned(
    text: str, entities: list[object], propositions: list[object]
) -> None:
    listed = parse(json.dumps({"entities": entities}), FoundEntities).entities
    found = parse(json.dumps({"propositions": propositions}), FoundPropositions).propositions
    extraction, _ = to_extraction(ChunkInput(text, "Title"), listed, found)
    assert len(extraction.propositions) == len(propositions)
    names = {normalise_name(item.name) for item in listed}
    for proposition in extraction.propositions:
        assert 0 <= proposition.start <= proposition.end <= len(text)
        proposition.text.encode()
        assert proposition.topics
        mentioned = {item.name for item in proposition.mentions}
        for triple in proposition.triples:
            assert triple.subject in mentioned
            if not triple.is_literal:
                assert triple.object in mentioned
                assert normalise_name(triple.object) in names
    assert {topic for item in extraction.propositions for topic in item.topics} == set(extraction.topics)
