"""Thresholds fit every embedder: scales measured on synthetic ones, whose cosines are those of one embedder, distorted."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from extractors import RuleExtractor
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hlgraph.algorithms.calibration import BLOCK, SAMPLE, USUAL, fitted_cosine, measured, stretch, usual_cosine
from hlgraph.algorithms.query_walk import QueryWalk
from hlgraph.answer.extractive import NOT_FOUND, extractive_answer
from hlgraph.answer.verify import is_missing
from hlgraph.chunk import WholeChunker
from hlgraph.errors import StoreError
from hlgraph.extract.extractor import ChunkInput
from hlgraph.extract.local import LocalExtractor
from hlgraph.index.hierarchy import HierarchyQuery
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.models.protocols import Embedder
from hlgraph.records import (
    Calibration,
    Document,
    Evidence,
    Extraction,
    Kind,
    Mention,
    Proposition,
    Relationship,
    Source,
)
from hlgraph.resolve.candidates import CandidateQuery, find_candidates, least_synonym
from hlgraph.retrieve.steps.suggest import least_of
from hlgraph.sdk.reconcile import mend
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.embedder import WordEmbedder

_CROWDED = Calibration(names=1_000, spread=0.05, entity=0.78, statement=0.72, chunk=0.72)


@dataclass
class _Distorted:
    """The cosines of a base embedder as ``low + (high - low) cosine``, and 1 for equal texts.

    The base knows groups: texts with one first word are alike, the less the later their second words stand in ``_SECOND``.
    """

    low: float = 0.0
    high: float = 1.0
    seen: dict[str, int] = field(default_factory=dict)
    dimensions: int = 900

    @property
    def fingerprint(self) -> str:
        return f"distorted/{self.low:g}/{self.high:g}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = np.zeros((len(texts), self.dimensions))
        for at, text in enumerate(texts):
            place = self.seen.setdefault(text, len(self.seen))
            first, second = (*text.lower().split(), "")[:2]
            off = 0.3 * max(_SECOND.find(second), 0) / 3
            group = _direction(first) + off * _direction(f"{first} {second}")
            found[at, :100] = np.sqrt(self.high - self.low) * group / np.linalg.norm(group)
            found[at, 100] = np.sqrt(self.low)
            found[at, 101 + place] = np.sqrt(1 - self.high)  # a direction of its own: only equal texts share it
        return found.astype(np.float32)

    def forget(self, texts: Sequence[str]) -> None:
        pass


def _direction(word: str) -> NDArray[np.float64]:
    return np.random.default_rng(list(word.encode())).standard_normal(100) + 1.2 * (np.arange(100) == 0)


def _lines(chunk: ChunkInput) -> Extraction:
    """Each line of a document is a statement about itself."""
    return Extraction(tuple(_propositions(chunk.text)))


def _propositions(text: str) -> Iterator[Proposition]:
    start = 0
    for line in text.split("\n"):
        yield Proposition(f"{line} told", start, start + len(line), mentions=(Mention(line),))
        start += len(line) + 1


_SECOND = "ax bo cu de"
_WORDS = ["".join(letters) for letters in itertools.product("bdklmnrst", "aeiou", "bdklm")]
# Every ninth word is that of four names that are alike; the others are words of one name.
_NAMES = [f"{word} {second}" for at, word in enumerate(_WORDS) for second in _SECOND.split()[: 1 if at % 9 else 4]]
_QUESTION = "bab ax"


_OPEN = contextlib.ExitStack()


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """The stores of a test are closed after it."""
    with _OPEN:
        yield


def _opened(folder: Path) -> Stores:
    opened = open_stores(f"hlgraph://{folder}")
    _OPEN.enter_context(opened.closing)
    return opened.stores


def _ingested(folder: Path, embedder: Embedder, names: Sequence[str] = _NAMES, *, at_once: int = 150) -> Stores:
    stores = _opened(folder)
    documents = [
        Document(f"doc:{start:03}", "\n".join(names[start : start + at_once]))
        for start in range(0, len(names), at_once)
    ]
    steps = pipeline.Steps(WholeChunker(), RuleExtractor(_lines), embedder, batch_sources=2)
    pipeline.ingest(documents, "c", stores=stores, steps=steps)
    return stores


def test_an_emptied_graph_beside_filled_vectors_is_refused_until_they_are_repaired(tmp_path: Path) -> None:
    """Entities whose rows were left counted as known, and got no synonyms."""
    steps = pipeline.Steps(WholeChunker(), RuleExtractor(_lines), WordEmbedder())
    documents = [Document("doc:1", "harbour mill of orne\nthe harbour mill of orne\nbridge\n")]
    vectors = _opened(tmp_path / "vectors").vectors
    first, second = (Stores(_opened(tmp_path / name).graph, vectors) for name in "ab")
    pipeline.ingest(documents, "c", stores=first, steps=steps)
    pipeline.ingest(documents, "other", stores=second, steps=steps)
    with pytest.raises(StoreError, match="hlgraph reconcile --repair --corpus c"):
        pipeline.ingest(documents, "c", stores=second, steps=steps)
    mend("c", stores=second, extractor=LocalExtractor(), embedder=WordEmbedder())
    pipeline.ingest(documents, "c", stores=second, steps=steps)
    links = [stores.graph.stats("c")[0].relationships for stores in (first, second)]
    assert links[0] == links[1]
    assert links[0][Relationship.SYNONYM] > 0


def _scale(stores: Stores) -> Calibration:
    found = stores.graph.stats("c", has_counts=False)[0].calibration
    assert found is not None
    return found


def _admitted(stores: Stores, embedder: Embedder, theta: float) -> float:
    """The share of statements whose cosine to a question reaches theta."""
    ids = [item.id for item in stores.graph.find(Kind.STATEMENT, Scope("c"))]
    _, matrix = stores.vectors.vectors(Kind.STATEMENT, "c", ids=ids)
    return float(np.mean(matrix @ embedder.embed([_QUESTION])[0] >= theta))


@pytest.mark.parametrize(("low", "high"), [(0.7, 0.95), (0.7, 1.0), (0.0, 0.3), (0.5, 0.75)])
def test_every_embedder_admits_the_share_that_the_first_one_admits(tmp_path: Path, low: float, high: float) -> None:
    plain, other = _Distorted(), _Distorted(low, high)
    stores = [_ingested(tmp_path / str(at), made) for at, made in enumerate((plain, other))]
    links = [made.graph.stats("c")[0].relationships[Relationship.SYNONYM] for made in stores]
    thetas = [QueryWalk().attraction(_scale(made)).threshold for made in stores]
    shares = [_admitted(*both, theta) for *both, theta in zip(stores, (plain, other), thetas, strict=True)]
    assert 30 < links[0] < 1_000
    assert links[1] == pytest.approx(links[0], rel=0.03)
    assert 0.005 < shares[0] < 0.5
    assert shares[1] == pytest.approx(shares[0], abs=0.01)
    # The constants, which are those of one embedder, admit everything or nothing instead.
    assert _admitted(stores[1], other, 0.4) in (0.0, 1.0)


def test_the_scale_follows_a_distortion() -> None:
    texts, (low, high) = _NAMES[:256], (0.6, 0.9)
    plain, other = (
        measured({Kind.ENTITY: made.embed(texts)}, names=256) for made in (_Distorted(), _Distorted(low, high))
    )
    assert plain is not None
    assert other is not None
    assert other.spread == pytest.approx((high - low) * plain.spread, abs=1e-4)
    assert other.entity == pytest.approx(low + (high - low) * plain.entity, abs=1e-4)
    assert QueryWalk().attraction(other).temperature == pytest.approx(
        (high - low) * QueryWalk().attraction(plain).temperature, abs=2e-3
    )


def test_it_is_measured_from_128_names_on_at_every_change_up_to_1024_then_when_there_are_twice_as_many(
    tmp_path: Path,
) -> None:
    few = _ingested(tmp_path, _Distorted(), _NAMES[: BLOCK - 1])
    assert few.graph.stats("c")[0].calibration is None
    counts = [_scale(_ingested(tmp_path, _Distorted(), _NAMES[:many])).names for many in (128, 255, 256, 300)]
    assert counts == [128, 255, 256, 300]
    names, made = [f"{a}{b}" for a in _WORDS for b in _WORDS][:2_048], WordEmbedder()
    sizes = (SAMPLE, SAMPLE + 1, 2 * SAMPLE - 1, 2 * SAMPLE)
    counts = [_scale(_ingested(tmp_path / "many", made, names[:many], at_once=many)).names for many in sizes]
    assert counts == [SAMPLE, SAMPLE, SAMPLE, 2 * SAMPLE]


def test_it_goes_with_the_last_source(tmp_path: Path) -> None:
    stores = _ingested(tmp_path, _Distorted())
    found = [item.id for item in stores.graph.find(Kind.SOURCE, Scope("c"))]
    delete_sources(found, "c", stores=stores)
    assert stores.graph.stats("c")[0].calibration is None


def test_equal_corpora_have_equal_scales_however_they_were_divided(tmp_path: Path) -> None:
    scales = [_scale(_ingested(tmp_path / f"{many}", _Distorted(), at_once=many)) for many in (25, 50, 150, 300)]
    assert [found.names for found in scales] == [300] * 4
    assert len({(found.entity, found.spread) for found in scales}) == 1


@given(
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
    st.sampled_from([USUAL, _CROWDED, Calibration(500, 0.4, 0.0, 0.1, 0.1)]),
)
def test_thresholds_keep_their_order_and_lie_between_0_and_1(a: float, b: float, scale: Calibration) -> None:
    low, high = sorted((a, b))
    for kind in (Kind.ENTITY, Kind.STATEMENT, Kind.CHUNK):
        fit = [fitted_cosine(item, kind, calibration=scale) for item in (low, high)]
        assert 0 < fit[0] <= fit[1] < 1
        if 0.001 < fit[0] < 0.999:
            assert usual_cosine(fit[0], kind, calibration=scale) == pytest.approx(low, abs=1e-3)


def test_without_a_scale_and_with_the_usual_one_numbers_stay() -> None:
    for kind, usual in ((Kind.ENTITY, 0.8), (Kind.ENTITY, 0.9), (Kind.STATEMENT, 0.4), (Kind.CHUNK, 0.5)):
        assert fitted_cosine(usual, kind, calibration=None) == usual_cosine(usual, kind, calibration=None) == usual
        assert fitted_cosine(usual, kind, calibration=USUAL) == pytest.approx(usual)
    assert (stretch(None), QueryWalk().attraction(), QueryWalk().attraction(USUAL)) == (1, (0.1, 0.4), (0.1, 0.4))


def test_a_number_that_is_given_stays(tmp_path: Path) -> None:
    assert QueryWalk(temperature=0.2, threshold=0.3).attraction(_CROWDED) == (0.2, 0.3)
    assert HierarchyQuery(threshold=0.3).fitted(_CROWDED).least == 0.3
    assert HierarchyQuery().fitted(_CROWDED).least == fitted_cosine(0.5, Kind.CHUNK, calibration=_CROWDED)
    session = SimpleNamespace(calibration=_CROWDED)
    assert [least_of(item, session) for item in (0.7, None)] == [0.7, None]  # type: ignore[arg-type]
    assert least_of("fitted", session) == fitted_cosine(0.9, Kind.ENTITY, calibration=_CROWDED)  # type: ignore[arg-type]


def test_corpora_of_one_embedder_have_the_same_thresholds() -> None:
    found = [
        Calibration(300, spread, entity, 0.05, 0.05)
        for spread, entity in ((0.213, 0.155), (0.226, 0.113), (0.287, 0.164))
    ]
    assert [least_synonym(item) for item in found] == [0.8] * 3
    assert [QueryWalk().attraction(item) for item in found] == [(0.1, 0.4)] * 3
    assert [usual_cosine(0.6, Kind.CHUNK, calibration=item) for item in found] == [0.6] * 3
    one_theme = Calibration(681, spread=0.287, entity=0.164, statement=0.142, chunk=0.216)
    assert HierarchyQuery().fitted(one_theme).least == pytest.approx(0.66, abs=0.01)
    assert [round(least_synonym(_CROWDED, usual), 3) for usual in (0.8, 0.9)] == [0.93, 0.952]


def test_candidates_begin_where_synonyms_do(tmp_path: Path) -> None:
    stores = _ingested(tmp_path, _Distorted(0.7, 0.95))
    least = least_synonym(_scale(stores))
    found = find_candidates("c", CandidateQuery(most=10_000), stores=stores).found
    assert found
    assert all(item.evidence or item.score >= least for item in found)
    with pytest.raises(Exception, match=r"lower is 0\.8; no SYNONYM of less than"):
        find_candidates("c", CandidateQuery(lower=0.8), stores=stores)


def _piece(cosine: float) -> Evidence:
    source = Source("s", "c", "doc:1", "", "")
    return Evidence("Rain fell.", 1.0, "chunk", 0, 10, source, statement_id="x", why={"cosine": cosine})


def test_an_answer_is_refused_by_the_scale_of_the_corpus() -> None:
    close, far = ([_piece(item)] for item in (0.86, 0.72))
    for evidence, is_refused in ((close, False), (far, True)):
        assert is_missing("Who drew it?", evidence, calibration=_CROWDED) is is_refused
        answer = extractive_answer("Who drew it?", evidence, calibration=_CROWDED)
        assert (answer.text == NOT_FOUND) is is_refused
    assert not is_missing("Who drew it?", far)
    assert is_missing("Who drew it?", [_piece(0.3)])
