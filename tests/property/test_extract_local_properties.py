"""What holds for every text that the extractor by rules is given."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import cases

from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.ids import normalise_name
from hlgraph.text import sentences

_FRAGMENTS = st.sampled_from(
    [
        *(
            "Ada Lovelace",
            "The Who",
            '"Quoted Title"',
            "“Big Fish”",
            "《红楼梦》",
            "カタカナ・テスト",
            "مرحبا",
            "हिन्दी पाठ",
            "😀",
            "👨‍👩‍👧",
        ),
        *(
            " is a ",
            " was born in ",
            " (born ",
            ") ",
            " of ",
            " and ",
            ", ",
            ". ",
            "! ",
            "'s ",
            "\n",
            "\n\n",
            "# ",
            "- ",
            "| ",
            "|---|\n",
        ),
        *(
            "```\n",
            "1 May 1999",
            "2010",
            "$5 million",
            "50 %",
            "St. ",
            "Dr. ",
            "U.S. ",
            "WHO",
            "(WHO)",
            "\u2028",
            "\u00a0",
            "İ",
            "ß",
            "ﬁ",
        ),
    ]
)
_TEXTS = st.one_of(
    st.text(max_size=200), st.lists(st.one_of(_FRAGMENTS, st.text(max_size=8)), max_size=30).map("".join)
)


@settings(max_examples=cases(75, 300))
@given(text=_TEXTS, title=_TEXTS, headings=st.lists(st.text(max_size=20), max_size=3))
def test_any_text_gives_well_formed_propositions(text: str, title: str, headings: list[str]) -> None:
    chunk = ChunkInput(text=text, title=title, headings=tuple(headings))
    extraction = LocalExtractor().extract([chunk])[0]
    assert extraction == LocalExtractor().extract([chunk])[0]
    assert len(extraction.topics) <= 5
    texts = [proposition.text for proposition in extraction.propositions]
    assert len(set(texts)) == len(texts)
    starts = [proposition.start for proposition in extraction.propositions]
    assert starts == sorted(starts)
    for proposition in extraction.propositions:
        assert 0 <= proposition.start < proposition.end <= len(text)
        assert proposition.text == " ".join(proposition.text.split())
        assert proposition.topics
        mentioned = [normalise_name(mention.name) for mention in proposition.mentions]
        assert len(set(mentioned)) == len(mentioned)
        assert all(mentioned)
        for triple in proposition.triples:
            assert triple.predicate
            assert triple.object
            assert normalise_name(triple.subject) in mentioned
            assert triple.is_literal or normalise_name(triple.object) in mentioned


_WORD = re.compile(r"[^\W_]+")


@settings(max_examples=cases(75, 300))
@given(
    parts=st.lists(
        st.one_of(
            _FRAGMENTS,
            st.sampled_from(
                [
                    *(
                        "He",
                        "It",
                        "The film",
                        "His wife",
                        "Paris",
                        "France",
                        "Tim Burton",
                        "1 May 1999",
                        "a small town",
                    ),
                    *("was founded", "was not", "has", "met", "is the capital", "owns", "who", "directed", "starring"),
                    *("in", "of", "by", "and", "at the", "the", "5,300", "(born", ")", ",", "'s", "although", "lies"),
                ]
            ),
        ),
        max_size=25,
    ),
    title=st.sampled_from(["", "Tim Burton", "The Beach (film)", "the history of bread"]),
)
def test_the_subject_and_the_object_of_a_fact_stand_in_the_statement_or_in_the_title(
    parts: list[str], title: str
) -> None:
    text = " ".join(parts)
    for proposition in LocalExtractor().extract([ChunkInput(text, title)])[0].propositions:
        names = [title, proposition.text, *(mention.name for mention in proposition.mentions)]
        stated = {word.lower() for name in names for word in _WORD.findall(name)}
        mentioned = {normalise_name(mention.name) for mention in proposition.mentions}
        for triple in proposition.triples:
            assert normalise_name(triple.subject) in mentioned
            assert {word.lower() for word in _WORD.findall(triple.object)} <= stated
            assert triple.is_literal or normalise_name(triple.object) in mentioned


@settings(max_examples=cases(40, 100))
@given(
    parts=st.lists(
        st.sampled_from(
            [
                "The World Health Organization (WHO) met in Geneva.",
                "The WHO left.",
                "It was born in Paris.",
                "Ada Lovelace (born 1815) is a writer.",
                "Lovelace wrote to Charles Babbage.",
                "He had 5 million dollars.",
                "这是一个句子。",
            ]
        ),
        min_size=3,
        max_size=8,
        unique=True,
    ),
    cut=st.integers(min_value=1, max_value=2),
)
def test_a_sentence_in_the_overlap_of_two_chunks_is_one_statement(parts: list[str], cut: int) -> None:
    first, second = " ".join(parts[: cut + 1]), " ".join(parts[cut:])
    left, right = LocalExtractor().extract(
        [ChunkInput(first, "Ada Lovelace", ("H",)), ChunkInput(second, "Ada Lovelace", ("H",))]
    )
    assert left.propositions[-1].text == right.propositions[0].text


@settings(max_examples=cases(40, 100))
@given(
    words=st.lists(
        st.sampled_from(["Alpha", "beta", "Gamma", "delta.", "Epsilon", "1999.", "zeta!"]), min_size=1, max_size=40
    )
)
def test_prose_gives_one_proposition_a_distinct_sentence(words: list[str]) -> None:
    text = " ".join(words)
    expected = {text[start:end] for start, end in sentences(text)}
    found = LocalExtractor().extract([ChunkInput(text)])[0].propositions
    assert {text[proposition.start : proposition.end] for proposition in found} == expected
