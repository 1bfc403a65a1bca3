import gzip
import io
import re
from pathlib import Path

import pytest
from growth import assert_linear

from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.extract.local._units import units
from hlgraph.read import FORMATS, ReadFailure, ReadOptions, read
from hlgraph.read.formats import SUFFIXES
from hlgraph.read.formats.ipynb_markdown import with_drawn_tables
from hlgraph.records import Document


def document(path: Path, options: ReadOptions | None = None) -> Document:
    [item] = read([str(path)], options)
    assert isinstance(item, Document), item
    return item


def error(path: Path, options: ReadOptions | None = None) -> ReadError:
    [item] = read([str(path)], options)
    assert isinstance(item, ReadFailure), item
    assert item.uri == item.error.uri == path.as_uri()
    return item.error


def given(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("suffix", ["log", "txt"])
def test_who_writes_in_a_chat_of_irc_stands_before_the_words(suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{suffix}").write_text(
        "09:02 <marta> is it out?\n09:03 <@oskar> no, in July\n09:05 < lin> I can look\n09:06  * marta cheers\n"
    )
    [found] = read([str(tmp_path / f"a.{suffix}")])
    assert isinstance(found, Document)
    assert re.sub(r"\n+", "\n", found.text).split("\n")[:3] == [
        *("09:02 marta: is it out?", "09:03 oskar: no, in July", "09:05 lin: I can look"),
    ]


def test_every_format_has_one_reader_and_a_suffix() -> None:
    assert list(FORMATS) == [
        *(
            "arrow",
            "asciidoc",
            "bibtex",
            "csv",
            "dita",
            "docbook",
            "docx",
            "eml",
            "epub",
            "fb2",
            "geojson",
            "gpx",
            "html",
            "ics",
            "ini",
            "ipynb",
            "jats",
            "json",
            "jsonl",
            "kml",
            "kmz",
            "latex",
            "log",
            "man",
            "markdown",
        ),
        *(
            "mbox",
            "mhtml",
            "msg",
            "nbib",
            "odp",
            "ods",
            "odt",
            "org",
            "parquet",
            "pdf",
            "pptx",
            "properties",
            "ris",
            "rst",
            "rtf",
            "srt",
            "tei",
            "text",
            "toml",
            "vcf",
            "vtt",
            "wikitext",
        ),
        "xlsx",
        "xml",
        "yaml",
    ]
    assert set(SUFFIXES.values()) == set(FORMATS)
    assert len(SUFFIXES) == sum(len(item.suffixes) for item in FORMATS.values())


def test_text_is_kept_with_its_file_name_as_title(tmp_path: Path) -> None:
    found = document(given(tmp_path / "my notes.v2.txt", "e\u0301 \u2028 one\r\ntwo\rthree\n".encode()))
    assert found == Document(
        uri=f"{tmp_path.as_uri()}/my%20notes.v2.txt",
        text="e\u0301 \u2028 one\ntwo\nthree\n",
        title="my notes.v2",
        metadata={"filename": "my notes.v2.txt"},
    )


def test_a_text_of_pages_has_no_running_lines_and_whole_sentences(tmp_path: Path) -> None:
    def page(number: int, text: str) -> str:
        top = "" if number == 1 else "RFC 7                Key Words                May 1997\n\n\n"
        return f"{top}{text}\n\n\n\nFalk                 Best Practice                [Page {number}]\n"

    first = "1. Guidance\n\n   In particular, they MUST only be used where it is"
    pages = (first, "   required for all of it.\n\n2. Security", "   It is safe.", "3. Thanks\n\n   To all.")
    (tmp_path / "a.txt").write_text("\f\n".join(map(page, range(1, 5), pages)), encoding="utf-8")
    [found] = read([str(tmp_path / "a.txt")])
    assert isinstance(found, Document)
    stated = [each.text for each in units(found.text, ())]
    assert stated[-6:] == [
        "Guidance",
        "Guidance: In particular, they MUST only be used where it is required for all of it.",
        "Security",
        "Security: It is safe.",
        "Thanks",
        "Thanks: To all.",
    ]
    assert sum("[Page" in each for each in stated) == 1
    (tmp_path / "a.txt").write_text("Use:\nIt is.\n\f\nUse:\nIt was.\n\f\nUse:\nIt will.", encoding="utf-8")
    [found] = read([str(tmp_path / "a.txt")])
    assert isinstance(found, Document)
    assert found.text.count("Use:") == 3  # no pages that are printed


@pytest.mark.parametrize("suffix", [".txt", ".md"])
def test_definitions_below_a_colon_rest_on_their_term(suffix: str, tmp_path: Path) -> None:
    text = (
        "Options:\n\n`-p`, `--preserve-tabs` *FILE*\n\n:   Keep the tabs.\n\n    Without it they go.\n\nPump\n: Moves water.\n"
        ": Costs much.\n\n```\na\n: b\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n: Of the table.\n"
    )
    (tmp_path / f"a{suffix}").write_text(text, encoding="utf-8")
    [found] = read([str(tmp_path / f"a{suffix}")])
    assert isinstance(found, Document)
    assert [each.text for each in units(found.text, ())] == [
        "Options:",
        "-p, --preserve-tabs FILE: Keep the tabs.",
        "-p, --preserve-tabs FILE: Without it they go.",
        "Pump: Moves water.",
        "Pump: Costs much.",
        "a : b",
        "a: 1; b: 2",
        ": Of the table.",
    ]


PRICES = "| Part | Price |\n| --- | --- |\n| Axle of red | 4.50 |\n| Bolt |  |"


@pytest.mark.parametrize("suffix", [".txt", ".md"])
@pytest.mark.parametrize(
    "drawn",
    [
        "+---------+-------+\n| Part    | Price |\n+=========+=======+\n| Axle    |  4.50 |\n| of red  |       |\n"
        "+---------+-------+\n| Bolt    |       |\n+---------+-------+",
        "+-------------+-------+\n| Part        | Price |\n+-------------+-------+\n| Axle of red |  4.50 |\n"
        "| Bolt        |       |\n+-------------+-------+",
        " Part        | Price \n-------------+-------\n Axle of red |  4.50\n Bolt        | ",
        "Part           Price\n-----------  -------\nAxle of red     4.50\nBolt",
        "===========  =======\nPart           Price\n===========  =======\nAxle of red     4.50\nBolt\n===========  =======",
        "  --------------------\n  Part           Price\n  -----------  -------\n  Axle            4.50\n  of red\n\n  Bolt\n"
        "  --------------------",
    ],
)
def test_tables_drawn_with_dashes_have_their_header(drawn: str, suffix: str, tmp_path: Path) -> None:
    (tmp_path / f"a{suffix}").write_text(f"In May:\n\n{drawn}\n\nIt ends.\n", encoding="utf-8")
    [found] = read([str(tmp_path / f"a{suffix}")])
    assert isinstance(found, Document)
    assert found.text == f"In May:\n\n{PRICES}\n\nIt ends.\n"


@pytest.mark.parametrize(
    "text",
    [
        "+----+----+\n| of both |\n+----+----+\n| a  | b  |\n+----+----+",
        "```\na   b\n--  --\n1   2\n```",
        "Wordsy over columns\n----  ----\n1     2",
        "a  b\n-- --\nwordy words\n",
        "----  ----\n1     2\n----  ----",
        "Title of it\n-----------\n\nIt is.",
    ],
)
def test_what_is_no_table_with_a_header_and_no_spans_stays(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    [found] = read([str(tmp_path / "a.txt")])
    assert isinstance(found, Document)
    assert found.text == text


@pytest.mark.parametrize(
    "part", ["+--+--+\n| a |\n", "a  b\n-- --\n", "-----\na b\n-- --\nx\n\n", "-- --\n", "|a|b|\n--+--\n", "-----\n"]
)
def test_drawn_tables_are_found_in_linear_time(part: str) -> None:
    assert_linear(lambda size: with_drawn_tables(part * size), 1000, times=8, slack=2.5)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("            Charter of the Members (v1.9)\n\n   Version 1.9 of 2022.\n", "Charter of the Members (v1.9)"),
        ("          Apache License\n        Version 2.0, January 2004\n\n   TERMS\n", "Apache License"),
        ("Sarn Working Group      A. Falk\nRFC: 7\n\n         Words of Rules\n\nStatus of this\n", "Words of Rules"),
        ("10. Upgrading checklist\n***********************\n\nIt is.\n", "10. Upgrading checklist"),
        ("How to report it\n\n   We read all of it.\n", "How to report it"),
        ("How to report it\n\nWe read all of it.\n", "words"),
        ("It is dry. It rains.\n\n          Charter\n\nIt is.\n", "words"),
        ("Dear members,\n\n   we meet in May.\n", "words"),
        ("Minutes of 3 May\n\n1. Roof\nIt is dry.\n", "words"),
        ("1. Roof\n\nIt is dry.\n", "words"),
    ],
)
def test_the_first_lines_of_a_text_title_it_if_its_layout_says_so(text: str, title: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text(text, encoding="utf-8")
    [found] = read([str(tmp_path / "words.txt")])
    assert isinstance(found, Document)
    assert (found.title, found.text) == (title, text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_obeyed_and_taken_off(tmp_path: Path, encoding: str) -> None:
    assert document(given(tmp_path / "a.txt", "Grüße".encode(encoding))).text == "Grüße"


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-32-le"])
def test_byte_order_marks_of_every_byte_order(tmp_path: Path, encoding: str) -> None:
    assert document(given(tmp_path / "a.txt", "\ufeffGrüße".encode(encoding))).text == "Grüße"


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("Größe", "latin-1", "cp1252"),
        ("Le café est déjà fermé à l’hôtel.", "cp1252", "cp1252"),
        ("Zażółć gęślą jaźń. To jest zdanie po polsku.", "cp1250", "cp1250"),
        ("Это предложение написано по-русски.", "cp1251", "cp1251"),
        ("Это предложение написано по-русски.", "koi8-r", "koi8_r"),
        ("これは日本語の文です。東京は日本の首都です。", "cp932", "cp932"),
        ("これは日本語の文です。東京は日本の首都です。", "euc-jp", "euc_jp"),
        ("这是一个中文句子。北京是中国的首都。", "gb18030", "gb18030"),
        ("hello there", "utf-16-le", "utf-16-le"),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_an_encoding_is_found_and_said(tmp_path: Path, text: str, encoding: str, found: str, name: str) -> None:
    whole = f"id,text\n1,{text}\n" if name == "a.csv" else f"An English line.\n{text}\n"
    got = document(given(tmp_path / name, whole.encode(encoding)))
    assert text in got.text
    assert got.warnings == (
        f"its encoding is not declared and not UTF-8; read as {found}; if that is wrong, name it with --encoding",
    )


def test_an_encoding_that_is_named_or_utf8_is_not_said(tmp_path: Path) -> None:
    path = given(tmp_path / "a.txt", "Gr\xfc\xdfe".encode("latin-1"))
    assert document(path, ReadOptions(encoding="latin-1")) == document(path)
    assert document(path, ReadOptions(encoding="latin-1")).warnings == ()
    assert document(given(tmp_path / "b.txt", "Grüße".encode())).warnings == ()
    assert "--encoding than ascii" in str(error(path, ReadOptions(encoding="ascii")))


def test_utf8_with_a_damaged_byte_is_not_taken_for_another_encoding(tmp_path: Path) -> None:
    path = given(tmp_path / "a.txt", "Grüße äöü ".encode() + b"\xff")
    assert str(error(path)) == (
        f"{path.as_uri()}: is not utf-8 text (byte 15); give its encoding, for example --encoding latin-1"
    )


def test_nul_characters_are_not_text_even_in_a_named_encoding(tmp_path: Path) -> None:
    path = given(tmp_path / "a.txt", b"ab\0cd")
    assert "binary" in error(path).reason
    assert "NUL" in error(path, ReadOptions(encoding="latin-1")).reason


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.json", "a.jsonl", "a.csv", "a.txt.gz"])
@pytest.mark.parametrize("data", [b"", b" \r\n\t\n", b"\xef\xbb\xbf"])
def test_empty_files_are_failures(tmp_path: Path, name: str, data: bytes) -> None:
    path = given(tmp_path / name, data if not name.endswith(".gz") or not data else gzip.compress(data))
    assert error(path).reason.startswith("is empty")


def test_a_file_without_a_suffix_is_read_as_text_when_it_is_text(tmp_path: Path) -> None:
    assert document(given(tmp_path / "Makefile", b"all: words")).text == "all: words"
    assert document(given(tmp_path / ".profile", b"words")).title == ".profile"
    binary = error(given(tmp_path / "a.xyz", b"\x89PNG\r\n\x1a\n\0\0\0"))
    assert binary.reason == "its suffix .xyz has no reader"
    assert "--format" in binary.mend
    nameless = error(given(tmp_path / "data", b"\x89PNG\r\n\x1a\n\0\0\0"))
    assert nameless.reason == "its name tells no format, and as text it is binary, not text"


def test_format_overrules_the_suffix(tmp_path: Path) -> None:
    path = given(tmp_path / "a.txt", b'{"text": "one"}\n{"text": "two"}\n')
    items = list(read([str(path)], ReadOptions(format="jsonl")))
    assert [item.text for item in items if isinstance(item, Document)] == ["one", "two"]


@pytest.mark.parametrize("name", ["a.md.gz", "a.MD.GZ", "a.md"])
def test_gzip_is_told_by_its_content(tmp_path: Path, name: str) -> None:
    found = document(given(tmp_path / name, gzip.compress(b"# Title\n\nwords")))
    assert (found.title, found.text) == ("Title", "# Title\n\nwords")


def test_damaged_gzip_is_a_failure(tmp_path: Path) -> None:
    whole = gzip.compress(bytes(range(32, 127)) * 50)
    for number, data in enumerate((whole[:-9], whole[:30], b"plain words", whole[:-6] + b"\0\0\0\0\0\0")):
        found = error(given(tmp_path / f"{number}.txt.gz", data))
        assert found.reason.startswith("the gzip data is damaged or cut off")


def test_larger_files_than_allowed_are_failures_that_name_the_option(tmp_path: Path) -> None:
    options = ReadOptions(max_bytes=1000)
    assert document(given(tmp_path / "fits.txt", b"x" * 1000), options).text == "x" * 1000
    found = error(given(tmp_path / "a.txt", b"x" * 1001), options)
    assert (found.reason, found.mend) == ("is larger than 1,000 bytes", "split it, or raise --max-bytes")
    bomb = given(tmp_path / "bomb.txt.gz", gzip.compress(b"x" * 10_000_000))
    assert bomb.stat().st_size < 20_000
    assert error(bomb, options).reason == "is larger than 1,000 bytes"


def test_a_folder_opened_as_a_file_says_why(tmp_path: Path) -> None:
    path = given(tmp_path / "a.txt", b"words")
    stream = read([str(path), str(tmp_path)])
    path.unlink()
    path.mkdir()
    assert all(isinstance(item, ReadFailure) for item in stream)


def test_file_that_vanishes_between_listing_and_reading_is_a_failure(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        given(tmp_path / name, name.encode())
    stream = read([str(tmp_path)])
    first = next(stream)
    (tmp_path / "b.txt").unlink()
    vanished, last = stream
    assert isinstance(first, Document)
    assert isinstance(vanished, ReadFailure)
    assert isinstance(last, Document)
    assert vanished.uri == (tmp_path / "b.txt").as_uri()


def test_standard_input_is_named_by_its_content() -> None:
    [one] = read(["-"], stdin=io.BytesIO(b"some words"))
    [same] = read(["-", "-"], stdin=io.BytesIO(b"some words"))
    [other] = read(["-"], ReadOptions(format="markdown"), stdin=io.BytesIO(gzip.compress(b"# Other")))
    assert one == same
    assert isinstance(one, Document)
    assert isinstance(other, Document)
    assert one.uri.startswith("stdin:")
    assert len(one.uri) == len("stdin:") + 16
    assert (one.title, dict(one.metadata)) == ("", {})
    assert (other.title, other.text) == ("Other", "# Other")
    assert one.uri != other.uri


def test_standard_input_is_left_open_and_may_be_a_pipe(tmp_path: Path) -> None:
    data = io.BytesIO(b"words")
    assert len(list(read(["-"], stdin=data))) == 1
    assert not data.closed
    path = given(tmp_path / "raw", b'{"id": 1, "text": "words"}')
    with path.open("rb", buffering=0) as raw:
        [item] = read(["-"], ReadOptions(format="jsonl"), stdin=raw)
        assert not raw.closed
    assert item.uri == "stdin:#1"


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"format": "docs"}, UnknownNameError, "no format is called 'docs'; give one of arrow, asciidoc, bibtex"),
        ({"mapping": {"uri": "url"}}, InputError, "'uri' cannot be mapped"),
        ({"mapping": {"metadata.": "a"}}, InputError, "'metadata.' cannot be mapped"),
        ({"mapping": {"text": "a++b"}}, InputError, "a column name is empty"),
        ({"mapping": {"title": ""}}, InputError, "a column name is empty"),
        ({"encoding": "klingon"}, InputError, "give a name such as utf-8"),
        ({"encoding": "hex"}, InputError, "give a name such as utf-8"),
        ({"encoding": "undefined"}, InputError, "give a name such as utf-8"),
        ({"encoding": "a\0b"}, InputError, "give a name such as utf-8"),
        ({"max_bytes": 0}, InputError, "at least 1"),
    ],
)
def test_options_are_checked_when_made(arguments: dict[str, object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ReadOptions(**arguments)


def test_markdown_front_matter_becomes_metadata(tmp_path: Path) -> None:
    path = given(
        tmp_path / "a.md",
        b"---\r\ntitle: The  Pump\r\ntags: [a, 1, 2.5, true, null]\r\ndate: 2024-03-05\r\n"
        b"when: 2024-03-05T10:00:00Z\r\n"
        b"draft: no\r\nauthor: {name: Jane, ids: [[1]]}\r\nversion: 1.20\r\nnothing: null\r\n7: seven\r\n"
        b'half: "\\uD800"\r\n---\r\n\r\n# Heading\r\n\r\nWords.\r\n',
    )
    found = document(path)
    assert found.title == "The Pump"
    assert found.text == "\n# Heading\n\nWords.\n"
    assert found.metadata == {
        "filename": "a.md",
        "tags": ("a", 1, 2.5, True),
        "date": "2024-03-05",
        "when": "2024-03-05T10:00:00+00:00",
        "draft": False,
        "author.name": "Jane",
        "version": 1.2,
        "7": "seven",
        "half": "\ufffd",
    }


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n\n# First\n# Second\n", "First"),
        ("```sh\n# comment\n~~~\n```\n\n  # Real *one* ##\n", "Real one"),
        ("#hashtag\n## Second level\n", "a"),
        ("# readxl 1.4.2\n\nNew.\n\n# readxl 1.3.0\n", "a"),
        ("# [Unreleased] - soon\n\n# 1.2.0 (2024-05-01)\n", "a"),
        ("# Django 4.2\n\n## News\n", "Django 4.2"),
        ("# The 1.4 pump\n", "The 1.4 pump"),
        ("    # code\n", "a"),
        ("---\na: 1\n---\n# Behind\n", "Behind"),
        ("---\ntitle: [a, b]\n---\n# Behind\n", "Behind"),
        ("---\ntitle: 1984\n---\n# Behind\n", "1984"),
    ],
)
def test_markdown_title_is_the_first_heading_else_the_file_name(tmp_path: Path, text: str, title: str) -> None:
    assert document(given(tmp_path / "a.md", text.encode())).title == title


@pytest.mark.parametrize(
    "text",
    [
        "---\njust words\n---\nmore\n",
        "---\n- a\n- b\n---\nmore\n",
        "---\na: 1\nno end\n",
        "---\na: 1\n" + "b: 2\n" * 20_000 + "---\nmore\n",
        "----\n",
    ],
)
def test_markdown_rules_that_hold_no_mapping_stay_text(tmp_path: Path, text: str) -> None:
    found = document(given(tmp_path / "a.md", text.encode()))
    assert (found.text, dict(found.metadata)) == (text, {"filename": "a.md"})


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("a: [1", "its front matter cannot be read as YAML"),
        ("a: !!python/object/apply:os.system ['true']", "its front matter cannot be read as YAML"),
        ("a: " + "[" * 600, "its front matter cannot be read as YAML"),
        ("a: &a {b: *a}", "its front matter has more than 10,000 metadata values or more than 32 levels"),
        (
            "a0: &a0 {x: 1}\n" + "\n".join(f"a{i}: &a{i} {{x: *a{i - 1}, y: *a{i - 1}}}" for i in range(1, 30)),
            "its front matter has more than 10,000 metadata values or more than 32 levels",
        ),
    ],
)
def test_markdown_front_matter_that_is_wrong_or_a_bomb_is_a_failure(tmp_path: Path, block: str, reason: str) -> None:
    found = error(given(tmp_path / "a.md", f"---\n{block}\n---\nwords\n".encode()))
    assert found.reason.startswith(reason)


def test_a_date_that_does_not_exist_is_a_warning_and_the_document_stays(tmp_path: Path) -> None:
    found = document(given(tmp_path / "a.md", b"---\ndate: 2024-13-45\ntitle: T\nwhen: 2024-03-05\n---\nwords\n"))
    assert (found.text, found.title) == ("words\n", "T")
    assert dict(found.metadata) == {"filename": "a.md", "date": "2024-13-45", "when": "2024-03-05"}
    (warning,) = found.warnings
    assert re.fullmatch(
        r"its front matter has '2024-13-45', which is no date \(month must be in 1..12.*\); kept as text", warning
    )


def test_markdown_with_nothing_behind_its_front_matter_is_empty(tmp_path: Path) -> None:
    assert "is empty" in error(given(tmp_path / "a.md", b"---\na: 1\n---\n\n")).reason


@pytest.mark.parametrize(
    ("written", "text", "title"),
    [
        ("# A <!-- no\n\nreader --> pump", "# A  pump", "A pump"),
        ("A `<!-- code -->` and <!-- is open", "A `<!-- code -->` and <!-- is open", "a"),
        ("```\n<!-- x -->\na | b\n--- | ---\n```", "```\n<!-- x -->\na | b\n--- | ---\n```", "a"),
        ("Name | Port\n--- | ---\nalpha | 80\n\na | b", "| Name | Port |\n| --- | --- |\n| alpha | 80 |\n\na | b", "a"),
        ("# zip [![v](a.svg)](b) ![loads](c.svg)", "# zip [![v](a.svg)](b) ![loads](c.svg)", "zip"),
        ("A <svg><path d='M 4'/></svg>pump <style>p {}</style>", "A pump ", "a"),
        ("| Name | Port |\n| --- | --- |\n| a | 80 |", "| Name | Port |\n| --- | --- |\n| a | 80 |", "a"),
        ("# ![](logo.png)\n# **The** [pump](x)", "# ![](logo.png)\n# **The** [pump](x)", "The pump"),
        ('<h1 align="center">The pump</h1>', '<h1 align="center">The pump</h1>', "The pump"),
    ],
)
def test_hidden_html_of_markdown_is_left_out_and_narrow_tables_get_bars(
    written: str, text: str, title: str, tmp_path: Path
) -> None:
    found = document(given(tmp_path / "a.md", written.encode()))
    assert (found.text, found.title) == (text, title)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (
            "A [[Weir]] of [[People#Ada|Ada]] and [[Old weir#Crest]], [[#Top]].",
            "A Weir of Ada and Old weir > Crest, Top.",
        ),
        ("It is ==high==. %%ask%%\n![[crest.png|400]]", "It is high. \n"),
        (
            "built:: [[1974]]\nowner:: Port\n\nLevel [level:: 1.86 m] ^a1-b",
            "- built: 1974\n- owner: Port\n\nLevel level: 1.86 m",
        ),
        ("- ## Work\n  id:: 6632\n\t- It runs.\n\t- {{query (todo)}}", "- Work\n\n\t- It runs.\n"),
        ("> [!note]- Older notes\n> It was red.", "> [!note] Older notes:\n> It was red."),
        ("<aside>\nCool it.\n\n</aside>", "\nCool it.\n\n"),
        ("```dataview\nTABLE a\n```\nIt runs.", "\nIt runs."),
        ("| a | b |\n|---|---|\n| [[x\\|y]] | `[[z]]` |", "| a | b |\n|---|---|\n| y | `[[z]]` |"),
        ("[[1]](https://a.example) x ^n\na == b, C::d ~~~\n```\nx:: [[y]]\n```", None),
    ],
)
def test_marks_of_programs_for_notes_are_not_read(written: str, text: str | None, tmp_path: Path) -> None:
    assert document(given(tmp_path / "a.md", written.encode())).text == (written if text is None else text)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (
            "Ada Bell  00:02\nIt runs.\n\nBo Lind  1:04:09\nGood.",
            "[00:02] Ada Bell: It runs.\n\n[1:04:09] Bo Lind: Good.",
        ),
        (
            "[Ada Bell] 09:14:02\nIt runs.\n\n[Bo Lind] 09:15:00\nGood.",
            "[09:14:02] Ada Bell: It runs.\n\n[09:15:00] Bo Lind: Good.",
        ),
        (
            "0:0:3.289 --> 0:0:7.5\nAda Bell\nIt runs.\n0:1:7.5 --> 0:1:9.0\nBo Lind\nGood.",
            "[0:00:03] Ada Bell: It runs.\n[0:01:07] Bo Lind: Good.",
        ),
        ("Holm 6:10\nDunmarsh 6:24\nElm 6:40\nIt ends.", None),  # a timetable
        ("Lunch 12:30\nin the hall\n\nCoffee 15:00\nin the yard", None),  # a programme
        ("\u200e[04.03.25, 09:17:10] Ada: \u200eimage", "[04.03.25, 09:17:10] Ada: image"),
        (
            "Tides (Tarr)\n- Your Highlight on page 7 | Added on 5 March\n\nIt is high.\n==========\n",
            "# a\n\n## Tides (Tarr)\n\nIt is high. (Your Highlight on page 7 | Added on 5 March)\n\n",
        ),
    ],
)
def test_transcripts_chats_and_clippings_say_whose_words_they_are(
    written: str, text: str | None, tmp_path: Path
) -> None:
    assert document(given(tmp_path / "a.txt", written.encode())).text == (written if text is None else text)


def test_the_second_sentence_of_a_turn_has_its_speaker(tmp_path: Path) -> None:
    text = document(given(tmp_path / "a.txt", b"Ada Bell 0:02\nIt runs. It is red.\n\nBo Lind 0:09\nGood.")).text
    assert [unit.text for unit in units(text, ())] == [
        "[0:02] Ada Bell: It runs.",
        "Ada Bell: It is red.",
        "[0:09] Bo Lind: Good.",
    ]


@pytest.mark.parametrize(
    ("first", "title"), [("LEASE AGREEMENT", "LEASE AGREEMENT"), ("NAME", "a"), ("Lease of a shed", "a")]
)
def test_a_first_line_in_capitals_titles_a_text_and_no_paragraph_with_a_sign_does(
    first: str, title: str, tmp_path: Path
) -> None:
    text = f"{first}\n\nbetween us and you\n\n§ 1 Object\n\nThe shed is let.\n\n§ 2 Rent\n\nIt is free.\n"
    assert document(given(tmp_path / "a.txt", text.encode())).title == title


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Suppliers 77aa88bb99cc00dd11ee22ff33aa44bb_all.csv", "Suppliers"),
        ("77aa88bb99cc00dd11ee22ff33aa44bb.csv", "77aa88bb99cc00dd11ee22ff33aa44bb"),
    ],
)
def test_the_id_in_the_name_of_an_export_is_no_part_of_the_title(tmp_path: Path, name: str, title: str) -> None:
    assert document(given(tmp_path / name, b"Name,Score\nOrsa,8\n")).title == title


def test_aligned_numbers_below_labels_are_a_table_in_plain_text(tmp_path: Path) -> None:
    table = "              2024     2025\nTimber       1,700    1,900\nShips        2,950    3,020"
    found = document(given(tmp_path / "a.txt", f"Key figures\n\n{table}\n\nThe end.\n".encode()))
    assert "|  | 2024 | 2025 |\n| --- | --- | --- |\n| Timber | 1,700 | 1,900 |" in found.text
    assert found.text.endswith("| Ships | 2,950 | 3,020 |\n\nThe end.\n")
    narrow = "     mean    sd\nA    1.20   0.1\nB    1.30   0.2\n"
    found = document(given(tmp_path / "d.txt", f"Above the table.\n{narrow}{narrow}".encode()))
    rows = "|  | mean | sd |\n| --- | --- | --- |\n| A | 1.20 | 0.1 |\n| B | 1.30 | 0.2 |"
    assert found.text == f"Above the table.\n\n{rows}\n\n{rows}\n"
    rule = "-" * 22
    bill = f"Item        Qty   Price\n{rule}\nBolt          3    1.20\nNut          12    0.30\n{rule}\nTotal              7.20\n"
    found = document(given(tmp_path / "c.txt", bill.encode()))
    rows = "| Bolt | 3 | 1.20 |\n| Nut | 12 | 0.30 |\n| Total |  | 7.20 |\n"
    assert found.text == f"| Item | Qty | Price |\n| --- | --- | --- |\n{rows}"
    for kept in (f"```\n{table}\n```\n", "Ada owes   5    7\nBo owes    6    8\nand    that is all\n"):
        assert document(given(tmp_path / "b.txt", kept.encode())).text == kept


@pytest.mark.parametrize("part", ["long line, ", "A\n", "A  1\n", "      "])
def test_a_plain_text_is_read_in_linear_time(tmp_path: Path, part: str) -> None:
    def work(size: int) -> Document:
        return document(given(tmp_path / "a.txt", f"Some words.\n\n{part * size}\n\nThe end.\n".encode()))

    assert_linear(work, 2_000, times=8, slack=2.5)


def test_sections_of_a_printed_manual_page_are_headings(tmp_path: Path) -> None:
    page = "TIDE(1)      Manual      TIDE(1)\n\nNAME\n     tide - levels\n\nEXIT STATUS\n     0    good\n\nFILES\n     /etc/tide\n"
    found = document(given(tmp_path / "tide.txt", page.encode()))
    assert [line for line in found.text.splitlines() if line.startswith("#")] == [
        "## NAME",
        "## EXIT STATUS",
        "## FILES",
    ]
    assert found.title == "tide"
    letter = "DEAR ADA\n   come soon.\n\nYOURS\n   Bo\n"
    play = "ADA\n   Who is there?\n\nBOB\n   Nay, answer me.\n\nADA\n   Long live the king!\n"
    for kept in (letter, play):
        assert document(given(tmp_path / "a.txt", kept.encode())).text == kept


BOOK = """The Project Gutenberg eBook of The Lamp, by Ilse Tarn

Title: The Lamp of Sarn

Author: Ilse Tarn

 CHAPTER I. The Keeper
 CHAPTER II. The Storm


CHAPTER I.
The Keeper

He did not fear the sea.


CHAPTER II.

The lamp went out.
"""


def test_a_book_and_a_press_release_have_their_titles_and_chapters_are_headings(tmp_path: Path) -> None:
    book = document(given(tmp_path / "a.txt", BOOK.encode()))
    assert book.title == "The Lamp of Sarn"
    assert "\n## CHAPTER I. The Keeper\n\nHe did" in book.text
    assert "\n## CHAPTER II.\n\nThe lamp" in book.text
    assert " CHAPTER I. The Keeper\n CHAPTER II. The Storm\n" in book.text
    for name, title in (
        ("FOR IMMEDIATE RELEASE", "Brenk Opens a Foundry"),
        ("Press release", "Brenk Opens a Foundry"),
    ):
        text = f"{name}\n\nBrenk Opens a Foundry\n\nTOLK, 5 March 2024 - Brenk opened a foundry.\n"
        assert document(given(tmp_path / "b.txt", text.encode())).title == title
    text = "PRESS RELEASE\n\nTOLK, 5 March 2024 - Brenk opened a foundry.\n"
    assert document(given(tmp_path / "b.txt", text.encode())).title == "PRESS RELEASE"


def test_stars_are_headings_in_an_outline_of_emacs_and_items_elsewhere(tmp_path: Path) -> None:
    text = "{}\n\n* Noteworthy changes in release 1.12\n\n** Bug fixes\n\n  It stops *now*.\n"
    news = document(given(tmp_path / "NEWS", text.format("GNU gzip NEWS   -*- outline -*-").encode()))
    assert (news.title, news.text.split("\n\n")[:3]) == (
        "GNU gzip NEWS",
        ["# GNU gzip NEWS", "## Noteworthy changes in release 1.12", "### Bug fixes"],
    )
    assert "\n* Noteworthy" in document(given(tmp_path / "b.txt", text.format("GNU gzip NEWS").encode())).text
