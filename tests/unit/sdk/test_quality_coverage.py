"""Which sentences statements stand for: worked by hand, against a slow plain reference, and what must hold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.records import Chunk, Statement
from hlgraph.sdk.quality import SourceCoverage, cover, sentence_spans
from hlgraph.text import content_words

TEXT = "# Bridges\n\nMara Quill designed the bridge. It opened in 1931 after long delays. So it was.\n\n---\n"
_WORDS = ("bridge", "river", "mill", "tower", "flood", "harbour")


def _chunk(text: str, start: int = 0, *, name: str = "c1", position: int = 0) -> Chunk:
    return Chunk(name, "s", text, start, start + len(text), position, tokens=1)


def _statement(text: str, start: int = 0, end: int = 0, *, chunk: str = "c1") -> Statement:
    return Statement(f"{chunk}:{start}:{text}", "s", text, start, end, chunk)


def _uncovered(chunks: Sequence[Chunk], *statements: Statement, share: float = 0.5) -> list[str]:
    return [item.text for item in cover(chunks, statements, share=share)[1]]


def _span(words: str) -> tuple[int, int]:
    return TEXT.index(words), TEXT.index(words) + len(words)


def test_headings_rules_and_sentences_of_function_words_are_not_counted() -> None:
    chunk = _chunk(TEXT)
    assert [TEXT[start:end] for start, end in sentence_spans(chunk)] == [
        *("Mara Quill designed the bridge.", "It opened in 1931 after long delays.", "So it was.")
    ]
    assert cover([chunk], [], share=0.5)[0] == 2


def test_sentence_is_covered_by_half_of_its_words_in_own_statement() -> None:
    span = _span("Mara Quill designed the bridge.")
    assert _uncovered([_chunk(TEXT)], _statement("Quill made the bridge.", *span)) == [
        "It opened in 1931 after long delays."
    ]
    (sentence, _) = cover([_chunk(TEXT)], [_statement("Quill made it.", *span)], share=0.5)[1]
    assert (sentence.text, sentence.share, sentence.chunk_id) == ("Mara Quill designed the bridge.", 0.25, "c1")
    assert TEXT[sentence.start : sentence.end] == sentence.text
    assert len(_uncovered([_chunk(TEXT)], _statement("Quill made the bridge.", *span), share=0.6)) == 2


def test_statement_of_other_sentence_needs_larger_share() -> None:
    span = _span("It opened in 1931 after long delays.")
    # Names alone, which every statement has, say nothing of the sentence.
    assert len(_uncovered([_chunk(TEXT)], _statement("Mara Quill was born.", *span))) == 2
    merged = _statement("The bridge that Mara Quill drew opened.", *span)
    assert _uncovered([_chunk(TEXT)], merged) == ["It opened in 1931 after long delays."]
    assert len(_uncovered([_chunk(TEXT)], merged, share=0.6)) == 2


def test_statements_of_a_sentence_cover_it_jointly() -> None:
    span = _span("It opened in 1931 after long delays.")
    parts = [_statement("It opened.", *span), _statement("1931 it was.", *span)]
    assert _uncovered([_chunk(TEXT)], *parts) == ["Mara Quill designed the bridge."]
    assert len(_uncovered([_chunk(TEXT)], parts[0])) == 2
    # With the span of the whole chunk, as where their words stand nowhere, they are those of the sentence they share most
    # words with; the title, which every one may name, tells nothing.
    wide = [_statement(f"Mara Quill: {item.text}", 0, len(TEXT)) for item in parts]
    assert cover([_chunk(TEXT)], wide, share=0.5, title="Mara Quill")[1][0].text == "Mara Quill designed the bridge."
    assert len(cover([_chunk(TEXT)], wide, share=0.5, title="Mara Quill")[1]) == 1


def test_the_words_of_another_chunk_count_only_when_all_are_there() -> None:
    first, second = _chunk(TEXT), _chunk("Mara Quill designed the bridge.", len(TEXT), name="c2", position=1)
    assert _uncovered([second], _statement("Mara Quill made the bridge.", chunk="c2")) == []
    assert _uncovered([second], _statement("Mara Quill made the bridge.", chunk="c1")) != []
    said = _statement("Mara Quill designed the bridge.", *_span("Mara Quill designed the bridge."))
    assert _uncovered([first, second], said) == ["It opened in 1931 after long delays."]


def test_a_sentence_in_the_overlap_of_two_chunks_is_one() -> None:
    text = "Mara Quill designed the bridge. It opened in 1931. Ivo Brandt left."
    middle = text.index("It")
    chunks = [_chunk(text[: middle + len("It opened in 1931.")]), _chunk(text[middle:], middle, name="c2")]
    count, uncovered = cover(chunks, [_statement("It opened in 1931.", chunk="c2")], share=0.5)
    assert (count, [item.text for item in uncovered]) == (3, ["Mara Quill designed the bridge.", "Ivo Brandt left."])


def test_a_source_without_sentences_lacks_none() -> None:
    assert cover([_chunk("---")], [], share=0.5) == (0, [])
    assert SourceCoverage("u", "t", 0, 0).share == 1.0


_sentence = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4, unique=True)


def _text(sentences: Sequence[Sequence[str]]) -> str:
    return " ".join(f"The {' '.join(words)}." for words in sentences)


@given(
    st.lists(_sentence, min_size=1, max_size=5),
    st.lists(st.tuples(_sentence, st.integers(0, 4)), max_size=5),
    st.sampled_from([0.25, 0.5, 1.0]),
)
def test_against_the_definition_read_word_by_word(
    sentences: list[list[str]], said: list[tuple[list[str], int]], share: float
) -> None:
    text = _text(sentences)
    spans = list(sentence_spans(_chunk(text)))
    statements = [
        _statement(f"{' '.join(words)} {number}", *spans[at % len(spans)]) for number, (words, at) in enumerate(said)
    ]
    count, uncovered = cover([_chunk(text)], statements, share=share)
    expected = []
    for start, end in spans:
        wanted = set(content_words(text[start:end]))
        made_from = [item for item in statements if (item.start, item.end) == (start, end)]
        together = set[str]().union(*(content_words(item.text) for item in made_from))
        alone = [len(wanted & set(content_words(item.text))) / len(wanted) for item in statements]
        if len(wanted & together) / len(wanted) < share and max(alone, default=0) < (1 + share) / 2:
            expected.append((start, end))
    assert count == len(spans)
    assert [(item.start, item.end) for item in uncovered] == expected


@given(st.lists(_sentence, min_size=1, max_size=6), st.lists(_sentence, max_size=4))
def test_more_statements_never_cover_less(sentences: list[list[str]], said: list[list[str]]) -> None:
    chunk = _chunk(_text(sentences))
    statements = [_statement(" ".join(words)) for words in said]
    left = [len(cover([chunk], statements[:number], share=0.5)[1]) for number in range(len(said) + 1)]
    assert left == sorted(left, reverse=True)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_every_sentence_as_its_own_statement_covers_all(share: float) -> None:
    statements = [_statement(TEXT[start:end], start, end) for start, end in sentence_spans(_chunk(TEXT))]
    assert _uncovered([_chunk(TEXT)], *statements, share=share) == []
