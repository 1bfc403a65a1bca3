"""Mappings of rows: what a row becomes, which mappings are refused, and which mapping a table suggests."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest
import yaml

from hlgraph.errors import InputError
from hlgraph.extract import ChunkInput
from hlgraph.extract.extractor import RowExtractor
from hlgraph.read import ReadFailure, ReadOptions, read
from hlgraph.read.stream import check_tables, preview
from hlgraph.read.table_mapping import as_yaml, instant, number, table_mapping
from hlgraph.records import Document

HEADER = ("No", "Part", "Mass", "Made", "Maker", "Is used", "Uses", "Note")
MAPPING: dict[str, Any] = {
    "key": "No",
    "name": "Part",
    "kind": "part",
    "columns": {
        "Mass": {"type": "number", "unit": "kg", "predicate": "weighs"},
        "Made": "date",
        "Maker": {"type": "reference", "predicate": "made by", "kind": "organization"},
        "Is used": "boolean",
        "Uses": {"type": "reference", "separator": ";"},
    },
}
MAKERS = ("Acme Ltd", "Bolt GmbH", "Carve SA")


def rows(count: int) -> list[dict[str, str]]:
    """A table of parts."""
    return [
        {
            "No": f"P{at}",
            "Part": f"Part {at}",
            "Mass": f"{at * 1.5 + 1:,.1f}",
            "Made": f"20{at % 25:02}-0{at % 9 + 1}-1{at % 10}",
            "Maker": MAKERS[at % 3],
            "Is used": "yes" if at % 4 else "no",
            "Uses": f"Part {at - 1}; Part {at - 2}" if at > 2 else "",
            "Note": f"note: {at}; kept, as is",
        }
        for at in range(count)
    ]


def write_csv(path: Path, table: Iterable[dict[str, str]], header: Sequence[str] = HEADER) -> Path:
    """Write a table as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, header)
    writer.writeheader()
    writer.writerows(table)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def write_as(path: Path, table: Sequence[dict[str, str]]) -> Path:
    """Write a table in the format of the suffix, with typed values where the format has types."""
    if path.suffix == ".csv":
        return write_csv(path, table)
    typed = [row | {"Mass": float(row["Mass"].replace(",", "")), "Is used": row["Is used"] == "yes"} for row in table]
    if path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, typed)), encoding="utf-8")
    elif path.suffix == ".json":
        path.write_text(json.dumps(typed), encoding="utf-8")
    elif path.suffix == ".yaml":
        path.write_text(yaml.safe_dump(typed, sort_keys=False), encoding="utf-8")
    elif path.suffix == ".toml":
        pairs = ("\n".join(f"{name!r} = {json.dumps(value)}" for name, value in row.items()) for row in typed)
        path.write_text("\n".join(f"[[part]]\n{each}" for each in pairs), encoding="utf-8")
    elif path.suffix in (".parquet", ".feather"):
        import pyarrow as pa
        from pyarrow import feather, parquet

        typed = [row | {"Made": datetime.fromisoformat(str(row["Made"]))} for row in typed]
        writer = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
        writer(pa.Table.from_pylist(typed), path)
    else:
        import openpyxl

        book = openpyxl.Workbook()
        sheet: Any = book.active
        sheet.append(list(HEADER))
        for row in typed:
            sheet.append(list((row | {"Made": date.fromisoformat(str(row["Made"]))}).values()))
        book.save(path)
    return path


def documents(path: Path, mapping: object = None) -> list[Document | ReadFailure]:
    """The documents of a table."""
    chosen = table_mapping(MAPPING if mapping is None else mapping)  # type: ignore[arg-type]
    return list(read([str(path)], ReadOptions(rows=chosen)))


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "yaml", "toml", "xlsx", "parquet", "feather"])
def test_a_row_is_one_document_with_typed_values_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = write_as(tmp_path / f"parts.{suffix}", rows(1000))
    parts = documents(path)
    assert len(parts) == 1000
    part = parts[7]
    assert isinstance(part, Document)
    assert part.uri == f"{path.as_uri()}#P7"
    assert part.title == "Part 7"
    assert part.text.split("\n")[:3] == ["Part: Part 7", "No: P7", "Mass: 11.5 kg"]
    assert part.text.split("\n")[6:] == ["Uses: Part 6", "Uses: Part 5"]
    assert part.metadata == {
        "No": "P7",
        "Part": "Part 7",
        "Mass": 11.5,
        "Made": "2007-08-17",
        "Maker": "Bolt GmbH",
        "Is used": True,
        "Uses": ("Part 6", "Part 5"),
        "Note": "note: 7; kept, as is",
    }


def test_the_extractor_finds_every_fact_of_a_row(tmp_path: Path) -> None:
    part = documents(write_csv(tmp_path / "parts.csv", rows(10)))[7]
    assert isinstance(part, Document)
    extractor = RowExtractor(table_mapping(MAPPING))
    (proposition,) = extractor.extract([ChunkInput(part.text, part.title)])[0].propositions
    assert proposition.text.startswith("Part: Part 7; No: P7; Mass: 11.5 kg; Made: 2007-08-17; Maker: Bolt GmbH")
    assert (proposition.start, proposition.end) == (0, len(part.text))
    assert [(each.subject, each.predicate, each.object, each.is_literal) for each in proposition.triples] == [
        ("Part 7", "No", "P7", True),
        ("Part 7", "weighs", "11.5 kg", True),
        ("Part 7", "Made", "2007-08-17", True),
        ("Part 7", "made by", "Bolt GmbH", False),
        ("Part 7", "Is used", "yes", True),
        ("Part 7", "Uses", "Part 6", False),
        ("Part 7", "Uses", "Part 5", False),
    ]
    assert [(each.name, each.kind) for each in proposition.mentions][:2] == [
        ("Part 7", "part"),
        ("Bolt GmbH", "organization"),
    ]


def test_values_that_look_like_labels_and_lines_stay_values(tmp_path: Path) -> None:
    table = [{"Part": "A", "Note": "x; Made: 2001\nMaker: Acme", "Maker": "B"}]
    path = write_csv(tmp_path / "parts.csv", table, ("Part", "Note", "Maker"))
    mapping = table_mapping({"name": "Part", "columns": {"Note": "text", "Maker": "reference"}})
    (part,) = documents(path, mapping)
    assert isinstance(part, Document)
    (proposition,) = RowExtractor(mapping).extract([ChunkInput(part.text, part.title)])[0].propositions
    assert [(each.predicate, each.object) for each in proposition.triples] == [
        ("Note", "x; Made: 2001 Maker: Acme"),
        ("Maker", "B"),
    ]


@pytest.mark.parametrize(
    ("cell", "unit", "decimal", "value"),
    [
        ("450", "kg", ".", 450),
        ("450 kg", "kg", ".", 450),
        ("$1,234.50", "$", ".", 1234.5),
        ("1.234,50", "", ",", 1234.5),
        ("\u22125", "", ".", -5),
        ("1e3", "", ".", 1000.0),
        (" 7 ", "", ".", 7),
        ("1,2345", "", ".", None),
        ("12 lb", "kg", ".", None),
        ("1.234,50-", "", ",", -1234.5),
        ("560,00- €", "€", ",", -560),
        ("€ 560,00-", "€", ",", -560),
        ("-€5", "€", ".", -5),
        ("(1,234.50)", "", ".", -1234.5),
        ("1'234.50", "", ".", 1234.5),
        ("1’234,5", "", ",", 1234.5),
        ("3-5", "", ".", None),
        ("(5) 3", "", ".", None),
        ("12 345", "", ".", 12345),
        ("5 3", "", ".", None),
        ("", "", ".", None),
        ("e5", "", ".", None),
        ("1e999", "", ".", None),
        ("\u0661", "", ".", None),
        (True, "", ".", None),
        (float("nan"), "", ".", None),
        ("9" * 30, "", ".", 1e30),
    ],
)
def test_numbers(cell: object, unit: str, decimal: str, value: float | None) -> None:
    assert number(cell, unit=unit, decimal=decimal) == value


@pytest.mark.parametrize(
    ("cell", "form", "value"),
    [
        ("2024-03-05", "", "2024-03-05"),
        (date(2024, 3, 5), "", "2024-03-05"),
        (datetime(2024, 3, 5), "", "2024-03-05"),  # noqa: DTZ001 - as a workbook has them
        ("2024-03-05T10:30:00+01:00", "", "2024-03-05T09:30:00+00:00"),
        ("2024-03-05T09:30:00+00:00", "", "2024-03-05T09:30:00+00:00"),
        ("5.3.2024", "%d.%m.%Y", "2024-03-05"),
        ("2024-13-05", "", None),
        ("2024-13-05T09:30", "", None),
        ("March", "", None),
        ("2024", "", None),
        (time(10, 30), "", None),
    ],
)
def test_dates(cell: object, form: str, value: str | None) -> None:
    assert instant(cell, form) == value


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"columns": {"Weight": "number"}},
            "the mapping names the column 'Weight', which no row has; its columns: No, Part, Mass",
        ),
        ({"key": "Id"}, "the mapping names the column 'Id'"),
        (
            {"key": "Maker"},
            "column 'Maker' does not fit 97 of 100 rows (lines 2 and 5 have the same key 'Acme Ltd'); its columns",
        ),
        (
            {"columns": {"Maker": "number"}},
            "column 'Maker' does not fit 100 of 100 rows (line 2: its column 'Maker' is 'Acme Ltd', no",
        ),
        ({"columns": {"Mass": "date"}}, "column 'Mass' does not fit 100 of 100 rows"),
        ({"name": "Uses"}, "column 'Uses' does not fit"),
    ],
)
def test_a_mapping_that_does_not_fit_is_one_error(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    path = write_csv(tmp_path / "parts.csv", rows(100))
    mapping = {"key": "No", "name": "Part"} | change
    if mapping["name"] == "Uses":
        path = write_csv(tmp_path / "parts.csv", [row | {"Uses": ""} for row in rows(100)])
    with pytest.raises(InputError) as error:
        check_tables([str(path)], ReadOptions(rows=table_mapping(mapping)))
    assert reason in str(error.value)
    assert "nothing was written" in str(error.value)


@pytest.mark.parametrize(
    ("mapping", "reason"),
    [
        ({}, "missing required field `name`"),
        ({"name": ""}, "its name is empty"),
        ({"name": "Part", "columns": {"Mass": "weight"}}, "Invalid enum value 'weight' - at `$.columns[...].type`"),
        ({"name": "Part", "colour": "red"}, "unknown field `colour`"),
        ({"name": "Part", "columns": {"a: b": "text"}}, "column 'a: b': its label 'a: b' is empty or holds a colon"),
        ({"name": "Part", "columns": {"a": {"label": "Part"}}}, "column 'a': column 'Part' has the same label 'Part'"),
        ({"name": "Part", "columns": {"a": {"unit": "kg"}}}, "column 'a': unit has no effect on a text"),
        ({"name": "Part", "columns": {"Part": "number"}}, "column 'Part': it is the name"),
    ],
)
def test_a_mapping_that_cannot_be_used_is_refused(mapping: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match="mapping of rows") as error:
        table_mapping(mapping)
    assert reason in str(error.value)


def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    for text in ("a: [", "- a", "", "\0"):
        (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=r"m\.yaml"):
            table_mapping(tmp_path / "m.yaml")
    with pytest.raises(InputError, match="No such file"):
        table_mapping(tmp_path / "none.yaml")


def test_a_bad_cell_is_a_failure_of_its_row_and_protects_its_source(tmp_path: Path) -> None:
    table = rows(100)
    table[40]["Mass"] = "some"
    path = write_csv(tmp_path / "parts.csv", table)
    check_tables([str(path)], ReadOptions(rows=table_mapping(MAPPING)))
    results = documents(path)
    (failed,) = [each for each in results if isinstance(each, ReadFailure)]
    assert failed.uri == f"{path.as_uri()}#P40"
    assert "line 42: its column 'Mass' is 'some', no number" in str(failed.error)
    assert len(results) == 100


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"No": 3.0}, "duplicate id '3' in line 20, first in line 4"),
        ({"No": None}, "column 'No' is the key, and empty"),
        ({"No": "x" * 1_001}, "column 'No' is the key, and longer than 1,000 characters"),
        ({"Part": " \t"}, "column 'Part' is the name, and empty"),
        ({"Part": "()"}, "column 'Part' is '()', no name"),
        ({"Part": ["a", "b"]}, "column 'Part' is \"['a', 'b']\", no text"),
        ({"Part": "x" * 1_000_000}, "column 'Part' has 1,000,000 characters, more than a name's 1,000"),
        ({"Maker": "x" * 1_001}, "column 'Maker' has 1,001 characters"),
        ({"Mass": "450 lb"}, "column 'Mass' is '450 lb', no number"),
        ({"Mass": True}, "column 'Mass' is 'true', no number"),
        ({"Mass": {"value": 1}}, "column 'Mass' is \"{'value': 1}\", no number"),
        ({"Mass": "1.234,5"}, "column 'Mass' is '1.234,5', no number"),
        ({"Made": "31.02.2024"}, "column 'Made' is '31.02.2024', no date"),
        ({"Is used": "perhaps"}, "column 'Is used' is 'perhaps', no boolean"),
    ],
)
def test_a_row_that_does_not_fit_is_one_failure_beside_the_others(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    table = [{"No": at, "Part": f"Part {at}", "Mass": 1.5, "Made": "2024-03-05", "Maker": "Acme"} for at in range(20)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [*table[:-1], table[-1] | {"Is used": "no"} | change])))
    columns = {name: rule for name, rule in MAPPING["columns"].items() if name != "Uses"}
    mapping = table_mapping(MAPPING | {"columns": columns})
    check_tables([str(tmp_path / "a.jsonl")], ReadOptions(rows=mapping))
    *parts, failed = documents(tmp_path / "a.jsonl", mapping)
    assert isinstance(failed, ReadFailure)
    assert reason in str(failed.error)
    assert len(str(failed.error)) < 1_500
    assert [part.metadata["No"] for part in parts if isinstance(part, Document)] == [str(at) for at in range(19)]


def test_a_cell_without_a_number_is_empty_and_an_infinite_one_is_a_failure(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    numbers = [*map(float, range(18)), float("nan"), float("inf")]
    names = [f"Part {at}" for at in range(20)]
    parquet.write_table(pa.table({"Part": names, "Mass": numbers}), tmp_path / "a.parquet")
    *parts, failed = documents(tmp_path / "a.parquet", {"name": "Part", "columns": {"Mass": "number"}})
    assert isinstance(failed, ReadFailure)
    assert "column 'Mass' is 'inf', no number" in str(failed.error)
    assert [part.metadata.get("Mass") for part in parts if isinstance(part, Document)] == [*numbers[:18], None]


@pytest.mark.parametrize("epoch", [datetime(1899, 12, 30), datetime(1904, 1, 1)])  # noqa: DTZ001
def test_dates_of_a_workbook_are_those_of_its_epoch(tmp_path: Path, epoch: datetime) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    book.epoch = epoch  # type: ignore[assignment]
    sheet: Any = book.active
    for row in (["Part", "Made"], ["Part 1", date(2024, 3, 5)], ["Part 2", datetime(2024, 3, 5, 10, 30)]):  # noqa: DTZ001
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    parts = documents(tmp_path / "a.xlsx", {"name": "Part", "columns": {"Made": "date"}})
    made = [part.metadata["Made"] for part in parts if isinstance(part, Document)]
    assert made == ["2024-03-05", "2024-03-05T10:30:00+00:00"]


def test_a_file_without_rows_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nText.", encoding="utf-8")
    (failed,) = documents(tmp_path / "a.md")
    assert isinstance(failed, ReadFailure)
    assert "is markdown, which has no rows; give a table: arrow, csv, json, jsonl, parquet, toml, xlsx, yaml" in str(
        failed.error
    )


def test_a_sheet_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    path = write_as(tmp_path / "parts.xlsx", rows(10))
    (failed,) = documents(path, MAPPING | {"sheet": "Prices"})
    assert isinstance(failed, ReadFailure)
    assert "has no sheet 'Prices'; its sheets: 'Sheet'" in str(failed.error)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "json", "yaml", "toml", "xlsx", "parquet", "feather"])
def test_the_inferred_mapping_can_be_given_back(tmp_path: Path, suffix: str) -> None:
    path = write_as(tmp_path / f"parts.{suffix}", rows(1000))
    mapping = preview([str(path)], ReadOptions())
    assert (mapping.key, mapping.name) == ("No", "Part")
    types = {name: column.type for name, column in mapping.columns.items()}
    assert types == {
        "Mass": "number",
        "Made": "date",
        "Maker": "reference",
        "Is used": "boolean",
        "Uses": "text",
        "Note": "text",
    }
    (tmp_path / "m.yaml").write_text(as_yaml(mapping), encoding="utf-8")
    assert table_mapping(tmp_path / "m.yaml") == mapping
    check_tables([str(path)], ReadOptions(rows=mapping))


def test_units_formats_codes_and_names_of_rows_are_inferred(tmp_path: Path) -> None:
    header = ("Name", "Height (m)", "Price", "Share", "Opened", "Postcode", "Part of")
    table = [
        {
            "Name": f"Bridge {at}",
            "Height (m)": f"{at},5",
            "Price": f"${at}000",
            "Share": f"{at} %",
            "Opened": f"{at + 10}.3.1999",
            "Postcode": f"0{at}123",
            "Part of": f"Bridge {at // 2}",
        }
        for at in range(1, 10)
    ]
    table[0]["Part of"] = ""
    mapping = preview([str(write_csv(tmp_path / "bridges.csv", table, header))], ReadOptions())
    assert mapping.name == "Name"
    assert as_yaml(mapping).split("columns:\n")[1] == (
        "  Height (m):\n    type: number\n    label: Height\n    unit: m\n    decimal: ','\n"
        "  Price:\n    type: number\n    unit: $\n"
        "  Share:\n    type: number\n    unit: '%'\n"
        "  Opened:\n    type: date\n    format: '%d.%m.%Y'\n"
        "  Postcode: text\n"
        "  Part of: reference\n"
    )


def _inferred(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return as_yaml(preview([str(path)], ReadOptions()))


@pytest.mark.parametrize(
    ("text", "mapping"),
    [
        # amounts are unique by chance, and no key
        (
            "Booked,Text,Balance\n2024-03-01,Rent,650.00\n2024-03-02,Rent,50.15\n",
            "name: Text\ncolumns:\n  Booked: date\n  Balance: number\n",
        ),
        ("Country,Year,Value\nA,2021,52\nA,2022,53\n", "name: Country\ncolumns:\n  Year: number\n  Value: number\n"),
        # what has no value
        ("Station,Mass\nA,12.4\nB,n/a\nC,-\n", "name: Station\nkey: Station\ncolumns:\n  Mass: number\n"),
        # signs and units as accountants write them
        (
            "No;Text;Amount EUR\n1;a;1.250,00\n2;b;34,50-\n",
            "name: Text\nkey: 'No'\ncolumns:\n  Amount EUR:\n"
            "    type: number\n    label: Amount\n    unit: EUR\n    decimal: ','\n",
        ),
        # what 1.250 and 03/04/2024 mean, other cells must show
        ("No;Text;Sold\n1;a;1.250\n2;b;2.300\n", "name: Text\nkey: 'No'\ncolumns:\n  Sold: text\n"),
        (
            "No;Text;Sold;Fee\n1;a;1.250;1,5\n2;b;2.300;2,5\n",
            "name: Text\nkey: 'No'\ncolumns:\n  Sold:\n    type: number\n    decimal: ','\n"
            "  Fee:\n    type: number\n    decimal: ','\n",
        ),
        ("No,Text,Day\n1,a,03/04/2024\n2,b,11/12/2024\n", "name: Text\nkey: 'No'\ncolumns:\n  Day: text\n"),
        (
            "No,Text,Day\n1,a,03/04/2024\n2,b,25/12/2024\n",
            "name: Text\nkey: 'No'\ncolumns:\n  Day:\n    type: date\n    format: '%d/%m/%Y'\n",
        ),
        (
            "No;Text;Mass;Fee\n1;a;1,500;1,5\n2;b;1,250;2,5\n",
            "name: Text\nkey: 'No'\ncolumns:\n  Mass:\n    type: number\n    decimal: ','\n"
            "  Fee:\n    type: number\n    decimal: ','\n",
        ),
        # codes, and a table of names alone
        (
            "No,Text,Phone,Norm\n1,a,030 123 456,DIN 912\n2,b,040 555 123,DIN 934\n",
            "name: Text\nkey: 'No'\ncolumns:\n  Phone: text\n  Norm: text\n",
        ),
        ("Amount,Name\n5,Ada\n7,Ada\n", "name: Name\nkey: Amount\ncolumns: {}\n"),
        # signs that are typed, and before a unit
        (
            "No;Text;Fee;Gain;Sum\n1;a;-€5.00;\u22125;1\u2019250.50\n2;b;€3.00;7;900.00\n",
            "name: Text\nkey: 'No'\ncolumns:\n  Fee:\n    type: number\n    unit: €\n  Gain: number\n  Sum: number\n",
        ),
        # codes and ages are no amounts
        ("Part,Town\nABC101,Bonn\nABC102,Kiel\n", "name: Part\nkey: Part\ncolumns:\n  Town: text\n"),
        ("No,Text,Age\n1,a,18-\n2,b,65-\n", "name: Text\nkey: 'No'\ncolumns:\n  Age: text\n"),
        # a key in words is the name
        (
            "Trip,City,Nights\nT1,Oslo,2\nT2,Rome,2\n",
            "name: Trip\nkey: Trip\ncolumns:\n  City: text\n  Nights: number\n",
        ),
    ],
)
def test_a_mapping_is_inferred_from_what_the_cells_show(tmp_path: Path, text: str, mapping: str) -> None:
    assert _inferred(tmp_path / "a.csv", text) == mapping


def test_values_of_nested_objects_are_columns_and_cells_without_a_value_are_empty(tmp_path: Path) -> None:
    lines = [
        {"id": f"A{at}", "customer": {"name": "Rosa", "country": "Sweden"}, "total": at or "n/a"} for at in range(3)
    ]
    path = tmp_path / "a.jsonl"
    inferred = _inferred(path, "\n".join(map(json.dumps, lines)))
    assert inferred.startswith(
        "name: id\nkey: id\ncolumns:\n  customer.name: reference\n  customer.country: reference\n  total: number"
    )
    mapping = preview([str(path)], ReadOptions())
    found = [each for each in read([str(path)], ReadOptions(rows=mapping)) if isinstance(each, Document)]
    assert [each.metadata.get("total") for each in found] == [None, 1, 2]
    assert "customer.country: Sweden" in found[0].text


def test_an_object_beside_plain_values_is_no_column(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "a", "x": 1}\n{"id": "b", "x": {"y": 6}}', encoding="utf-8")
    mapping = preview([str(tmp_path / "a.jsonl")], ReadOptions())
    assert as_yaml(mapping) == "name: id\nkey: id\ncolumns:\n  x.y: number\n"
    found = [
        each for each in read([str(tmp_path / "a.jsonl")], ReadOptions(rows=mapping)) if isinstance(each, Document)
    ]
    assert [dict(each.metadata) for each in found] == [{"id": "a", "x": 1}, {"id": "b", "x.y": 6}]


@pytest.mark.parametrize(("merged", "is_joined"), [("B1:C1", True), ("", False)])
def test_a_header_over_two_lines_of_a_workbook_is_joined(tmp_path: Path, merged: str, is_joined: bool) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (("Site", "Gas", None, "Area"), (None, 2022, "Cost (EUR)", None), ("Alder", 5, 7.5, 3)):
        book.active.append(row)
    if merged:
        book.active.merge_cells(merged)
    book.save(tmp_path / "a.xlsx")
    mapping = table_mapping(
        {"name": "Site", "columns": {"Gas 2022": "number", "Gas Cost (EUR)": "number", "Area": "number"}}
    )
    if not is_joined:
        with pytest.raises(InputError, match="'Gas 2022', which no row has"):
            check_tables([str(tmp_path / "a.xlsx")], ReadOptions(rows=mapping))
        return
    (found,) = documents(tmp_path / "a.xlsx", mapping)
    assert isinstance(found, Document)
    assert found.text == "Site: Alder\nGas 2022: 5\nGas Cost (EUR): 7.5\nArea: 3"


def test_a_row_whose_cells_are_as_wide_as_those_of_the_header_is_no_part_of_it(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (("Name", None, "Town", None), ("Ada", None, "Tolk", None), ("Ben", None, "Port", None)):
        book.active.append(row)
    for merged in ("A1:B1", "C1:D1", "A2:B2", "C2:D2", "A3:B3", "C3:D3"):
        book.active.merge_cells(merged)
    book.save(tmp_path / "a.xlsx")
    found = documents(tmp_path / "a.xlsx", table_mapping({"name": "Name", "columns": {"Town": "text"}}))
    assert [each.text for each in found] == ["Name: Ada\nTown: Tolk", "Name: Ben\nTown: Port"]


def test_a_merged_cell_of_a_workbook_is_the_value_of_each_of_its_rows(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in (("Part", "Region"), ("A", "North"), ("B", None), ("C", None), ("D", "South"), ("E", None)):
        book.active.append(row)
    book.active.merge_cells("B2:B4")
    book.save(tmp_path / "a.xlsx")
    found = documents(tmp_path / "a.xlsx", {"name": "Part", "columns": {"Region": "text"}})
    assert [each.metadata.get("Region") for each in found] == ["North", "North", "North", "South", None]


def test_a_table_without_rows_or_names_gives_no_mapping(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="has no rows to infer a mapping from"):
        preview([str(tmp_path / "a.csv")], ReadOptions())
    (tmp_path / "a.md").write_text("Text.", encoding="utf-8")
    with pytest.raises(InputError, match="there is no table among"):
        preview([str(tmp_path / "a.md")], ReadOptions())
    with pytest.raises(InputError, match="standard input"):
        preview(["-"], ReadOptions())
