"""What holds for every record and every chunk that the extractor over files is given."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import cases

from hlgraph.errors import ExtractionError
from hlgraph.extract import ChunkInput, PrecomputedExtractor
from hlgraph.ids import normalise_name

_WORDS = st.one_of(
    st.text(max_size=12), st.sampled_from(["Ada", "ada lovelace", "İstanbul", "ß", "東京", "a  b", "C's", "😀"])
)
_TRIPLES = st.lists(st.tuples(_WORDS, _WORDS, _WORDS), max_size=4)
_STATEMENTS = st.lists(
    st.fixed_dictionaries(
        {"text": _WORDS.filter(str.strip)},
        optional={
            "entities": st.lists(_WORDS, max_size=3),
            "topics": st.lists(_WORDS, max_size=2),
            "facts": _TRIPLES,
            "span": st.tuples(st.integers(-2, 20), st.integers(-2, 20)),
        },
    ),
    max_size=4,
)
_RECORDS = st.fixed_dictionaries(
    {"id": st.just("d"), "statements": _STATEMENTS},
    optional={"triples": _TRIPLES, "entities": st.lists(_WORDS, max_size=3), "topics": st.lists(_WORDS, max_size=2)},
)
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["id", "passage_id", "statements", "text", "entities", "triples", "facts"]), inner
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=cases(50, 200))
@given(record=_RECORDS, text=st.lists(_WORDS, max_size=6).map(" ".join), count=st.integers(1, 2))
def test_every_span_lies_in_the_chunk_and_every_name_is_mentioned(record: object, text: str, count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.jsonl")
        path.write_text(json.dumps(record), encoding="utf-8")
        extractor = PrecomputedExtractor(path)
    assert extractor.problems == ()
    chunk = ChunkInput(text, key="d", chunk_count=count)
    extraction = extractor.extract([chunk])[0]
    assert extraction == extractor.extract([chunk])[0]
    for proposition in extraction.propositions:
        assert 0 <= proposition.start <= proposition.end <= len(text)
        assert proposition.text == " ".join(proposition.text.split())
        mentioned = {normalise_name(mention.name) for mention in proposition.mentions}
        for triple in proposition.triples:
            ends = [triple.subject] if triple.is_literal else [triple.subject, triple.object]
            assert {name for name in map(normalise_name, ends) if name} <= mentioned


@settings(max_examples=cases(50, 200))
@given(lines=st.lists(st.one_of(_JSON.map(json.dumps), st.text(max_size=30)), max_size=4))
def test_any_file_gives_records_problems_or_one_error(lines: list[str]) -> None:
    good = json.dumps({"id": "good", "statements": [{"text": "x"}]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "r.jsonl")
        path.write_bytes("\n".join([*lines, good]).encode("utf-8", "surrogatepass"))
        extractor = PrecomputedExtractor(path)
        assert extractor.extract([ChunkInput("x", key="good")])[0].propositions
        assert all(str(path) in problem for problem in extractor.problems)
        path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
        try:
            PrecomputedExtractor(path)
        except ExtractionError as error:
            assert str(path) in str(error)  # noqa: PT017
