"""Mail, subtitles, notebooks, scholarly XML, OpenDocument, RTF, light markup, LaTeX, wikitext, Parquet and Arrow."""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import zipfile
from decimal import Decimal
from pathlib import Path

import format_samples
import pyarrow as pa
import pytest
from growth import assert_linear
from pptx import Presentation
from pyarrow import parquet

from hlgraph.errors import MissingExtraError
from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.extract.local._units import units
from hlgraph.read import FORMATS, ReadFailure, ReadOptions, bounds, read
from hlgraph.read.content import Origin
from hlgraph.records import Document

KINDS = sorted(format_samples.files())
TEXTS = sorted(format_samples.sources())
MARKUP = sorted(set(TEXTS) - {"eml", "mbox", "mhtml", "odp", "ods", "odt"})
VALUES = {"ini", "properties", "toml", "xml", "yaml"}
NO_TABLES = VALUES | {
    *(
        "bibtex",
        "eml",
        "geojson",
        "gpx",
        "ics",
        "ipynb",
        "kml",
        "kmz",
        "log",
        "mbox",
        "mhtml",
        "msg",
        "nbib",
        "ris",
        "srt",
        "vcf",
    ),
    "vtt",
}


def given(folder: Path, kind: str, data: bytes | str, name: str = "a") -> Path:
    suffix = {"jats": ".nxml"}.get(kind, FORMATS[kind].suffixes[-1])
    path = folder / f"{name}{suffix}"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def documents(path: Path, **options: object) -> list[Document]:
    items = list(read([str(path)], ReadOptions(**options)))
    assert all(isinstance(item, Document) for item in items), items
    return [item for item in items if isinstance(item, Document)]


def reason(path: Path) -> str:
    [item] = read([str(path)])
    assert isinstance(item, ReadFailure), item
    return item.error.reason


@pytest.mark.parametrize("kind", TEXTS)
def test_each_word_of_the_source_is_in_the_document_or_in_a_warning(tmp_path: Path, kind: str) -> None:
    items = documents(given(tmp_path, kind, format_samples.files()[kind]))
    text = " ".join(" ".join([item.uri, item.text, item.title, str(item.metadata), *item.warnings]) for item in items)
    markers = set(re.findall(r"kanu\d\d", format_samples.sources()[kind]))
    assert len(markers) >= 3
    assert markers - set(re.findall(r"kanu\d\d", text)) == set()
    assert "kanu" in items[0].text


@pytest.mark.parametrize("kind", sorted(set(KINDS) - NO_TABLES))
def test_a_table_has_its_labels_and_its_spans_are_filled(tmp_path: Path, kind: str) -> None:
    [found] = documents(given(tmp_path, kind, format_samples.files()[kind]))
    lines = [line for line in found.text.splitlines() if line.startswith("| ")]
    at = next(at for at, line in enumerate(lines) if line.startswith("| Name | Year |"))
    assert lines[at + 2].startswith("| Orlen | 1900 |")
    if kind not in ("org", "rst"):  # the first has no spans, and the second none in simple tables
        assert lines[at + 3].startswith("| Orlen | 1901 |")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_says_the_same_when_it_is_packed_or_piped(tmp_path: Path, kind: str) -> None:
    data = format_samples.files()[kind]
    plain = documents(given(tmp_path, kind, data))
    (tmp_path / "gz").mkdir()
    path = tmp_path / "gz" / f"a{FORMATS[kind].suffixes[-1]}.gz"
    path.write_bytes(gzip.compress(data))
    piped = list(read(["-"], ReadOptions(format=kind), stdin=io.BytesIO(data)))
    assert [item.text for item in documents(path)] == [item.text for item in plain]
    assert [item.text for item in piped if isinstance(item, Document)] == [item.text for item in plain]
    assert all(item.uri.startswith("stdin:") and item.uri != "stdin:" for item in piped)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("data", [b" \n\t\n", bytes(range(256)) * 9, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"])
def test_what_is_no_such_file_is_one_failure_and_the_others_are_read(tmp_path: Path, kind: str, data: bytes) -> None:
    given(tmp_path, kind, data, "b")
    for name in "ac":
        given(tmp_path, kind, format_samples.files()[kind], name)
    items = list(read([str(tmp_path)]))
    [failed] = [item for item in items if isinstance(item, ReadFailure)]
    assert "/b." in failed.uri
    names = {item.uri.removeprefix(tmp_path.as_uri())[1] for item in items if isinstance(item, Document)}
    assert names == {"a", "c"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_cut_anywhere_gives_documents_or_one_clear_failure(tmp_path: Path, kind: str) -> None:
    data = format_samples.files()[kind]
    for number in range(1, 12):
        items = list(read([str(given(tmp_path, kind, data[: len(data) * number // 12]))]))
        assert items
        assert all(isinstance(item, Document) or item.error.reason for item in items)


@pytest.mark.parametrize("kind", MARKUP)
def test_text_in_another_encoding_is_read(tmp_path: Path, kind: str) -> None:
    if kind in ("dita", "docbook", "fb2", "gpx", "jats", "kml", "tei"):
        data = format_samples.sources()[kind].replace('<?xml version="1.0"?>', "").encode("utf-16")
    elif kind == "rtf":
        data = format_samples.files()[kind]
    else:
        data = format_samples.sources()[kind].encode("utf-16")
    [found] = documents(given(tmp_path, kind, data))
    assert "kanu03" in found.text + found.title + str(found.metadata)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_the_suffix_of_another_format_is_refused_or_read_with_its_own_error(
    tmp_path: Path, kind: str
) -> None:
    wrong = {"pdf": b"%PDF-1.7\n", "rtf": b"{\\rtf1 words}", "html": b"<!doctype html><p>words</p>"}
    for name, data in wrong.items():
        if name != kind:
            failed = reason(given(tmp_path, kind, data))
            assert failed == f"holds {name}, but its suffix {given(tmp_path, kind, data).suffix} stands for {kind}"


@pytest.mark.parametrize(
    ("name", "data", "expected", "mend"),
    [
        ("a.conf", b"words", "its suffix .conf has no reader", "if it is plain text, add --format text"),
        ("a.doc", b"\xd0\xcf\x11\xe0", "holds a file of Office or Outlook 97 to 2003", "save it as DOCX"),
        ("a.msg", b"\xd0\xcf\x11\xe0", "is a damaged file of Outlook", "save it again in Outlook"),
        ("b.msg", b"From: a\nTo: b\n\nc", "is no message of Outlook", "check its suffix"),
        ("a.ofx", b"OFXHEADER:100", "its suffix .ofx has no reader", "export the account as CSV"),
        ("a.gdoc", b"{}", "its suffix .gdoc has no reader", "it is a link: download the document as DOCX"),
        ("a.xmind", b"PK", "its suffix .xmind has no reader", "export it as OPML or Markdown"),
        ("a.webarchive", b"bplist00", "its suffix .webarchive has no reader", "save the page as HTML or MHTML"),
        ("a.pst", b"!BDN", "its suffix .pst has no reader", "convert it to mbox"),
        ("a.png", b"\x89PNG", "its suffix .png has no reader", "make a PDF with a text layer"),
        ("a.mp3", b"ID3", "its suffix .mp3 has no reader", "transcribe it to VTT"),
        (
            "a.xml",
            b"<?xml version='1.0'?>\n<x:stylesheet><p>a</p></x:stylesheet>",
            "is XML whose first element 'stylesheet' has no reader",
            "convert it",
        ),
        ("b.xml", b"<svg/>", "is XML whose first element 'svg' has no reader", "convert it"),
        ("c.xml", b"<rss/>", "is empty: its elements hold no text", ""),
        ("a.jats", b"<rss/>", "is XML whose first element 'rss' is not a JATS article", "convert it"),
        ("a.vtt", b"1\n00:00:01,000 --> 00:00:02,000\na\n", "does not begin with WEBVTT", "add --format srt"),
        ("a.ipynb", b'{"a": 1}', "is JSON, but not a notebook: it has no cells", "add --format json"),
        ("a.eml", b"just words\n", "has no headers of a mail", "add --format mbox"),
        ("a.mbox", b"just words\n", "does not begin with a line 'From '", "add --format eml"),
        ("a.odt", format_samples.packed(format_samples.flat("spreadsheet", "")), "holds ods, not odt", "rename it"),
    ],
)
def test_a_named_file_is_never_read_as_another_format_in_silence(
    tmp_path: Path, name: str, data: bytes, expected: str, mend: str
) -> None:
    (tmp_path / name).write_bytes(data)
    [failed] = read([str(tmp_path / name)])
    assert isinstance(failed, ReadFailure)
    assert failed.error.reason == expected
    assert mend in failed.error.mend


def test_an_unknown_suffix_with_content_that_tells_its_format_is_read_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text(format_samples.RTF)
    [found] = documents(tmp_path / "a.dat")
    assert found.warnings == ("its suffix .dat has no reader; read as rtf by its content",)
    for name in ("dita", "docbook", "fb2", "jats", "tei"):
        (tmp_path / f"{name}.xml").write_text(format_samples.sources()[name])
    (tmp_path / "other.xml").write_text("<svg/>")
    (tmp_path / "a.dat").unlink()
    assert len(documents(tmp_path)) == 5


LAUGHS = '<!DOCTYPE x [<!ENTITY a "laugh"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize("kind", ["jats", "tei", "odt"])
def test_no_entity_is_expanded_and_no_file_fetched(tmp_path: Path, kind: str) -> None:
    source = format_samples.sources()[kind].replace('<?xml version="1.0"?>', "").replace("kanu06", "kanu06 &b; &c;", 1)
    [found] = documents(given(tmp_path, kind, f"{LAUGHS}{source}"))
    whole = found.text + str(found.metadata)
    assert "laugh" not in whole
    assert "&b; &c;" in whole


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("jats", f"<article><body>{'<sec>' * 300}", "is not XML"),
        ("jats", f"<article><body>{'<p/>' * 2_000}</body></article>", "holds more than 1,000 elements"),
        (
            "odt",
            format_samples.packed(format_samples.flat("text", "<text:p>a</text:p>" + " " * 3_000_000)),
            "is a packed file of",
        ),
        (
            "ods",
            format_samples.packed(format_samples.flat("spreadsheet", "<table:table>" + "<a>" * 300)),
            "holds more than 255",
        ),
        ("rtf", "{\\rtf1" + "{" * 1_500, "holds more than 1,000 groups"),
        ("rtf", "{\\rtf1" + "{" * 900 + "{}" * 900, "holds more than 1,000 groups"),
        ("latex", "\\textbf{" * 3_000, "nests groups too deeply"),
        ("rst", "a " * 120_000, "holds more than 200,000 characters without a blank line"),
        ("ipynb", "[" * 3_000, "is not JSON"),
        (
            "eml",
            "From: a\nTo: b\nContent-Type: text/plain; " + "a=1;" * 9_000 + "\n\nwords",
            "holds more than 16,384 characters",
        ),
        ("eml", "From: a\nTo: b\n\n" + "boundary=a\n" * 1_001, "holds more than 1,000 parts with parts"),
        ("rst", "\n".join("  " * level + "- a\n" for level in range(900)), "cannot be read as RST"),
    ],
)
def test_a_bomb_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, data: str | bytes, expected: str
) -> None:
    monkeypatch.setattr("hlgraph.read.formats._xml.MOST_ELEMENTS", 1_000)
    monkeypatch.setattr("hlgraph.read.formats.rtf.MOST_ELEMENTS", 1_000)
    monkeypatch.setattr(bounds, "GRACE", 1 << 20)
    assert reason(given(tmp_path, kind, data)).startswith(expected)


def test_a_column_that_repeats_one_value_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "GRACE", 1 << 20)
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"a": ["the same words in every row"] * 200_000}), path)
    assert path.stat().st_size < 9_000
    *parts, failed = read([str(path)])
    assert isinstance(failed, ReadFailure)
    assert failed.error.reason.startswith("is a packed file of")
    assert len(parts) < 60


def test_a_damaged_clock_asks_for_no_pages(tmp_path: Path) -> None:
    [found] = documents(given(tmp_path, "srt", "1\n99999:00:00,000 --> 99999:00:01,000\nwords\n"))
    assert (found.text, found.page_starts) == ("words", ())
    assert found.warnings == ("its clock reaches minute 5,999,941: chunks have no minute",)


_FORMS = (
    "From: a\nMIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=q\n\n"
    "--q\nContent-Type: text/plain\n\nwords\n--q\nContent-Type: text/html\n\n"
)


@pytest.mark.parametrize(
    ("kind", "part", "around"),
    [
        ("wikitext", "{{a|", "{}"),
        ("wikitext", "[http://a ", "{}"),
        ("wikitext", "<ref>", "{}"),
        ("wikitext", "<pre>", "{}"),
        ("wikitext", "a=bb=", "{{|\n| {}"),
        ("wikitext", "<!--", "{}"),
        ("wikitext", "| a || b\n", "{{|\n{}"),
        ("wikitext", "; a\n: b\n: c\n", "{}"),
        ("rtf", "{\\field{\\*\\fldinst{", "{{\\rtf1 {}"),
        ("rtf", "\\pard\\ls1 a\\par\n", "{{\\rtf1 {}"),
        ("asciidoc", "link:", "{}"),
        ("asciidoc", "* a\n", "{}"),
        ("asciidoc", "|a ", "|===\n{}\n|==="),
        ("org", ":a:\n", "{}"),
        ("org", "- a :: b\n\n  c\n\n", "{}"),
        ("text", "Head of it\n\n   a.\n\n   1. b\n\n      c\n\n", "{}"),
        ("text", "Head\n\n   a\n\nFoot [Page 1]\n\f\n", "{}"),
        ("markdown", "Term\n: a\n\n    b\n\n", "{}"),
        ("org", "- [[a\n", "{}"),
        ("org", "* a   \n", "{}"),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\na\n\n", "{}"),
        ("vtt", "<v ", "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n{}"),
        ("jats", "<p>a<italic>b</italic></p>", "<article><body>{}</body></article>"),
        ("jats", "<td>a</td>", "<article><body><table><tr>{}</tr><tr><td>a</td></tr></table></body></article>"),
        ("eml", "> quoted words\n", "From: a\nTo: b\n\n{}"),
        ("eml", " \n" * 8, "From: a\nTo: b\n\nwords\n\nFrom: Ada Falk\n{}words"),
        ("eml", "<style " * 20, f"{_FORMS}{{}}\n--q--\n"),
        ("mbox", "From a Tue Mar  5 09:30:00 2024\nFrom: a\nTo: b\n\nwords\n\n", "{}"),
        ("latex", "\\emph{{a}} \\[", "{}"),
        ("latex", "\\begin{columns}[", "\\documentclass{{beamer}} {}"),
        ("latex", "\\documentclass[", "{}"),
        ("latex", "\\def\\x{a}\\x{ \\begin{alltt}", "{}"),
        ("rst", "*a* word\n\n", "{}"),
        ("rst", "Title\n=====\n\nwords\n\n", "{}"),
    ],
)
def test_time_is_linear_in_the_text(tmp_path: Path, kind: str, part: str, around: str) -> None:
    def work(size: int) -> None:
        body = around.format(part.replace("{{", "{").replace("}}", "}") * size if kind == "latex" else part * size)
        list(read([str(given(tmp_path, kind, body))]))

    assert_linear(work, 400, times=8, slack=3)


def test_cues_are_paragraphs_of_one_speaker_and_each_minute_is_a_page(tmp_path: Path) -> None:
    source = (
        "WEBVTT\n\n00:00:01.000 --> 00:00:03.000\n<v Ada Falk>The bridge was closed\n\n"
        "00:00:03.000 --> 00:00:05.000\n<v Ada Falk>in March.\n\n"
        "00:01:10.000 --> 00:01:12.000\n<v Ben Moro>When will it open?\n\n"
        "00:03:00.000 --> 00:03:02.000\nIn May.\n"
    )
    [found] = documents(given(tmp_path, "vtt", source))
    assert (
        found.text == "Ada Falk: The bridge was closed in March.\n\nBen Moro: When will it open?\n\nBen Moro: In May."
    )
    assert [found.text[start:][:10] for start in found.page_starts] == [
        "Ada Falk: ",
        "Ben Moro: ",
        "Ben Moro: ",
        "Ben Moro: ",
    ]
    assert dict(found.metadata) == {"filename": "a.vtt", "minutes": 4, "speaker": ("Ada Falk", "Ben Moro")}


def test_a_colon_does_not_make_a_speaker(tmp_path: Path) -> None:
    cue = "{0}\n00:00:{0:02},000 --> 00:00:{1:02},000\n{2}\n\n"
    lines = ("Remember: close the valve.", "Then leave.", "Ada: Yes.", "Ben: No.", "Ada: Why?")
    source = "".join(cue.format(at, at + 1, line) for at, line in enumerate(lines, 1))
    [found] = documents(given(tmp_path, "srt", source))
    assert found.text == "Remember: close the valve. Then leave.\n\nAda: Yes. Ben: No. Why?"


def test_a_mail_has_its_headers_as_metadata_and_its_attachments_are_sources(tmp_path: Path) -> None:
    path = given(tmp_path, "eml", format_samples.files()["eml"])
    mail, attached = documents(path)
    assert (mail.uri, attached.uri) == (path.as_uri(), f"{path.as_uri()}#kanu11.md")
    assert mail.title == "kanu03"
    assert mail.metadata["from"] == "kanu01 <a@b.example>"
    assert mail.metadata["date"] == "2024-03-05T09:30:00+01:00"
    assert (
        mail.text
        == "kanu05\n\nAnn wrote:\n\n> kanu06 kanu07\n\nSignature:\n\nkanu08\n\nAttached: kanu11.md, kanu12.png"
    )
    assert attached.metadata == {"filename": "kanu11.md", "attached_to": path.as_uri()}
    assert mail.warnings == ("not read: attachment kanu12.png (image/png)",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "---\nacl: public\n---\n\nAnn left."),
        ("a.csv", "id,text,acl\n1,Ann left.,public\n"),
        ("a.json", '{"acl": "public", "title": "Ann left."}'),
    ],
)
def test_the_sender_of_a_mail_does_not_choose_who_sees_what_is_attached(tmp_path: Path, name: str, text: str) -> None:
    head = "From: a@b.example\nSubject: kanu\nContent-Type: multipart/mixed; boundary=b\n\n"
    parts = f"--b\n\nkanu\n--b\nContent-Disposition: attachment; filename={name}\n\n{text}\n--b--\n"
    mail, attached = read([str(given(tmp_path, "eml", head + parts))])
    assert isinstance(mail, Document)
    assert isinstance(attached, ReadFailure)
    assert "names its groups (acl), which its sender chose; save the attachment as a file" in str(attached.error)


def test_a_mailbox_gives_each_message_its_own_uri_and_a_damaged_one_alone_fails(tmp_path: Path) -> None:
    source = format_samples.sources()["mbox"]
    border = "\nFrom a Tue Mar  5 09:30:00 2024\n"
    again = f"{border}From: c\nTo: d\nMessage-ID: <kanu04@b>\n\nagain\n"
    path = given(tmp_path, "mbox", f"{source}{border}X: y\n\n{again}{again.replace('From: c', 'From: list')}")
    items = list(read([str(path)]))
    uris = [item.uri.removeprefix(path.as_uri()) for item in items]
    assert uris[:2] == ["#kanu04@b", "#kanu04@b/kanu11.md"]
    failed = [item.error.reason for item in items if isinstance(item, ReadFailure)]
    assert failed == ["is empty: neither its subject nor its parts hold text"]
    other = [item for item in items if isinstance(item, Document) and item.text == "again"]
    assert [item.uri.rpartition("~")[0] for item in other] == [
        f"{path.as_uri()}#kanu04@b"
    ]  # the copy of the list is left out


def test_text_of_any_suffix_is_read_from_an_attachment_and_an_empty_message_is_named(tmp_path: Path) -> None:
    part = "--b\nContent-Type: {}\nContent-Disposition: attachment; filename={}\n\n{}\n"
    parts = (
        part.format("text/plain", "valve.c", "open the valve"),
        part.format("text/x-log", "run.trace", "valve opened"),
        part.format("application/octet-stream", "valve.bin", "0101"),
        "--b\nContent-Type: message/rfc822\n\nFrom: d\nTo: e\n\n\n--b--\n",
    )
    head = "From: a\nTo: b\nSubject: Valves\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    mail, *attached = documents(given(tmp_path, "eml", head + "".join(parts)))
    assert [(each.title, each.text.strip()) for each in attached] == [
        ("valve", "open the valve"),
        ("run", "valve opened"),
    ]
    assert mail.warnings == ("not read: attachment valve.bin (application/octet-stream), empty message attachment 4",)


def test_a_table_without_a_text_is_one_statement_per_row(tmp_path: Path) -> None:
    path = tmp_path / "ships.tsv"
    path.write_text("Name\tYear, built\nOrlen\t1900\nBolt\t\n\t\n")
    [found] = documents(path)
    assert found.text == "| Name | Year, built |\n| --- | --- |\n| Orlen | 1900 |\n| Bolt |  |"
    assert (found.uri, found.title, found.metadata["rows"]) == (path.as_uri(), "ships", 2)


def test_decimals_of_a_table_keep_their_places(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"part": ["Bolt"], "price": pa.array([Decimal("1.50")])}), path)
    [found] = documents(path)
    assert found.text.splitlines()[-1] == "| Bolt | 1.50 |"


def test_a_long_table_is_cut_into_parts_of_a_thousand_rows(tmp_path: Path) -> None:
    path = tmp_path / "ships.csv"
    path.write_text("Name,Count\n" + "".join(f"Part {number},{3 * number}\n" for number in range(1, 2_501)))
    parts = documents(path)
    assert [part.uri.removeprefix(path.as_uri()) for part in parts] == ["#rows-1", "#rows-1001", "#rows-2001"]
    assert [part.metadata["rows"] for part in parts] == [1000, 1000, 500]
    assert all(part.text.startswith("| Name | Count |\n| --- | --- |\n| Part ") for part in parts)


def test_columns_with_a_text_are_documents_with_typed_metadata(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table({"id": [7], "text": ["some words"], "n": [1.5], "when": [pa.scalar(0, pa.timestamp("s"))]}), path
    )
    [found] = documents(path)
    assert (found.uri, found.text, found.key) == (f"{path.as_uri()}#7", "some words", "7")
    assert dict(found.metadata) == {"n": 1.5, "when": "1970-01-01T00:00:00"}


@pytest.mark.parametrize(
    ("kind", "module", "extra"),
    [
        ("jats", "lxml", "xml"),
        ("odt", "lxml", "odf"),
        ("ics", "icalendar", "calendar"),
        ("rst", "docutils.frontend", "rst"),
        ("latex", "pylatexenc.latexwalker", "latex"),
        ("parquet", "pyarrow", "parquet"),
    ],
)
def test_a_reader_that_is_not_installed_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, kind: str, module: str, extra: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    data = format_samples.files()[kind]
    source = io.BufferedReader(io.BytesIO(data)) if kind == "parquet" else data
    with pytest.raises(MissingExtraError, match=rf"hlgraph\[{extra}\]"):
        list(FORMATS[kind].read(Origin("x", "x"), source, options=ReadOptions()))


def test_a_link_out_of_a_folder_is_refused_for_every_format(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.eml").symlink_to(given(tmp_path, "eml", format_samples.files()["eml"]))
    [failed] = read([str(tmp_path / "in")])
    assert isinstance(failed, ReadFailure)
    assert "leads out of" in failed.error.reason


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Pumps\n=====\n\nOne is blue.\n\nUse\n===\n\nTwo are.\n", "Pumps"),
        ("Pumps pump.\n\nSpeed\n=====\n\nOne is blue.\n\nUse\n===\n\nTwo are.\n", "a"),
        ("Pumps pump.\n\nUse\n===\n\nTwo are.\n", "a"),
        (".. image:: a.png\n\nBy Ada.\n\nPumps\n=====\n\nOne is blue.\n\nUse\n---\n\nTwo are.\n", "Pumps"),
    ],
)
def test_the_title_of_rst_is_no_section_below_its_first_text(tmp_path: Path, text: str, title: str) -> None:
    [document] = documents(given(tmp_path, "rst", text))
    assert document.title == title


def test_sections_of_rst_have_their_levels_and_tables_are_no_titles(tmp_path: Path) -> None:
    source = (
        "====\nTop\n====\n\nOne\n---\n\n1. Two\n~~~~~~\nwords\n\n- no title\n----------\n\n"
        "===== =====\nA     B\n===== =====\n1     2\n===== =====\n\nThree\n-----\n"
    )
    [found] = documents(given(tmp_path, "rst", source))
    assert [line for line in found.text.splitlines() if line.startswith("#")] == [
        "# Top",
        "## One",
        "### 1. Two",
        "## Three",
    ]
    assert "| A | B |" in found.text
    assert found.title == "Top"


def test_an_encrypted_file_says_so(tmp_path: Path) -> None:
    mail = "From: a\nTo: b\nContent-Type: multipart/encrypted; boundary=x\n\n--x\n\na\n--x--\n"
    assert reason(given(tmp_path, "eml", mail)) == "is encrypted"


@pytest.mark.parametrize("damaged", [b"%PDF-1.7\nbroken", b"%PDF-1.7\n%%EOF", b"%PDF-"])
def test_one_damaged_pdf_does_not_stop_its_folder(tmp_path: Path, damaged: bytes) -> None:
    given(tmp_path, "pdf", damaged, "b")
    for name in "ac":
        given(tmp_path, "markdown", "Some words.", name)
    items = list(read([str(tmp_path)]))
    assert [isinstance(item, Document) for item in items] == [True, False, True]


def test_latex_expands_its_own_macros_and_says_which_it_does_not_know(tmp_path: Path) -> None:
    source = r"""
\newcommand{\pump}{Tarn \textbf{Pump}} % \newcommand{\pump}{none}
\newcommand*\bars[2][low]{#2~bar (#1)}
\def\both#1{\pump{} at \bars{#1}}
\newcommand{\bi}{\begin{itemize}\item}
\newcommand{\ei}{\end{itemize}}
\newcommand{\loopy}{\loopy x}
\renewcommand{\emph}[1]{lost}
\begin{document}
\both{7} and \bars[high]2, \SI{5}{\kilo\metre\per\hour}, $-3.5$, 10\textsuperscript{6}, \emph{it} \secret.

\bi first \item second \ei
\begin{verbatim}
\pump
\end{verbatim}
\end{document}"""
    [found] = documents(given(tmp_path, "latex", source))
    assert found.text == (
        "Tarn Pump at 7 bar (low) and 2 bar (high), 5 km/h, -3.5, 10⁶, it .\n\n- first\n- second\n\n```\n\\pump\n```"
    )
    assert found.warnings == (r"not read: macro \secret",)


@pytest.mark.parametrize(
    "rules",
    [
        r"\cmidrule(lr){2-3}",
        r"\cmidrule[1pt](r{2pt}){2-3}",
        r"\cline{2-3}",
        r"\addlinespace[2pt]",
        r"\specialrule{1pt}{0pt}{0pt}",
    ],
)
def test_rules_of_a_latex_table_and_headers_of_its_next_pages_are_no_cells(tmp_path: Path, rules: str) -> None:
    head = rf"\toprule & \multicolumn{{2}}{{c}}{{Bar}} \\ {rules} Pump & In & Out \\ \midrule"
    source = (
        rf"\begin{{longtable}}[]{{@{{}}lrr@{{}}}}\caption[a]{{Pumps}}\tabularnewline {head} \endfirsthead {head} \endhead "
        r"\multicolumn{3}{r}{goes on} \\ \endfoot Total & 3 & 8 \\ \bottomrule \endlastfoot P-1 & 2 & 6 \\ P-2 & 1 & 2 \\ "
        r"\end{longtable}"
    )
    [found] = documents(given(tmp_path, "latex", source))
    assert found.text.splitlines() == [
        *("Pumps", "", "| Pump | Bar In | Bar Out |", "| --- | --- | --- |"),
        *("| P-1 | 2 | 6 |", "| P-2 | 1 | 2 |", "| Total | 3 | 8 |"),
    ]


def test_numbers_signs_and_theorems_of_latex_are_text(tmp_path: Path) -> None:
    source = (
        r"\newtheorem{thm}{Theorem}\begin{document}\begin{thm}[Vik]$2.0 \pm 0.1$ \checkmark, $x^2$ and 7$^{*}$.\end{thm}"
        r"\begin{figure}\begin{subfigure}{.5\textwidth}\caption{Left}\end{subfigure}\end{figure}\end{document}"
    )
    [found] = documents(given(tmp_path, "latex", source))
    assert (found.text, found.warnings) == ("Theorem (Vik): 2.0 ± 0.1 ✓, $x^2$ and 7^*.\n\nLeft", ())


NUMBERED = r"""\documentclass{%s}%s
\begin{document}
\section{One}\subsection{Deep}\label{deep}\section*{None}\section{Two}\label{two}
\begin{figure}\caption*{no}\caption{A sketch.}\label{fig}\end{figure}
\begin{table}\begin{tabular}{l}\toprule a \\ \bottomrule\end{tabular}\caption{Pumps.}\label{tab}\end{table}
\begin{equation}\label{eq}a\end{equation}\begin{align}b\notag\\c\label{row}\end{align}
\begin{enumerate}\item x \item y \label{item}\end{enumerate}
\begin{theorem}\label{thm}z\end{theorem}
\begin{verbatim}
write \ref{two}
\end{verbatim}
Refs: \ref{deep} \ref{two} \autoref{fig} Table~\ref{tab} \eqref{eq} \eqref{row} \cref{item} \ref{thm} \ref{none}%s
\end{document}"""


@pytest.mark.parametrize(
    ("kind", "preamble", "end", "expected"),
    [
        ("article", "", "", "1.1 2 Figure 1 Table 1 (1) (2) item 2 thm none"),
        ("article", r"\numberwithin{equation}{section}", "", "1.1 2 Figure 1 Table 1 eq row item 2 thm none"),
        ("article", r"\setcounter{secnumdepth}{0}", "", "deep two Figure 1 Table 1 (1) (2) item 2 thm none"),
        ("revtex4", "", "", "deep two fig Table tab eq row item thm none"),
        ("article", "", r"\input{more}", "deep two fig Table tab eq row item thm none"),
        ("book", "", "", "deep two fig Table tab eq row item 2 thm none"),  # its sections have no chapter
    ],
)
def test_a_reference_of_latex_shows_the_number_that_its_file_decides(
    tmp_path: Path, kind: str, preamble: str, end: str, expected: str
) -> None:
    [found] = documents(given(tmp_path, "latex", NUMBERED % (kind, preamble, end)))
    [line] = [line for line in found.text.splitlines() if line.startswith("Refs")]
    assert line == f"Refs: {expected}"
    assert r"write \ref{two}" in found.text  # a listing shows the macro
    assert ("Figure 1: A sketch." in found.text) == ("Figure 1" in expected)


@pytest.mark.parametrize(
    ("kind", "source", "lines"),
    [
        (
            "asciidoc",
            "= T\nAda\nv1.2, 2026-03-04: first\n:part: pump\n:both: {part}s\n\n"
            "* The {part} must be\n  closed {both}.\n. one\n. two\n+\nattached\n\n. three\n.. a\n.. b\n\n"
            "prose {unknown}\n\n. again\n\nTerm:: goes\non.\n",
            [
                *(
                    "# T",
                    "- The pump must be closed pumps.",
                    "1. one",
                    "2. two",
                    "  attached",
                    "3. three",
                    "  1. a",
                    "  2. b",
                ),
                *("prose {unknown}", "1. again", "- Term: goes on."),
            ],
        ),
        (
            "org",
            "#+TITLE: T\n- The pump must be\n  closed.\n  1. one\n     more\n  2. two\n- next\nprose\n",
            ["- The pump must be closed.", "  1. one more", "  2. two", "- next", "prose"],
        ),
        (
            "rst",
            "A [#b]_ and b. [#]_ Then c. [1]_ [*]_\n\n.. [1] one\n.. [#b] two\n.. [#] three\n.. [*] star\n",
            ["A [2] and b.[3] Then c.[1] [*]", "[1] one", "[2] two", "[3] three", "[*] star"],
        ),
        ("wikitext", "One.<ref>a</ref> Two<ref>b</ref>.\n", ["One.[1] Two [2].", "## References", "1. a", "2. b"]),
        (
            "jats",
            "<article><body><list list-type='alpha-lower'><list-item><p>a</p></list-item><list-item><p>b</p></list-item></list>"
            "<p><inline-formula><math><msup><mi>x</mi><mn>10</mn></msup><mo>+</mo><mfrac><mi>a</mi><mrow><mi>b</mi><mo>-</mo>"
            "<mn>1</mn></mrow></mfrac></math></inline-formula></p></body></article>",
            ["a) a", "b) b", "x¹⁰+a/(b-1)"],
        ),
    ],
)
def test_items_are_whole_and_have_their_numbers_and_notes_their_marks(
    tmp_path: Path, kind: str, source: str, lines: list[str]
) -> None:
    [found] = documents(given(tmp_path, kind, source))
    assert [line for line in found.text.splitlines() if line] == lines


def test_lists_and_formulas_of_odt_are_shown_as_in_the_document(tmp_path: Path) -> None:
    number = "<text:list-level-style-number text:level='{}' style:num-format='{}' text:start-value='{}'/>".format
    style = (
        "<office:automatic-styles xmlns:style='s'><text:list-style style:name='L'>"
        f"{number(1, '1', 1)}{number(2, 'a', 3)}</text:list-style></office:automatic-styles>"
    )
    entry = "<text:list-item><text:p>{}</text:p>{}</text:list-item>".format
    inner = f"<text:list>{entry('b', '')}</text:list>"
    body = (
        f"<text:list text:style-name='L'>{entry('one', inner)}{entry('two', '')}</text:list><text:p>p</text:p>"
        f"<text:list text:style-name='L' text:continue-numbering='true'>{entry('three', '')}</text:list>"
        f"<text:list>{entry('dash', '')}</text:list>"
        "<text:p>Sum <draw:frame><draw:object xmlns:xlink='l' xlink:href='./F 1/'/></draw:frame>.</text:p>"
    )
    flat = format_samples.flat("text", body).replace("<office:body>", f"{style}<office:body>", 1)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        package.writestr("content.xml", flat)
        pages = "<style:header><text:p>Weir of Sarn</text:p></style:header><style:footer><text:p>Draft</text:p></style:footer>"
        package.writestr(
            "styles.xml",
            f"<office:document-styles xmlns:style='s' xmlns:office='o' xmlns:text='t'>{pages * 2}</office:document-styles>",
        )
        package.writestr("F 1/content.xml", "<math xmlns='m'><msup><mi>a</mi><mn>2</mn></msup></math>")
    [found] = documents(given(tmp_path, "odt", out.getvalue()))
    assert [line for line in found.text.splitlines() if line] == [
        *("Weir of Sarn", "Draft", "1. one", "  c) b", "2. two", "p", "3. three", "- dash", "Sum a²."),
    ]
    assert found.warnings == ()


def test_a_table_that_a_notebook_shows_is_a_table_and_the_name_of_a_figure_is_no_text(tmp_path: Path) -> None:
    page = "<table><thead><tr><th></th><th>Region</th></tr></thead><tbody><tr><th>0</th><td>North</td></tr></tbody></table>"
    shown = [
        {"text/plain": "  Region\n0 North", "text/html": page},
        {"text/plain": "<Figure size 6x4>", "image/png": "aa"},
    ]
    outputs = [{"output_type": "display_data", "data": data} for data in shown]
    cell = {"cell_type": "code", "source": "df", "outputs": outputs}
    [found] = documents(given(tmp_path, "ipynb", json.dumps({"cells": [cell], "metadata": {}})))
    assert "|  | Region | \n|---|---|\n| 0 | North |" in found.text
    assert "Figure" not in found.text
    assert found.warnings == ("not read: output of type image/png",)


def test_quotations_of_a_mail_in_html_are_marked(tmp_path: Path) -> None:
    page = (
        "<div>It works.</div><div>On Monday Ane wrote:</div><blockquote><div>It is out.</div><blockquote><p>When?</p></blockquote>"
        "Soon.</blockquote>"
    )
    mail = f"From: a\nTo: b\nContent-Type: text/html\n\n<html><body>{page}</body></html>"
    [found] = documents(given(tmp_path, "eml", mail))
    assert found.text.split("\n\n") == ["It works.", "On Monday Ane wrote:", "> It is out.", "> > When?", "> Soon."]


def test_an_invitation_says_what_and_when(tmp_path: Path) -> None:
    event = (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Review\\, seals and\n  more\nDTSTART;TZID=Europe/Oslo:20260309T090000\n"
        "DTEND;VALUE=DATE:20260310\nORGANIZER;CN=Ada:mailto:ada@a\nUID:1\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    [found] = documents(given(tmp_path, "eml", f"From: a\nTo: b\nContent-Type: text/calendar\n\n{event}"))
    assert found.text.splitlines() == [
        *("Event: Review, seals and more", "Start: 2026-03-09T09:00:00", "End: 2026-03-10", "Organizer: ada@a"),
    ]


ALTERNATIVES = (
    "From: a@b.org\nSubject: Offer\nContent-Type: multipart/alternative; boundary=x\n\n--x\nContent-Type: text/plain\n\n{}\n"
    "--x\nContent-Type: text/html\n\n<style>p{{margin:0}}</style><p>The new price is 58 francs from May on.</p>\n--x--\n"
)


@pytest.mark.parametrize(
    ("plain", "read_as"),
    [
        ("(HTML only)", "The new price is 58 francs from May on."),
        ("The new price is 58 francs.", "The new price is 58 francs."),
    ],
)
def test_a_mail_whose_plain_form_says_little_is_read_from_its_rich_form(
    plain: str, read_as: str, tmp_path: Path
) -> None:
    [mail] = documents(given(tmp_path, "eml", ALTERNATIVES.format(plain)))
    assert mail.text == read_as


@pytest.mark.parametrize(
    "header",
    [
        "Von: Tom Ash <t@a.org>\nGesendet: Dienstag, 18. März 2025 09:41\nAn: Ruth\nBetreff: Offer\n",
        "From: Tom Ash <t@a.org>\n\nSent: Tuesday, 18 March 2025 09:41\n\nTo: Ruth\n\nSubject: Offer\n",
        "-----Original Message-----\nFrom: Tom Ash <t@a.org>\nTo: Ruth\nSent: Tuesday, 18 March 2025 09:41\nSubject: Offer\n",
        "Subject: Offer\nFrom: Tom Ash <t@a.org>\nDate: Tuesday, 18 March 2025 09:41\n",
    ],
)
def test_a_mail_below_a_header_is_a_quotation_of_its_writer(header: str, tmp_path: Path) -> None:
    [mail] = documents(
        given(
            tmp_path,
            "eml",
            f"From: r@b.org\nContent-Type: text/plain; charset=utf-8\n\nNo.\n\n{header}\nIt is dear.\n\nTom\n",
        )
    )
    when = header.partition(", ")[2].partition("\n")[0]
    day = header.partition(",")[0].rpartition(" ")[2]
    assert mail.text.endswith(f"\n\nTom Ash <t@a.org>, {day}, {when}:\n\n> It is dear.\n\n> Tom")
    assert "---" not in mail.text


def test_a_quoted_header_names_the_writer_and_other_lines_with_such_names_do_not(tmp_path: Path) -> None:
    quoted = "No.\n\n> Subject: Offer\n> From: t@a.org\n> Date: 18 March 2025\n>\n> It is dear.\n"
    [mail] = documents(given(tmp_path, "eml", f"From: r@b.org\nTo: t@a.org\n\n{quoted}"))
    assert mail.text.startswith("No.\n\nt@a.org, 18 March 2025:\n\n> Subject: Offer\n")
    trip = "From: Sarn\nTo: Tolk\nDate: 18 March 2025\n\nThe van is full."
    [mail] = documents(given(tmp_path, "eml", f"From: r@b.org\nTo: t@a.org\n\n{trip}", name="b"))
    assert mail.text == trip


def test_a_message_of_outlook_is_read_as_mail_with_its_attachments(tmp_path: Path) -> None:
    mail, text, inner = documents(given(tmp_path, "msg", format_samples.outlook(), name="a"))
    assert (mail.title, mail.text.split("\n\n")[0], mail.text.count("kanu04")) == ("kanu01", "kanu03 é", 1_000)
    people = {"from": "Ann kanu02 <a@b.example>", "to": "kanu05 <c@b.example>"}
    assert mail.metadata == {"filename": "a.oft", **people, "date": "2024-03-05T10:30:00+00:00"}
    assert (text.text, text.title, inner.text, inner.title) == ("kanu09", "kanu06", "kanu08", "kanu07")


def test_a_message_of_outlook_without_a_plain_text_is_read_from_its_page_or_its_packed_rtf(tmp_path: Path) -> None:
    packed = (  # the example of [MS-OXRTFCP]
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    bare = {"__substg1.0_1000001F": b"", "__substg1.0_10090102": bytes.fromhex(packed)}
    assert documents(given(tmp_path, "msg", format_samples.outlook(**bare), name="a"))[0].text.startswith("hello world")
    page = {"__substg1.0_1000001F": b"", "__substg1.0_10130102": b"<p>Caf\xe9</p>"}
    page |= {"__properties_version1.0": bytes(32) + struct.pack("<III4x", 0x3FDE0003, 6, 1252)}
    assert documents(given(tmp_path, "msg", format_samples.outlook(**page), name="b"))[0].text.startswith("Café")


@pytest.mark.parametrize("cut", [600, 2_000, 9_000])
def test_a_damaged_message_of_outlook_is_one_failure_or_what_is_left_of_it(cut: int, tmp_path: Path) -> None:
    whole = format_samples.outlook()
    for number, data in enumerate(
        (whole[:cut], whole[:cut] + b"\0" * (len(whole) - cut), whole[:512] + whole[512:516] * 4_000)
    ):
        items = list(read([str(given(tmp_path, "msg", data, name=f"a{number}"))]))
        assert 0 < len(items) < 4


def test_a_manual_keeps_what_its_sense_needs(tmp_path: Path) -> None:
    [found] = documents(given(tmp_path, "docbook", format_samples.DOCBOOK))
    assert (found.title, found.metadata["author"]) == ("kanu01", ("kanu02 kanu03",))
    assert found.text.split("\n\n") == [
        *(
            "# kanu01",
            "kanu04",
            "## kanu05",
            "The kanu06 [kanu07] runs, see “kanu13”.",
            "Warning: kanu08",
            "- kanu09: kanu10",
        ),
        *("1. kanu11\n2. kanu12", "kanu13", "| Name | Year |\n| --- | --- |\n| Orlen | 1900 |\n| Orlen | 1901 |"),
        *("```\nkanu14\n```", "**Q:** kanu15?", "**A:** kanu16", "Go to kanu17 > kanu18", "- kanu19"),
    ]
    [found] = documents(given(tmp_path, "dita", format_samples.DITA))
    assert "1. kanu05\n\n  kanu06\n\nCaution: kanu07" in found.text
    [found] = documents(given(tmp_path, "fb2", format_samples.FB2))
    assert found.text.startswith("# kanu03\n\nkanu04\n\n## kanu05\n\nkanu06 [kanu09] ends.\n\nkanu07\nkanu08\n\n| Name")


CARDS = """BEGIN:VCARD
FN:Ada Falk
ORG:Brask Inc.;Sales
TEL;TYPE=CELL,VOICE:+49 30 1234
BDAY:1980-05-12
PHOTO;ENCODING=b:AAAA=
TEL;TYPE=work:5
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;Ben
NOTE;ENCODING=QUOTED-PRINTABLE:Caf=C3=A9 =
owner
END:VCARD
"""


def test_contacts_are_a_table(tmp_path: Path) -> None:
    [found] = documents(given(tmp_path, "vcf", CARDS))
    assert found.text.split("\n") == [
        "| name | organization | telephone (cell) | birthday | telephone (work) | note |",
        "| --- | --- | --- | --- | --- | --- |",
        "| Ada Falk | Brask Inc., Sales | +49 30 1234 | 1980-05-12 | 5 |  |",
        "| Ben Müller |  |  |  |  | Café owner |",
    ]
    assert found.warnings == ("not read: picture, key or property of one program",)


def test_features_of_a_map_are_a_table_with_the_places_of_points(tmp_path: Path) -> None:
    [found] = documents(given(tmp_path, "geojson", format_samples.GEOJSON))
    assert (found.title, found.text.split("\n")) == (
        "kanu01",
        [
            *("source: kanu02", "", "| name | height | use kind | latitude | longitude | id | geometry | points |"),
            "| --- | --- | --- | --- | --- | --- | --- | --- |",
            "| kanu03 | 3 | kanu04 | 47.1 | 8.5 |  |  |  |",
            "|  |  |  |  |  | kanu05 | Polygon | 3 |",
        ],
    )
    assert reason(given(tmp_path, "geojson", '{"a": 1}')) == "is not GeoJSON: its first object has no type of it"


def test_references_are_a_table_with_names_as_they_are_spoken(tmp_path: Path) -> None:
    [found] = documents(given(tmp_path, "bibtex", format_samples.BIBTEX))
    assert found.text.split("\n")[2:] == [
        "| The kanu03 | book | Ann kanu04; kanu05 and Sons | 1900 | kanu01 kanu06 | kanu07 | kanu02 |  |",
        "| kanu09 café | article |  |  |  |  | kanu08 | kanu10 |",
    ]
    long = f"@misc{{a, abstract = {{{'word ' * 1_000}}}, title = {{B}}}}\n@misc{{c, title = {{D}}}}"
    assert documents(given(tmp_path, "bibtex", long))[0].text.split("\n")[2:4] == [
        "| B | misc | a |",
        "| D | misc | c |",
    ]
    [found] = documents(given(tmp_path, "ris", format_samples.RIS))
    assert found.text.split("\n")[2:] == [
        "| kanu01 | article | Ann kanu02; Ben kanu03 | kanu04 kanu05 | kanu06 | kanu07 |",
        "| kanu08 | book |  |  |  |  |",
    ]
    [found] = documents(given(tmp_path, "nbib", format_samples.NBIB))
    assert found.text.split("\n")[2] == "| kanu01 kanu02 | 12345 | Ann kanu03 | kanu04 | kanu05 |"
    assert found.warnings == ("not read: tag of a library",)


def test_items_of_rtf_keep_their_numbers_and_levels(tmp_path: Path) -> None:
    marks = (("1.", 0), ("a.", 1), ("ii.", 2), ("\\bullet ", 3), ("2.", 0))
    items = "".join(f"\\pard{{\\listtext {mark}\\tab}}\\ilvl{depth}\\ls1 M{depth}\\par " for mark, depth in marks)
    [found] = documents(given(tmp_path, "rtf", rf"{{\rtf1\ansi {items}}}"))
    assert found.text == "1. M0\n    - a. M1\n        - ii. M2\n            - M3\n2. M0"
    statements = LocalExtractor().extract([ChunkInput(found.text)])[0].propositions
    assert [statement.text for statement in statements][2] == "M0: a. M1: ii. M2"


def test_a_manual_page_has_its_options_as_items_and_its_lines_filled(tmp_path: Path) -> None:
    source = (
        ".TH A 1\n.SH OPTIONS\n.TP\n.BR \\-k ,\n.TQ\n\\-\\-keep\nKeep jobs.\nWithout\n.I it\nthey go.\n.TP\n\\-n\n"
        ".IP \\(bu 2\nOne\nthing\n.IP 1. 2\nFirst\n.PP\nTwo\nlines\n.nf\na b\nc d\n.fi\n"
    )
    [page] = documents(given(tmp_path, "man", source))
    assert page.text == (
        "# OPTIONS\n\n- -k,, --keep: Keep jobs. Without it they go.\n\n- -n\n\n- One thing\n\n1. First\n\nTwo lines\n\na b\nc d"
    )


def test_two_names_of_an_option_are_one_item(tmp_path: Path) -> None:
    page = '.TH PUMP 1\n.SH OPTIONS\n.IP "\\fB-V\\fR" 4\n.PD 0\n.IP "\\fB--version\\fR" 4\n.PD\nShow it.\n.IP "-h" 4\nHelp.\n'
    [pump] = documents(given(tmp_path, "man", page))
    assert pump.text.split("\n\n") == ["# OPTIONS", "- -V, --version: Show it.", "- -h: Help."]


def test_an_option_above_its_indented_text_names_it(tmp_path: Path) -> None:
    page = ".TH PUMP 1\n.SH OPTIONS\nSet:\n.PP\n\\fB--debug\\fR\n.RS 4\nShow it.\n.RE\n.PP\nSee also:\n.RS 4\nweir(1)\n.RE\n"
    [pump] = documents(given(tmp_path, "man", page))
    assert pump.text.split("\n\n") == ["# OPTIONS", "Set:", "- --debug: Show it.", "See also:", "weir(1)"]


@pytest.mark.parametrize("dash", ["- ", "– ", ">> "])
def test_a_dash_before_a_voice_and_the_notes_of_music_are_nobody_s_words(dash: str, tmp_path: Path) -> None:
    lines = f"{dash}<v Ben>I will not</v>\n{dash}<v Cora>Nobody does</v>\n\n00:03.000 --> 00:04.000\n♪ music ♪\n"
    [talk] = documents(given(tmp_path, "vtt", f"WEBVTT\n\n00:01.000 --> 00:02.000\n{lines}"))
    assert talk.text == "Ben: I will not\n\nCora: Nobody does\n\n♪ music ♪"


def test_a_title_of_latex_stands_without_its_notes_and_the_authors_of_asciidoc_are_several(tmp_path: Path) -> None:
    source = "\\title{Sorting gravel\\thanks{Paid by Tolk.}}\\begin{document}Words.\\end{document}"
    [paper] = documents(given(tmp_path, "latex", source))
    assert (paper.title, paper.text) == ("Sorting gravel", "# Sorting gravel\n\n[Paid by Tolk.]\n\nWords.")
    [guide] = documents(given(tmp_path, "asciidoc", "= Weir\nIlse Tarn <i@w.org>; Bo Falk\n\nWords."))
    assert guide.metadata["author"] == ("Ilse Tarn <i@w.org>", "Bo Falk")


def test_titles_of_asciidoc_may_be_underlined(tmp_path: Path) -> None:
    head = "weir(1)\n=======\n\nNAME\n----\nweir - holds water\n\n[[parts]]\n"
    page = f"{head}The gates[[gates]]\n~~~~~~~~~~~~~~~~~~\nThey open.\n\n----\nNAME\n----\n\nend\n"
    [weir] = documents(given(tmp_path, "asciidoc", page))
    expected = ["# weir(1)", "## NAME", "weir - holds water", "### The gates", "They open.", "```\nNAME\n```", "end"]
    assert (weir.title, weir.text.split("\n\n")) == ("weir(1)", expected)


def test_a_date_that_a_sheet_shows_in_digits_is_the_stored_one(tmp_path: Path) -> None:
    cell = (
        '<table:table-cell office:value-type="{}" office:{}-value="2025-08-01"><text:p>{}</text:p></table:table-cell>'
    )
    cells = (
        cell.format("date", "date", "01/08/25")
        + cell.format("date", "date", "1 Aug")
        + cell.format("string", "string", "01/08/25")
    )
    sheet = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0">'
        f'<office:body><office:spreadsheet><table:table table:name="S"><table:table-row>{cells}</table:table-row></table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        package.writestr("content.xml", sheet)
    [book] = documents(given(tmp_path, "ods", buffer.getvalue()))
    assert [word in book.text for word in ("2025-08-01", "1 Aug", "01/08/25")] == [True, True, True]
    assert book.text.count("2025-08-01") == 1


def test_struck_out_spans_of_slides_and_open_documents_are_marked_so(tmp_path: Path) -> None:
    names = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{uri}:1.0"'
        for name, uri in (("office", "office"), ("text", "text"), ("style", "style"))
    )
    style = '<style:style style:name="T{}"><style:text-properties style:text-line-through-style="{}"/></style:style>'
    content = (
        f"<office:document-content{names}><office:automatic-styles>{style.format(1, 'solid')}{style.format(2, 'none')}"
        '</office:automatic-styles><office:body><office:text><text:p>Dogs are <text:span text:style-name="T1">allowed </text:span>'
        '<text:span text:style-name="T2">not allowed.</text:span></text:p></office:text></office:body></office:document-content>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        package.writestr("content.xml", content)
    [text] = documents(given(tmp_path, "odt", buffer.getvalue()))
    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    paragraph = slide.shapes.add_textbox(0, 0, 100, 100).text_frame.paragraphs[0]
    for words, strike in (("Dogs are ", "noStrike"), ("allowed ", "sngStrike"), ("not allowed.", "")):
        run = paragraph.add_run()
        run.text = words
        run.font._element.set("strike", strike) if strike else None
    buffer = io.BytesIO()
    show.save(buffer)
    [slides] = documents(given(tmp_path, "pptx", buffer.getvalue()))
    assert text.text == slides.text == "Dogs are ~~allowed~~ not allowed."


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("asciidoc", "Fruit:\n\nApple::\n  red\n  +\nwith seeds\nof it\nOrange::\n  sweet\n\nAll of it:\n\n* one\n"),
        ("org", "Fruit:\n\n- Apple :: red\n\n  with seeds\n  of it\n\n- Orange :: sweet\n\nAll of it:\n\n- one\n"),
    ],
)
def test_a_second_paragraph_of_a_definition_leads_no_other(kind: str, text: str, tmp_path: Path) -> None:
    [found] = documents(given(tmp_path, kind, text))
    assert found.text == "Fruit:\n\n- Apple: red\n\n  with seeds of it\n\n- Orange: sweet\n\nAll of it:\n\n- one"
    assert [each.text for each in units(found.text, ())] == [
        *("Fruit: Apple: red", "Fruit: Apple: red: with seeds of it", "Fruit: Orange: sweet", "All of it: one")
    ]


def test_paragraphs_of_an_item_are_its_own_and_leave_its_list_whole(tmp_path: Path) -> None:
    items = "".join(
        f"<listitem>{''.join(f'<para>{text}</para>' for text in texts)}</listitem>"
        for texts in (("Open the old valve of the hall", "It is red.\nSo it is."), ("Press.",))
    )
    text = f"<article><para>To start it:</para><orderedlist>{items}</orderedlist><para>It runs.</para></article>"
    [found] = documents(given(tmp_path, "docbook", text))
    assert (
        found.text
        == "To start it:\n\n1. Open the old valve of the hall\n\n  It is red. So it is.\n2. Press.\n\nIt runs."
    )
    assert [each.text for each in units(found.text, ())] == [
        "To start it: Open the old valve of the hall",
        "To start it: Open the old valve of the hall: It is red.",
        "To start it: Open the old valve of the hall: So it is.",
        "To start it: Press.",
        "It runs.",
    ]


def test_the_time_of_an_rtf_is_that_of_its_properties(tmp_path: Path) -> None:
    made = r"{{\rtf1{{\info{{\title Pumps}}{{\creatim\yr2011\mo8\dy29{}}}}}It is red.\par}}"
    [full] = documents(given(tmp_path, "rtf", made.format(r"\hr5\min20")))
    [day] = documents(given(tmp_path, "rtf", made.format("")))
    [none] = documents(given(tmp_path, "rtf", r"{\rtf1{\info{\title Pumps}}It is red.\par}"))
    assert [each.metadata.get("created") for each in (full, day, none)] == [
        "2011-08-29T05:20:00",
        "2011-08-29T00:00:00",
        None,
    ]


def test_a_style_called_title_titles_an_rtf_file_and_no_library_is_its_author(tmp_path: Path) -> None:
    styles = r"{\stylesheet{\s1 heading 1;}{\s6 Title;}}"
    info = r"{\info{\author python-docx}{\doccomm generated by python-docx}{\subject Ships}}"
    text = r"\pard\s1 Preface\par\pard\s6 Loan of a boat\par\pard\s1 Terms\par\pard It is red.\par"
    [found] = documents(given(tmp_path, "rtf", rf"{{\rtf1\ansi {styles}{info}{text}}}"))
    assert found.title == "Loan of a boat"
    assert {"author", "description"}.isdisjoint(found.metadata)
    assert found.text.split("\n\n") == ["# Preface", "# Loan of a boat", "# Terms", "It is red."]
    [other] = documents(given(tmp_path, "rtf", rf"{{\rtf1\ansi {styles.replace('Title', 'Title of parts')}{text}}}"))
    assert other.title != "Loan of a boat"


@pytest.mark.parametrize(("display", "count"), [("false", 1), ("true", 0)])
def test_a_warning_names_the_hidden_sheets_of_a_spreadsheet(display: str, count: int, tmp_path: Path) -> None:
    row = "<table:table-row><table:table-cell><text:p>5</text:p></table:table-cell></table:table-row>"
    hidden = f'<table:table table:name="Cost" table:style-name="ta2">{row}</table:table>'
    sheets = f'{hidden}<table:table table:name="B">{row}</table:table>'
    space = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
    shown = f'<style:table-properties table:display="{display}"/>'
    style = f'<style:style {space} style:name="ta2">{shown}</style:style>'
    flat = format_samples.flat("spreadsheet", sheets)
    flat = flat.replace("<office:body>", f"<office:automatic-styles>{style}</office:automatic-styles><office:body>")
    [found] = documents(given(tmp_path, "ods", format_samples.packed(flat)))
    assert [each.partition(" was")[0] for each in found.warnings] == ["the hidden sheet 'Cost'"] * count


def test_terms_below_a_list_of_asciidoc_are_another_one_and_a_box_has_its_kind_and_title(tmp_path: Path) -> None:
    lists = "= Fan\n\n.Not supplied\n* level\n* drill\n\nBreaker:: Stops it.\nFuse:: Guards it.\n\nUse it.\n\nCap:: Ends it."
    box = "\n\n[WARNING]\n.Shock\n====\nCut the mains.\n====\n\n[NOTE#a]\n--\nIt hums.\n--"
    [found] = documents(given(tmp_path, "asciidoc", lists + box))
    assert found.text == (
        "# Fan\n\nNot supplied\n\n- level\n- drill\n\n* Breaker: Stops it.\n\n* Fuse: Guards it.\n\nUse it.\n\n- Cap: Ends it."
        "\n\nWarning: Shock: Cut the mains.\n\nNote: It hums."
    )
    titles = "= Fan\n\n[NOTE]\n.Hum\nIt hums.\n\n[TIP]\n.Parts\n* belt\n\nCap:: Ends it.\n* blue\n\nFuse:: Guards it."
    [kept] = documents(given(tmp_path, "asciidoc", titles))
    assert kept.text == "# Fan\n\nHum\n\nIt hums.\n\nParts\n\n- belt\n\n* Cap: Ends it.\n\n- blue\n\n* Fuse: Guards it."
    [said] = LocalExtractor().extract([ChunkInput(found.text)])
    assert "Breaker: Stops it." in [each.text.removeprefix("Fan: ") for each in said.propositions]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is {{convert|9|km|mi}} long.", "It is 9 km long."),
        ("{{cvt|5|to|9|km2|sqmi}} and {{convert|5|ft|10|in|m}}", "5 to 9 km² and 5 ft 10 in"),
        ("{{About|the lake|the village}}\n'''Tarn''' is a lake.", "the lake the village\n\nTarn is a lake."),
        ("Tarn is {{lang|de|See}}\nof Sarn.", "Tarn is de See\nof Sarn."),
        ("{{quote|It fed us.|Anna Rey|1931}}", "It fed us. — Anna Rey, 1931"),
        ("Scoglio{{efn|Not inhabited.}} lies south.", "Scoglio [1] lies south.\n\n## References\n\n1. Not inhabited."),
        ("[[Tarn]] [[:de:Tarn]]\n[[de:Tarnsee]]", "Tarn de:Tarn"),
        ("Open [[ui:Window]] first.", "Open ui:Window first."),
        ("{{Note|Never run it dry.}} {{convert|about 5|km}}", "Never run it dry. about 5 km"),
        ("It lies in\n{{nowrap|the vale}}\nof Sarn.", "It lies in\nthe vale\nof Sarn."),
    ],
)
def test_measures_notes_and_quotations_of_wikitext_say_what_its_pages_show(
    text: str, shown: str, tmp_path: Path
) -> None:
    [found] = documents(given(tmp_path, "wikitext", text))
    assert found.text == shown


def test_definitions_of_wikitext_have_their_terms(tmp_path: Path) -> None:
    text = "Fruit\n\n; apple: red\n: fruit\n: computer\n; orange : sweet\n: bank\n\nText\n: reply\n* one\n: two\n"
    [found] = documents(given(tmp_path, "wikitext", text))
    items = "- apple: red: fruit\n- apple: red: computer\n- orange: sweet\n- orange: bank"
    assert found.text == f"Fruit\n\n{items}\n\nText\n\nreply\n- one\ntwo"


NAMES = {
    **dict.fromkeys(("office", "text", "style", "table", "chart", "presentation"), ""),
    "fo": "xsl-fo-compatible",
    "draw": "drawing",
}


def open_file(body: str, styles: str = "") -> str:
    """A flat file of OpenDocument."""
    office = "urn:oasis:names:tc:opendocument:xmlns"
    names = "".join(f' xmlns:{short}="{office}:{name or short}:1.0"' for short, name in NAMES.items())
    head = f'<office:document{names} xmlns:xlink="http://www.w3.org/1999/xlink"><office:automatic-styles>{styles}'
    return f"{head}</office:automatic-styles><office:body>{body}</office:body></office:document>"


@pytest.mark.parametrize("kind", ["odt", "rtf"])
def test_a_short_line_in_bold_heads_the_text_below_it(kind: str, tmp_path: Path) -> None:
    lines = [
        ("Water supply", True),
        ("The pump failed.", False),
        ("Actions", True),
        ("Order it.", False),
        ("Kim", True),
        ("Noor", True),
    ]
    rtf = "".join(f"\\pard{{\\b{int(is_bold)} {text}}}\\par\n" for text, is_bold in lines)
    odt = "".join(f'<text:p text:style-name="{"P1" if is_bold else "P2"}">{text}</text:p>' for text, is_bold in lines)
    bold = '<style:style style:name="B"><style:text-properties fo:font-weight="bold"/></style:style>'
    styles = f'{bold}<style:style style:name="P1" style:parent-style-name="B"/>'
    odt = open_file(f"<office:text>{odt}</office:text>", styles)
    whole = {"rtf": f"{{\\rtf1 {rtf}}}", "odt": odt}[kind]
    [document] = documents(given(tmp_path, kind, whole))
    assert document.text == "## Water supply\n\nThe pump failed.\n\n## Actions\n\nOrder it.\n\nKim\n\nNoor"


def test_the_values_of_a_chart_of_odt_are_a_table_and_those_of_a_sheet_stand_once(tmp_path: Path) -> None:
    rows = [("", "2023"), ("Station", "830")]
    cells = ("".join(f"<table:table-cell><text:p>{cell}</text:p></table:table-cell>" for cell in row) for row in rows)
    table = f"<table:table>{''.join(f'<table:table-row>{row}</table:table-row>' for row in cells)}</table:table>"
    chart = f"<chart:title><text:p>Counts a day</text:p></chart:title>{table}"
    chart = open_file(f"<office:chart><chart:chart>{chart}</chart:chart></office:chart>")
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame>'
    sheet = f'<table:table table:name="A"><table:shapes>{frame}</table:shapes>{table[13:]}'
    for kind, body, expected in (
        (
            "text",
            f"<text:p>It rose.{frame}</text:p>",
            "It rose.\n\nCounts a day\n\n|  | 2023 |\n| --- | --- |\n| Station | 830 |",
        ),
        ("spreadsheet", sheet, "## A\n\n|  | 2023 |\n| --- | --- |\n| Station | 830 |\n\nCounts a day"),
    ):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as package:
            package.writestr("content.xml", open_file(f"<office:{kind}>{body}</office:{kind}>"))
            package.writestr("Object 1/content.xml", chart)
        [document] = documents(given(tmp_path, {"text": "odt", "spreadsheet": "ods"}[kind], data.getvalue()))
        assert (document.text, document.warnings) == (expected, ())


def test_a_slide_without_a_title_is_not_under_the_title_of_the_one_before(tmp_path: Path) -> None:
    def frame(text: str, kind: str = "outline") -> str:
        paragraphs = "".join(f"<text:p>{line}</text:p>" for line in text.split("|"))
        return f'<draw:frame presentation:class="{kind}"><draw:text-box>{paragraphs}</draw:text-box></draw:frame>'

    items = "<text:list><text:list-item><text:p>{}</text:p></text:list-item></text:list>"
    inner = f"<text:list><text:list-header>{items.format('North: 12')}</text:list-header></text:list>"
    lists = f"<draw:frame><draw:text-box>{items.format('All:')}{inner}</draw:text-box></draw:frame>"
    findings = frame("Findings", "title") + frame("It grew.") + lists
    texts = [findings, frame("Costs|Plan: 4"), frame("It ended."), frame("Plan: 4|Work: 5")]
    pages = "".join(f"<draw:page>{text}</draw:page>" for text in texts)
    whole = open_file(f"<office:presentation>{pages}</office:presentation>")
    [document] = documents(given(tmp_path, "odp", whole))
    assert document.text.split("\n\n## ") == [
        "## Findings\n\nIt grew.\n\n- All:\n\n  - North: 12",
        "Costs\n\nPlan: 4",
        "Slide 3\n\nIt ended.",
        "Slide 4\n\nPlan: 4\n\nWork: 5",
    ]


SLIDES = r"""\documentclass[12pt]{beamer}
\title[Short]{Dredging in \emph{2026}}
\begin{document}
\frame{\titlepage}
\begin{frame}[t]{Why we \textbf{dredge}}
\begin{itemize}
\item<1-> Mud rises.
\item<2-> Ships do not.
\end{itemize}
\end{frame}
\begin{frame}
\frametitle{Costs}
\framesubtitle{Paid by us}
\begin{columns}[T]
\column{0.5\textwidth} It costs \alert<2>{9} euros.
\begin{column}{5cm}
\begin{alertblock}<3>{Basin 3}
It is not dredged.
\end{alertblock}
\end{column}
\end{columns}
\end{frame}
\end{document}
"""


def test_slides_in_latex_have_titles_without_steps_and_columns(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text(SLIDES)
    [found] = documents(tmp_path / "a.tex")
    assert found.title == "Dredging in 2026"
    assert found.text.split("\n\n") == [
        "# Dredging in 2026",
        "## Why we dredge",
        "- Mud rises.\n- Ships do not.",
        "## Costs",
        "Paid by us",
        "It costs 9 euros.",
        "Basin 3: It is not dredged.",
    ]


def test_the_names_of_the_programs_of_tex_are_words(tmp_path: Path) -> None:
    source = "\\documentclass{article}\\begin{document}We use \\LaTeX{} and \\LaTeX\\ with \\BibTeX, not \\LaTeXe.\\end{document}"
    [document] = documents(given(tmp_path, "latex", source))
    assert (document.text, document.warnings) == ("We use LaTeX and LaTeX with BibTeX, not LaTeX2e.", ())


def test_a_definition_of_odt_belongs_to_its_term(tmp_path: Path) -> None:
    lines = (("List_20_Heading", "Locker"), ("P7", "It needs a coin."), ("Text_20_body", "That is all."))
    body = "".join(f'<text:p text:style-name="{style}">{text}</text:p>' for style, text in lines)
    names = (("List_20_Contents", ""), ("P7", ' style:parent-style-name="List_20_Contents"'))
    styles = "".join(f'<style:style style:name="{name}"{based}/>' for name, based in names)
    [document] = documents(given(tmp_path, "odt", open_file(f"<office:text>{body}</office:text>", styles)))
    [extraction] = LocalExtractor().extract([ChunkInput(document.text)])
    assert [each.text for each in extraction.propositions] == ["Locker: It needs a coin.", "That is all."]


def statements_of(folder: Path, kind: str, data: str) -> list[str]:
    [found] = documents(given(folder, kind, data))
    return [each.text for each in LocalExtractor().extract([ChunkInput(found.text)])[0].propositions]


def test_conditions_of_asciidoc_hold_and_its_tables_of_values_have_a_header(tmp_path: Path) -> None:
    table = '[%header,format=csv]\n|===\nShift,Operator\nLate,"Cem, Bo"\n|===\n'
    parts = "ifdef::old[]\nifdef::web[]\nA.\nendif::[]\nCode 1.\nendif::[]\nifndef::old[]\nCode 2.\nendif::[]\n"
    [found] = documents(given(tmp_path, "asciidoc", f":new: yes\n{table}\n{parts}\nifdef::new[Code 3.]\nEnd.\n"))
    assert found.text == "| Shift | Operator |\n| --- | --- |\n| Late | Cem, Bo |\n\nCode 2.\n\nCode 3.\n\nEnd."
    assert found.warnings == ("not read: attribute new, ifdef old",)


def test_the_state_of_a_task_of_org_is_text_and_the_time_spent_is_not(tmp_path: Path) -> None:
    text = (
        "* CANCELLED Ask for a refund\n  CLOCK: [2025-04-30 Wed 15:00]--[2025-04-30 Wed 16:10] =>  1:10\n  We wrote.\n"
    )
    [found] = documents(given(tmp_path, "org", text))
    assert found.text == "# Ask for a refund\n\n- State: CANCELLED\n\nWe wrote."


def test_the_replies_of_those_who_are_invited_are_text(tmp_path: Path) -> None:
    people = "".join(
        f"ATTENDEE;CN={name};PARTSTAT={reply}:mailto:a@a\n"
        for name, reply in (("Bo", "DECLINED"), ("Al", "NEEDS-ACTION"))
    )
    event = f"BEGIN:VEVENT\nUID:1\nDTSTART:20250602T090000\nSUMMARY:Review\n{people}END:VEVENT\n"
    [found] = documents(given(tmp_path, "ics", f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\n{event}END:VCALENDAR\n"))
    assert "attendee: Bo (declined), Al" in found.text.splitlines()


@pytest.mark.parametrize("name", ["A farmer", "— A farmer", "-- A farmer"])
def test_who_said_a_quotation_leads_no_list_below_it(tmp_path: Path, name: str) -> None:
    quoted = f"<disp-quote><p>We drink it.</p><attrib>{name}</attrib></disp-quote>"
    body = f"<sec><title>Well</title>{quoted}<list><list-item><p>No well was closed.</p></list-item></list></sec>"
    article = f"<article><body>{body}</body></article>"
    assert "— A farmer" in documents(given(tmp_path, "jats", article))[0].text.splitlines()
    assert statements_of(tmp_path, "jats", article)[-1] == "No well was closed."


def test_items_of_rtf_whose_marks_are_typed_have_levels_by_their_indents(tmp_path: Path) -> None:
    marks = ((720, r"\bullet"), (1440, "-"), (720, r"\bullet"), (720, "3."))
    items = "".join(
        f"{{\\pard\\li{indent}\\fi-360 {mark}\\tab the valve {at}\\par}}" for at, (indent, mark) in enumerate(marks)
    )
    shown = statements_of(tmp_path, "rtf", rf"{{\rtf1\ansi {{\pard Never open:\par}}{items}{{\pard Then go.\par}}}}")
    assert shown == [
        f"Never open: {each}" for each in ("the valve 0", "the valve 0: the valve 1", "the valve 2", "the valve 3")
    ] + ["Then go."]


def test_arguments_of_unknown_macros_of_latex_are_apart_and_a_letter_has_its_parts(tmp_path: Path) -> None:
    lines = "\\cvitem{Radio}{licence}\n\\cventry{2018}{Pilot}{Port of Tolk}{}{}{No accident.}\n"
    letter = "\\begin{letter}{Port of Tolk}\n\\opening{Dear Mr Holm,}\nIt was shut.\n\\closing{Yours,}\n\\end{letter}\n"
    preamble = "\\documentclass{letter}\\signature{Ruth Velden}"
    [found] = documents(given(tmp_path, "latex", f"{preamble}\\begin{{document}}\n{lines}{letter}\\end{{document}}"))
    parts = (
        "Radio: licence",
        "2018: Pilot, Port of Tolk, No accident.",
        "Port of Tolk",
        "Dear Mr Holm,",
        "It was shut.",
        "Yours,",
    )
    assert found.text.split("\n\n") == [*parts]
    assert found.metadata["author"] == "Ruth Velden"
    [found] = documents(given(tmp_path, "latex", f"\\name{{Emil}}{{Gast}}\\begin{{document}}{lines}\\end{{document}}"))
    assert found.metadata["author"] == "Emil Gast"


def test_a_full_name_before_one_colon_is_a_speaker_beside_others(tmp_path: Path) -> None:
    cues = ("Ada Bell: It runs.", "Ada Bell: It is red.", "Bo Lind: Who says so?", "Note: it is late.")
    text = "WEBVTT\n\n" + "\n\n".join(f"00:00:0{at}.000 --> 00:00:0{at}.900\n{cue}" for at, cue in enumerate(cues))
    [found] = documents(given(tmp_path, "vtt", text))
    assert found.metadata["speaker"] == ("Ada Bell", "Bo Lind")
    assert found.text == "Ada Bell: It runs. It is red.\n\nBo Lind: Who says so? Note: it is late."


def test_a_bold_row_of_an_odt_is_a_header(tmp_path: Path) -> None:
    rows = (("Item", "1–99", "100+"), ("Brick", "3.40", "3.20"), ("Clay", "0.90", "0.80"))
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f"<table:table-cell><text:p text:style-name='{at}'>{text}</text:p></table:table-cell>" for text in row
        )
        + "</table:table-row>"
        for at, row in zip(("Head", "Body", "Body"), rows, strict=True)
    )
    bold = "<style:style style:name='Head' style:family='paragraph'><style:text-properties fo:font-weight='bold'/></style:style>"
    data = open_file(f"<office:text><table:table>{cells}</table:table></office:text>", bold)
    [found] = documents(given(tmp_path, "odt", data))
    assert found.text.splitlines()[0] == "| Item | 1–99 | 100+ |"


AKN = """<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act><meta><identification><FRBRWork>
<FRBRalias value="Boats Act" name="title"/><FRBRdate date="2024-03-05" name="Generation"/></FRBRWork></identification></meta>
<body><chapter><num>Chapter 2</num><heading>Licences</heading><section><num>2.</num><heading>Duty</heading>
<subsection><num>(1)</num><content><p>Boats need a <i>licence</i><authorialNote><p>Of this Act.</p></authorialNote> here.</p>
</content></subsection>
<subsection><num>(2)</num><intro><p>This does not apply to—</p></intro>
<paragraph><num>(a)</num><content><p>rafts;</p></content></paragraph>
<paragraph><num>(b)</num>
<subparagraph><num>(i)</num><content><p>tugs.</p></content></subparagraph></paragraph></subsection>
</section></chapter></body></act></akomaNtoso>"""
BILL = """<bill><metadata><dublinCore><title>HR 7: Boats Act</title></dublinCore></metadata><form><action>
<action-date>March 5</action-date><action-desc><sponsor>Ms. Voss</sponsor> spoke</action-desc></action></form><legis-body>
<section><enum>2.</enum><header>Limits</header><subsection><enum>(a)</enum><text>It does not apply to—</text>
<paragraph><enum>(1)</enum><text>rafts.</text></paragraph></subsection></section></legis-body></bill>"""
LABEL = """<document xmlns="urn:hl7-org:v3"><title>SOMNOLEX<br/>tablets</title><effectiveTime value="20240305"/><author>
<representedOrganization><id root="1.3"/><name>Orlen</name></representedOrganization></author><component><structuredBody><component>
<section><id root="1"/><code code="34066-1"/><title>4 DOSE</title>
<text><table><caption>Table 1</caption><thead><tr><th>Weight</th>
<th>Dose</th></tr></thead><tbody><tr><td>&lt;40 kg</td><td>5</td></tr></tbody></table><paragraph>Not for:</paragraph>
<list listType="ordered"><item>children</item><item><caption>b.</caption>cats</item></list></text>
<entry><code code="9"/></entry><component>
<section><title>4.1 Night</title><text><paragraph>One.</paragraph></text></section></component></section></component>
</structuredBody></component></document>"""
RFC2 = """<rfc><front><title>The Valve</title><author fullname="Mira Voss"><organization>Brenk</organization></author>
<date month="March" year="2024" day="5"/><abstract><t>It opens.</t></abstract></front><middle><section title="Use" anchor="use">
<t>A valve MUST NOT leak, see <xref target="RFC1"/> and <xref target="use"/>:<list style="numbers"><t>open</t><t>close</t></list>
</t><texttable title="Types"><ttcol>Type</ttcol><ttcol>Sense</ttcol><c>1</c><c>open</c></texttable></section></middle>
<back><references>
<reference anchor="RFC1"><front><title>Words</title><author fullname="Ada Falk"/><date year="1997"/></front>
</reference></references></back></rfc>"""
RFC3 = """<rfc><front><title>The Valve</title></front><middle><section><name>Use</name><t>It may:</t><ul><li>open</li></ul>
<dl><dt>Leak:</dt><dd>what runs out</dd></dl><sourcecode>a = 1</sourcecode></section></middle></rfc>"""


@pytest.mark.parametrize(
    ("data", "title", "metadata", "text"),
    [
        (
            AKN,
            "Boats Act",
            {"date": "2024-03-05"},
            "# Boats Act\n\n## Chapter 2 Licences\n\n### 2. Duty\n\n- (1) Boats need a licence [Of this Act.] here.\n\n"
            "- (2) This does not apply to—\n  - (a) rafts;\n  - (b)\n    - (i) tugs.",
        ),
        (
            BILL,
            "HR 7: Boats Act",
            {},
            "# HR 7: Boats Act\n\nMarch 5\n\nMs. Voss spoke\n\n## 2. Limits\n\n- (a) It does not apply to—\n  - (1) rafts.",
        ),
        (
            LABEL,
            "SOMNOLEX tablets",
            {"author": ("Orlen",), "date": "2024-03-05"},
            "# SOMNOLEX tablets\n\n## 4 DOSE\n\nTable 1\n\n| Weight | Dose |\n| --- | --- |\n| <40 kg | 5 |\n\nNot for:\n\n"
            "1. children\n- b. cats\n\n### 4.1 Night\n\nOne.",
        ),
        (
            RFC2,
            "The Valve",
            {"author": ("Mira Voss",), "date": "2024-03-05"},
            "# The Valve\n\n## Abstract\n\nIt opens.\n\n## Use\n\nA valve MUST NOT leak, see [RFC1] and “Use”:\n\n"
            "1. open\n2. close\n\nTypes\n\n| Type | Sense |\n| --- | --- |\n| 1 | open |\n\n"
            "## References\n\n- [RFC1] Ada Falk. Words. 1997",
        ),
        (
            RFC3,
            "The Valve",
            {},
            "# The Valve\n\n## Use\n\nIt may:\n\n- open\n\n- Leak: what runs out\n\n```\na = 1\n```",
        ),
    ],
)
def test_prose_in_xml_has_its_sections_clauses_lists_and_tables(
    data: str, title: str, metadata: dict[str, object], text: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.xml"
    path.write_text(data)
    [found] = documents(path)
    assert (found.title, found.text, found.warnings) == (title, text, ())
    assert found.metadata == {"filename": "a.xml", **metadata}


def test_other_xml_with_names_of_prose_stays_data_and_deep_clauses_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<document><title>Pump</title><text>It runs.</text></document>")
    (tmp_path / "b.xml").write_text("<bill><num>4</num></bill>")
    (tmp_path / "c.xml").write_text(
        f"<rfc><middle>{'<section><num>1</num><t>word</t>' * 240}{'</section>' * 240}</middle></rfc>"
    )
    first, second, third = documents(tmp_path)
    assert (first.text, second.text) == ("It runs.", "|  |  |\n| --- | --- |\n| num | 4 |")
    assert third.text.count("1 word") == 240


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            AKN.replace("rafts;", "rafts of <date date='2024-05-01'>1 May 2024</date> or <num>7</num>;").replace(
                "tugs.", "<date>2 May 2024</date>"
            ),
            "  - (a) rafts of 1 May 2024 or 7;\n  - (b)\n    - (i) 2 May 2024",
        ),
        (
            "<uscDoc><main><section><num>1.</num><heading>Boats</heading><content>All.</content><sourceCredit>(<date>May 1"
            "</date>, ch. 2)</sourceCredit><notes><heading>Editorial</heading><note><heading>History</heading><p>Old.</p>"
            "</note></notes></section></main></uscDoc>",
            "## 1. Boats\n\nAll.\n\n(May 1, ch. 2)\n\n### Editorial\n\n### History\n\nOld.",
        ),
        (
            "<rfc><middle><note title='Rule'><t>Read.</t></note><figure title='Flow'><artwork>+-+</artwork></figure></middle>"
            "<back><references><reference anchor='A'><annotation>Read it.</annotation></reference></references></back></rfc>",
            "## Rule\n\nRead.\n\nFlow\n\n```\n+-+\n```\n\n## References\n\n- [A] Read it.",
        ),
        (
            "<ClinicalDocument><recordTarget><patientRole><patient><name><given>Mira</given><family>Voss</family></name>"
            "</patient></patientRole></recordTarget><component><structuredBody><text><paragraph>Well.</paragraph></text>"
            "</structuredBody></component></ClinicalDocument>",
            "Patient: Mira Voss\n\nWell.",
        ),
    ],
)
def test_no_word_of_prose_in_xml_is_lost(data: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text(data)
    [found] = documents(path)
    assert found.text.endswith(text)
    assert found.warnings == ()


def test_what_a_health_record_says_beside_its_text_is_in_a_warning(tmp_path: Path) -> None:
    entry = "<entry><text>Pain of the left knee</text></entry>"
    path = tmp_path / "a.xml"
    path.write_text(f"<ClinicalDocument><structuredBody><text>Well.</text>{entry}</structuredBody></ClinicalDocument>")
    [found] = documents(path)
    assert found.warnings == ("5 words were not read, such as 'Pain of the left knee'",)


def test_one_article_of_pubmed_without_a_text_does_not_fail_the_others_and_books_are_read(tmp_path: Path) -> None:
    group = "<Author><CollectiveName>Kiln Group</CollectiveName></Author>"
    lab = "<Affiliation>University of Tolk, Old Port</Affiliation>"
    articles = (
        f"<PubmedArticle><PMID>1</PMID><ArticleTitle>Dust</ArticleTitle>{group}{lab}</PubmedArticle>"
        "<PubmedArticle><PMID>2</PMID><ArticleTitle/></PubmedArticle>"
        "<PubmedBookArticle><PMID>3</PMID><BookTitle>Clay</BookTitle></PubmedBookArticle>"
    )
    path = tmp_path / "a.xml"
    path.write_text(f"<PubmedArticleSet>{articles}</PubmedArticleSet>")
    first, *others = documents(path)
    assert [first.title, *(each.title for each in others)] == ["Dust", "PubMed 2", "Clay"]
    assert first.metadata["author"] == ("Kiln Group",)
    assert first.warnings == ("5 words were not read, such as 'University of Tolk, Old Port'",)


def test_articles_of_pubmed_are_documents_with_the_names_of_the_parts_of_their_abstracts(tmp_path: Path) -> None:
    article = (
        "<PubmedArticle><PMID>{0}</PMID><Journal>"
        "<PubDate><Year>2024</Year><Month>Mar</Month></PubDate>"
        "<Title>Kilns</Title></Journal>"
        "<ArticleTitle>Dust of <i>Ovis</i> {0}.</ArticleTitle><AbstractText Label='RESULTS'>Of 40, 12 had none.</AbstractText>"
        "<Author><LastName>Tarn</LastName><ForeName>Ilse</ForeName></Author></PubmedArticle>"
    )
    path = tmp_path / "a.xml"
    path.write_text(f"<PubmedArticleSet>{article.format(1)}{article.format(2)}</PubmedArticleSet>")
    found = documents(path)
    assert [(each.uri[-5:], each.title) for each in found] == [
        ("xml#1", "Dust of Ovis 1."),
        ("xml#2", "Dust of Ovis 2."),
    ]
    assert found[0].text == "# Dust of Ovis 1.\n\nRESULTS: Of 40, 12 had none."
    expected = {"filename": "a.xml", "author": ("Ilse Tarn",), "journal": "Kilns", "date": "2024-03", "pmid": "1"}
    assert found[0].metadata == expected
