"""However the sources got to their state, the graph is that of a fresh ingest of that state."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from extractors import RuleExtractor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from image_histories import NAMES as _NAMES
from image_histories import PIPELINE as _STEPS
from image_histories import VERBS as _VERBS
from thoroughness import cases

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import source_id
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Document, Extraction, Proposition
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import snapshot
from hlgraph.testing.embedder import WordEmbedder

_SENTENCE = st.builds(
    lambda a, verb, b, year: f"{a[0].upper()}{a[1:]} {verb} {b} in {year}.",
    st.sampled_from(_NAMES),
    st.sampled_from(_VERBS),
    st.sampled_from(_NAMES),
    st.integers(1800, 1803),
)
_TEXT = st.lists(_SENTENCE, min_size=1, max_size=25).map(" ".join)
_STATE = st.tuples(_TEXT, st.sampled_from(("Tessing", "Bridges", "")), st.integers(0, 2))
_STEP = st.tuples(st.integers(0, 2), st.one_of(st.none(), _STATE))
_SAYING = re.compile(r"(\w+) says (\w+) (\w+)\.")


def _spelled(chunk: ChunkInput) -> Extraction:
    """Sentences "TOPIC says TEXT DETAIL." as propositions: the same topic in many spellings, a text with other details."""
    propositions = [
        Proposition(f"It says {said[2]}.", said.start(), said.end(), (said[1],), details=(said[3],))
        for said in _SAYING.finditer(chunk.text)
    ]
    return Extraction(tuple(propositions), ("BRIDGES",) if len(chunk.text) % 2 else ())


_SPELLED = st.builds(
    lambda topic, said, detail: f"{topic} says {said} {detail}.",
    st.sampled_from(("Bridges", "bridges", "BRIDGES", "Rivers", "rivers")),
    st.sampled_from(("yes", "no", "nothing")),
    st.sampled_from(("today", "again", "twice", "slowly")),
)
_SPELLED_TEXT = st.lists(_SPELLED, min_size=1, max_size=25).map(" ".join)
_SPELLED_STATE = st.tuples(_SPELLED_TEXT, st.just(""), st.just(0))
_SPELLED_STEPS = pipeline.Steps(ContentDefinedChunker(32, 0.2), RuleExtractor(_spelled), WordEmbedder())


def _document(number: int, state: tuple[str, str, int]) -> Document:
    text, title, year = state
    return Document(f"doc:{number}", text, title, {"year": year} if year else {})


def _check_clean(opened: object) -> None:
    wrong = [item for item in opened.check() if not item.is_fine]  # type: ignore[attr-defined]
    assert not wrong


@settings(max_examples=cases(7, 25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(_STEP, min_size=1, max_size=6))
def test_any_history_gives_the_graph_of_its_last_state(history: list[tuple[int, tuple[str, str, int] | None]]) -> None:
    _check_history(history, _STEPS)


@settings(max_examples=cases(7, 25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(st.tuples(st.integers(0, 1), st.one_of(st.none(), _SPELLED_STATE)), min_size=2, max_size=6))
def test_names_of_topics_and_details_of_statements_do_not_remember(
    history: list[tuple[int, tuple[str, str, int] | None]],
) -> None:
    _check_history(history, _SPELLED_STEPS)


def _check_history(history: list[tuple[int, tuple[str, str, int] | None]], steps: pipeline.Steps) -> None:
    folder = Path(tempfile.mkdtemp(prefix="hlgraph-"))
    try:
        states: dict[int, tuple[str, str, int]] = {}
        opened = open_stores(f"hlgraph://{folder}/walked")
        with opened.closing:
            for number, state in history:
                if state is None:
                    if states.pop(number, None) is not None:
                        delete_sources([source_id("c", f"doc:{number}")], "c", stores=opened.stores)
                else:
                    states[number] = state
                    pipeline.ingest([_document(number, state)], "c", stores=opened.stores, steps=steps)
            walked = snapshot(opened.stores, "c")
            _check_clean(opened)
        opened = open_stores(f"hlgraph://{folder}/fresh")
        with opened.closing:
            documents = [_document(number, state) for number, state in sorted(states.items())]
            pipeline.ingest(documents, "c", stores=opened.stores, steps=steps)
            assert walked == snapshot(opened.stores, "c")
            again = pipeline.ingest(documents, "c", stores=opened.stores, steps=steps)
            assert (again.sources_added, again.sources_changed, again.sources_unchanged) == (0, 0, len(documents))
            _check_clean(opened)
    finally:
        shutil.rmtree(folder)
