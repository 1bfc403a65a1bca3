import gzip
import io
import json
import re
import tracemalloc
from pathlib import Path

import pytest

from hlgraph.read import ReadFailure, ReadOptions, is_covered, read
from hlgraph.records import Document


def run(path: Path, data: bytes | str, **options: object) -> tuple[list[Document], list[str]]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    items = list(read([str(path)], ReadOptions(**options)))
    uri = path.as_uri()
    return (
        [item for item in items if isinstance(item, Document)],
        [str(item.error).removeprefix(uri) for item in items if isinstance(item, ReadFailure)],
    )


def test_json_lines_keep_types_and_use_the_default_columns(tmp_path: Path) -> None:
    row = {
        "id": 7, "text": "a\r\nb", "title": " The \n title", "n": 3, "x": 0.5, "yes": True, "no": None,
        "tags": ["a", 1], "deep": {"er": {"est": "v"}, "list": [{"a": 1}]}, "empty": [], "blank": "", "big": 2**70,
        "nul": "a\u0000b",
    }  # fmt: skip
    documents, failures = run(tmp_path / "a.jsonl", json.dumps(row))
    assert failures == []
    assert documents == [
        Document(
            uri=f"{(tmp_path / 'a.jsonl').as_uri()}#7",
            text="a\nb",
            title="The title",
            metadata={
                "n": 3, "x": 0.5, "yes": True, "tags": ("a", 1), "deep.er.est": "v", "blank": "", "big": str(2**70),
                "nul": "ab",
            },
            key="7",
        )
    ]  # fmt: skip
    assert isinstance(documents[0].metadata["yes"], bool)


def test_a_malformed_line_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    lines = [
        json.dumps({"id": number, "text": f"täxt {number}"}, ensure_ascii=False).encode() for number in range(1, 11)
    ]
    lines[6] = b'{"id": 7, "text": '
    lines[7] = b'{"id": 8, "text": "\xff"}'
    lines[8] = b"[9]"
    documents, failures = run(tmp_path / "a.jsonl", b"\r\n\n".join(lines))
    assert [found.key for found in documents] == ["1", "2", "3", "4", "5", "6", "10"]
    assert failures == [
        ": line 13 is not JSON (Input data was truncated)",
        ": line 15 is not utf-8 text (byte 19 of the line); give its encoding, for example --encoding latin-1",
        ": line 17 is not an object but list",
    ]


def test_a_failure_of_a_row_with_an_id_protects_that_row_else_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a/b c#d%", "text": " "}\n{"text": ""}\n{oops\n')
    named, unnamed, broken = (item for item in read([str(path)]) if isinstance(item, ReadFailure))
    assert named.uri == f"{path.as_uri()}#a/b%20c%23d%25"
    assert str(named.error).endswith(": line 1: its text is empty")
    assert unnamed.uri == broken.uri == path.as_uri()
    assert is_covered(f"{path.as_uri()}#anything", {unnamed.uri})
    assert not is_covered(f"{path.as_uri()}#anything", {named.uri})


def test_duplicate_ids_name_both_lines(tmp_path: Path) -> None:
    data = '{"id": 1, "text": "one"}\n{"id": "1", "text": "two"}\n{"text": "same"}\n{"text": "same"}\n'
    documents, failures = run(tmp_path / "a.jsonl", data)
    assert [found.text for found in documents] == ["one", "same"]
    assert failures[0] == "#1: duplicate id '1' in line 2, first in line 1; make the ids unique"
    assert failures[1].endswith(": line 4 is the same as line 3; give the rows ids to keep both")


def test_rows_without_ids_are_named_by_content_not_by_place(tmp_path: Path) -> None:
    before, _ = run(tmp_path / "a.jsonl", '{"text": "one", "n": 1}\n{"text": "two"}\n')
    after, _ = run(tmp_path / "a.jsonl", '{"text": "new"}\n{"n": 1, "text": "one"}\n\n{"text": "two"}\n')
    assert [found.uri for found in before] == [found.uri for found in after[1:]]
    assert all(found.key is None for found in before)


@pytest.mark.parametrize("key", ["", None, " ", True, [1], {"$oid": "x"}])
def test_what_is_no_id_is_no_id(tmp_path: Path, key: object) -> None:
    [found], _ = run(tmp_path / "a.jsonl", json.dumps({"id": key, "text": "one"}))
    assert found.key is None


def test_mapping_renames_joins_and_reaches_into_objects(tmp_path: Path) -> None:
    row = {
        "_id": {"$oid": "abc"}, "headline": "Head", "body": {"content": "Body", "by": "Jo"}, "text": "kept",
        "lang": {"code": "en", "sure": 0.9}, "a.b": 5, "year": 1999,
    }  # fmt: skip
    mapping = {
        "id": "_id.$oid", "text": "headline+body.content", "title": "year", "language": "lang", "metadata.five": "a.b",
        "gone": "nowhere",
    }  # fmt: skip
    [found], failures = run(tmp_path / "a.jsonl", json.dumps(row), mapping=mapping)
    assert failures == []
    assert (found.key, found.text, found.title) == ("abc", "Head\n\nBody", "1999")
    assert found.metadata == {
        "language.code": "en",
        "language.sure": 0.9,
        "five": 5,
        "body.by": "Jo",
        "text": "kept",
    }


def test_a_column_that_is_called_with_a_plus_is_found(tmp_path: Path) -> None:
    [found], _ = run(tmp_path / "a.jsonl", '{"a+b": "whole", "a": "x", "b": "y"}', mapping={"text": "a+b"})
    assert found.text == "whole"
    assert found.metadata == {"a": "x", "b": "y"}


def test_default_text_is_the_first_column_that_holds_some(tmp_path: Path) -> None:
    data = '{"id": 1, "text": null, "body": "b"}\n{"id": 2, "text": " ", "content": "c"}\n{"id": 3, "text": 42}'
    documents, _ = run(tmp_path / "a.jsonl", data)
    assert [found.text for found in documents] == ["b", "c", "42"]


def test_rows_that_lack_what_was_mapped_say_which_columns_there_are(tmp_path: Path) -> None:
    _, failures = run(tmp_path / "a.jsonl", '{"id": 1, "x": "y"}\n{"id": 2, "text": ["a"]}\n{"text": "ok"}')
    assert failures[0] == (
        "#1: line 1: has no column text or body or content for the text; its columns: id, x; "
        "name the column that holds the text, for example --map text=x"
    )
    assert "#2: line 2: its column 'text' is not text but list" in failures[1]
    _, failures = run(tmp_path / "a.jsonl", '{"text": "ok"}', mapping={"id": "doi"})
    assert failures == [": line 1: has no id in the column 'doi'; correct --map id=COLUMN"]


@pytest.mark.parametrize(
    ("name", "data", "mapping"),
    [
        ("a.jsonl", "{}", {"text": "body"}),
        ("a.json", "[{}]", {"text": "body"}),
        ("a.csv", "id,name,about\n{}", {"text": "body"}),
        ("a.csv", "id,text,about\n{}", {"id": "doi"}),
    ],
)
def test_a_file_whose_rows_all_lack_the_text_is_one_failure(
    tmp_path: Path, name: str, data: str, mapping: dict[str, str]
) -> None:
    rows = [{"id": at, "name": "A", "about": "A bridge."} for at in range(1_200)]
    if name == "a.csv":
        body = "".join(f"{row['id']},{row['name']},{row['about']}\n" for row in rows)
    else:
        body = (",\n" if name == "a.json" else "\n").join(map(json.dumps, rows))
    documents, failures = run(tmp_path / name, data.replace("{}", body), mapping=mapping)
    assert documents == []
    place = {"a.csv": "line 2", "a.jsonl": "line 1", "a.json": "row 1"}[name]
    assert len(failures) == 1
    assert failures[0].startswith(f": none of its 1,200 rows can be read: {place}: has no ")
    assert failures[0].endswith("--map id=COLUMN" if "id" in mapping else "--map text=about")


def test_where_one_row_has_the_text_the_others_fail_one_by_one(tmp_path: Path) -> None:
    rows = [{"id": at, "about": "A bridge."} for at in range(1_200)]
    data = "\n".join(map(json.dumps, [*rows, {"id": 1_200, "text": "The bridge."}, rows[0]]))
    documents, failures = run(tmp_path / "a.jsonl", data, mapping={"text": "text"})
    assert (len(documents), len(failures)) == (1, 1_002)
    assert failures[0].startswith("#0: line 1: has no column")
    assert failures[1_000].startswith(": 200 rows after these lack the same: line 1000: has no column")
    assert failures[1_001].startswith("#0: line 1202: has no column")


def test_too_many_or_too_deep_values_are_failures(tmp_path: Path) -> None:
    wide = json.dumps({"text": "a", **{str(number): number for number in range(10_001)}})
    deep = '{"text": "a", "b": ' + '{"a": ' * 40 + "1" + "}" * 41
    deeper = '{"text": "a", "b": ' + "[" * 100_000 + "]" * 100_000 + "}"
    documents, failures = run(tmp_path / "a.jsonl", "\n".join((wide, deep, deeper, '{"text": "fine"}')))
    assert [found.text for found in documents] == ["fine"]
    assert [message[:8] for message in failures] == [": line 1", ": line 2", ": line 3"]


@pytest.mark.parametrize(
    "data",
    [
        '[{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]',
        '{"count": 2, "rows": [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}]}',
    ],
)
def test_json_arrays_are_rows(tmp_path: Path, data: str) -> None:
    documents, failures = run(tmp_path / "a.json", data)
    assert ([found.key for found in documents], failures) == (["1", "2"], [])


def test_json_object_is_one_row(tmp_path: Path) -> None:
    [found], _ = run(tmp_path / "a.json", '{"text": "a", "parts": [{"text": "b"}], "n": 1}'.encode("utf-16"))
    assert (found.text, dict(found.metadata)) == ("a", {"n": 1})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("[1, 2", ": is not JSON (Input data was truncated); if it holds one object per line, use --format jsonl"),
        ('{"text": "a"}\n{"text": "b"}', ": is not JSON (JSON is malformed: trailing characters (byte 15))"),
        ("[]", ": is empty: it holds no rows"),
        ("3", ": row 1 is not an object but int"),
        ('["a", {}]', ": row 1 is not an object but str"),
        ("{}", ": is empty: it holds no rows"),
        ("[{}, {}]", ": is empty: it holds no rows"),
    ],
)
def test_json_that_holds_no_rows_is_a_failure(tmp_path: Path, data: str, message: str) -> None:
    documents, failures = run(tmp_path / "a.json", data)
    assert documents == []
    assert failures[0].startswith(message)


RECORDS = [
    {"pump": "P-1", "bar": {"in": 2.1, "out": 6}, "halls": ["n", "e"]},
    {"pump": "P-2", "bar": {"in": None}, "ok": True},
]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.json", json.dumps(RECORDS)),
        ("a.json", json.dumps({"next": "/2", "more": None, "items": RECORDS})),
        ("a.jsonl", "\n".join(map(json.dumps, RECORDS))),
    ],
)
def test_json_records_without_a_text_are_a_table(tmp_path: Path, name: str, data: str) -> None:
    [found], _ = run(tmp_path / name, data)
    beside = ["next: /2", ""] if "next" in data else []
    assert found.text.splitlines() == [
        *beside,
        *("| pump | bar in | bar out | halls | ok |", "| --- | --- | --- | --- | --- |"),
        *("| P-1 | 2.1 | 6 | n, e |  |", "| P-2 |  |  |  | true |"),
    ]
    assert (found.uri, found.metadata["rows"], found.warnings) == ((tmp_path / name).as_uri(), 2, ())


def test_json_records_of_many_shapes_are_tables_of_bounded_width_and_flaws_are_named(tmp_path: Path) -> None:
    rows = [*({f"k{at}": at} for at in range(1_500)), [1], {str(at): at for at in range(10_001)}]
    documents, failures = run(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert [document.uri.rpartition("#")[2] for document in documents] == ["rows-1", "rows-513", "rows-1025"]
    assert sum(document.text.count("\n") - 1 for document in documents) == 1_500
    assert [message[:12] for message in failures] == [": line 1501 ", ": line 1502 "]


def test_one_json_object_without_a_text_is_a_table_of_its_values(tmp_path: Path) -> None:
    [found], _ = run(
        tmp_path / "a.json",
        '{"pump": {"name": "P-1", "bar": [1, 2]}, "none": null, "parts": [{"a": 1}], "more": [{"a": 2}]}',
    )
    assert found.text.splitlines()[2:] == [
        "| pump name | P-1 |",
        "| pump bar | 1, 2 |",
        "| parts 1 a | 1 |",
        "| more 1 a | 2 |",
    ]


def test_several_lists_of_one_json_object_are_tables_below_their_names(tmp_path: Path) -> None:
    work = '[{"at": "Sarn", "from": 2017, "did": ["a", "b"]}, {"at": "Helm"}]'
    source = f'{{"name": "Ada", "work": {work}, "spoke": [{{"what": "Danish", "how": "B2"}}]}}'
    [found], failures = run(tmp_path / "a.json", source)
    assert failures == []
    assert found.text.split("\n\n") == [
        "name: Ada",
        "## work",
        "| at | from | did |\n| --- | --- | --- |\n| Sarn | 2017 | a, b |\n| Helm |  |  |",
        "## spoke",
        "| what | how |\n| --- | --- |\n| Danish | B2 |",
    ]


def test_lists_of_one_json_object_with_too_many_columns_are_values_with_their_paths(tmp_path: Path) -> None:
    rows = [{f"k{at}": at, "n": at} for at in range(1_001)]
    documents, failures = run(tmp_path / "a.json", json.dumps({"one": rows, "two": rows[:2]}))
    assert failures == []
    assert any("| one 1001 k1000 | 1000 |" in each.text for each in documents)


def test_texts_in_an_object_that_says_more_are_no_documents(tmp_path: Path) -> None:
    steps = '[{"text": "Mix it."}, {"text": "Bake it."}]'
    recipe = f'{{"name": "Rye bread of Sarn", "needs": ["500 g flour", "10 g salt"], "steps": {steps}}}'
    [found], _ = run(tmp_path / "a.json", recipe)
    assert [line for line in found.text.splitlines() if line.startswith("| needs") or "steps 2" in line] == [
        "| needs | 500 g flour, 10 g salt |",
        "| steps 2 text | Bake it. |",
    ]
    export, _ = run(tmp_path / "b.json", '{"total": 2, "items": [{"text": "Mix it well."}, {"text": "Bake it."}]}')
    assert [each.text for each in export] == ["Mix it well.", "Bake it."]
    items = ", ".join(f'{{"text": "Step {number}"}}' for number in range(1_500))
    export, _ = run(tmp_path / "c.json", f'{{"license": "{"x" * 25_000}", "items": [{items}]}}')
    assert len(export) == 1_500
    mapped, _ = run(tmp_path / "a.json", recipe, mapping={"text": "text"})
    assert [each.text for each in mapped] == ["Mix it.", "Bake it."]


def test_blanks_between_a_delimiter_and_a_quotation_mark_do_not_end_the_quotation(tmp_path: Path) -> None:
    data = '"Treat", "Cost", "Said"\n"Frog", 1.49, "If we took out the bones, it wouldn\'t be crunchy"\n'
    [found], failures = run(tmp_path / "a.csv", data)
    assert failures == []
    assert found.text.splitlines()[2] == "| Frog | 1.49 | If we took out the bones, it wouldn't be crunchy |"


def test_csv_cells_are_typed_with_care(tmp_path: Path) -> None:
    data = (
        "id,text,n,zip,price,day,ok,gap,exp\n"
        '007,"a ""quoted"", text\nof two lines",7,007,3.50,2024-03-05,TRUE,,1e5\n'
        "8,9,-12,+5,-0.25,12:30,false,,1_000\n"
    )
    documents, failures = run(tmp_path / "a.csv", data)
    assert failures == []
    assert [found.key for found in documents] == ["007", "8"]
    assert documents[0].text == 'a "quoted", text\nof two lines'
    assert documents[0].metadata == {"n": 7, "zip": "007", "price": 3.5, "day": "2024-03-05", "ok": True, "exp": "1e5"}
    assert documents[1].text == "9"
    assert documents[1].metadata == {
        "n": -12, "zip": "+5", "price": -0.25, "day": "12:30", "ok": False, "exp": "1_000",
    }  # fmt: skip


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_delimiter_is_taken_from_the_header(tmp_path: Path, delimiter: str) -> None:
    rows = [["id", "text", "x"], ["1", "one", "1,5"], ["2", "two", "b"]]
    body = "\r\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    documents, failures = run(tmp_path / "a.tsv", b"\xef\xbb\xbf" + body.encode())
    assert failures == []
    assert [found.metadata["x"] for found in documents] == ["1,5", "b"]


def test_csv_rows_that_are_wrong_name_their_first_line(tmp_path: Path) -> None:
    data = b'id,text\n1,"tw\xc3\xb6\nl\xc3\xacn\xc3\xa9s"\n2,a,b\n3\n4,"x"y\n5,\xff\n,,\n\n6,six\n7,"open\n8,eight\n'
    documents, failures = run(tmp_path / "a.csv", data)
    assert [found.key for found in documents] == ["1", "6"]
    assert [message.split(" (")[0] for message in failures] == [
        ": line 4 has 3 cells, the header has 2; quote the cells that hold a delimiter",
        ": line 5 has 1 cells, the header has 2; quote the cells that hold a delimiter",
        ": line 6 is not CSV",
        ": line 7 is not utf-8 text",
        ": line 11 is not CSV",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("a,b\n", ": is empty: it holds no rows"),
        ("text,a,a\n1,2,3\n", ": two columns are called 'a'"),
        ('"text\n', ": its header is not CSV"),
        (b"te\xffxt,a\n1,\xc3\xa9\xc3\xa9\xc3\xa9\n", ": its header is not utf-8 text"),
        (b"text,a\0\n1,2\n", ": is binary, not text"),
        ("text,a\n", ": is empty: it holds no rows"),
    ],
)
def test_csv_header_that_cannot_be_used_is_one_failure(tmp_path: Path, data: bytes | str, message: str) -> None:
    documents, failures = run(tmp_path / "a.csv", data)
    assert documents == []
    assert len(failures) == 1
    assert failures[0].startswith(message)


@pytest.mark.parametrize(
    ("first", "below", "is_header"),
    [
        ("Ada,31", "Ben,27\nCas,40", False),
        ("2024-01-02;Rent;-300,00", "2024-01-05;Pay;2000,00", False),
        ("M-7,rope,ea,1,4.39", "M-7,nail,ea,10,0.06", False),
        ("a@b.org,Ada", "c@d.org,Ben", False),
        ("Land,2019,2020", "DE,5,6", True),
        ("Town,1,2,3", "Sarn,5,6,7", True),
        ("1,2,3", "4,5,6", True),
        ("Land,Lat,1/22/20,1/23/20", "DE,30.9,444,445", True),
        ("Part,Size,Size", "Seal,1,2", True),
    ],
)
def test_a_first_row_of_data_is_no_header_and_two_columns_may_have_one_name(
    tmp_path: Path, first: str, below: str, is_header: bool
) -> None:
    [found], failures = run(tmp_path / "a.csv", f"{first}\n{below}\n")
    rows = [re.split("[,;] ?" if ";" not in first else ";", line) for line in f"{first}\n{below}".split("\n")]
    rows = rows if is_header else [[""] * len(rows[0]), *rows]
    shown = [f"| {' | '.join(row)} |" for row in rows]
    assert (found.text.split("\n"), failures) == ([shown[0], "|" + " --- |" * len(rows[0]), *shown[1:]], [])


def test_csv_cells_may_be_longer_than_the_module_allows_by_itself(tmp_path: Path) -> None:
    [found], failures = run(tmp_path / "a.csv", "text,\n" + "x " * 150_000 + ",unnamed\n")
    assert (len(found.text), dict(found.metadata), failures) == (300_000, {}, [])


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1", "utf-16-le"])
def test_rows_in_other_encodings(tmp_path: Path, name: str, encoding: str) -> None:
    data = {"a.csv": "id,text\n1,Grüße\n", "a.jsonl": '{"id": 1, "text": "Grüße"}\n'}[name]
    is_marked = encoding in ("utf-8-sig", "utf-16")
    [found], _ = run(tmp_path / name, data.encode(encoding), encoding=None if is_marked else encoding)
    assert found.text == "Grüße"
    [found], _ = run(tmp_path / name, data.encode(encoding), encoding=encoding)
    assert found.text == "Grüße"


def test_long_rows_fail_alone(tmp_path: Path) -> None:
    lines = [json.dumps({"id": number, "text": "x" * size}) for number, size in enumerate((5, 200, 79, 80, 6))]
    documents, failures = run(tmp_path / "a.jsonl", "\n".join(lines), max_bytes=100)
    assert len(lines[2]) == 100
    assert [found.key for found in documents] == ["0", "2", "4"]
    assert failures == [
        f": line {number} is longer than 100 bytes; split it, or raise --max-bytes" for number in (2, 4)
    ]
    table = 'id,text\n1,a\n2,"{}\n3,c\n4,"open\n{}'.format("x" * 200, "5,e\n" * 50)
    documents, failures = run(tmp_path / "a.csv", table, max_bytes=100)
    assert {found.key for found in documents} >= {"1", "3", "5"}
    assert ": line 3 is longer than 100 bytes (an unclosed quote?); split it, or raise --max-bytes" in failures
    assert ": line 5 is longer than 100 bytes (an unclosed quote?); split it, or raise --max-bytes" in failures


class Endless(io.RawIOBase):
    """A pipe that gives one long line and a short one, and never holds them."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._tail = b'\n{"id": 2, "text": "last"}\n'

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if self._left:
            count = min(self._left, len(buffer))
            buffer[:count] = b"x" * count
            self._left -= count
            return count
        count = min(len(self._tail), len(buffer))
        buffer[:count], self._tail = self._tail[:count], self._tail[count:]
        return count


def test_a_long_line_is_not_held_beyond_the_limit() -> None:
    tracemalloc.start()
    items = list(read(["-"], ReadOptions(format="jsonl", max_bytes=1 << 20), stdin=Endless(60 << 20)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [isinstance(item, Document) for item in items] == [False, True]
    assert peak < 6 << 20


def test_rows_before_the_damage_in_a_gzip_file_are_kept(tmp_path: Path) -> None:
    lines = [json.dumps({"id": number, "text": f"{number * 7919 % 104729}"}) for number in range(5000)]
    whole = gzip.compress("\n".join(lines).encode())
    documents, failures = run(tmp_path / "a.jsonl.gz", whole[: len(whole) // 2])
    assert 1000 < len(documents) < 5000
    assert [found.key for found in documents] == [str(number) for number in range(len(documents))]
    assert len(failures) == 1
    assert failures[0].startswith(": the gzip data is damaged or cut off")
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 255
    documents, failures = run(tmp_path / "b.jsonl.gz", bytes(damaged))
    assert len(documents) > 500
    assert failures[-1].startswith(": the gzip data is damaged or cut off")


def test_documents_come_while_the_rest_is_unread() -> None:
    source = io.BytesIO(b'{"id": 1, "text": "one"}\n' + b'{"id": 2, "text": "two"}\n' * 100_000)
    stream = read(["-"], ReadOptions(format="jsonl"), stdin=source)
    first = next(stream)
    assert isinstance(first, Document)
    assert source.tell() < 200_000


@pytest.mark.parametrize(
    ("source", "above"),
    [
        ("Report: Stock\nDate: 2026-03-04\n\nPart,Count\nP-1,3\nP-2,\n", ["Report: Stock", "Date: 2026-03-04"]),
        ("Stock,\n,\nas of May,\nPart,Count\nP-1,3\nP-2,\n", ["Stock", "as of May"]),
        ("sep=;\nPart;Count\nP-1;3\nP-2;\n", []),
        ("# made by hand\n# in May\nPart\tCount\nP-1\t3\nP-2\t\n", ["made by hand", "in May"]),
        ("#Part,Count\nP-1,3\nP-2,\n", None),
        ("Part,Count\n\nP-1,3\nP-2,\n", []),
    ],
)
def test_lines_above_the_header_of_a_csv_file_are_no_header(
    tmp_path: Path, source: str, above: list[str] | None
) -> None:
    [found], failures = run(tmp_path / "a.csv", source)
    assert failures == []
    assert [line for line in found.text.splitlines() if line and not line.startswith("| -")] == [
        *(above or []),
        *("| #Part | Count |" if above is None else "| Part | Count |", "| P-1 | 3 |", "| P-2 |  |"),
    ]


def test_sentences_below_the_rows_of_a_csv_file_are_no_cells(tmp_path: Path) -> None:
    rows = "Size;Fee;Note\nSmall;7,90;\nLarge;18,40;in May\n;;\n"
    [found], failures = run(
        tmp_path / "a.csv", f"{rows}* all prices without VAT of 7 %;;\nValid as long as it rains;;\n"
    )
    assert failures == []
    assert found.text.split("\n\n")[1:] == ["* all prices without VAT of 7 %", "Valid as long as it rains"]
    [found], _ = run(tmp_path / "b.csv", f"{rows}Total;26,30;\nVery large;;\n")
    assert found.text.splitlines()[-1] == "| Very large |  |  |"
    [found], failures = run(
        tmp_path / "a.csv", 'Size,Fee,Note\nSmall,7,new\nLarge,18,\n\n"Tuesday, 5 March - accrual basis."\n'
    )
    assert failures == []
    assert found.text.split("\n\n")[1:] == ["Tuesday, 5 March - accrual basis."]
    for name in ("# of pieces: those of all sizes", "| a | sign that was not escaped."):  # no heading, no table
        [found], _ = run(tmp_path / "c.csv", f"{rows}{name};;\n")
        assert found.text.splitlines()[-1] == f"| {name.replace('|', chr(92) + '|')} |  |  |"
    tasks = "Task,Owner,Due\nBuy paint,Ada,May\nWrite the report on the harbour,,\nCall the office of the mayor,,\n"
    [found], _ = run(tmp_path / "d.csv", tasks)
    assert found.text.splitlines()[-1] == "| Call the office of the mayor |  |  |"


def test_a_delimiter_in_quotes_makes_a_name_with_a_number_sign_no_comment(tmp_path: Path) -> None:
    [found], failures = run(tmp_path / "a.csv", '#,Subject\n4,"Stops, no alarm, ""now""\nand later"\n5,Wind\n')
    assert failures == []
    assert found.text.splitlines()[0] == "| # | Subject |"
    assert found.text.count("|\n") == 3


def test_lines_below_a_title_keep_their_numbers_and_a_column_of_texts_is_no_title(tmp_path: Path) -> None:
    _, failures = run(tmp_path / "a.csv", "Stock\n\nPart,Count\nP-1,3\nP-2,3,4\n")
    assert failures == [": line 5 has 3 cells, the header has 2; quote the cells that hold a delimiter"]
    documents, _ = run(tmp_path / "a.csv", "Title\n\nid,text\n1,One.\n")
    assert [(found.text, found.warnings) for found in documents] == [("One.", ("not read: line above the header",))]
    documents, _ = run(tmp_path / "a.csv", "text\nOne word\n\nTwo words\n")
    assert [found.text for found in documents] == ["One word", "Two words"]


def test_what_stands_above_the_header_of_a_statement_is_no_label(tmp_path: Path) -> None:
    above = "Kontoauszug;Musterbank;;;\nIBAN;DE12 5001;;;\n\n"
    rows = "Tag;Valuta;Wer;Zweck;Betrag\n01.03.;01.03.;Werk;Strom;-84,50\n04.03.;04.03.;Lind;Miete;-1.150,00\n;;;Saldo;2,92\n"
    for start in (above, above.replace(";;;", "")):
        [found], failures = run(tmp_path / "a.csv", start + rows)
        assert found.text.split("\n\n")[:2] == ["Kontoauszug: Musterbank", "IBAN: DE12 5001"]
        assert "| Tag | Valuta | Wer | Zweck | Betrag |\n| --- |" in found.text
        assert "| 04.03. | 04.03. | Lind | Miete | -1.150,00 |" in found.text
        assert not failures
    [found], _ = run(tmp_path / "a.csv", "name;value\nbolt;3\nnut;4\n")
    assert found.text.startswith("| name | value |")


@pytest.mark.parametrize(
    "above", ["Energy meters of the town\n", "Report: Energy meters\nExported on: 03.02.2024;;;\n\n"]
)
def test_lines_without_a_delimiter_above_a_table_leave_it_its_own(above: str, tmp_path: Path) -> None:
    rows = "Meter;Building;Reading;Date\n4711;Town hall;12.345,6;31.01.2024\nTotal;;21.335,6;\n"
    (tmp_path / "a.csv").write_text(above + rows)
    [document] = read([str(tmp_path / "a.csv")])
    assert isinstance(document, Document)
    assert document.text.startswith(above[:12])
    assert "| Meter | Building | Reading | Date |" in document.text
    assert "| 4711 | Town hall | 12.345,6 | 31.01.2024 |" in document.text


def test_a_row_without_a_text_has_its_description_or_its_title_as_text(tmp_path: Path) -> None:
    rows = [
        {"title": "One", "body": "It runs."},
        {"title": "Two", "body": None},
        {"title": "Three", "summary": "Red.", "body": ""},
    ]
    documents, failures = run(tmp_path / "a.json", json.dumps(rows))
    assert [(each.title, each.text) for each in documents] == [("One", "It runs."), ("Two", "Two"), ("Three", "Red.")]
    assert not failures
    documents, failures = run(tmp_path / "a.json", json.dumps(rows), mapping={"text": "body"})
    assert (len(documents), len(failures)) == (1, 2)


@pytest.mark.parametrize(
    ("head", "labels"),
    [
        (
            "Id,How old?,,Which?,\n,Response,Other,Crane,Dock\n",
            "| Id | How old? | How old? Other | Which? Crane | Which? Dock |",
        ),
        (
            'A,B,C,D,E\nId,How old?,Other,Crane,Dock\n"{""ImportId"":""a""}",x,x,x,x\n',
            "| Id | How old? | Other | Crane | Dock |",
        ),
        ("Id,How old?,,Which?,\n", None),  # one line
    ],
)
def test_a_survey_has_the_lines_of_its_header_in_its_labels(head: str, labels: str | None, tmp_path: Path) -> None:
    [found], failures = run(tmp_path / "a.csv", f"{head}7,5 years,,Crane,\n8,,New,,Dock\n")
    lines = found.text.splitlines()
    assert lines[0] == labels or labels is None
    assert lines[2:] == ["| 7 | 5 years |  | Crane |  |", "| 8 |  | New |  | Dock |"]
    assert not failures


@pytest.mark.parametrize(
    ("head", "labels"),
    [
        ("time,temp,dir,state\nISO 8601,degC,deg,\n", "| time (ISO 8601) | temp (degC) | dir (deg) | state |"),
        ("time,temp,dir,state\n,[K],°,\n", "| time | temp (K) | dir (°) | state |"),
        (",Frogs,,Note\nPond,Adults,Spawn,All\n", "| Pond | Frogs Adults | Frogs Spawn | Note All |"),
        ("time,temp,dir,state\nday,mild,,low\n", "| time | temp | dir | state |"),  # words are a row
        ("time,temp,dir,state\nday,NA,n/a,\n", "| time | temp | dir | state |"),  # and so are values that are missing
        ("time,wind,,state\n,m,s,x\n", "| time | wind m | wind s | state x |"),
    ],
)
def test_a_line_of_units_and_one_below_groups_of_columns_are_part_of_the_header(
    head: str, labels: str, tmp_path: Path
) -> None:
    [found], failures = run(tmp_path / "a.csv", f"{head}2024-01-01T00:00,-3.2,270,ok\n2024-01-01T01:00,-3.5,7,wind\n")
    assert found.text.split("\n")[0] == labels
    assert found.text.split("\n")[-1] == "| 2024-01-01T01:00 | -3.5 | 7 | wind |"
    assert not failures


def test_a_name_alone_without_its_total_is_a_row_whose_values_are_missing(tmp_path: Path) -> None:
    lines = [",height,weight", "Ada,1.5,60", "Bob,,", "Cem,1.6,61", "Total,3.1,121"]
    [found], failures = run(tmp_path / "a.csv", "\n".join(lines) + "\n")
    assert failures == []
    assert found.text.split("\n")[2:] == [
        "| Ada | 1.5 | 60 |",
        "| Bob |  |  |",
        "| Cem | 1.6 | 61 |",
        "| Total | 3.1 | 121 |",
    ]


def test_a_name_alone_in_a_report_is_a_section_of_the_rows_below_it_until_their_total(tmp_path: Path) -> None:
    lines = [
        ",Jan,Feb",
        "Income,,",
        "   Sales,10,12",
        "Total Income,10,12",
        "Costs,,",
        "   Rent,6,6",
        "   Sales,1,",
        "Total Costs,7,6",
    ]
    [found], failures = run(tmp_path / "a.csv", "\n".join([*lines, "Net Income,3,6"]) + "\n")
    assert failures == []
    assert found.text.split("\n")[2:] == [
        "| Income | Sales | 10 | 12 |",
        "| Income | Total Income | 10 | 12 |",
        "| Costs | Rent | 6 | 6 |",
        "| Costs | Sales | 1 |  |",
        "| Costs | Total Costs | 7 | 6 |",
        "|  | Net Income | 3 | 6 |",
    ]
