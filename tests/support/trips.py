"""Which files of hlgraph a call enters, in the order in which it enters them.

``python tests/support/trips.py`` prints the three trips of docs/explanation/architecture.md as its tables; ``--json`` prints
the paths of all trips, ``--all`` also that of an evaluation by the command line, and the names that a question bears. A file
counts when a function of it is called, on whatever thread; what only imports it does not count. The process is warm: the same
calls ran before, on another store. All calls but that one are the SDK's, on an open graph with a given embedder; the command
line also opens the stores and loads the embedder.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import json
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

import hlgraph
from hlgraph.cli import main
from hlgraph.sdk.client import HLGraph

PACKAGE = Path(hlgraph.__file__).parent
DOCUMENTS = {
    "a.md": "# Halfmoon Bridge\n\nThe Halfmoon Bridge was designed by the engineer Jonas Querl. It was built in 1871.\n",
    "b.md": "# Jonas Querl\n\nJonas Querl was born in Wendlecote. He published a book in 1875.\n",
}
BY_COMMAND = "evaluation by the command line"
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


def trips(*names: str) -> dict[str, list[str]]:
    """The files that each trip of these names enters."""
    with tempfile.TemporaryDirectory() as folder:
        for place in ("warm", "measured"):
            result = {name: entered(call) for name, call in _calls(Path(folder, place)) if name in names}
    return result


def _calls(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """The trips by their names, to be called in this order, on stores in a new folder."""
    benchmark, files = folder / "set", [folder / name for name in DOCUMENTS]
    benchmark.mkdir(parents=True)
    for file, text in zip(files, DOCUMENTS.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    passages = [{"id": name, "title": "", "text": text} for name, text in DOCUMENTS.items()]
    question = {"id": "q1", "question": QUESTION, "answers": ["Wendlecote"], "supporting_passage_ids": ["b.md"]}
    for name, rows in (("corpus", passages), ("questions.dev", [question])):
        (benchmark / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with HLGraph(hlgraph.Settings(store=f"hlgraph://{folder}/graph"), embedder=HashedWords()) as graph:
        yield "ingest", lambda: graph.ingest([str(file) for file in files])
        yield "search", lambda: graph.search(QUESTION, strategy="path", k=3)
        yield "answer", lambda: graph.answer(QUESTION, strategy="path")
        yield "delete", lambda: graph.delete([str(files[0])])
        yield "evaluation", lambda: graph.evaluate(benchmark, strategies=["path"])
    yield BY_COMMAND, lambda: _evaluate(benchmark)


def _evaluate(benchmark: Path) -> None:
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            main(["--store", f"hlgraph://{benchmark}/store", "eval", str(benchmark), "--strategies", "path"])
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"exit code {end.code}") from end  # else the trip would look short


def bearers() -> set[str]:
    """The names of locals that a question bears on its way to an answer."""
    result = set[str]()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "return" and frame.f_code.co_filename.startswith(f"{PACKAGE}/"):
            result.update(key for key, value in frame.f_locals.items() if value is QUESTION)

    with tempfile.TemporaryDirectory() as folder:
        for name, call in _calls(Path(folder, "graph")):
            if name in {"ingest", "answer"}:
                call()
            if name == "answer":
                sys.setprofile(note)
                call()
                sys.setprofile(None)
    return result


def table(files: Sequence[str]) -> str:
    """The files with the first sentence of each, as a table of Markdown."""
    rows = [f"| {number} | `{name}` | {_about(name)} |" for number, name in enumerate(files, start=1)]
    return "\n".join(["| | file | what it is for |", "|---|---|---|", *rows])


def _about(name: str) -> str:
    text = ast.get_docstring(ast.parse((PACKAGE / name).read_text(encoding="utf-8"))) or ""
    first = text.split("\n\n")[0].replace("\n", " ").replace("``", "`").replace("|", "\\|")
    return re.sub(r":\w+:(?=`)", "", first)


if __name__ == "__main__":
    tables = ("ingest", "search", "delete")
    if flags := {"--json", "--all"} & {*sys.argv}:
        measured = trips(*tables, "answer", "evaluation", *([BY_COMMAND] if "--all" in flags else []))
        sys.stdout.write(json.dumps([measured, sorted(bearers())] if "--all" in flags else measured))
    else:
        parts = (f"{name}: {len(files)} files\n\n{table(files)}" for name, files in trips(*tables).items())
        sys.stdout.write("\n\n".join(parts) + "\n")
