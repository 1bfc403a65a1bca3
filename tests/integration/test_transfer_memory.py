"""An export and an import hold a batch of sources in memory, whatever the size of the corpus."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from hlgraph import Document, connect
from hlgraph.ingest import exports, imports
from hlgraph.stores.embedded import copying, database
from hlgraph.stores.embedded.text_rows import entries
from hlgraph.testing.embedder import WordEmbedder

_BATCH = 200  # records
_WORDS = [
    f"{first}{last}"
    for first in ("Ald", "Orn", "Tess", "Quarr", "Velm", "Brand")
    for last in ("ane", "ick", "ing", "or", "um", "eth", "ow", "und")
]


def _peak(work: Callable[[], object]) -> int:
    """Memory of Python objects and matrices that a call takes at its peak, bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _name(at: int) -> str:
    return f"{_WORDS[at // len(_WORDS)]} {_WORDS[at % len(_WORDS)]}"


def _peaks(folder: Path, sources: int) -> tuple[int, int]:
    documents = [  # two entities of its own each, of few words: the caches of words are of bounded size
        Document(f"doc:{at}", f"{_name(at)} Hall was built by {_name(at)} Works. It opened in {1900 + at % 50}.")
        for at in range(sources)
    ]
    with (
        connect(f"hlgraph://{folder}/a", embedder=WordEmbedder(384)) as one,
        connect(f"hlgraph://{folder}/b", embedder=WordEmbedder(384)) as other,
    ):
        one.ingest(documents)
        return (
            _peak(lambda: one.export_corpus(folder / "export")),
            _peak(lambda: other.import_corpus(folder / "export")),
        )


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_NODES", _BATCH)
    monkeypatch.setattr(copying, "_ROWS", _BATCH)
    monkeypatch.setattr(database, "_SUMS", _BATCH)
    monkeypatch.setattr(imports, "_NODES", _BATCH)
    monkeypatch.setattr(imports, "_ROWS", _BATCH)
    monkeypatch.setattr(imports, "_VECTORS", _BATCH)
    monkeypatch.setattr(exports, "_VECTORS", _BATCH)
    _peaks(tmp_path / "first", 100)  # imports modules
    small, large = (_peaks(tmp_path / str(count), count) for count in (500, 2_000))
    assert [after / before < 1.4 for before, after in zip(small, large, strict=True)] == [True, True], (small, large)


def test_the_words_that_are_remembered_take_a_few_mebibytes() -> None:
    """An ingest or an import meets any number of words, and stems the usual ones once."""
    tracemalloc.start()
    try:
        for at in range(0, 60_000, 1_000):
            assert len(entries([" ".join(f"w{number:x}" for number in range(at, at + 1_000))])) == 1
        assert tracemalloc.get_traced_memory()[0] < 10 << 20
    finally:
        tracemalloc.stop()
