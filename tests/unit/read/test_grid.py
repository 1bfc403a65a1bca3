"""The same tables as cells of any format: spans, titles, headers, sections, totals."""

import pytest

from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, markdown_rows
from hlgraph.read.formats._blocks import sheet_markdown, side_by_side
from hlgraph.read.tables import Cell, Grid, aligned_table, table_markdown


def grid(*rows: str, heads: int = 0) -> Grid:
    """A grid from lines of cells between bars; ``text>2`` spans two columns, ``text^2`` two rows."""
    table = []
    for number, row in enumerate(rows):
        cells = []
        for part in row.split("|"):
            text, _, width = part.strip().partition(">")
            text, _, height = text.partition("^")
            cells.append(Cell(text, int(width or 1), int(height or 1), is_head=number < heads))
        table.append(cells)
    return Grid(table, produced=Produced(Origin("file:///a"), 1, 10_000))


@pytest.mark.parametrize("heads", [0, 1])
def test_spans_are_filled_in_both_directions(heads: int) -> None:
    table = grid("Region | Product | Units", "North^2 | Hub | 7", "Rim | 9", "South | all>2", heads=heads)
    assert table.head == ["Region", "Product", "Units"]
    assert table.rows == [["North", "Hub", "7"], ["North", "Rim", "9"], ["South", "all", "all"]]


def test_a_span_of_rows_in_any_column_moves_none_of_the_others() -> None:
    table = grid("A | B | C", "1 | x^2 | 2", "3 | 4", "5 | 6 | y^2", "7 | 8")
    assert table.rows == [["1", "x", "2"], ["3", "x", "4"], ["5", "6", "y"], ["7", "8", "y"]]


def test_a_title_above_the_header_is_a_caption() -> None:
    table = grid("Table 3. Ships>3", "Region | Product | Units", "North | Hub | 7")
    assert (table.captions, table.head) == (["Table 3. Ships"], ["Region", "Product", "Units"])
    assert table.markdown().startswith("Table 3. Ships\n\n| Region | Product | Units |\n| --- | --- | --- |\n")


@pytest.mark.parametrize("heads", [0, 2])
def test_labels_over_several_columns_are_read_from_top_to_bottom(heads: int) -> None:
    table = grid("Region^2 | Units>2", "2022 | 2023", "North | 7 | 9", heads=heads)
    assert table.head == ["Region", "Units 2022", "Units 2023"]
    assert table.rows == [["North", "7", "9"]]


@pytest.mark.parametrize("heads", [0, 1])
def test_a_row_of_units_below_the_header_is_part_of_it(heads: int) -> None:
    table = grid(
        "Well | Depth | Yield | Use",
        " | m | [l/s] | ",
        "Kolm 1 | 84.5 | 12 | town",
        "Kolm 2 | 120 | 7 | farm",
        heads=heads,
    )
    assert table.head == ["Well", "Depth (m)", "Yield (l/s)", "Use"]
    assert len(table.rows) == 2
    money = grid(
        " | Note | 2023 | 2022", " |  | £'000 | £'000", "Sales | 2 | 1250 | 1100", "Costs |  | 7 | 8", heads=heads
    )
    assert money.head == ["", "Note", "2023 (£'000)", "2022 (£'000)"]
    sizes = grid(" | S/M | M/L", "Back | 38–46 cm | 46–54 cm", "Price | €129 | €134", heads=heads)
    assert (sizes.head, sizes.captions) == (["", "S/M", "M/L"], [])
    lost = grid("Day | Warmth | Rain", " | NA | NA", "Mon | 7 | 9", "Tue | 8 | 8", heads=heads)
    assert len(lost.rows) == 3
    empty = grid("Well | Depth | Yield | Use", " | m | l/s | h", "A | 7 | 9 | ", "B | 8 | 8 | ", heads=heads)
    assert empty.head == ["Well", "Depth (m)", "Yield (l/s)", "Use (h)"]
    words = grid("Day | Early | Late", " | Bo | Al", "Mon | 7 | 9", "Tue | Bo | Al", heads=heads)
    assert len(words.rows) == 3


def test_a_section_is_the_first_cell_of_its_rows_and_ends_with_the_total() -> None:
    table = grid("Product | Units", "Zone NA>2", "Hub | 7", "Total | 7", "Zone EU>2", "Rim | 9", "Grand total | 16")
    assert table.head == ["", "Product", "Units"]
    assert table.rows == [
        ["Zone NA", "Hub", "7"],
        ["Zone NA", "Total", "7"],
        ["Zone EU", "Rim", "9"],
        ["", "Grand total", "16"],
    ]
    sums = ("Net total>2 | 7", "VAT 20 %>2 | 1")
    bill = grid("Pos | Item | Price", "A Doors>3", "1 | Oak | 5", "B Options>3", "2 | Flap | 2", *sums)
    assert [row[:2] for row in bill.rows][1:] == [["B Options", "2"], ["", "Net total"], ["", "VAT 20 %"]]
    part = grid("Item | Price", "Doors>2", "Oak | 5", "Options>2", "Flap | 2", "Flip | 2", "Subtotal | 4", "Total | 9")
    assert [row[0] for row in part.rows] == ["Doors", "Options", "Options", "Options", ""]
    each = grid("Item | Price", "Doors>2", "Oak | 5", "Roofs>2", "Tile | 2", "Total roofs | 2", "Walls>2", "Brick | 3")
    assert [row[0] for row in each.rows] == ["Doors", "Roofs", "Roofs", "Walls"]
    one = grid("Item | Price", "Doors>2", "Oak | 5", "Total | 5", "Options>2", "Flap | 2", "Total | 2")
    assert [row[0] for row in one.rows] == ["Doors", "Doors", "Options", "Options"]


def test_rows_of_a_group_have_the_names_that_stand_in_its_first_row_alone() -> None:
    table = grid(
        "Region | City | Quarter | Sales",
        *("North | Ebberly | Q1 | 10", " |  | Q2 | 12", " | Fell | Q1 | 7", "North total |  |  | 29"),
        *("South | Solen | Q1 | 5", " |  | Q2 | 6"),
    )
    assert [row[:3] for row in table.rows[1:3]] == [["North", "Ebberly", "Q2"], ["North", "Fell", "Q1"]]
    assert [row[:2] for row in table.rows[3:]] == [["North total", ""], ["South", "Solen"], ["South", "Solen"]]
    # A sum, a second line of a text, a row below a gap and a number belong to no group.
    for row in (" |  | Sum | 12", " | in oak |  | ", " | Fell | Q1 | none"):
        rows = ("North | Ebberly | Q1 | 10", row, "South | Solen | Q1 | 5")
        assert grid("Item | City | Quarter | Sales", *rows, heads=1).rows[1][0] == ""
    # Charges below an invoice and the only value without a name are those of no group.
    bill = grid("Item | Size | Count | Price", "Bolt | big | 3 | 5", " | Discount | 1 | -2", " | Shipping | 1 | 4")
    assert [row[0] for row in bill.rows] == ["Bolt", "", ""]
    signs = grid(
        "Name | Value | Meaning",
        "A | 16 | stop",
        "B | 64 | note",
        " | 128 | first",
        "C | 256 | second",
        "D | 512 | third",
    )
    assert [row[0] for row in signs.rows] == ["A", "B", "", "C", "D"]
    assert grid("No | Item | Price", "1 | Oak | 5", " | Flap | 2").rows[1] == ["", "Flap", "2"]


def test_a_last_row_of_one_text_is_a_note() -> None:
    table = grid("Product | Units", "Hub | 7", "Figures without returns.>2")
    assert (table.rows, table.notes) == ([["Hub", "7"]], ["Figures without returns."])


@pytest.mark.parametrize("rows", [("Price | 5 EUR", "Weight | 3 kg"), ("Colour: | red", "Name: | Hub")])
def test_a_table_of_keys_and_values_has_no_header(rows: tuple[str, ...]) -> None:
    table = grid(*rows)
    assert table.head == ["", ""]
    assert [" ".join(row) for row in table.rows] == [row.replace(" |", "") for row in rows]


def test_two_columns_of_words_without_marked_labels_are_pairs() -> None:
    table = grid("Norwegian | native", "Finnish | fluent", "German | basic")
    assert (table.head, table.rows[1]) == (["", ""], ["Finnish", "fluent"])
    assert grid("Language | Level", "Finnish | fluent", heads=1).head == ["Language", "Level"]
    assert grid("Part | Count", "Seal | 12").head == ["Part", "Count"]
    assert grid("Part | 2024", "Seal | 12").head == ["Part", "2024"]
    assert grid("Column 1 | Column 2", "Cell 1 | Cell 2").head == ["Column 1", "Column 2"]
    assert grid("Salary | E6, from 2,700 euros", "Hours | 20 a week", "Start | 1 October 2024").head == ["", ""]
    assert grid("Part", "Seal", "Hub").rows == [["Seal"], ["Hub"]]
    assert grid("German | native", "Danish | B2").rows == [["German", "native"], ["Danish", "B2"]]
    assert grid("Part | Length", "Seal | 12 m").head == ["Part", "Length"]
    assert grid("Part | Code", "Seal 1 | SKU-104", "Seal 2 | A1").head == ["Part", "Code"]


def test_a_column_of_years_or_one_in_bold_has_no_header() -> None:
    studies = grid("2017 | MSc Hydrology | Sarn", "2014 | BSc Geography | Helm")
    assert studies.rows == [["2017", "MSc Hydrology", "Sarn"], ["2014", "BSc Geography", "Helm"]]
    assert grid("2017 | 2018", "Hub | Rim").head == ["2017", "2018"]
    texts = [("Danish", "native"), ("English", "fluent")]
    rows = [[Cell(name), Cell(level, is_head=True)] for name, level in texts]
    assert Grid(rows, produced=Produced(Origin("file:///a"), 1, 100)).rows == [[*row] for row in texts]


def test_a_name_over_several_columns_before_values_stands_in_the_first() -> None:
    table = grid("Item | Size | Price | Sum", "Tile | 2 m | 1.10 | 4.40", "Freight>3 | €8.00", "Total>2 |  | EUR 12.40")
    assert table.rows[1:] == [["Freight", "", "", "€8.00"], ["Total", "", "", "EUR 12.40"]]
    plan = grid("Mon | Tue | Wed", "Maths>2 | Art", "Latin | Art | Music")
    assert plan.rows[0] == ["Maths", "Maths", "Art"]  # a text of each column


def test_a_line_over_both_columns_makes_the_first_pair_no_header() -> None:
    table = grid("Publication>2", "Court | Court of Sarn", "Clerk | Ada Falk", "Role | N", "Text to publish:>2")
    assert (table.captions, table.head, table.notes) == (["Publication"], ["", ""], ["Text to publish"])
    assert table.rows == [["Court", "Court of Sarn"], ["Clerk", "Ada Falk"], ["Role", "N"]]
    table = grid("Product | Units", "Zone NA>2", "Hub | 7", "Rim | 9")
    assert table.head == ["", "Product", "Units"]  # of values


def test_a_form_of_names_and_values_by_turns_is_pairs() -> None:
    form = grid("Name | Ilse Tarn | Born | 4 May 1971", "Boat | Merle | Length | 9.4 m", "Insured | yes |  | ")
    assert form.head == ["", ""]
    assert form.rows[1:] == [["Born", "4 May 1971"], ["Boat", "Merle"], ["Length", "9.4 m"], ["Insured", "yes"]]
    beside = grid("Customer | Oda |  | Date | 2024-05-02", "Number | 10442 |  | Due | 2024-06-01")
    assert beside.rows == [["Customer", "Oda"], ["Date", "2024-05-02"], ["Number", "10442"], ["Due", "2024-06-01"]]
    tests = ("Assay | EP 0455 | 99.5–100.5 % | 99.9 %", "Water | KF | max. 0.5 % | 0.1 %", "Smell | nose | none | none")
    assert grid("Test | Method | Limit | Result", *tests).head == ["Test", "Method", "Limit", "Result"]
    numbered = grid("1. Name | Oda | 2. Date | 4 May 2024", "3. Town | Sarn | 4. Trade | miller")
    assert ["4. Trade", "miller"] in numbered.rows
    people = grid("Name | Born | Town | Age", "Ada | 1971 | Sarn | 40", "Ben | 1980 | Tolk | 31")
    assert people.head == ["Name", "Born", "Town", "Age"]


@pytest.mark.parametrize("mark", [":", ""])
def test_names_with_values_above_a_header_are_captions_and_each_row_has_the_first(mark: str) -> None:
    pairs = (f"Account{mark} | Bridge fund |  | ", f"From{mark} | 2009-03-01 |  | ")
    table = grid(
        *pairs, "Date | Name | Amount | Note", "2010-01-01 | Ada Falk | 100 | ", "2011-04-20 | Brask | -20 | rope"
    )
    assert table.captions == ["Account: Bridge fund", "From: 2009-03-01"]
    assert table.head == ["", "Date", "Name", "Amount", "Note"]
    assert table.rows[1] == ["Account: Bridge fund", "2011-04-20", "Brask", "-20", "rope"]
    plain = ("Ada | Sarn |  | ", "Ben | Tolk |  | ", "Cas | Orlen | dry | old", "Dag | Sarn | wet | new")
    assert grid(*plain).captions == []
    assert grid("Region | Sales>3", "Town | May | June | July", "Sarn | 7 | 9 | 4").head[1] == "Sales May"


def test_a_sentence_below_each_row_belongs_to_the_row_above() -> None:
    said = ("The deck gave way on a dry day.", "Ice broke the second pier and closed the road.")
    rows = ("1999 | Sarn | 6 hurt", f"{said[0]}>3", "2000 | Tolk | none", f"{said[1]}>3", "2001 | Orlen | none")
    table = grid("Year | Town | Injuries", *rows, "NA: not known>3", heads=1)
    assert table.head == ["Year", "Town", "Injuries", ""]
    assert [row[-1] for row in table.rows] == [*said, ""]
    assert table.notes == ["NA: not known"]
    assert grid("Year | Town", "1999 | Sarn", f"{said[1]}>2", "2000 | Tolk", "2001 | Orlen").rows[1][0] == said[1]


def test_years_can_be_a_header() -> None:
    assert grid("Item | 2022 | 2023", "Hub | 7 | 9").head == ["Item", "2022", "2023"]


def test_empty_rows_and_columns_go() -> None:
    table = grid(" |  | ", "A | B | ", " |  | ", "1 | 2 | ", " |  | ")
    assert (table.head, table.rows) == (["A", "B"], [["1", "2"]])
    assert grid(" | ").markdown() == ""


def test_a_span_that_repeats_a_cell_too_often_is_not_filled() -> None:
    table = grid("A | B", *["x^60000>1000"] * 50)
    assert len(table.markdown()) < 500


def test_a_bar_in_a_cell_is_escaped() -> None:
    table = Grid([[Cell("A"), Cell("B")], [Cell("a|b"), Cell("c")]], produced=Produced(Origin("file:///a"), 1, 100))
    assert "| a\\|b | c |" in table.markdown()


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        (["Part Count . Sign", "P-1 3 . pump", "P-2 4"], 2),
        (["Part Count . Sign Text", "P-1 3 . P pump", "P-2 4 . S seal", ". . . V valve"], 2),
        (["Item 2024 . 2025", "Cash 3 . 4", "Debt 5"], 1),  # a blank column beside values parts one table
        (["Item 2024 . Note", "Cash 3 . low", "Debt 5 . high"], 1),
        (["Item 2024 . Note", "Cash 3 . low", "Zone", "Debt 5 . high"], 1),
        ([". May", "Guard 6 . Phone Guard", "Al E . 0171 Al", "Bo L . 0172 Bo", "Di E"], 2),
        (["Zone Sum . Sum", "Rim 3 . 4", "Hub 5 . 6"], 1),  # one label of values on both sides
        (["Zone 2024 2025 . 2024 2025", "Rim 3 4 . 4 5", "Hub 5 6 . 6 7"], 1),
        (["Pay Sum . Tax Sum", "Basic 3 . Income 4", "Travel 5 . Pension 6"], 2),  # one label on both sides
    ],
)
def test_a_blank_column_parts_two_tables_of_a_sheet_if_one_is_longer(rows: list[str], count: int) -> None:
    cells = [[Cell(text, column=at) for at, text in enumerate(row.split()) if text != "."] for row in rows]
    tables = side_by_side(cells)
    assert len(tables) == count
    assert sum(len(row) for table in tables for row in table) == sum(map(len, cells))


@pytest.mark.parametrize("width", [2, 3, 4])
def test_a_label_over_the_whole_width_below_the_header_names_a_section(width: int) -> None:
    def head(*texts: str) -> list[Cell]:
        return [Cell(text, is_head=True) for text in texts]

    names = ["Service", "Fee", "Note", "Since"][:width]
    rows = [
        head(*names),
        [Cell("Ships", width, is_head=True)],
        [Cell("Berth"), Cell("12")],
        [Cell("Cargo", width, is_head=True)],
    ]
    grid = Grid([*rows, [Cell("Crane"), *([Cell("9")] * (width - 1))]], produced=Produced(Origin("file:///a"), 1, 100))
    assert grid.head == ["", *names]
    assert [row[:3] for row in grid.rows] == [["Ships", "Berth", "12"], ["Cargo", "Crane", "9"]]


def test_a_long_cell_above_columns_of_data_is_a_label() -> None:
    table = grid("No. | Goods, period, class, lot and notes of each, if any | Count | Price", "1 | Rope | 3 | 60.00")
    assert table.head[2:] == ["Count", "Price"]


def test_a_column_that_only_spans_divide_is_none() -> None:
    table = grid("Code>2 | Name>3", "7>2 | Rope>3", "8 |  | Pail |  | ", "9>2 | Seal>3", heads=1)
    assert table.head == ["Code", "Name"]
    assert table.rows == [["7", "Rope"], ["8", "Pail"], ["9", "Seal"]]
    assert grid("Name | Sales>2", "Ada | 7 | 9").head == ["Name", "Sales", "Sales"]


def test_a_value_over_several_columns_is_in_no_form() -> None:
    table = grid("Due: 2026-03-02 |  | To pay: | 104.90", "Payee: | By transfer>3", "Name: | Ada Falk>3")
    assert table.rows[1] == ["Payee:", "By transfer", "By transfer"]


def test_columns_that_a_box_around_words_divides_are_one() -> None:
    assert grid(" | Part | |Price", "Seal>3 | 4", "Ring>3 | 5").rows == [["Seal", "4"], ["Ring", "5"]]
    assert grid("Part | Size | Price", "Seal | 3 | 4", "Ring>2 | 5").head == ["Part", "Size", "Price"]


def test_a_long_cell_that_is_not_marked_is_no_label() -> None:
    table = grid("am | Does a date occur in the am or in the pm?", "as.date | Change an object to a date.")
    assert (table.head, len(table.rows)) == (["", ""], 2)


def test_a_table_with_lines_longer_than_a_chunk_is_several_tables_with_its_first_column() -> None:
    head, row = [f"label {at}" for at in range(30)], [f"{at} and {'more ' * 12}" for at in range(30)]
    parts = [part.split("\n") for part in markdown_rows(head, [row, row]).split("\n\n")]
    assert max(len(line) for part in parts for line in part) <= 900
    assert {part[0].split(" | ")[0] for part in parts} == {"| label 0"}
    labels = [label for part in parts for label in part[0].strip("| ").split(" | ")[1:]]
    assert labels == head[1:]
    assert len(markdown_rows(["a", "b"], [["x" * 2000, "y"]]).split("\n\n")) == 1


def test_row_labels_of_two_columns_have_both_labels() -> None:
    lines = [
        "Date    Details           Paid out    Balance",
        "03 Feb  GREENLEAF            18.40   1,185.71",
        "09 Feb  CITY WATER           42.16   3,453.55",
    ]
    table = aligned_table(lines, 1)
    assert table is not None
    assert table.head == ["Date Details", "Paid out", "Balance"]


def test_a_header_has_as_many_rows_as_its_labels_are_high() -> None:
    table = grid("Title^3 | Referenced | Due^3", "SOW", "Section", "Plan | 4.1 | May", "Test | 4.2 | June")
    assert table.head == ["Title", "Referenced SOW Section", "Due"]
    assert table.rows == [["Plan", "4.1", "May"], ["Test", "4.2", "June"]]
    table = grid("Title | Part | Due", "Plan^2 | red | May^2", "blue", "Test | old | June")
    assert table.head == ["Title", "Part", "Due"]
    assert len(table.rows) == 3
    table = grid("North^2 | Hub | May^2", "7", "South | Rim | June")
    assert table.rows[0] == ["North", "7", "May"]  # a value is no label
    assert grid("Nurse^2 | Mon | Tue", "1 June | 2 June", "Ada | E | N", heads=1).head == [
        "Nurse",
        "Mon 1 June",
        "Tue 2 June",
    ]
    assert grid("North^2 | Hub | May", "Rim | June", "South | Rim | July").head == ["North", "Hub", "May"]
    assert grid("Zone^2 | Hub | Rim", "open | open", "South | open | shut", heads=1).head == ["Zone", "Hub", "Rim"]


def sheet(*rows: str) -> str:
    parts = [[(at, text.strip()) for at, text in enumerate(row.split("|")) if text.strip()] for row in rows]
    cells = [[Cell(text.strip("*"), column=at, is_head="*" in text) for at, text in row] for row in parts]
    return sheet_markdown(cells, Produced(Origin("file:///a"), 1, 10_000))


def test_tables_of_a_sheet_without_a_blank_row_between_them_have_their_own_headers() -> None:
    first = ("Name | Room | Phone", "Cruz | 102 | 13", "Adler | 101 | 11")
    second = ("Name | From | To", "Cruz | 2024-04-01 | 2024-04-12")
    whole = sheet(*first, "Updated in March", "Absences", *second)
    assert whole == "\n\n".join([sheet(*first), "Updated in March", "Absences", sheet(*second)])
    assert sheet(*first, *second) == "\n\n".join([sheet(*first), sheet(*second)])
    marked = ("*Person | *From | *To", *second[1:])
    assert sheet(*first, "*Absences", *marked) == "\n\n".join([sheet(*first), "Absences", sheet(*marked)])


@pytest.mark.parametrize("row", ["Oak | sold out | none", "Name | unknown | none"])
def test_a_row_of_words_in_a_table_is_no_header(row: str) -> None:
    text = sheet(
        "Tree | Size | Price", "Pear | 80 | 9", "New trees", row, "Birch | sold out | none", "Apple | 150 | 39"
    )
    assert text.count("---") == 4


@pytest.mark.parametrize("notes", [("People like |  |  | notes",), ("We are | open", "all | the | time")])
def test_notes_in_several_cells_above_a_table_are_no_header(notes: tuple[str, ...]) -> None:
    table = ("Name | Job | Age | Born", "Bowie | musician | 69 | 1947-01-08", "Fisher | actor | 60 | 1956-10-21")
    found = grid(*notes, *table)
    assert found.head == ["Name", "Job", "Age", "Born"]
    assert found.captions == [text.strip() for row in notes for text in row.split("|") if text.strip()]


def test_notes_beside_each_other_are_no_name_and_value() -> None:
    assert (
        grid("All prices include the tax of 20 % | Tel. 0664").markdown()
        == "All prices include the tax of 20 %\n\nTel. 0664"
    )
    assert "| Sum of all | 40 |" in grid("Sum of all | 40").markdown()


def test_the_first_marked_section_of_pairs_is_no_caption_and_sections_are_part_of_names() -> None:
    def pair(name: str, value: str) -> list[Cell]:
        return [Cell(name, is_head=True), Cell(value)]

    def section(name: str) -> list[Cell]:
        return [Cell(name, width=2, is_head=True)]

    rows = [
        section("Sarn"),
        section("Place"),
        pair("Land", "Norlys"),
        section("Size"),
        pair("Length", "112 km"),
        pair("Mouth", "Bay"),
    ]
    table = Grid(rows, produced=Produced(Origin("file:///a"), 1, 10_000))
    assert table.captions == ["Sarn"]
    assert table.rows == [["Place: Land", "Norlys"], ["Size: Length", "112 km"], ["Size: Mouth", "Bay"]]
    alone = Grid(rows[1:3], produced=Produced(Origin("file:///a"), 1, 10_000))
    assert (alone.captions, alone.rows) == (["Place"], [["Land", "Norlys"]])


def test_pairs_of_words_stand_in_the_table_of_the_values_beside_them_and_name_no_column() -> None:
    lines = [
        "Electrical",
        "Voltage    12 V DC",
        "Current    4.5 A",
        "Mechanical",
        "Weight     2.1 kg",
        "Pressure   max. 6 bar",
    ]
    table = aligned_table(lines, 2)
    assert table is not None
    assert table_markdown(table).split("\n")[2:] == [
        "| Electrical: Voltage | 12 V DC |",
        "| Electrical: Current | 4.5 A |",
        "| Mechanical: Weight | 2.1 kg |",
        "| Mechanical: Pressure | max. 6 bar |",
    ]


@pytest.mark.parametrize(
    "above", [["        Note       2023     2022"], ["                   2023     2022", "        Note"]]
)
def test_units_and_years_name_the_columns_that_end_where_they_do(above: list[str]) -> None:
    rows = ["Revenue     3     412.5    398.1", "Costs       4   (310.2)  (301.7)"]
    table = aligned_table([*above, "                     £m       £m", *rows], len(above) + 1)
    assert table is not None
    assert table.head == ["", "Note", "2023 £m", "2022 £m"]
