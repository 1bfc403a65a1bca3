"""Which files of hlgraph a call enters, in the order in which it enters them.

``python tests/support/trips.py`` prints the three trips of docs/explanation/architecture.md as its tables; ``--json`` prints
the paths alone. A file counts when a function of it is called, on whatever thread; what only imports it does not count.
The process is warm: the same calls ran before, on another store.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import hlgraph
from hlgraph.sdk.client import HLGraph

PACKAGE = Path(hlgraph.__file__).parent
DOCUMENTS = {
    "a.md": "# Halfmoon Bridge\n\nThe Halfmoon Bridge was designed by the engineer Jonas Querl. It was built in 1871.\n",
    "b.md": "# Jonas Querl\n\nJonas Querl was born in Wendlecote. He published a book in 1875.\n",
}
QUESTION = "Where was the designer of the Halfmoon Bridge born?"


class HashedWords:
    """An embedder that needs nothing of hlgraph, so that it enters no file of it."""

    fingerprint = "hashed/64"
    dimensions = 64

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row a text."""
        rows = np.full((len(texts), self.dimensions), 1e-3, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[crc32(word.encode()) % self.dimensions] += 1
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def forget(self, texts: Sequence[str]) -> None:
        """Nothing is kept."""


def entered(call: Callable[[], object]) -> list[str]:
    """The files of the package that a call enters, relative to it."""
    found: dict[str, None] = {}
    prefix = f"{PACKAGE}/"

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        # The body of a module or of a class runs once, when it is imported.
        if event == "call" and code.co_filename.startswith(prefix) and code.co_flags & inspect.CO_OPTIMIZED:
            found[code.co_filename.removeprefix(prefix)] = None

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(found)


def trips() -> dict[str, list[str]]:
    """The files of each trip."""
    with tempfile.TemporaryDirectory() as folder:
        _calls(Path(folder, "warm"), entered)
        return _calls(Path(folder, "measured"), entered)


def _calls(folder: Path, run: Callable[[Callable[[], object]], list[str]]) -> dict[str, list[str]]:
    documents = folder / "documents"
    documents.mkdir(parents=True)
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text, encoding="utf-8")
    with HLGraph(hlgraph.Settings(store=f"hlgraph://{folder}/graph"), embedder=HashedWords()) as graph:
        return {
            "ingest": run(lambda: graph.ingest([str(documents)])),
            "search": run(lambda: graph.search(QUESTION, strategy="path", k=3)),
            "delete": run(lambda: graph.delete([str(documents / "a.md")])),
        }


def table(files: Sequence[str]) -> str:
    """The files with the first sentence of each, as a table of Markdown."""
    rows = [f"| {number} | `{name}` | {_about(name)} |" for number, name in enumerate(files, start=1)]
    return "\n".join(["| | file | what it is for |", "|---|---|---|", *rows])


def _about(name: str) -> str:
    text = ast.get_docstring(ast.parse((PACKAGE / name).read_text(encoding="utf-8"))) or ""
    first = text.split("\n\n")[0].replace("\n", " ").replace("``", "`").replace("|", "\\|")
    return re.sub(r":\w+:(?=`)", "", first)


if __name__ == "__main__":
    taken = trips()
    tables = (f"{name}: {len(files)} files\n\n{table(files)}" for name, files in taken.items())
    sys.stdout.write(json.dumps(taken) if "--json" in sys.argv else "\n\n".join(tables) + "\n")
