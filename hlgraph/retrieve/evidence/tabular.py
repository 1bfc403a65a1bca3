"""What the tables of a chunk say about the numbers of a statement (HLG 4.3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hlgraph.retrieve.evidence.numbers import numbers
from hlgraph.retrieve.evidence.tables import Cell
from hlgraph.text import content_words


def labels(text: str, span: tuple[int, int], *, cells: Sequence[Cell]) -> tuple[str, ...]:
    """Row and column labels, and the caption, for the numbers of a statement: ``Revenue, 2023 (in millions): 5,234``.

    A number belongs to the cell that holds it in a row which the span of the statement touches; where the span touches
    no row, to the cell whose row label shares a word with the statement. Of several such cells the one whose labels share
    most words with the statement is meant; where that is not one, the number gets no label, as a wrong one is worse. A
    number that stands as often in the statement as in its one row gets all of them. What the statement says already is
    not said again.

    Parameters
    ----------
    text : of the statement
    span : where the statement stands, in the text that the cells are from
    cells : as :func:`hlgraph.retrieve.evidence.tables.cells` gives them

    Returns
    -------
    tuple
        In the order of the cells, each once; empty where the statement has no number.

    Examples
    --------
    >>> from hlgraph.retrieve.evidence.tables import cells
    >>> table = "| (in millions) | 2022 | 2023 |\\n| --- | --- | --- |\\n| Revenue | 4,900 | 5,234 |"
    >>> labels("Revenue was 5,234.", (52, 79), cells=cells(table))
    ('Revenue, 2023 (in millions): 5,234',)
    """
    said = Counter(_values(text))
    if not said or not cells:
        return ()
    held = set(content_words(text))
    start, end = span
    touched = [cell for cell in cells if cell.start < end and start < cell.end]
    candidates: dict[str, list[Cell]] = {}
    for cell in touched or cells:
        for number in said.keys() & _values(cell.value):
            if touched or held & set(content_words(cell.row)):
                candidates.setdefault(number, []).append(cell)
    found = {cell for number, those in candidates.items() for cell in _meant(those, held, said[number])}
    return tuple(dict.fromkeys(_worded(cell) for cell in cells if cell in found and not _is_said(cell, held)))


def _values(text: str) -> list[str]:
    """Numbers without sign, currency and unit: a table and a sentence write these differently."""
    return [number.value for number in numbers(text)]


def _meant(candidates: Sequence[Cell], held: set[str], times: int) -> Sequence[Cell]:
    """The cell or cells that a number of the statement is; none where that is not certain."""
    shared = [len(held & set(content_words(f"{cell.row} {cell.column}"))) for cell in candidates]
    most = max(shared)
    best = [cell for cell, count in zip(candidates, shared, strict=True) if count == most]
    is_one_row = len({(cell.start, cell.end) for cell in best}) == 1
    return best if len(best) == 1 or (is_one_row and len(best) <= times) else ()


def _is_said(cell: Cell, held: set[str]) -> bool:
    return set(content_words(f"{cell.row} {cell.column} {cell.caption}")) <= held


def _worded(cell: Cell) -> str:
    caption = cell.caption.rstrip(":").strip()
    if caption.startswith("(") and caption.endswith(")"):
        caption = caption[1:-1]
    named = ", ".join(part for part in (cell.row, cell.column) if part)
    return f"{named} ({caption}): {cell.value}" if caption else f"{named}: {cell.value}"
