"""Chunkers by example: sizes, headings, overlap, and what an edit leaves alone."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from growth import assert_linear

from hlgraph.chunk import Chunker, ContentDefinedChunker, PackedChunker, WholeChunker
from hlgraph.errors import SettingsError
from hlgraph.records import Document
from hlgraph.text import count_tokens

VOCABULARY = """the a river stone old quiet north window paper city harbour engine night green winter letter music village
carried found opened between under before people water road mountain light bread silver garden broken measured"""
WORDS = VOCABULARY.split()


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(6, 30))).capitalize() + "."


def prose(rng: random.Random, count: int) -> list[str]:
    """Sentences with what parts each from the next."""
    return [sentence(rng) + ("\n\n" if rng.random() < 0.25 else " ") for _ in range(count)]


def texts(text: str, chunker: Chunker | None = None) -> list[str]:
    spans = (chunker or ContentDefinedChunker()).chunk(Document("a.txt", text))
    return [text[span.start : span.end] for span in spans]


def changed(before: list[str], after: list[str]) -> int:
    """How many chunks an edit made or unmade, whichever are more."""
    old, new = Counter(before), Counter(after)
    return max((new - old).total(), (old - new).total())


def test_edit_of_the_first_sentence_changes_three_chunks_at_most() -> None:
    for seed in range(6):
        rng = random.Random(seed)
        first, *others = prose(rng, 700)
        chunks = texts("".join([first, *others]))
        assert len(chunks) > 90
        for edited in ([sentence(rng) + " ", first], [], [sentence(rng) + " "]):
            assert changed(chunks, texts("".join([*edited, *others]))) <= 3


def test_headings_are_those_in_force_where_the_core_begins() -> None:
    rng = random.Random(1)
    body = "".join(prose(rng, 12))
    text = f"{body}\n\n# One\n## Inner\n{body}\n\nTwo\n===\n\n{body}\n\n### Deep\n{body}"
    paths = [span.headings for span in ContentDefinedChunker().chunk(Document("a.md", text))]
    assert list(dict.fromkeys(paths)) == [(), ("One", "Inner"), ("Two",), ("Two", "Deep")]


def test_a_heading_has_the_words_that_a_reader_sees() -> None:
    titles = ("# `opensearch` and **Neo4j**", "## [Use](a.md) chunk\\_entity", "## ![](badge.svg)")
    text = "\n\n".join(f"{title}\n\n{'It has many plain words. ' * 8}" for title in titles)
    paths = [span.headings for span in PackedChunker(max_tokens=64, overlap=0).chunk(Document("a.md", text))]
    assert paths == [("opensearch and Neo4j",), ("opensearch and Neo4j", "Use chunk_entity"), ("opensearch and Neo4j",)]


def test_heading_opens_a_chunk_and_stays_with_its_body() -> None:
    rng = random.Random(2)
    sections = [f"## Section {i}\n\n{''.join(prose(rng, 9)).strip()}\n\n" for i in range(30)]
    chunks = texts("# Book\n\n" + "".join(sections))
    for i in range(30):
        holding = [chunk for chunk in chunks if f"## Section {i}\n" in chunk]
        assert len(holding) == 1
        assert holding[0].startswith(f"## Section {i}\n") or (
            i == 0 and holding[0].startswith("# Book\n\n## Section 0")
        )
        assert count_tokens(holding[0]) > 60


def test_heading_is_parted_from_its_body_only_where_both_do_not_fit() -> None:
    first, body = "Short words here. " * 14, "Many" + " more words" * 140
    chunks = texts(f"{first}\n\n### Heading\n\n{body}. {body}.", ContentDefinedChunker(overlap=0))
    assert [chunk[:18] for chunk in chunks] == ["Short words here. ", "### Heading\n\nMany ", "Many more words mo"]
    assert texts(f"### Heading\n\n{body} {'and so on ' * 5}.")[0] == "### Heading"


def test_overlap_is_whole_sentences_of_the_core_before() -> None:
    text = "".join(prose(random.Random(3), 200))
    spans = ContentDefinedChunker().chunk(Document("a.txt", text))
    overlaps = [text[after.start : before.end] for before, after in pairwise(spans)]
    assert all(count_tokens(overlap) <= 60 for overlap in overlaps)
    assert sum(count_tokens(overlap) for overlap in overlaps) / len(overlaps) > 35
    assert all(overlap == "" or overlap[0].isupper() for overlap in overlaps)
    assert all(overlap == "" or overlap.endswith(".") for overlap in overlaps)
    none = ContentDefinedChunker(overlap=0).chunk(Document("a.txt", text))
    assert all(before.end <= after.start for before, after in pairwise(none))


def test_overlap_does_not_reach_over_a_heading() -> None:
    rng = random.Random(4)
    one, two = "".join(prose(rng, 10)), "".join(prose(rng, 10))
    for level in ("#", "##", "###", "#####"):
        [chunk] = [chunk for chunk in texts(f"{one}\n\n{level} Next\n\n{two}") if f"{level} Next" in chunk]
        assert chunk.startswith(f"{level} Next")


def test_sizes_of_prose() -> None:
    text = "".join(prose(random.Random(5), 2000))
    sizes = [span.tokens for span in ContentDefinedChunker(overlap=0).chunk(Document("a.txt", text))]
    assert max(sizes) <= 300
    assert min(sizes[:-1]) >= 60
    assert sum(sizes) / len(sizes) > 120


def test_sentence_larger_than_a_chunk_is_cut_between_words_and_an_edit_in_it_stays_local() -> None:
    rng = random.Random(6)
    words = rng.choices(WORDS, k=8_000)
    text = " ".join(words)
    chunks = texts(text)
    assert all(f" {chunk} " in f" {text} " for chunk in chunks)
    for place in (0, 3_000, 7_990):
        edited = [*words[:place], "five", "words", "that", "are", "new", *words[place:]]
        assert changed(chunks, texts(" ".join(edited))) <= 3


def test_text_without_white_space_is_cut_by_size() -> None:
    for text in ("水" * 5_000, "x" * 50_000, "👍🏽" * 2_000, "-" * 3_000):
        chunks = texts(text, ContentDefinedChunker(overlap=0))
        assert "".join(chunks) == text
        assert max(map(count_tokens, chunks)) <= 300


REPEATING = {
    "one line": ["The very same line of text again."] * 600,
    "one paragraph": ["The very same line of text again.\n"] * 600,
    "two lines": ["First kind of line here.", "Second and rather longer kind of line."] * 300,
    "period of thirty": [f"Line number {i % 30} of thirty with words." for i in range(600)],
    "table": ["| id | name |", "|---|---|", *(f"| {i} | item {i} |" for i in range(500))],
    "table of few values": ["| a | b |", "|---|---|", *(f"| {'xyz'[i * i % 3]} | {i % 2} |" for i in range(800))],
    "records": [f"Name: person {i}\nStatus: ok\nNext action: none\n---" for i in range(200)],
    "list": [f"- item {i} of the list" for i in range(600)],
    "sections": ["# Section\nThe body of the section is here.\n"] * 400,
}


@pytest.mark.parametrize("name", REPEATING)
def test_edit_of_lines_that_repeat_does_not_drift(name: str) -> None:
    lines = REPEATING[name]
    chunks = texts("\n".join(lines))
    assert len(chunks) >= 12
    for place in (0, 1, len(lines) // 2, len(lines) - 1):
        for new in (["A line that is new here."], [], [lines[place]] * 2, ["A line that is new here.", lines[place]]):
            edited = texts("\n".join([*lines[:place], *new, *lines[place + 1 :]]))
            assert changed(chunks, edited) <= (3 if place < 2 else 4)


@pytest.mark.parametrize("unit", ["Same line.\n", "word ", "# H\n", "水。", ". ", "- x\n", "```\n", "a\t", "|\n"])
def test_time_is_linear(unit: str) -> None:
    def work(size: int) -> None:
        ContentDefinedChunker().chunk(Document("a.txt", unit * (size // len(unit))))

    assert_linear(work, 3_000, times=16, slack=5)


def test_fingerprint_tells_parameters_apart() -> None:
    chunkers: list[Chunker] = [
        ContentDefinedChunker(),
        ContentDefinedChunker(max_tokens=200),
        ContentDefinedChunker(overlap=0.1),
        WholeChunker(),
    ]
    assert len({chunker.fingerprint for chunker in chunkers}) == 4
    assert ContentDefinedChunker(overlap=0).fingerprint == ContentDefinedChunker(overlap=0.0).fingerprint


@pytest.mark.parametrize(("max_tokens", "overlap"), [(31, 0.2), (300, 0.6), (300, -0.1), (300, float("nan"))])
def test_parameters_out_of_range_are_refused(max_tokens: int, overlap: float) -> None:
    with pytest.raises(SettingsError, match="give"):
        ContentDefinedChunker(max_tokens=max_tokens, overlap=overlap)


def test_whole_chunker_takes_the_text_without_outer_white_space() -> None:
    assert texts(" \n# A\n\nb\u2003", WholeChunker()) == ["# A\n\nb"]
    assert texts(" \n\u2003", WholeChunker()) == []


def test_empty_and_white_texts_have_no_chunks() -> None:
    assert texts("") == texts(" \n\t\u3000") == []


def test_packed_chunks_are_as_large_as_asked_and_overlap_by_whole_sentences() -> None:
    text = "".join(prose(random.Random(5), 600))
    spans = PackedChunker().chunk(Document("a.txt", text))
    assert sum(span.tokens for span in spans[:-1]) / len(spans[:-1]) > 280
    overlaps = [text[after.start : before.end] for before, after in pairwise(spans)]
    assert all(30 < count_tokens(overlap) <= 60 and overlap[0].isupper() for overlap in overlaps)
    none = PackedChunker(overlap=0).chunk(Document("a.txt", text))
    assert all(before.end <= after.start for before, after in pairwise(none))


def test_a_packed_chunk_does_not_end_with_a_heading() -> None:
    rng = random.Random(2)
    chunks = texts(
        "".join(f"## Section {i}\n\n{''.join(prose(rng, 5)).strip()}\n\n" for i in range(30)), PackedChunker()
    )
    assert not any(chunk.splitlines()[-1].startswith("##") for chunk in chunks)
    assert sum(map(count_tokens, chunks)) / len(chunks) > 220
