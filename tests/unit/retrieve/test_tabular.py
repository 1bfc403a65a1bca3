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
from hlgraph.retrieve.evidence.tables import Cell, cells, is_meant, labels, said

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
def test_prose_is_not_parsed_as_table(text: str) -> None:
    assert cells(text) == []


_FILING = """          Statements of operations (in millions, except per share data)

                          Three Months Ended June 30,    Six Months Ended June 30,
                                2023         2022            2023         2022
                            --------     --------        --------     --------
Revenue:
  Product sales             $  5,234     $  4,900        $ 10,012     $  9,870
  Services                     1,187          990           2,300        1,900
    Total revenue              6,421        5,890          12,312       11,770
Net loss per share          $  (0.31)           -           (0.62)       (0.40)

Product sales were $5.2 billion in the three months ended June 30, 2023."""


def test_columns_aligned_with_spaces() -> None:
    """Signs stand apart, a label spans two columns, a section has a total, a cell is empty."""
    caption = "Statements of operations (in millions, except per share data)"
    found = _found(_FILING)
    assert {each[2] for each in found} == {caption}
    assert [(row, column, value) for row, column, _, value in found if column.startswith("Three")] == [
        ("Revenue, Product sales", "Three Months Ended June 30, 2023", "$ 5,234"),
        ("Revenue, Product sales", "Three Months Ended June 30, 2022", "$ 4,900"),
        ("Revenue, Services", "Three Months Ended June 30, 2023", "1,187"),
        ("Revenue, Services", "Three Months Ended June 30, 2022", "990"),
        ("Revenue, Total revenue", "Three Months Ended June 30, 2023", "6,421"),
        ("Revenue, Total revenue", "Three Months Ended June 30, 2022", "5,890"),
        ("Net loss per share", "Three Months Ended June 30, 2023", "$ (0.31)"),
    ]
    assert [(column, value) for row, column, _, value in found if row.startswith("Net loss")][1:] == [
        ("Six Months Ended June 30, 2023", "(0.62)"),
        ("Six Months Ended June 30, 2022", "(0.40)"),
    ]


def test_ambiguous_column_label_is_dropped() -> None:
    text = (
        "                   Q1\n             2023      2022\nSales         101       102\nRent           11        12"
    )
    assert [column for _, column, _, _ in _found(text)] == ["2023", "2022", "2023", "2022"]
    twice = text.replace("2022", "2023")  # the years alone do not tell the columns apart
    assert {column for _, column, _, _ in _found(twice)} == {""}


@pytest.mark.parametrize(
    "text",
    [
        "He paid  12 for it.\nShe paid  13 for it.",
        "Alone      12",
        "Label one      12\nLabel two    13 more words\nWords",
        "2023    2022\n2021    2020",
    ],
)
def test_alignment_without_values_is_not_a_table(text: str) -> None:
    assert cells(text) == []


def test_signs_in_cells_of_their_own_as_filings_have_them() -> None:
    text = "Sales (in thousands)\n\n| | 2023 | | | 2022 | | |\n| Goods | $ | 12 | | $ | 13 | |\n| Rent | | 14 | | ( | 15 | ) |"
    caption = "Sales (in thousands)"
    assert _found(text) == [
        ("Goods", "2023", caption, "12"),
        ("Goods", "2022", caption, "13"),
        ("Rent", "2023", caption, "14"),
        ("Rent", "2022", caption, "15"),
    ]


def _columns(text: str) -> list[tuple[str, str]]:
    return [(row, column) for row, column, _, _ in _found(text)]


def test_rows_of_other_lengths_never_have_the_labels_of_another_cell() -> None:
    # Markdown: the cells of a short row are the first ones, and what is beyond the head has no label.
    text = "| | 2023 | 2022 |\n|---|---|---|\n| Sales | 12 |\n| Rent | 13 | 14 | 15 |"
    assert _columns(text) == [("Sales", "2023"), ("Rent", "2023"), ("Rent", "2022"), ("Rent", "")]
    # Delimited: a row of another length ends the table.
    text = "item;2023;2022\nSales;12;13\nRent;14\nWages;15;16"
    assert _columns(text) == [("Sales", "2023"), ("Sales", "2022")]
    # Aligned: a cell is where it stands.
    text = "          2023   2022\nSales       12     13\nRent               14\nWages       15     16"
    assert _columns(text) == [
        ("Sales", "2023"), ("Sales", "2022"), ("Rent", "2022"), ("Wages", "2023"), ("Wages", "2022")
    ]  # fmt: skip


# Scales


@pytest.mark.parametrize(
    ("statement", "label"),
    [
        ("Product sales were $5.234 billion.", "2023"),
        ("Product sales were $5.2 billion.", "2023"),
        ("Product sales were 5,234 million.", "2023"),
        ("Product sales were $5,234,000,000.", "2023"),
        ("Product sales were 5,234.", "2023"),
        ("Product sales were $5.20 billion.", ""),  # 5.23 would be right
        ("Product sales were $5 billion.", ""),  # one digit says too little
        ("Product sales were $5.234 million.", ""),
        ("Product sales were 5,234 thousand.", ""),
        ("Product sales grew by 5,234 %.", ""),
        ("Net loss per share was $0.31.", "2023"),
        ("Net loss per share was $0.31 million.", ""),  # the row is an exception from the unit
        ("Services came to $1.19 billion, Product sales on June 30, 2023 to nothing.", "2023"),
    ],
)
def test_a_figure_in_another_scale_than_the_table(statement: str, label: str) -> None:
    end = len(_FILING)
    found = labels(statement, (end - 1, end), cells=cells(_FILING))
    assert [each.partition(" (")[0].rpartition(" ")[2] for each in found] == ([label] if label else [])


def test_a_rounded_figure_that_fits_two_cells_needs_their_labels() -> None:
    text = "| (in millions) | 2023 | 2022 |\n|---|---|---|\n| Sales | 5,234 | 5,187 |"
    assert _labels("Sales were $5.2 billion.", text) == ()
    assert _labels("Sales of 2022 were $5.2 billion.", text) == ("Sales, 2022 (in millions): 5,187",)


@pytest.mark.parametrize(
    ("unit", "power"),
    [
        ("(in thousands)", 3), ("(dollars in millions)", 6), ("($ billions)", 9), ("(000s)", 3), ("in US$ '000", 3),
        ("(EUR millions)", 6), ("", 0), ("(million-seller lists)", 6), ("(in thousands and in millions)", 0),
    ],
)  # fmt: skip
def test_units_of_a_table(unit: str, power: int) -> None:
    cell = Cell(0, 1, "Sales", "2023", unit, "12")
    quantity = f"{12 * 10 ** (power + 0):,}"
    assert is_meant(said(quantity)[0], cell)
    assert is_meant(said("12 trillion")[0], cell) is (power == 0)  # without a unit, digits are compared


def test_a_unit_of_a_column_or_of_a_row_comes_before_that_of_the_table() -> None:
    cell = Cell(0, 1, "Sales", "2023 ($ billions)", "(in millions)", "5")
    assert is_meant(said("5 billion")[0], cell)
    assert not is_meant(said("5 million")[0], cell)
    ratio = Cell(0, 1, "Margin (%)", "2023", "(in millions)", "5")
    assert is_meant(said("5 %")[0], ratio)
    assert not is_meant(said("5 million")[0], ratio)


def test_year_does_not_match_an_amount() -> None:
    text = "| | Sales |\n|---|---|\n| North | 2,023 |\n| South | 31 |"
    assert _labels("North closed in 2023.", text) == ()
    assert _labels("South closed on May 31.", text) == ()
    assert _labels("North sold 2,023.", text) == ("North, Sales: 2,023",)


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


def test_ambiguous_number_gets_no_label() -> None:
    assert _labels("It came to 900.", _MARKDOWN) == ()  # two rows have it
    assert _labels("Freight came to 900.", _MARKDOWN)[0].startswith("Income, Freight, 1952")


def test_equal_numbers_of_one_row() -> None:
    text = "| | 1952 | 1953 |\n|---|---|---|\n| Tolls | 900 | 900 |"
    row = "| Tolls | 900 | 900 |"
    assert _labels("Tolls; 900; 900", text, row) == ("Tolls, 1952: 900", "Tolls, 1953: 900")
    assert _labels("Tolls were 900.", text, row) == ()
    assert _labels("Tolls of 1953 were 900.", text, row) == ()  # both words of the label are said: nothing to add


def test_label_that_adds_no_word_is_dropped() -> None:
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


@pytest.mark.parametrize(
    "line", ["| a | 1 |", "a | b", "a: 1", "a: b", "a,1", "|", "1;2", "-|-", "a: " + "x" * 90, "a   1   2"]
)
def test_a_long_text_takes_linear_time(line: str) -> None:
    """Each line is read a bounded number of times, however many there are."""
    assert len(cells("\n".join([line] * 20_000))) <= 40_000
