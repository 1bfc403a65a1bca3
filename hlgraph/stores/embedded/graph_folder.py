"""Where the files of a graph lie, and how old ones go; see :mod:`graph_files`, which makes them."""

from __future__ import annotations

import shutil
from pathlib import Path

from hlgraph.stores.embedded.database import Database

FORMAT = 1
"""Grows when the layout of the files changes: those of another format are removed like those of an old version."""

_GRAPH = "graph"


def folder_of(database: Database, c: int, *, version: int) -> Path:
    """The folder of one version of the corpus of this number."""
    return database.path / _GRAPH / _name(c, version)


def drop_old(database: Database) -> None:
    """Remove the files of all versions but the present ones; the caller has the lock of the writer."""
    folder = database.path / _GRAPH
    if not folder.is_dir():
        return
    rows = database.writer().execute("SELECT c, version FROM corpus")
    present = {_name(c, version) for c, version in rows}
    for path in folder.iterdir():
        if path.name not in present:
            shutil.rmtree(path, ignore_errors=True)  # a reader on Windows may hold it: the next change removes it


def _name(c: int, version: int) -> str:
    return f"{FORMAT}-{c}-{version}"
