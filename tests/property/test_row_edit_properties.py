"""A row edited in any column changes the document of that row and no other."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from thoroughness import cases

from hlgraph.read import ReadFailure

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "read"))
from test_table_mapping import HEADER, documents, rows, write_csv

COUNT = 1000
_CELLS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=30), st.integers().map(str)
)


@settings(max_examples=cases(8, 25), deadline=None)
@given(at=st.integers(0, COUNT - 1), column=st.sampled_from(HEADER), cell=_CELLS)
def test_an_edit_of_a_cell_changes_its_row_only(tmp_path_factory: object, at: int, column: str, cell: str) -> None:
    path = write_csv(tmp_path_factory.mktemp("rows") / "parts.csv", rows(COUNT))  # type: ignore[attr-defined]
    before = documents(path)
    table = rows(COUNT)
    table[at][column] = cell
    write_csv(path, table)
    after = documents(path)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert [old.uri for old, _ in changed] in ([], [f"{path.as_uri()}#P{at}"])
    for _, new in changed:
        if column != "No" and not isinstance(new, ReadFailure):
            assert new.uri == f"{path.as_uri()}#P{at}"
