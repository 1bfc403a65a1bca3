"""Tables in the text of a chunk, and what they say about the numbers of a statement."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.read.content import Origin
from hlgraph.read.formats.docx import read_docx
from hlgraph.read.formats.html import read_html
from hlgraph.read.options import ReadOptions
from hlgraph.retrieve.evidence.tables import cells
from hlgraph.retrieve.evidence.tabular import labels

_MARKDOWN = """Balance of the Velm line (in thousands of crowns)

| | 1953 | 1952 |
| --- | ---: | ---: |
| **Income** | | |
| Tolls | 1,200 | 900 |
| Freight | 310 | 900 |
| Total income | 1,510 | 1,800 |
| Staff | 44 | 45 |

The flood cost 310 crowns."""


def _found(text: str) -> list[tuple[str, str, str, str]]:
    return [(cell.row, cell.column, cell.caption, cell.value) for cell in cells(text)]


def _labels(statement: str, text: str, at: str | None = None) -> tuple[str, ...]:
    """``at``: the words of the text that the statement stands on; all of them without."""
    start = text.index(at) if at else 0
    return labels(statement, (start, start + len(at or text)), cells=cells(text))


def test_a_markdown_table_with_sections_totals_and_a_unit() -> None:
    caption = "Balance of the Velm line (in thousands of crowns)"
    assert _found(_MARKDOWN) == [
        ("Income, Tolls", "1953", caption, "1,200"),
        ("Income, Tolls", "1952", caption, "900"),
        ("Income, Freight", "1953", caption, "310"),
        ("Income, Freight", "1952", caption, "900"),
        ("Income, Total income", "1953", caption, "1,510"),
        ("Income, Total income", "1952", caption, "1,800"),
        ("Staff", "1953", caption, "44"),
        ("Staff", "1952", caption, "45"),
    ]


def test_spans_are_those_of_the_rows() -> None:
    assert {_MARKDOWN[cell.start : cell.end] for cell in cells(_MARKDOWN) if cell.row == "Staff"} == {
        "| Staff | 44 | 45 |"
    }


def test_a_head_of_two_lines() -> None:
    text = "| | 2023 | | 2022 | |\n|---|---|---|---|---|\n| | Q1 | Q2 | Q1 | Q2 |\n| Revenue | 1 | 2 | 3 | 4 |"
    assert [cell[1::2] for cell in _found(text)] == [
        ("2023 Q1", "1"),
        ("2023 Q2", "2"),
        ("2022 Q1", "3"),
        ("2022 Q2", "4"),
    ]


def test_a_table_whose_labels_are_numbers() -> None:
    text = "| Year | Ships |\n| --- | --- |\n| 1953 | 12 |"
    assert _found(text) == [("Year 1953", "Ships", "", "12")]


def test_rows_whose_head_stands_in_another_chunk() -> None:
    assert _found("| Tolls | 1,200 | 900 |\n| Freight | 310 | 900 |") == [
        ("Tolls", "", "", "1,200"),
        ("Tolls", "", "", "900"),
        ("Freight", "", "", "310"),
        ("Freight", "", "", "900"),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimited_rows(delimiter: str) -> None:
    lines = ["item,1952,1953", "Tolls,900,1200", '"Freight, local",900,310']
    if delimiter != ",":
        lines = [line.replace('"Freight, local"', "Freight").replace(",", delimiter) for line in lines]
    name = "Freight, local" if delimiter == "," else "Freight"
    assert _found("\n".join(lines)) == [
        ("Tolls", "1952", "", "900"),
        ("Tolls", "1953", "", "1200"),
        (name, "1952", "", "900"),
        (name, "1953", "", "310"),
    ]


def test_lines_of_keys_and_values() -> None:
    text = "Key figures:\n- Total assets: $5,234\n- Seat: Ombry\n- Length ..... 120 m"
    assert _found(text) == [("Total assets", "", "Key figures:", "$5,234"), ("Length", "", "Key figures:", "120 m")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "In 1953, 12 ships sank, and 13 came back.",
        "He came, saw, and won in 1953.\nShe came, saw, and won 12 times.",
        "Note: the gauge was moved in 1953.",
        "Ada | Ben",
        "1950;1951\n1952;1953",  # values above values are no head
        "a: b\nc: d",
    ],
)
def test_prose_is_no_table(text: str) -> None:
    assert cells(text) == []


def test_tables_as_the_readers_give_them() -> None:
    page = "<html><body><article><h1>Line</h1><p>The line was long and it was closed after the flood of that year.</p>"
    page += "<table><tr><th>Item</th><th>1952</th><th>1953</th></tr><tr><td>Tolls</td><td>900</td><td>1,200</td></tr>"
    page += (
        "<tr><td>Freight</td><td>901</td><td>310</td></tr></table><p>It was opened again by the board.</p></article>"
    )
    expected = {
        ("Tolls", "1952", "900"),
        ("Tolls", "1953", "1,200"),
        ("Freight", "1952", "901"),
        ("Freight", "1953", "310"),
    }
    text = read_html(Origin("x.html"), page.encode(), options=ReadOptions()).text
    assert {(row, column, value) for row, column, _, value in _found(text)} == expected

    import docx

    word = docx.Document()
    table = word.add_table(rows=3, cols=3)
    for at, row in enumerate((("Item", "1952", "1953"), ("Tolls", "900", "1,200"), ("Freight", "901", "310"))):
        for column, part in enumerate(row):
            table.cell(at, column).text = part
    data = io.BytesIO()
    word.save(data)
    text = read_docx(Origin("x.docx"), data.getvalue(), options=ReadOptions()).text
    assert {(row, column, value) for row, column, _, value in _found(text)} == expected


def test_a_number_gets_the_labels_of_its_cell() -> None:
    row = "| Tolls | 1,200 | 900 |"
    caption = "(Balance of the Velm line (in thousands of crowns))"
    assert _labels("Tolls were 1200.", _MARKDOWN, row) == (f"Income, Tolls, 1953 {caption}: 1,200",)
    assert _labels("Tolls rose from 900 to 1,200 crowns.", _MARKDOWN, row) == (
        f"Income, Tolls, 1953 {caption}: 1,200",
        f"Income, Tolls, 1952 {caption}: 900",
    )


def test_a_number_outside_of_the_table_needs_the_label_of_its_row() -> None:
    sentence = "The flood cost 310 crowns."
    assert _labels(sentence, _MARKDOWN, sentence) == ()
    assert _labels("Freight of 310 was paid.", _MARKDOWN, sentence)[0].startswith("Income, Freight, 1953")


def test_where_it_is_not_certain_there_is_no_label() -> None:
    assert _labels("It came to 900.", _MARKDOWN) == ()  # two rows have it
    assert _labels("Freight came to 900.", _MARKDOWN)[0].startswith("Income, Freight, 1952")


def test_equal_numbers_of_one_row() -> None:
    text = "| | 1952 | 1953 |\n|---|---|---|\n| Tolls | 900 | 900 |"
    row = "| Tolls | 900 | 900 |"
    assert _labels("Tolls; 900; 900", text, row) == ("Tolls, 1952: 900", "Tolls, 1953: 900")
    assert _labels("Tolls were 900.", text, row) == ()
    assert _labels("Tolls of 1953 were 900.", text, row) == ()  # both words of the label are said: nothing to add


def test_what_is_said_is_not_said_again() -> None:
    text = "| | Ships |\n|---|---|\n| Ombry | 12 |"
    assert _labels("Ombry: 12", text) == ("Ombry, Ships: 12",)
    assert _labels("Ombry has 12 ships", text) == ()


def test_statements_without_numbers_get_none() -> None:
    assert _labels("Tolls rose.", _MARKDOWN) == ()


_PARTS = st.lists(
    st.sampled_from(["|", "-", ":", "\n", " ", "12", "a", ",", ";", "\t", "**", '"', "(in m)", "Total", "..."])
)


@given(_PARTS.map("".join), st.integers(0, 40), st.integers(0, 40))
def test_any_text_gives_cells_that_stand_in_it(text: str, start: int, end: int) -> None:
    found = cells(text)
    for cell in found:
        assert cell.value.replace(" ", "") in "".join(text[cell.start : cell.end].replace("**", "").split())
    for label in labels("12 a", (start, end), cells=found):
        assert label.endswith(tuple(cell.value for cell in found))


@pytest.mark.parametrize("line", ["| a | 1 |", "a | b", "a: 1", "a: b", "a,1", "|", "1;2", "-|-", "a: " + "x" * 90])
def test_a_long_text_takes_linear_time(line: str) -> None:
    """Each line is read a bounded number of times, however many there are."""
    assert len(cells("\n".join([line] * 20_000))) <= 20_000
