"""The local embedder on tiny random models: against a plain numpy forward pass, and its behaviour around it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_model import MARKS, MPNET_NAMES, OLD_NAMES, TEXTS, WORDS, make_model

from hlgraph.errors import ModelError, ModelMissingError
from hlgraph.models.local.bert import read_config, read_tensors
from hlgraph.models.local.embedder import LocalEmbedder, graph_name, save_graph, save_int8


def set_pooling(folder: Path, **pooling: Any) -> None:
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))


def usual_name(name: str) -> str:
    name = name.rsplit("bert.", maxsplit=1)[-1]
    for usual, other in {**MPNET_NAMES, **OLD_NAMES}.items():
        name = name.replace(other, usual)
    return name


def distance_class(apart: int) -> int:
    """Of 32: 16 for each direction, the first eight exact, the rest by powers of the square root of 2."""
    size = abs(apart)
    growing = sum(size >= 8 * 2 ** (step / 2) - 1e-9 for step in range(1, 8))
    return (size if size < 8 else 8 + growing) + (16 if apart > 0 else 0)


def plain_forward(folder: Path, text: str, *, first_position: int = 0, pooling: str = "mean") -> NDArray[np.float64]:
    """The definition, one text at a time, in double precision and loops: slow and easy to check."""
    from safetensors.numpy import load_file
    from scipy.special import erf
    from tokenizers import Tokenizer

    config = json.loads((folder / "config.json").read_text())
    stored = load_file(folder / "model.safetensors")
    weights = {usual_name(name): array.astype(np.float64) for name, array in stored.items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(config["max_position_embeddings"] - first_position)
    ids = tokenizer.encode(text).ids

    def norm(rows: Any, name: str) -> Any:
        centred = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + config["layer_norm_eps"])
        return centred / spread * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(rows: Any, name: str) -> Any:
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def activation(rows: Any) -> Any:
        if config["hidden_act"] == "relu":
            return np.maximum(rows, 0)
        if config["hidden_act"] == "gelu_new":
            return 0.5 * rows * (1 + np.tanh(math.sqrt(2 / math.pi) * (rows + 0.044715 * rows**3)))
        return 0.5 * rows * (1 + erf(rows / math.sqrt(2)))

    table = "embeddings.{}_embeddings.weight".format
    places = weights[table("position")][first_position : first_position + len(ids)]
    types = weights.get(table("token_type"), np.zeros((1, 1)))
    rows = norm(weights[table("word")][ids] + places + types[0], "embeddings.LayerNorm")
    by_distance = weights.get("encoder.relative_attention_bias.weight", np.zeros((32, config["num_attention_heads"])))
    apart = [[distance_class(other - one) for other in range(len(ids))] for one in range(len(ids))]
    width = config["hidden_size"] // config["num_attention_heads"]
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        query, key, value = (linear(rows, f"{layer}.attention.self.{name}") for name in ("query", "key", "value"))
        attended = np.empty_like(rows)
        for head in range(config["num_attention_heads"]):
            part = slice(head * width, (head + 1) * width)
            scores = np.exp(query[:, part] @ key[:, part].T / math.sqrt(width) + by_distance[apart, head])
            attended[:, part] = scores / scores.sum(axis=1, keepdims=True) @ value[:, part]
        attended = linear(attended, f"{layer}.attention.output.dense")
        rows = norm(rows + attended, f"{layer}.attention.output.LayerNorm")
        inner = activation(linear(rows, f"{layer}.intermediate.dense"))
        rows = norm(rows + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    pooled = rows.mean(axis=0) if pooling == "mean" else rows[0]
    found: NDArray[np.float64] = pooled / np.linalg.norm(pooled)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def embedder(folder: Path) -> LocalEmbedder:
    return LocalEmbedder(folder)


VARIANTS: dict[str, dict[str, Any]] = {
    "bert": {},
    "tanh": {"hidden_act": "gelu_new"},
    "relu": {"hidden_act": "relu", "layer_norm_eps": 1e-5},
    "roberta": {"model_type": "roberta", "pad_token_id": 1, "type_vocab_size": 1},
    "mpnet": {"model_type": "mpnet", "pad_token_id": 1, "names": MPNET_NAMES, "max_position_embeddings": 90},
    "names of old files": {"names": OLD_NAMES},
    "saved with a head on top": {"prefix": "bert."},
    "half precision": {"dtype": "float16"},
    "one head": {"num_attention_heads": 1, "num_hidden_layers": 3},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_vectors_are_those_of_the_plain_forward_pass(variant: str, tmp_path: Path) -> None:
    folder = make_model(tmp_path, **VARIANTS[variant])
    first = 2 if variant in ("roberta", "mpnet") else 0
    texts = [*TEXTS, " ".join(WORDS[4:] * 6)]
    expected = np.stack([plain_forward(folder, text, first_position=first) for text in texts])
    np.testing.assert_allclose(LocalEmbedder(folder).embed(texts), expected, atol=2e-6)


@pytest.mark.parametrize(
    ("settings", "pooling"),
    [
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode": ["mean"]}, "mean"),
        ({"pooling_mode_mean_tokens": True, "word_embedding_dimension": 24}, "mean"),
    ],
)
def test_pooling_is_read_in_the_old_and_the_new_layout(settings: dict[str, Any], pooling: str, tmp_path: Path) -> None:
    set_pooling(make_model(tmp_path), **settings)
    expected = np.stack([plain_forward(tmp_path, text, pooling=pooling) for text in TEXTS])
    np.testing.assert_allclose(LocalEmbedder(tmp_path).embed(TEXTS), expected, atol=2e-6)


def test_the_saved_graph_gives_the_same_and_follows_the_configuration(folder: Path, tmp_path: Path) -> None:
    copy = make_model(tmp_path / "saved")
    path = save_graph(copy)
    assert path.name == graph_name(read_config(copy), copy)
    assert path.stat().st_size < 50_000  # it points to the weights
    saved, built = LocalEmbedder(copy, runtime="onnxruntime"), LocalEmbedder(folder)
    np.testing.assert_array_equal(saved.embed(TEXTS), built.embed(TEXTS))
    set_pooling(copy, pooling_mode="cls")
    assert not (copy / graph_name(read_config(copy), copy)).exists()
    np.testing.assert_allclose(
        LocalEmbedder(copy, runtime="onnxruntime").embed(TEXTS)[0],
        plain_forward(copy, TEXTS[0], pooling="cls"),
        atol=2e-6,
    )


def test_a_model_made_of_links_can_be_used(folder: Path, embedder: LocalEmbedder, tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    for file in folder.iterdir():
        blob = tmp_path / "blobs" / f"{file.name[:5]}-0123"
        blob.write_bytes(file.read_bytes())
        (tmp_path / "snapshot" / file.name).symlink_to(blob)
    np.testing.assert_array_equal(LocalEmbedder(tmp_path / "snapshot").embed(TEXTS), embedder.embed(TEXTS))


def test_order_and_other_texts_change_nothing(embedder: LocalEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    words = WORDS[len(MARKS) :]
    texts = [" ".join(rng.choice(words, size=int(rng.integers(0, 18)))) for _ in range(300)]
    together = embedder.embed(texts)
    monkeypatch.setattr("hlgraph.models.local.embedder._TEXTS_AT_ONCE", 64)
    monkeypatch.setattr("hlgraph.models.local.bert._TOKENS_AT_ONCE", 50)
    np.testing.assert_allclose(embedder.embed(texts[::-1])[::-1], together, atol=1e-6)
    np.testing.assert_allclose(np.vstack([embedder.embed([text]) for text in texts[:40]]), together[:40], atol=1e-6)


def test_contract(embedder: LocalEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 24)
    vectors = embedder.embed(["", " \n\t ", "half a character: \ud83c", "the " * 5000])
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, embedder.dimensions) == (4, 24)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(vectors[0], vectors[1])
    np.testing.assert_allclose(vectors[3], embedder.embed(["the " * 18])[0], atol=1e-6)  # 20 with the two marks
    embedder.forget(["the"])


def test_fingerprint_tells_models_apart(embedder: LocalEmbedder, folder: Path, tmp_path: Path) -> None:
    other = LocalEmbedder(make_model(tmp_path / "tiny", num_hidden_layers=1))
    (tmp_path / "tiny" / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    shorter = LocalEmbedder(tmp_path / "tiny")
    assert len({embedder.fingerprint, other.fingerprint, shorter.fingerprint}) == 3
    assert embedder.fingerprint.startswith("tiny@")
    assert embedder.fingerprint.endswith("/20")
    assert shorter.max_tokens == 8
    assert LocalEmbedder(folder).fingerprint == embedder.fingerprint
    assert LocalEmbedder(folder, name="x", weights_sha256="f" * 64).fingerprint == "x@ffffffffffff/20"


def test_threads_share_one_embedder(folder: Path) -> None:
    fresh = LocalEmbedder(folder, threads=1)
    expected = LocalEmbedder(folder).embed(TEXTS * 20)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: fresh.embed(TEXTS * 20), range(24)))
    for result in results:
        np.testing.assert_allclose(result, expected, atol=1e-6)


FORKS = """
import os, sys
from pathlib import Path
from hlgraph.models.local.embedder import LocalEmbedder
embedder = LocalEmbedder(Path(sys.argv[1]), threads=2)
texts = ["the old bridge", "a stone tower"] * 400
before = embedder.embed(texts)
for is_used in (True, False):
    child = os.fork()
    if child == 0:
        sys.exit(is_used and int(abs(embedder.embed(texts) - before).max() > 1e-6))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_forked_process_embeds_and_ends(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKS, str(folder)], check=True, timeout=60, capture_output=True)


LOADS = """
import sys
from pathlib import Path
from hlgraph.models.local.embedder import LocalEmbedder
LocalEmbedder(Path(sys.argv[1])).embed(["the"])
"""


def test_onnxruntime_leaves_no_telemetry(folder: Path, tmp_path: Path) -> None:
    places = dict.fromkeys(("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME"), str(tmp_path))
    kept = {key: value for key, value in os.environ.items() if key not in ("ORT_DISABLE_TELEMETRY", "CI")}
    subprocess.run([sys.executable, "-c", LOADS, str(folder)], check=True, timeout=60, env={**kept, **places})
    assert list(tmp_path.iterdir()) == []


def test_lower_casing_is_done_when_the_settings_ask_for_it(embedder: LocalEmbedder, tmp_path: Path) -> None:
    folder = make_model(tmp_path)
    assert not np.allclose(embedder.embed(["THE BRIDGE"]), embedder.embed(["the bridge"]))
    (folder / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    np.testing.assert_allclose(LocalEmbedder(folder).embed(["THE BRIDGE"]), embedder.embed(["the bridge"]), atol=1e-6)


@pytest.mark.parametrize(
    ("length", "tokens"), [("16", 16), ("512", 20), ("1000000000000000019884624838656", 20), ("null", 20)]
)
def test_token_limit_of_the_newer_layout(length: str, tokens: int, tmp_path: Path) -> None:
    make_model(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(f'{{"model_max_length": {length}}}')
    assert read_config(tmp_path).max_tokens == tokens


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "gpt2"}, "'gpt2'"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"hidden_act": "silu"}, "'silu'"),
        ({"num_attention_heads": 5}, "multiple"),
        ({"hidden_size": "many"}, r"config\.json"),
    ],
)
def test_a_model_that_is_not_computed_here_is_refused(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    make_model(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **changes}))
    with pytest.raises(ModelError, match=reason):
        LocalEmbedder(tmp_path)


@pytest.mark.parametrize(
    "pooling",
    [
        {"pooling_mode": "max"},
        {"pooling_mode": ["cls", "mean"]},
        {"pooling_mode_mean_sqrt_len_tokens": True},
        {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True},
        {},
    ],
)
def test_other_pooling_is_refused(pooling: dict[str, Any], tmp_path: Path) -> None:
    set_pooling(make_model(tmp_path), **pooling)
    with pytest.raises(ModelError, match="pools by"):
        LocalEmbedder(tmp_path)


def test_further_modules_are_refused(tmp_path: Path) -> None:
    make_model(tmp_path)
    dense = [{"path": "", "type": "m.Transformer"}, {"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]
    (tmp_path / "modules.json").write_text(json.dumps(dense))
    with pytest.raises(ModelError, match="Dense"):
        LocalEmbedder(tmp_path)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_a_missing_model(file: str, tmp_path: Path) -> None:
    make_model(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(ModelMissingError, match=r"hlgraph models install"):
        LocalEmbedder(tmp_path)


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json", "modules.json"])
@pytest.mark.parametrize("damage", ["empty", "cut", "noise"])
def test_a_broken_file_is_a_model_error(file: str, damage: str, tmp_path: Path) -> None:
    set_pooling(make_model(tmp_path), pooling_mode="mean")
    data = (tmp_path / file).read_bytes()
    broken = {"empty": b"", "cut": data[: len(data) // 2], "noise": bytes(range(256)) * 4}[damage]
    (tmp_path / file).write_bytes(broken)
    with pytest.raises(ModelError, match=file.replace(".", r"\.")):
        LocalEmbedder(tmp_path).embed(["the bridge"])


def test_weights_that_contradict_the_configuration_are_named(tmp_path: Path) -> None:
    make_model(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(ModelError, match=r"encoder\.layer\.2\.attention\.self\.query\.weight is missing"):
        LocalEmbedder(tmp_path).embed(["the"])
    (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_size": 12}))
    with pytest.raises(ModelError, match=r"word_embeddings\.weight is F32"):
        LocalEmbedder(tmp_path).embed(["the"])


def test_tensors_are_found_where_the_library_finds_them(folder: Path) -> None:
    from safetensors.numpy import load_file

    path = folder / "model.safetensors"
    data, tensors = path.read_bytes(), read_tensors(path)
    stored = load_file(path)
    assert tensors.keys() == stored.keys()
    for name, tensor in tensors.items():
        assert data[tensor.start : tensor.start + tensor.length] == stored[name].tobytes()
        assert tensor.shape == stored[name].shape


_LOW_MEMORY = """
import re, resource, sys
from pathlib import Path
import onnx, tokenizers
from hlgraph.errors import ModelError
from hlgraph.models.local.embedder import LocalEmbedder
from hlgraph.models.local.bert import load_runtime
load_runtime()
embedder = LocalEmbedder(Path(sys.argv[1]))
used = int(re.search(r"VmSize:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20),) * 2)
try:
    embedder.embed(["pump"])
except ModelError as error:
    print(error.retryable, error)
"""


def test_a_model_that_the_memory_cannot_hold_is_not_called_damaged(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "large", hidden_size=512, intermediate_size=4096, num_attention_heads=8)
    call = [sys.executable, "-c", _LOW_MEMORY, str(folder)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(f"True {folder}"), done
    assert "not enough memory to load the model" in done.stdout
    assert "download" not in done.stdout


def test_8_bit_integers_have_a_fingerprint_and_graph_of_their_own(tmp_path: Path) -> None:
    folder = make_model(tmp_path)
    save_graph(folder)
    exact, quantized = LocalEmbedder(folder), LocalEmbedder(folder, runtime="int8")
    assert quantized.fingerprint == f"{exact.fingerprint}+int8"
    with pytest.raises(ModelError, match=r"the model has no 8-bit graph; run: hlgraph models install --int8"):
        quantized.embed(["the"])
    assert save_int8(folder).parent == folder
    cosines = (quantized.embed(TEXTS) * exact.embed(TEXTS)).sum(axis=1)
    assert 0.98 < cosines.min() < 1
    assert sorted(path.suffix for path in folder.iterdir()).count(".onnx") == 2


def test_an_8_bit_vector_does_not_depend_on_the_other_texts(tmp_path: Path) -> None:
    folder = make_model(tmp_path)
    save_graph(folder)
    save_int8(folder)
    together = LocalEmbedder(folder, runtime="int8", threads=2).embed(TEXTS)
    alone = LocalEmbedder(folder, runtime="int8", threads=1)
    assert all(np.array_equal(vector, alone.embed([text])[0]) for vector, text in zip(together, TEXTS, strict=True))


def test_the_prompts_of_a_model_stand_before_questions_and_texts(tmp_path: Path) -> None:
    plain = LocalEmbedder(make_model(tmp_path))
    np.testing.assert_array_equal(plain.embed_question("the lamp?"), plain.embed(["the lamp?"])[0])
    fingerprints = {plain.fingerprint}
    for prompts in ({"query": "old "}, {"query": "old ", "passage": "stone "}, {"document": "stone "}):
        (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts, "version": 5}))
        embedder = LocalEmbedder(tmp_path)
        before_text = prompts.get("passage", prompts.get("document", ""))
        np.testing.assert_array_equal(embedder.embed(["the lamp"]), plain.embed([f"{before_text}the lamp"]))
        expected = plain.embed([f"{prompts.get('query', '')}the lamp?"])[0]
        np.testing.assert_array_equal(embedder.embed_question("the lamp?"), expected)
        fingerprints.add(embedder.fingerprint)
    assert len(fingerprints) == 4
