"""Every line of the table of renamed modules leads to names that can be imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from renamed_modules import PAGE, Line, lines, missing

import hlgraph

TEXT = PAGE.read_text(encoding="utf-8")
LINES = lines(TEXT)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.old}-{line.new}")
def test_the_names_of_a_line_can_be_imported(line: Line) -> None:
    try:
        gone = missing(line)
    except ModuleNotFoundError as error:
        pytest.skip(f"without the extra that has {error.name}")
    assert gone == [], "run: python tests/support/renamed_modules.py"


def test_no_old_module_is_there() -> None:
    folder = Path(hlgraph.__file__).parents[1]
    paths = [folder.joinpath(*line.old.split(".")) for line in LINES]
    assert [path for path in paths if path.with_suffix(".py").exists() or (path / "__init__.py").exists()] == []


def test_every_line_of_the_page_is_read() -> None:
    assert TEXT.count("\n| `hlgraph.") == len(LINES) > 150
    assert all(str(line) in TEXT for line in LINES)
