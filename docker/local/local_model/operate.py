"""Starts and stops the model of a state folder."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from local_model import install
from local_model.serve import ADDRESS
from local_servers import process, state
from local_servers.errors import ServerError

FILE = "model.json"
LOG = "model.log"
PATIENCE = 120.0
_SCRIPT = Path(__file__).with_name("serve.py")


@dataclass(frozen=True, slots=True)
class Served:
    """A running model: its address with OpenAI's interface, and its process."""

    url: str
    pid: int


def start(folder: Path) -> Served:
    """Starts the model unless it runs, and waits until it answers.

    Raises
    ------
    ServerError : it is not installed, or does not start
    """
    folder = folder.absolute()
    with state.locked(folder):
        found = running(folder)
        if found is not None:
            return found
        _end(folder)  # one that a killed launcher left, before it answered
        installed = install.verified()
        address, log = folder / ADDRESS, folder / LOG
        address.unlink(missing_ok=True)
        command: list[str | Path] = [sys.executable, "-P", _SCRIPT, installed, installed / install.WEIGHTS, folder]
        pid = process.spawn(command, log=log, cwd=folder)
        state.write_private(folder / FILE, json.dumps(asdict(Served("", pid))))
        try:
            process.wait_until(address.is_file, pid, name=install.NAME, log=log, patience=PATIENCE)
        except BaseException:
            process.end(pid, _mark(folder), force=True)
            raise
        served = Served(f"{address.read_text(encoding='utf-8').strip()}/v1", pid)
        state.write_private(folder / FILE, json.dumps(asdict(served)))
        return served


def running(folder: Path) -> Served | None:
    """The model that runs in a state folder and has answered; None if there is none."""
    found = _read(folder.absolute())
    return found if found and found.url and process.is_running(found.pid, _mark(folder)) else None


def stop(folder: Path, *, remove: bool = False) -> bool:
    """Ends the model of a state folder; False if none ran. ``remove`` removes the folder, too."""
    folder = folder.absolute()
    if _read(folder) is None:
        return False
    with state.locked(folder):
        ended = _end(folder)
    if remove:
        shutil.rmtree(folder)
    return ended


def _end(folder: Path) -> bool:
    """Ends the process of a state folder; False if none ran."""
    found = _read(folder)
    return found is not None and process.end(found.pid, _mark(folder))


def _read(folder: Path) -> Served | None:
    path = folder / FILE
    if not path.exists():
        return None
    try:
        return Served(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ServerError(
            f"{path}: not the state of a model ({type(error).__name__}); end the model yourself and remove the file"
        ) from error


def _mark(folder: Path) -> str:
    """What the command line of the process of a folder has."""
    return f"{_SCRIPT.name} {install.folder()} {install.folder() / install.WEIGHTS} {folder.absolute()} "
