"""Contract suite of several writers of one store. Subclass :class:`WritersContract` and define a fixture ``place``.

``place`` is the settings of a store that is empty. Each writer opens it by itself, as processes do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from hlgraph.chunk import WholeChunker
from hlgraph.errors import StoreLockedError
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.ingest.report import Report
from hlgraph.records import Document, Extraction, Kind, Mention, Proposition, Source
from hlgraph.settings import Settings
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Scope, Stores, VectorBatch
from hlgraph.testing.corpus import DOCUMENTS, ChunkwiseExtractor, new_change, snapshot
from hlgraph.testing.embedder import WordEmbedder


class NamedExtractor(ChunkwiseExtractor):
    """Reads sentences; the words of a sentence up to `` is `` are the name of an entity, the last word is another one.

    Parameters
    ----------
    before : called before each extraction with the texts that are extracted
    """

    fingerprint = "named/1"

    def __init__(self, before: Callable[[list[str]], object] = tuple) -> None:
        self._before = before

    def extract(self, chunks: Iterable[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk."""
        batch = list(chunks)
        self._before([item.text for item in batch])
        return super().extract(batch)

    def _one(self, chunk: ChunkInput) -> Extraction:
        text = chunk.text
        names = [Mention(name, "name") for name in (text.partition(" is ")[0], text.rpartition(" ")[2].rstrip("."))]
        return Extraction((Proposition(text, 0, len(text), ("Bridges",), tuple(names)),), ("Bridges",))


def steps_of(before: Callable[[list[str]], object] = tuple) -> pipeline.Steps:
    """The steps of an ingest in batches of two documents; ``before`` is passed to :class:`NamedExtractor`."""
    return pipeline.Steps(WholeChunker(), NamedExtractor(before), WordEmbedder(), batch_sources=2)


def documents(*words: str, text: str = "is near Orne") -> list[Document]:
    """A document for each word, about one of a family of names that are synonyms of each other.

    Parameters
    ----------
    words : what the names differ by
    text : what is said of each
    """
    return [
        Document(f"doc:{word}", f"Grand Old Long High Aldane Stone Road Bridge {word} {text}.", "Aldane")
        for word in words
    ]


def ingest_into(place: Settings, corpus: str, *, given: Sequence[Document]) -> Report:
    """Ingest documents by a writer of its own, in batches of two.

    Parameters
    ----------
    place : the settings of the store
    corpus : where they go
    given : the documents
    """
    with (opened := open_stores(place)).closing:
        return pipeline.ingest(given, corpus, stores=opened.stores, steps=steps_of())


def empty(stores: Stores, corpus: str) -> None:
    """Delete all sources of a corpus."""
    source_ids = [item.id for item in stores.graph.find(Kind.SOURCE, Scope(corpus)) if isinstance(item, Source)]
    delete_sources(source_ids, corpus, stores=stores)


WORDS = ("north", "south", "east", "west", "upper", "lower", "inner", "outer")


class WritersContract:
    """What several writers of one store can rely on."""

    @pytest.mark.parametrize("is_apart", [False, True], ids=["one corpus", "several corpora"])
    def test_writers_at_once_make_what_they_make_one_after_the_other(self, place: Settings, *, is_apart: bool) -> None:
        shares = [documents(*WORDS[:4]), documents(*WORDS[2:6]), documents(*WORDS[4:]), documents(*WORDS[1:3])]
        names = [f"c{number}" if is_apart else "c" for number in range(4)]
        with (opened := open_stores(place)).closing:
            for share, name in zip(shares, names, strict=True):
                pipeline.ingest(share, name, stores=opened.stores, steps=steps_of())
            before = {name: snapshot(opened.stores, name) for name in names}
            for name in before:
                assert before[name]["synonym"]
                empty(opened.stores, name)
            with ThreadPoolExecutor(4) as pool:
                done = [
                    pool.submit(ingest_into, place, name, given=share)
                    for share, name in zip(shares, names, strict=True)
                ]
                reports = [item.result(timeout=60) for item in done]
            assert {name: snapshot(opened.stores, name) for name in names} == before
            assert opened.stores.graph.unfinished() == ()
        assert [item.sources_added + item.sources_unchanged for item in reports] == [4, 4, 4, 2]
        assert sum(item.sources_added for item in reports) == (14 if is_apart else 8)

    def test_a_batch_that_another_writer_overtook_is_compared_again(self, place: Settings) -> None:
        asked: list[str] = []

        def overtake(texts: list[str]) -> None:
            if not asked:
                ingest_into(place, "c", given=[*documents("w1", text="is old"), *documents("w2", "w7")])
            asked.extend(texts)

        given = documents("w1", "w2", "w3")
        with (opened := open_stores(place)).closing:
            stores = opened.stores
            pipeline.ingest(documents("w1", text="is new"), "c", stores=stores, steps=steps_of())
            report = pipeline.ingest(given, "c", stores=stores, steps=steps_of(overtake))
            assert (report.sources_added, report.sources_changed, report.sources_unchanged) == (1, 1, 1)
            assert asked == [item.text for item in given]  # nothing is extracted twice
            expected = snapshot(stores, "c")
            empty(stores, "c")
            pipeline.ingest([*documents("w7"), *given], "c", stores=stores, steps=steps_of())
            assert snapshot(stores, "c") == expected

    def test_a_source_that_was_deleted_and_made_anew_meanwhile_is_compared_again(self, place: Settings) -> None:
        with (opened := open_stores(place)).closing:
            stores = opened.stores

            def overtake(texts: list[str]) -> None:
                if "is new" in texts[0]:
                    empty(stores, "c")
                    ingest_into(place, "c", given=documents("w1", text="is old"))  # with the version of the first text

            pipeline.ingest(documents("w1"), "c", stores=stores, steps=steps_of())
            pipeline.ingest(documents("w1", text="is new"), "c", stores=stores, steps=steps_of(overtake))
            expected = snapshot(stores, "c")
            empty(stores, "c")
            pipeline.ingest(documents("w1", text="is new"), "c", stores=stores, steps=steps_of())
            assert snapshot(stores, "c") == expected

    def test_who_may_not_wait_is_told_who_writes_and_readers_go_on(self, place: Settings) -> None:
        ingest_into(place, "c", given=documents("w1"))
        with (first := open_stores(place)).closing, (hasty := open_stores(replace(place, wait=0))).closing:
            for locked, asked in (("c", "c"), (None, "c"), ("c", None), (None, None)):
                with (
                    first.stores.graph.lock(locked),
                    pytest.raises(StoreLockedError, match=r"process \d+ on \S+ is writing"),
                    hasty.stores.graph.lock(asked),
                ):
                    pass
            with first.stores.graph.lock("c"):
                start = time.monotonic()
                with (
                    pytest.raises(StoreLockedError),
                    first.stores.graph.lock("c"),
                    hasty.stores.graph.lock("c", wait=0.2),
                ):
                    pass
                assert time.monotonic() - start >= 0.2
                assert hasty.stores.graph.unfinished() == ()
                assert hasty.stores.graph.stats("c")[0].records[Kind.STATEMENT] == 1
            with hasty.stores.graph.lock("c"):
                pass

    def test_a_writer_that_comes_again_queues_behind_one_that_waits(self, place: Settings) -> None:
        turns: list[str] = []
        begun, over = threading.Event(), threading.Event()

        def keep_writing() -> None:
            with (opened := open_stores(place)).closing:
                while not over.is_set():
                    with opened.stores.graph.lock("c"):
                        turns.append("first")
                        begun.set()
                        time.sleep(0.05)

        def write() -> None:
            with (opened := open_stores(place)).closing:
                begun.wait()
                for _ in range(3):
                    with opened.stores.graph.lock("c"):
                        turns.append("second")
                over.set()

        with ThreadPoolExecutor(2) as pool:
            for item in (pool.submit(keep_writing), pool.submit(write)):
                item.add_done_callback(lambda _: over.set())
        between = turns[turns.index("second") : len(turns) - turns[::-1].index("second")]
        assert between.count("second") == 3
        assert between.count("first") <= 4

    def test_what_a_writer_left_is_finished_by_the_next_one_of_its_corpus(self, place: Settings) -> None:
        with (opened := open_stores(place)).closing:
            stores = opened.stores
            with stores.graph.lock("tiny"):
                change = new_change(stores, DOCUMENTS[0])
                stores.graph.stage(change)
                stores.vectors.upsert(VectorBatch("tiny", change.id, change.sources, change.vectors))
            assert ingest_into(place, "c", given=documents("w1")).resumed == 0
            assert [item.change.id for item in stores.graph.unfinished()] == [change.id]
            assert stores.graph.unfinished("c") == ()
            assert stores.graph.stats("tiny") == ()
            assert ingest_into(place, "tiny", given=documents("w1")).resumed == 1
            assert stores.graph.stats("tiny")[0].records[Kind.SOURCE] == 2
