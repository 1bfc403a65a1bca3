"""Cutting and extracting take time linear in the text, for any text."""

from __future__ import annotations

import pytest
from growth import assert_linear

from hlgraph.chunk import ContentDefinedChunker, WholeChunker
from hlgraph.extract import LocalExtractor
from hlgraph.extract.extractor import ChunkInput
from hlgraph.records import Document


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize(
    "unit",
    [
        "([",
        " ",
        '"',
        "| Ada | 12 |\n",
        "Label     12   13\n",
        "a (b “",
        "- b\n",
        "x:\n- b\n\n",
        "Q: a?\nA: b.\n",
        "Ada Announced ",
        "if it, ",
        "who not ",
        "Ada, a b, ",
    ],
    ids=repr,
)
def test_time_is_linear_in_the_text(unit: str, *, is_whole: bool) -> None:
    chunker = WholeChunker() if is_whole else ContentDefinedChunker()

    def work(size: int) -> None:
        text = f"Ada Lovelace met Charles. She said {(unit * size)[:size]} and met Bob in Paris."
        spans = chunker.chunk(Document("doc:1", text))
        chunks = [
            ChunkInput(text[span.start : span.end], position=at, chunk_count=len(spans))
            for at, span in enumerate(spans)
        ]
        LocalExtractor().extract(chunks)

    assert_linear(work, 3_000, times=16, slack=5)


def test_an_item_below_many_levels_carries_few_of_them() -> None:
    text = "".join(f"{' ' * level}- Level {level}:\n" for level in range(400)) + f"{' ' * 400}- It is hot."
    [extraction] = LocalExtractor().extract([ChunkInput(text)])
    assert extraction.propositions[-1].text == " ".join(f"Level {level}:" for level in range(394, 400)) + " It is hot."


def test_time_is_linear_in_the_levels_of_a_list_and_their_indentation() -> None:
    def work(size: int) -> None:
        levels = int(size**0.5)  # the indentation makes the text as long as the square of the levels
        LocalExtractor().extract([ChunkInput("".join(f"{' ' * level}- a:\n" for level in range(levels)))])

    assert_linear(work, 40_000, times=16, slack=3)
