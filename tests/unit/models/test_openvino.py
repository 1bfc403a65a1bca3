"""The local embedder on OpenVINO: the same vectors as on onnxruntime, and its behaviour around it, on tiny random models."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
import openvino
import pytest
from tiny_model import TEXTS, make_model

from hlgraph.errors import InputError, MissingExtraError, ModelError
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.local.embedder import LocalEmbedder, Runtime, save_graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = make_model(tmp_path_factory.mktemp("tiny"))
    save_graph(made)
    return made


@pytest.mark.parametrize("changes", [{}, {"hidden_act": "relu"}, {"hidden_act": "gelu_new"}, {"dtype": "float16"}])
def test_both_runtimes_give_the_same_vectors(changes: dict[str, Any], tmp_path: Path) -> None:
    folder = make_model(tmp_path, **changes)
    save_graph(folder)
    expected = LocalEmbedder(folder, runtime="onnxruntime").embed(TEXTS * 40)
    found = LocalEmbedder(folder, runtime="openvino").embed(TEXTS * 40)
    assert (found * expected).sum(axis=1).min() > 0.999  # random weights round worse than trained ones
    assert found.dtype == np.float32


def test_threads_share_one_model(folder: Path) -> None:
    shared = LocalEmbedder(folder, threads=2, runtime="openvino")
    expected = shared.embed(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: shared.embed(TEXTS), range(64)))
    for result in results:
        np.testing.assert_allclose(result, expected, atol=1e-6)


def test_batches_are_computed_one_at_a_time_by_the_thread_that_asks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two new shapes at once are reported to wait for one another for ever on few cores; a run of these tests hung here."""
    computing, most = [0], [0]
    infer = openvino.InferRequest.infer

    def watched(self: openvino.InferRequest, *given: Any, **options: Any) -> Any:
        computing[0] += 1
        most[0] = max(most[0], computing[0])
        time.sleep(0.002)  # others may come in meanwhile
        found = infer(self, *given, **options)
        computing[0] -= 1
        return found

    monkeypatch.setattr(openvino.InferRequest, "infer", watched)
    monkeypatch.setattr("hlgraph.models.local.bert.ThreadPoolExecutor", None)
    shared = LocalEmbedder(folder, threads=2, runtime="openvino")
    texts = [" ".join(["the old bridge"] * length) for length in range(1, 30)] * 8
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: shared.embed(texts), range(8)))
    assert most == [1]


@pytest.mark.parametrize(("capabilities", "precision"), [(["FP32", "BF16"], "bf16"), (["FP32", "INT8"], "f32")])
def test_bfloat16_is_asked_for_only_where_the_processor_has_it(
    capabilities: list[str], precision: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the instructions OpenVINO computes it all the same, so slowly that an ingest seems to hang."""
    options: list[dict[str, Any]] = []

    class Core(openvino.Core):
        def get_property(self, *names: Any) -> Any:
            assert names == ("CPU", "OPTIMIZATION_CAPABILITIES")
            return capabilities

        def compile_model(self, *given: Any) -> Any:
            options.append(given[2])
            return super().compile_model(*given)

    monkeypatch.setattr(openvino, "Core", Core)
    LocalEmbedder(folder, runtime="openvino").embed(["the"])
    assert [each["INFERENCE_PRECISION_HINT"] for each in options] == [precision]


def test_the_default_gives_the_same_vectors_on_every_machine(folder: Path) -> None:
    assert LocalEmbedder(folder).runtime == "onnxruntime"


def test_a_model_that_was_not_installed_is_computed_by_onnxruntime(tmp_path: Path) -> None:
    folder = make_model(tmp_path)
    assert LocalEmbedder(folder).runtime == "onnxruntime"
    with pytest.raises(ModelError, match="openvino needs an installed model; run: hlgraph models install --from"):
        LocalEmbedder(folder, runtime="openvino").embed(["the"])


def test_a_cache_keeps_the_vectors_of_both_runtimes_apart(folder: Path, tmp_path: Path) -> None:
    first = CachedEmbedder(LocalEmbedder(folder, runtime="openvino"), tmp_path / "cache.sqlite")
    first.embed(TEXTS)
    other = CachedEmbedder(LocalEmbedder(folder, runtime="onnxruntime"), tmp_path / "cache.sqlite")
    found = other.embed(TEXTS)
    assert (other.hits, first.fingerprint == other.fingerprint) == (0, True)
    assert np.array_equal(found, LocalEmbedder(folder, runtime="onnxruntime").embed(TEXTS))
    first.close()
    other.close()


def test_an_unknown_runtime_is_refused(folder: Path) -> None:
    with pytest.raises(
        InputError, match="'torch' is not a runtime of local models; choose one of onnxruntime, openvino, int8"
    ):
        LocalEmbedder(folder, runtime=cast("Runtime", "torch"))


def test_without_the_extra_onnxruntime_computes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert LocalEmbedder(folder).runtime == "onnxruntime"
    with pytest.raises(MissingExtraError, match=r"pip install 'hlgraph\[openvino\]'"):
        LocalEmbedder(folder, runtime="openvino").embed(["the"])


def test_a_broken_graph_is_one_error(tmp_path: Path) -> None:
    folder = make_model(tmp_path)
    save_graph(folder).write_bytes(b"no graph")
    with pytest.raises(ModelError, match="openvino cannot load the model"):
        LocalEmbedder(folder, runtime="openvino").embed(["the"])


FORKS = """
import os, sys
from pathlib import Path
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.local.embedder import LocalEmbedder
embedder = LocalEmbedder(Path(sys.argv[1]), threads=2, runtime="openvino")
texts = ["the old bridge", "a stone tower"] * 400
before = embedder.embed(texts)
for is_used in (True, False):
    child = os.fork()
    if child == 0:
        if is_used:
            assert (embedder.embed(texts) * before).sum(axis=1).min() > 0.999
            assert embedder.runtime == "onnxruntime"
        sys.exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (embedder.embed(texts) == before).all() and embedder.runtime == "openvino"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_forked_process_goes_on_with_onnxruntime(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKS, str(folder)], check=True, timeout=60, capture_output=True)


LOADS = """
import sys
from pathlib import Path
events = []
sys.addaudithook(lambda name, _: events.append(name) if name.startswith(("socket.", "urllib.")) else None)
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.local.embedder import LocalEmbedder
embedder = LocalEmbedder(Path(sys.argv[1]), runtime="openvino")
embedder.embed(["the"])
assert embedder.runtime == "openvino"
calls = [name for name in events if name != "socket.__new__"]
assert not calls, calls
assert "openvino" in sys.modules and "openvino_telemetry" not in sys.modules
"""


def test_openvino_reports_nothing_and_opens_no_connection(folder: Path, tmp_path: Path) -> None:
    places = dict.fromkeys(("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME"), str(tmp_path))
    kept = {key: value for key, value in os.environ.items() if key not in ("ORT_DISABLE_TELEMETRY", "CI")}
    subprocess.run([sys.executable, "-c", LOADS, str(folder)], check=True, timeout=60, env={**kept, **places})
    assert list(tmp_path.iterdir()) == []
