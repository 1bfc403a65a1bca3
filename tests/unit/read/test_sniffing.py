"""Files without a known suffix are read by their content, and pages of manuals without their macros."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from hlgraph.read import read
from hlgraph.read.discover import format_by_content
from hlgraph.records import Document

MANUAL = r"""'\\" t
.\\" a comment
.TH "CARGO\-CLEAN" "1" "2024"
.nh
.SH NAME
cargo\-clean \[em] Remove \fIgenerated\fR artifacts
.SH OPTIONS
.TP
.BR \-\-dry\-run " [" yes ]
It\(aqs only shown. See \fBcargo\fR(1).
.de XX
hidden
..
.if \\n[.g] \\{\\
.  am MTO
.    ad l
.  .
.\\}
.de YY ZZ
..
hidden
.ZZ
.IP "\(bu" 4
a point
.PP
The end.
""".replace("\\\\", "\\")
MDOC = """.Dd March 5, 2024
.Dt TTX 1
.Os
.Sh NAME
.Nm ttx
.Nd tool for fonts
.Sh SYNOPSIS
.Nm
.Op Fl v
.Op Ar file
.Sh SEE ALSO
.Xr fontforge 1
"""


def read_folder(path: Path) -> dict[str, Document]:
    items = list(read([str(path)]))
    assert all(isinstance(item, Document) for item in items), items
    return {str(item.metadata["filename"]): item for item in items if isinstance(item, Document)}


def test_a_folder_gives_what_is_text_without_a_suffix(tmp_path: Path) -> None:
    files: dict[str, bytes] = {
        "README": b"Read me first.",
        "LICENSE.APACHE": b"Apache License",
        "copyright": b"Copyright 2024 ACME",
        "changelog.Debian.gz": gzip.compress(b"pump (1.0) stable; urgency=low"),
        "page": b"<!DOCTYPE html><html><body><p>A page without a suffix.</p></body></html>",
        "clean.1": MANUAL.encode(),
        "script": b"#!/bin/sh\necho words\n",
        "program": b"\x7fELF\x02\x01\x01\0\0\0",
        "empty": b"",
        "README.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "log.txt.7z": b"7z words",
        "a.py": b"x = 1",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = read_folder(tmp_path)
    assert sorted(found) == ["LICENSE.APACHE", "README", "changelog.Debian.gz", "clean.1", "copyright", "page"]
    assert found["page"].text == "A page without a suffix."
    assert found["README"].title == f"{tmp_path.name} README"


def test_a_page_of_a_manual_loses_its_macros(tmp_path: Path) -> None:
    (tmp_path / "clean.1").write_text(MANUAL)
    (tmp_path / "ttx.1").write_text(MDOC)
    found = read_folder(tmp_path)
    assert found["clean.1"].title == "cargo-clean(1)"
    assert found["clean.1"].text == (
        "# NAME\n\ncargo-clean — Remove generated artifacts\n\n# OPTIONS\n\n- --dry-run [yes]: It's only shown. See cargo(1)."
        "\n\n- a point\n\nThe end."
    )
    assert found["ttx.1"].title == "ttx(1)"
    lines = [line for line in found["ttx.1"].text.splitlines() if line]
    assert lines == ["# NAME", "ttx — tool for fonts", "# SYNOPSIS", "-v file", "# SEE ALSO", "fontforge(1)"]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"PK\x03\x04" + b"\0" * 26 + b"word/document.xml", "docx"),
        (b"PK\x03\x04" + b"\0" * 26 + b"mimetypeapplication/epub+zip", "epub"),
        (b"PK\x03\x04" + b"\0" * 26 + b"hello.txt", None),
        ("Größe".encode("latin-1"), "text"),
        ("Grüße".encode("utf-16"), "text"),
        (b"\n" * 4096, None),
        (b".a\n" * 1000, "text"),
        (b'.\\" Made by Pod::Man\n.de Sp\n.if n .sp\n..\n', "man"),
        (b".. image:: a.png\n\nWords.\n", "text"),
        (bytes(range(256)), None),
        (
            b"Return-Path: <a@b.example>\r\nReceived: by c\r\n\tfor d\r\nFrom: Ada <a@b.example>\r\nSubject: x\r\n",
            "eml",
        ),
        (b"From: Ada\nDate: Tue, 5 Mar 2024 09:30:00 +0100\nMessage-ID: <1@b>\n\nwords", "eml"),
        (b"From a@b.example Tue Mar  5 09:30:00 2024\nFrom: a\nTo: b\nDate: c\n\nwords", "mbox"),
        (b"From: Ada\nTo: Ben\n\nDear Ben, From: is no header here.\nDate: x\nSubject: y\n", "text"),
        (b"Format: https://www.debian.org/doc\nSource: a\nFrom: b\n\nFiles: *\n", "text"),
        (b"From here on it is dry.\nFrom: a\n", "text"),
    ],
)
def test_what_a_head_tells(head: bytes, name: str | None) -> None:
    assert format_by_content(head) == name


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        ("tab(@);\nl r.\nPart@Count\n_\nT{\nBolt\nM3\nT}@3\n", ["| Part | Count |", "| Bolt M3 | 3 |"]),
        ("lb lb\nl l.\nSignal\tAction\nSIGHUP\tterm\n", ["| Signal | Action |", "| SIGHUP | term |"]),
        ("allbox;\nl l.\nSIGHUP\tterm\nSIGINT\tcore\n", ["|  |  |", "| SIGHUP | term |", "| SIGINT | core |"]),
        ("l c s, l l l.\n\tBar\nPump\tIn\tOut\n_\nP-1\t2\t6\n", ["| Pump | Bar In | Bar Out |", "| P-1 | 2 | 6 |"]),
    ],
)
def test_tables_and_items_of_a_page_of_a_manual_have_their_labels(tmp_path: Path, table: str, lines: list[str]) -> None:
    (tmp_path / "a.1").write_text(
        f'.TH "A Tool" 1\n.SH NAME\nwords\n.IP \\[bu] 2\nitem\n.IP 2. 4\nnext\n.PP\n.TS\n{table}.TE\nend\n'
    )
    [found] = read([str(tmp_path / "a.1")])
    assert isinstance(found, Document)
    text = [line for line in found.text.splitlines() if line and not line.startswith("| --")]
    assert text == ["# NAME", "words", "- item", "2. next", *lines, "end"]


def test_messages_of_a_maildir_are_mail(tmp_path: Path) -> None:
    message = b"From: Ada <a@b.example>\nDate: Tue, 5 Mar 2024 09:30:00 +0100\nSubject: Pumps\n\nThe pump is red.\n"
    for name in ("cur/1709627400.M20046P2137.host.example:2,S", "new/1709627401.V801I2.host", "12"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(message)
    (tmp_path / "1709627402.host.bin").write_bytes(b"\x89PNG\0\1\2")
    assert [(item.title, item.text) for item in read([str(tmp_path)]) if isinstance(item, Document)] == [
        ("Pumps", "The pump is red.")
    ] * 3


def test_a_page_with_its_pictures_that_is_called_a_document_is_read(tmp_path: Path) -> None:
    head = 'Subject: A\nMIME-Version: 1.0\nContent-Type: multipart/related;\n boundary="x"\n\n--x\nContent-Type: text/html\n\n'
    (tmp_path / "a.doc").write_text(f"{head}<html><body><h1>Valve</h1><p>It is shut.</p></body></html>\n--x--\n")
    [found] = read([str(tmp_path / "a.doc")])
    assert isinstance(found, Document)
    assert found.text == "# Valve\n\nIt is shut."
    assert found.warnings == ("its suffix .doc has no reader; read as mhtml by its content",)
