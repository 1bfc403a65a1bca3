"""Writes the cells of a table as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlgraph.read.bounds import Produced


def grid(rows: Sequence[Mapping[int, str]], width: int, *, produced: Produced) -> str:
    """A Markdown table with its first row as header.

    Columns behind the last one that holds text anywhere are left out, and so are rows at the end that hold none.

    Parameters
    ----------
    rows : the text of cells by column, from 0; cells that are missing are empty
    width : number of columns of the widest row
    produced : counts the cells before the table is made

    Returns
    -------
    str
        Empty where no cell holds text.

    Raises
    ------
    ReadError
        The document has more than a million cells.

    Examples
    --------
    >>> from hlgraph.read.bounds import Produced
    >>> from hlgraph.read.content import Origin
    >>> print(grid([{0: "Part", 2: "a|b"}, {0: "Seal"}], 4, produced=Produced(Origin("file:///a"), 1, 100)))
    | Part |  | a\\|b |
    | --- | --- | --- |
    | Seal |  |  |
    """
    filled = [[at for at, text in row.items() if text] for row in rows]
    last = max((number for number, found in enumerate(filled) if found), default=-1)
    if last < 0:
        return ""
    width = min(width, 1 + max(at for found in filled for at in found))
    produced.add_cells((last + 1) * width)
    lines = [
        "| " + " | ".join(row.get(at, "").replace("|", "\\|") for at in range(width)) + " |" for row in rows[: last + 1]
    ]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])
