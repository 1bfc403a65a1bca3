"""The notebooks run on the samples without a server or network, and what they keep is what a reader may see."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from notebook_runs import NOTEBOOKS, run_copy
from sample_vectors import copied

if TYPE_CHECKING:
    from nbformat import NotebookNode

ALL = sorted(path.name for path in NOTEBOOKS.glob("*.ipynb"))
ON_SERVERS = {"3_cypher_tour.ipynb"}  # run by test_notebooks_servers.py
MOST_BYTES = 300_000
NOWHERE = "http://127.0.0.1:9"
# Folders that machines have: of users, of temporary files, of installed packages.
_MACHINE = re.compile(r"(?:/home/|/root/|/Users/|/tmp/|/var/|/usr/|/opt/|/work/|site-packages|file://|[A-Z]:\\\\)")
_SHOWN = ("image/png", "image/svg+xml", "text/markdown", "text/html", "text/plain")


def _read(name: str) -> NotebookNode:
    import nbformat  # takes a second, and each process of a run collects this file

    return nbformat.read(NOTEBOOKS / name, as_version=4)


def _code(name: str) -> list[NotebookNode]:
    return [cell for cell in _read(name).cells if cell.cell_type == "code"]


def _texts(cell: NotebookNode) -> list[str]:
    """What the outputs of a cell say, but for pictures of pixels."""
    texts = []
    for output in cell.outputs:
        data = output.get("data", {})
        texts += [output.get("text", ""), *(data[kind] for kind in _SHOWN[1:] if kind in data)]
    return texts


@pytest.mark.model
@pytest.mark.parametrize("name", [name for name in ALL if name not in ON_SERVERS])
def test_a_notebook_runs_offline(name: str, sample_vectors: Path, tmp_path: Path) -> None:
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), NOWHERE)
    assert run_copy(name, tmp_path, HLGRAPH_CACHE=copied(sample_vectors, tmp_path / "cache"), **nowhere) == ""


def test_there_are_five() -> None:
    assert [name.partition("_")[0] for name in ALL] == ["1", "2", "3", "4", "5"]
    assert set(ALL) >= ON_SERVERS


@pytest.mark.parametrize("name", ALL)
def test_a_notebook_is_valid_and_small(name: str) -> None:
    import nbformat

    nbformat.validate(_read(name))
    assert (NOTEBOOKS / name).stat().st_size < MOST_BYTES


@pytest.mark.parametrize("name", ALL)
def test_every_cell_was_run_in_order_and_outputs_are_kept(name: str) -> None:
    cells = _code(name)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert len(outputs) >= len(cells) / 2
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert kinds & {"image/png", "image/svg+xml"} or name.startswith("5_")
    assert {kind for kind in kinds if kind not in _SHOWN} == set()


@pytest.mark.parametrize("name", ALL)
def test_no_output_is_an_error_or_a_warning(name: str) -> None:
    for cell in _code(name):
        for output in cell.outputs:
            assert output.output_type != "error", output.get("ename")
            assert output.get("name") != "stderr", output.get("text")
        assert not any("Traceback (most recent call last)" in text for text in _texts(cell))


@pytest.mark.parametrize("name", ALL)
def test_no_output_holds_a_path_or_an_address_of_a_machine(name: str) -> None:
    for cell in _code(name):
        for text in _texts(cell):
            assert not (found := _MACHINE.search(text)), text[max(0, found.start() - 80) : found.end() + 80]
    assert not any(cell.metadata.get("execution") for cell in _code(name))


@pytest.mark.parametrize("name", ALL)
def test_a_notebook_proves_what_it_says(name: str) -> None:
    cells = _read(name).cells
    assert cells[0].cell_type == "markdown"
    assert cells[0].source.startswith(f"# {name[0]}. ")
    assert sum("assert " in cell.source for cell in cells if cell.cell_type == "code") >= 5
