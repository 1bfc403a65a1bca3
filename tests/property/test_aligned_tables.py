"""Tables of aligned columns, however they are laid out: a cell has the right labels or none, and no word of a page is lost."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from hlgraph.read.pdf_tables import woven
from hlgraph.read.tables import AlignedTable, aligned_table, tables_in

_LABELS = ("Sales", "Cost of goods", "Rent", "Income taxes", "Net loss for the year", "Wages")
_UPPER = ("Q1", "Three Months Ended June 30,", "As of", "Group", "Year Ended December 31,", "Region North")


class Layout(NamedTuple):
    """Lines, and the truth: the labels of each column from above, the values of each row by column."""

    lines: list[str]
    heads: list[tuple[str, str]]
    rows: list[tuple[str, list[str]]]


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """A table with values that all differ: any widths, alignments, gaps and spans."""
    count = draw(st.integers(1, 6))
    widths = [draw(st.integers(9, 20)) for _ in range(count)]
    begin = draw(st.integers(24, 34))
    align = draw(st.sampled_from([str.rjust, str.center, str.ljust]))
    head_align = draw(st.sampled_from([align, str.center, str.rjust]))
    starts = [begin + sum(widths[:at]) for at in range(count)]
    heads = [f"{2023 - at}" if draw(st.booleans()) else f"Col {chr(65 + at)}" for at in range(count)]
    upper = [""] * count
    top = " " * begin
    if draw(st.booleans()):
        at = 0
        while at < count:
            span = draw(st.integers(1, count - at))
            room = sum(widths[at : at + span])
            label = draw(st.sampled_from(["", *_UPPER]))[: room - 2].strip()
            upper[at : at + span] = [label] * span
            top += label.center(room)
            at += span
    rows = []
    for number, label in enumerate(draw(st.lists(st.sampled_from(_LABELS), min_size=2, max_size=5, unique=True))):
        values = [f"{draw(st.sampled_from(['', '', '$ ', '(']))}{7 * number + at + 101}" for at in range(count)]
        values = [f"{value})" if "(" in value else value for value in values]
        rows.append((label, [value if at == 0 or draw(st.integers(0, 9)) else "" for at, value in enumerate(values)]))
    lines = [top.rstrip()] if any(upper) else []
    lines.append(
        " " * begin + "".join(head_align(head, width) for head, width in zip(heads, widths, strict=True)).rstrip()
    )
    for label, values in rows:
        line = label.ljust(begin)
        for start, value, width in zip(starts, values, widths, strict=True):
            line = line.ljust(start) + align(value, width)
        lines.append(line.rstrip())
    return Layout(lines, list(zip(upper, heads, strict=True)), rows)


def _table(lines: list[str]) -> AlignedTable | None:
    return next((table for table in (aligned_table(lines, at) for at in range(len(lines))) if table), None)


@given(layouts())
def test_a_cell_has_its_own_labels_or_none(layout: Layout) -> None:
    table = _table(layout.lines)
    if table is None:
        return
    truth = dict(layout.rows)
    for _, (label, *parts) in table.rows:
        values = [part for part in truth[label] if part]
        assert [part for part in parts if part] == values
        for column, part in enumerate(parts):
            if part:
                upper, head = layout.heads[truth[label].index(part)]
                assert table.head[column + 1] in ("", head, f"{upper} {head}".strip())


@given(
    layouts(),
    st.lists(st.sampled_from(["A line of prose.", "Total of 12 and 13", "-----  -----", "Notes  (1)  to it"])),
)
def test_no_word_of_a_page_is_lost(layout: Layout, prose: list[str]) -> None:
    lines = [*prose[:2], *layout.lines, *prose[2:]]
    text = woven(lines, tables_in(lines))
    if text:
        said = text.replace("|", " ").split()
        for word in " ".join(lines).split():
            assert word in said or not any(map(str.isalnum, word))
