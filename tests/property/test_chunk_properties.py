"""What holds for the chunks and sentences of every text, and for an edit of every document of prose."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import cases

from hlgraph.chunk import Chunker, ContentDefinedChunker, PackedChunker, WholeChunker
from hlgraph.ids import chunk_id
from hlgraph.records import Document, Span
from hlgraph.text import block_sentences, blocks, content_words, count_tokens, sentences, words

any_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=400)
MARKDOWN = [
    "# One",
    "## Two ##",
    "### Three",
    "Title\n===",
    "Sub\n---",
    "---",
    "- item. Two",
    "1. first",
    "(a) x",
    "| a |",
]
PROSE = ["Dr. A. B. lives in the U.S. Army.", "One. Two! Three?", "a.The b", "e.g. this", "wrapped here and", "[1] ; B"]
LONG = ["x" * 90, "long " * 60, "水" * 70, ". . . " * 20, "a\tb\tc"]
SCRIPTS = ["「はい。」と言った。次", "नमस्ते। फिर", "ไทย ไทย", "\u202eabc", "👍🏽👩\u200d👩\u200d👧", "\0", "e\u0301"]
SPACE = ["", " ", "\f", "\x85", "\u2028", "\r", "    # code", "\u3000a"]
line = st.one_of(*map(st.sampled_from, (MARKDOWN, PROSE, LONG, SCRIPTS, SPACE)), any_text)
fence = st.sampled_from(["```", "```py", "~~~", "````"])
plain = st.lists(line, max_size=25).map("\n".join)
marked = st.lists(st.one_of(line, fence), max_size=25).map("\n".join)
sizes = (st.sampled_from([32, 50, 300]), st.sampled_from([0.0, 0.2, 0.5]))
chunkers = st.builds(ContentDefinedChunker, *sizes)


def cut(text: str, chunker: Chunker) -> list[Span]:
    return chunker.chunk(Document("a.txt", text))


@given(marked)
def test_sentences_are_trimmed_in_order_and_hold_every_character(text: str) -> None:
    spans = sentences(text)
    position = 0
    for start, end in spans:
        assert position <= start < end
        assert text[start:end] == text[start:end].strip()
        assert not text[position:start].strip()
        position = end
    assert not text[position:].strip()


@given(marked)
def test_blocks_hold_their_sentences(text: str) -> None:
    found = list(blocks(text))
    assert [span for block in found for span in block_sentences(text, block)] == sentences(text)
    assert all(block.start < block.end <= after.start for block, after in pairwise(found))
    assert all((block.level > 0) == (block.kind.value == "heading") for block in found)


@given(marked, chunkers | st.builds(PackedChunker, *sizes))
def test_chunks_are_trimmed_in_order_within_size_and_hold_every_character(
    text: str, chunker: ContentDefinedChunker | PackedChunker
) -> None:
    spans = cut(text, chunker)
    position = 0
    last_start = -1
    for span in spans:
        chunk = text[span.start : span.end]
        assert chunk
        assert chunk == chunk.strip()
        assert span.tokens == count_tokens(chunk) <= chunker.max_tokens
        assert last_start < span.start
        assert position < span.end
        assert not text[position : max(position, span.start)].strip()
        position, last_start = span.end, span.start
    assert not text[position:].strip()
    assert spans == cut(text, chunker)


@given(marked)
def test_whole_chunker_takes_all_or_nothing(text: str) -> None:
    spans = WholeChunker().chunk(Document("a.txt", text))
    assert [text[span.start : span.end] for span in spans] == ([text.strip()] if text.strip() else [])


@given(plain, plain, chunkers)
def test_what_follows_moves_no_boundary_far_above_it(text: str, more: str, chunker: ContentDefinedChunker) -> None:
    total = count_tokens(text)
    alone, together = cut(text, chunker), set(cut(f"{text}\n\n{more}", chunker))
    for span in alone:
        if total - count_tokens(text[: span.end]) > 12 * chunker.max_tokens:
            assert span in together


@given(marked)
def test_words_hold_no_white_space(text: str) -> None:
    found = words(text)
    assert all(word and word == "".join(word.split()) for word in found)
    assert set(content_words(text)) <= set(found)


@given(any_text, st.integers(0, 400))
def test_a_text_has_no_more_tokens_than_its_parts(text: str, place: int) -> None:
    assert count_tokens(text) <= count_tokens(text[:place]) + count_tokens(text[place:])
    assert count_tokens(f"{text[:place]} {text[place:]}") == count_tokens(text[:place]) + count_tokens(text[place:])
    assert (count_tokens(text) > 0) == bool(text.strip())


def sentence(rng: random.Random) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    found = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(rng.randint(4, 40))]
    return " ".join(found).capitalize() + rng.choice([".", ".", ".", "?", "!"])


def ids(text: str) -> set[str]:
    """Ids of the chunks of a text, as a source gives them: by text and occurrence."""
    found: set[str] = set()
    seen: Counter[str] = Counter()
    for span in cut(text, ContentDefinedChunker()):
        chunk = text[span.start : span.end]
        found.add(chunk_id("source", chunk, seen[chunk]))
        seen[chunk] += 1
    return found


# Not at random: one edit in some 10,000 changes four.
@settings(derandomize=True, max_examples=cases(25, 60))
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 0.1, 0.3, 1.0]),
    st.sampled_from([0.0, 0.05]),
    st.sampled_from(["insert", "delete", "replace"]),
    st.floats(0, 0.999) | st.just(0.0),
)
def test_an_edit_of_one_sentence_changes_three_chunks_at_most(
    seed: int, paragraphs: float, headings: float, edit: str, place: float
) -> None:
    rng = random.Random(seed)
    parts = []
    for _ in range(600):
        head = f"\n\n{'#' * rng.randint(1, 4)} Of {sentence(rng)[:-1][:30]}\n\n" if rng.random() < headings else ""
        parts.append(head + sentence(rng) + ("\n\n" if rng.random() < paragraphs else " "))
    index = int(place * len(parts))
    new = {"insert": [sentence(rng) + " ", parts[index]], "delete": [], "replace": [sentence(rng) + " "]}[edit]
    before, after = ids("".join(parts)), ids("".join([*parts[:index], *new, *parts[index + 1 :]]))
    assert len(before) > 60
    assert len(before - after) <= 3
    assert len(after - before) <= 3
