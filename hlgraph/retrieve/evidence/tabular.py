"""Labels the numbers of a statement from the tables of its chunk (HLG 4.3.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hlgraph.retrieve.evidence.scales import is_meant, said
from hlgraph.retrieve.evidence.tables import Cell
from hlgraph.text import content_words


def labels(text: str, span: tuple[int, int], *, cells: Sequence[Cell]) -> tuple[str, ...]:
    r"""Row label, column label and caption for the numbers of a statement: ``Revenue, 2023 (in millions): 5,234``.

    A number belongs to a cell with the same number in a row that the span of the statement overlaps; where the span overlaps no
    row, to a cell whose row label shares a word with the statement. The scale of the table counts: 5,234 in millions is $5.234
    billion, and rounded $5.2 billion, but not 5,234 thousand (:func:`hlgraph.retrieve.evidence.scales.is_meant`). Of several such
    cells, the one whose labels share most words with the statement is used. Where that is ambiguous, the number gets no label,
    because a wrong label is worse than none. A number that occurs as often in the statement as in its only row gets all labels.
    Labels that add no word to the statement are left out.

    Parameters
    ----------
    text : of the statement
    span : start and end of the statement, in the text that the cells come from
    cells : from :func:`hlgraph.retrieve.evidence.tables.cells`

    Returns
    -------
    tuple
        In the order of the cells, each once; empty where the statement has no number.

    Examples
    --------
    >>> from hlgraph.retrieve.evidence.tables import cells
    >>> table = "| (in millions) | 2022 | 2023 |\n| --- | --- | --- |\n| Revenue | 4,900 | 5,234 |"
    >>> labels("Revenue was 5,234.", (52, 79), cells=cells(table))
    ('Revenue, 2023 (in millions): 5,234',)
    """
    asked = Counter(said(text))
    if not asked or not cells:
        return ()
    held = set(content_words(text))
    start, end = span
    touched = [cell for cell in cells if cell.start < end and start < cell.end]
    near = touched or [cell for cell in cells if held & set(content_words(cell.row))]
    candidates = {number: [cell for cell in near if is_meant(number, cell)] for number in asked}
    found = {cell for number, those in candidates.items() if those for cell in _meant(those, held, asked[number])}
    return tuple(dict.fromkeys(_worded(cell) for cell in cells if cell in found and not _is_said(cell, held)))


def _meant(candidates: Sequence[Cell], held: set[str], times: int) -> Sequence[Cell]:
    """The cell or cells that a number of the statement refers to; none where that is ambiguous."""
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
