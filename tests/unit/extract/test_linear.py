"""Cutting and extracting take time linear in the text, for any text."""

from __future__ import annotations

import pytest
from growth import assert_linear

from hlgraph.chunk import ContentDefinedChunker, WholeChunker
from hlgraph.extract import LocalExtractor
from hlgraph.extract.extractor import ChunkInput
from hlgraph.records import Document


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("unit", ["([", " ", '"', "| Ada | 12 |\n", "Label     12   13\n", "a (b “"], ids=repr)
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
