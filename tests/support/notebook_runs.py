"""Runs the notebooks: a copy of one for a test, or all of them in place (`make notebooks`)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from unittest import mock

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
# Where vectors and models lie; the store and the chat model of the environment are not the notebook's.
_KEPT = ("HLGRAPH_CACHE", "HLGRAPH_MODELS")
_SECONDS = 300


def run_copy(name: str, folder: Path, **variables: str) -> str:
    """Run the cells of a copy in this folder, with these variables in its environment.

    Returns the first cell that failed with its traceback, or an empty text.
    """
    from nbmake.nb_run import NotebookRun  # takes a second, and each process of a run imports this file

    copy = Path(shutil.copy(NOTEBOOKS / name, folder / name))
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HLGRAPH_") or key in _KEPT}
    jupyter = {"IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    with mock.patch.dict(os.environ, {**kept, **jupyter, **variables}, clear=True):
        error = NotebookRun(copy, default_timeout=_SECONDS).execute().error
    return "" if error is None else f"{name}, cell {error.failing_cell_index + 1}: {error.trace}"


def refresh() -> None:
    """Run every notebook and keep its new outputs, without the times at which its cells ran."""
    import nbformat
    from nbclient import NotebookClient

    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=_SECONDS, record_timing=False).execute()
        nbformat.write(notebook, path)


if __name__ == "__main__":
    refresh()
