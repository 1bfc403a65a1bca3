"""The same twenty tables give the same statements in every format; what is uncertain has no label rather than a wrong one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tables import TABLES, WRITERS, Description, Score, score

from hlgraph.read import read
from hlgraph.records import Document

# A PDF does not say over which rows or columns a cell without lines around it spans.
UNCERTAIN = {
    "PDF booktabs": {"last column spanned", "names and values"},
    "PDF spaces": {"last column spanned", "names and values", "three headers"},
}
WITHOUT_HEADER = {"names and values"}  # the first line of a TSV file is its header


def score_of(folder: Path, table: Description, name: str) -> Score:
    suffix, write = WRITERS[name]
    (folder / f"a{suffix}").write_bytes(write(table))
    [document] = read([str(folder / f"a{suffix}")])
    assert isinstance(document, Document), document
    return score(table, document.text)


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_tables_give_the_same_statements_in_every_format(tmp_path: Path, name: str) -> None:
    scores = {
        table.name: score_of(tmp_path, table, name)
        for table in TABLES
        if name != "TSV" or table.name not in WITHOUT_HEADER
    }
    total = Score(*map(sum, zip(*scores.values(), strict=True)))
    sys.stdout.write(
        f"{name}: {total.share:.1%} of {sum(total)} cells have the right label, {total.wrong} a wrong one\n"
    )
    assert total.wrong == 0
    assert {table for table, each in scores.items() if each.share < 1} == UNCERTAIN.get(name, set())
