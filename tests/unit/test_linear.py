"""Cutting and extracting take time linear in the text, for any text."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest

from hlgraph.chunk import ContentDefinedChunker, WholeChunker
from hlgraph.extract import LocalExtractor
from hlgraph.extract.seam import ChunkInput
from hlgraph.records import Document

SMALL, TIMES = 3_000, 16
MOST = 5  # times the growth of the text; work that grows with the square is 16 times


def seconds(unit: str, size: int, *, is_whole: bool) -> float:
    """Processor time for a text of a size between two sentences, the lesser of two runs."""
    text = f"Ada Lovelace met Charles. She said {(unit * size)[:size]} and met Bob in Paris."
    chunker = WholeChunker() if is_whole else ContentDefinedChunker()
    found: list[float] = []
    for _ in range(2):
        start = time.process_time()
        spans = chunker.chunk(Document("doc:1", text))
        chunks = [
            ChunkInput(text[span.start : span.end], position=at, chunk_count=len(spans))
            for at, span in enumerate(spans)
        ]
        LocalExtractor().extract(chunks)
        found.append(time.process_time() - start)
    return min(found)


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """The collector would count what other tests hold."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("is_whole", [True, False])
@pytest.mark.parametrize("unit", ["([", " ", '"', "| Ada | 12 |\n", "Label     12   13\n", "a (b “"], ids=repr)
def test_time_is_linear_in_the_text(unit: str, *, is_whole: bool) -> None:
    small = max(seconds(unit, SMALL, is_whole=is_whole), 0.004)
    large = seconds(unit, SMALL * TIMES, is_whole=is_whole)
    assert large < small * TIMES * MOST, (small, large)
