import csv
import functools
import gzip
import io
import json
import random
import tempfile
import zipfile
from pathlib import Path

import docx
import format_samples
import openpyxl
import pptx
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas
from thoroughness import cases

from hlgraph.ids import source_id
from hlgraph.read import FORMATS, ReadFailure, ReadOptions, read
from hlgraph.read.content import Origin, clean, decode
from hlgraph.read.formats import SUFFIXES
from hlgraph.read.rows import cell_value
from hlgraph.records import Document

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"))
SCALARS = st.one_of(TEXT, INT64, st.booleans(), st.floats(allow_nan=False, allow_infinity=False))
VALUES = st.one_of(SCALARS, st.lists(SCALARS, min_size=1, max_size=5).map(tuple))
NAMES = TEXT.filter(lambda name: name and name not in ("text", "title", "id", "body", "content", "name", "_id", "key"))


def from_stdin(data: bytes, **options: object) -> list[Document | ReadFailure]:
    return list(read(["-"], ReadOptions(**options), stdin=io.BytesIO(data)))


def typed(value: object) -> object:
    return [typed(item) for item in value] if isinstance(value, tuple) else (type(value), value)


@given(st.dictionaries(NAMES, VALUES, max_size=6), TEXT.filter(str.strip), TEXT.filter(str.strip))
def test_metadata_keeps_values_and_types_through_json_lines(metadata: dict[str, object], text: str, key: str) -> None:
    line = json.dumps({"id": key, "text": text, **metadata}).encode()
    [found] = from_stdin(b"\n" + line + b"\n\n", format="jsonl")
    assert isinstance(found, Document)
    assert (found.text, found.key) == (text, key)
    assert {name: typed(value) for name, value in found.metadata.items()} == {
        name: typed(value) for name, value in metadata.items()
    }


@given(st.lists(st.tuples(TEXT.filter(str.strip), TEXT), min_size=1, max_size=5, unique_by=lambda row: row[0]))
def test_csv_gives_back_what_was_written(rows: list[tuple[str, str]]) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(["id", "text", "note"])
    writer.writerows([key, f"text {note}", note] for key, note in rows)
    found = from_stdin(out.getvalue().encode(), format="csv")
    assert [(item.key, item.text, item.metadata.get("note")) for item in found if isinstance(item, Document)] == [
        (key, f"text {note}", cell_value(note)) for key, note in rows
    ]


@given(st.lists(TEXT.filter(str.strip), min_size=2, max_size=6, unique=True))
def test_ids_name_sources_apart(keys: list[str]) -> None:
    data = "\n".join(json.dumps({"id": key, "text": "same"}) for key in keys)
    found = from_stdin(data.encode(), format="jsonl")
    assert len({source_id("c", item.uri) for item in found}) == len(keys)
    assert all(item.uri.isascii() and "#" not in item.uri.removeprefix("stdin:#") for item in found)


@given(st.text(), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_text_comes_back_cleaned_in_every_marked_encoding(text: str, encoding: str) -> None:
    found = from_stdin(text.encode(encoding, "replace"), format="text")
    [item] = found
    if isinstance(item, Document):
        expected = text.encode(encoding, "replace").decode(encoding)
        assert item.text == clean(expected.lstrip("\ufeff"))
        assert item.text == clean(item.text)
    else:
        assert not text.replace("\ufeff", "").strip() or "\0" in text


@given(st.text())
def test_clean_text_can_be_stored_and_is_clean(text: str) -> None:
    cleaned = clean(text)
    assert cleaned == clean(cleaned)
    assert not set(cleaned) & {"\r", "\0"}
    assert decode(Origin("x"), f"x{cleaned}".encode(), encoding=None).text == f"x{cleaned}"


@functools.cache
def samples() -> dict[str, bytes]:
    """One sound file of each format."""
    pdf = io.BytesIO()
    canvas = Canvas(pdf, invariant=1, pageCompression=0)
    canvas.drawString(72, 750, "some words")
    for row in range(3):  # a ruled table, which a parser of its own reads
        for column in (72, 172):
            canvas.rect(column, 700 - 20 * row, 100, 20)
            canvas.drawString(column + 3, 705 - 20 * row, f"cell {row}")
    canvas.save()
    word = docx.Document()
    word.add_heading("Heading", 1)
    word.add_table(1, 2).cell(0, 0).text = "cell"
    out, sheet, show, book = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.BytesIO()
    word.save(out)
    workbook = openpyxl.Workbook()
    workbook.active.append(["words", 3, None, 4.5])
    workbook.save(sheet)
    slides = pptx.Presentation()
    slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = "Title"
    slides.save(show)
    with zipfile.ZipFile(book, "w") as package:
        package.writestr("META-INF/container.xml", "<container><rootfile full-path='a.opf'/></container>")
        package.writestr(
            "a.opf",
            "<package><manifest><item id='a' href='a.html' media-type='text/html'/></manifest>"
            "<spine><itemref idref='a'/></spine></package>",
        )
        package.writestr("a.html", "<html><body><p>Some words.</p></body></html>")
    return {
        **format_samples.files(),
        "csv": b'id,text,n\n1,"some, words",3\n2,more,4.5\n',
        "docx": out.getvalue(),
        "epub": book.getvalue(),
        "html": b"<html><head><meta charset='utf-8'><title>T</title></head><body><h1>T</h1><p>Words.</p></body></html>",
        "json": b'{"rows": [{"id": 1, "text": "words", "tags": ["a"]}]}',
        "jsonl": b'{"id": 1, "text": "words", "deep": {"er": 1}}\n{"text": "more"}\n',
        "man": b'.TH A 1\n.SH NAME\na \\- \\fBwords\\fR\n.BR "b c" d\n.TS\nl l.\na\tb\n.TE\n',
        "markdown": b"---\ntitle: T\ntags: [a, b]\n---\n# Heading\n\nWords.\n",
        "pdf": pdf.getvalue(),
        "pptx": show.getvalue(),
        "text": b"Some words.\n",
        "xlsx": sheet.getvalue(),
    }


def check_all(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        check_items(list(read([folder, str(path)], ReadOptions(max_bytes=1 << 20))))


def check_items(items: list[Document | ReadFailure]) -> None:
    assert items
    for item in items:
        if isinstance(item, ReadFailure):
            assert item.error.reason
            continue
        assert item.text.strip()
        for text in (item.text, item.title, item.uri, *item.metadata, *map(str, item.metadata.values())):
            assert text == clean(text)
        assert all(0 <= start <= len(item.text) for start in item.page_starts)
    assert len({item.uri for item in items if isinstance(item, Document)}) == sum(
        isinstance(item, Document) for item in items
    )


NOISE = st.one_of(st.binary(max_size=200), st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(NOISE, st.sampled_from(sorted(SUFFIXES)), st.sampled_from(["", ".gz"]))
@example(b"---\na: !!binary x\n---\n", ".md", "")
@example(b"\x1f\x8b", ".txt", "")
@example(b"text\n\xff\n", ".csv", "")
def test_nothing_in_a_file_raises(data: bytes, suffix: str, gz: str) -> None:
    check_all(data, f"noise{suffix}{gz}")


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A file cut off, with bytes flipped, left out, repeated or a number changed, in up to four places."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(found) + 1)
        digits = [place for place, byte in enumerate(found) if 48 <= byte < 58]
        match rng.randrange(5):
            case 0:
                del found[at:]
            case 1:
                found[at : at + 1] = rng.randbytes(1)
            case 2:
                del found[at : at + rng.randint(1, 40)]
            case 3:
                found[at:at] = found[rng.randrange(len(found) + 1) :][: rng.randint(1, 60)]
            case _ if digits:
                place = rng.choice(digits)
                found[place : place + 1] = rng.choice((b"0", b"-1", b"99999", b"1.5", b"/F1"))
    return bytes(found)


def damaged_inside(data: bytes, rng: random.Random) -> bytes:
    """A package with one part damaged, which is packed soundly again, so that its parsers see the damage."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        hit = rng.choice(before.namelist())
        for name in before.namelist():
            after.writestr(name, damaged(before.read(name), rng) if name == hit else before.read(name))
    return out.getvalue()


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_damaged_files_are_failures_and_the_good_ones_beside_them_are_read(tmp_path: Path, kind: str, gz: str) -> None:
    whole = samples()[kind]
    suffix = next(suffix for suffix, name in SUFFIXES.items() if name == kind)
    pack = gzip.compress if gz else bytes
    rng = random.Random(f"{kind}{gz}")
    for number in range(cases(20 if gz else 60, 20 if gz else 200)):
        inside = zipfile.is_zipfile(io.BytesIO(whole)) and number % 4
        broken = damaged_inside(whole, rng) if inside else damaged(whole, rng)
        packed = damaged(gzip.compress(whole), rng) if gz and number % 2 else pack(broken)
        (tmp_path / f"d{number:03}{suffix}{gz}").write_bytes(packed)
    for name in ("a", "z"):
        (tmp_path / f"{name}{suffix}{gz}").write_bytes(pack(whole))
    items = list(read([str(tmp_path)], ReadOptions(max_bytes=1 << 20)))
    check_items(items)
    read_files = {item.uri.partition("#")[0] for item in items if isinstance(item, Document)}
    assert read_files >= {(tmp_path / f"{name}{suffix}{gz}").as_uri() for name in ("a", "z")}


def test_the_sound_files_are_read() -> None:
    for kind, data in samples().items():
        assert [type(item) for item in from_stdin(data, format=kind)][:1] == [Document]
