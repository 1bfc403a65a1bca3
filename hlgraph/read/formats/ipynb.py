"""Reader of Jupyter notebooks: text cells as they are, code cells and text that they printed as fenced code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress

import msgspec

from hlgraph.errors import MissingExtraError, ReadError
from hlgraph.read.bounds import Produced
from hlgraph.read.content import Origin, clean, clean_title, decode
from hlgraph.read.formats._blocks import Unread, code, document_of, heading
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.formats.markdown import first_heading, shown
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document, MetadataValue

_OBJECT = re.compile(r"<[^<>\n]*>")  # what Python shows in place of a figure
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_TEXTS = ("text/markdown", "text/plain", "text/latex")
_OLD_KEYS = {
    "text": "text/plain",
    "latex": "text/latex",
    "html": "text/html",
    "png": "image/png",
    "svg": "image/svg+xml",
}


def read_ipynb(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The document of a notebook of version 3 or 4.

    Parameters
    ----------
    origin : the file; its stem is the title if there is neither a title in the metadata nor a heading
    data : its bytes
    options : the encoding and the size limit

    Raises
    ------
    ReadError
        It is not JSON, not a notebook, or holds no text.
    """
    text, warnings = decode(origin, data, encoding=options.encoding)
    try:
        book: object = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReadError(origin.uri, f"is not JSON ({error})", "open it in Jupyter and save it again") from error
    cells = list(_cells(book))
    if not isinstance(book, dict) or ("cells" not in book and "worksheets" not in book):
        raise ReadError(origin.uri, "is JSON, but not a notebook: it has no cells", "add --format json")
    about = _mapping(book.get("metadata"))
    language = _language(about, cells)
    unread = Unread()
    produced = Produced(origin, len(data), options.max_bytes)
    blocks = [block for cell in cells for block in _blocks(cell, language, unread, produced)]
    authors = tuple(clean(str(each.get("name"))) for each in map(_mapping, _listed(about.get("authors"))) if each)
    metadata: dict[str, MetadataValue] = {"language": clean(language), "author": authors}
    title = str(about.get("title") or "") or next(filter(None, map(first_heading, blocks)), "")
    return document_of(
        produced,
        blocks,
        title=clean_title(title),
        metadata=metadata,
        warnings=(*warnings, *unread.warnings()),
        part="none of its cells",
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _joined(value: object) -> str:
    """The text of a value that is a text or a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _cells(book: object) -> Iterator[Mapping[str, object]]:
    whole = _mapping(book)
    for sheet in (whole, *map(_mapping, _listed(whole.get("worksheets")))):
        yield from filter(None, map(_mapping, _listed(sheet.get("cells"))))


def _language(about: Mapping[str, object], cells: list[Mapping[str, object]]) -> str:
    named = _mapping(about.get("language_info")).get("name") or _mapping(about.get("kernelspec")).get("language")
    return str(named or next((cell["language"] for cell in cells if cell.get("language")), ""))


def _blocks(cell: Mapping[str, object], language: str, unread: Unread, produced: Produced) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input")))
    kind = cell.get("cell_type")
    if kind == "code":
        yield code(source, language)
        for output in map(_mapping, _listed(cell.get("outputs"))):
            yield from _output(output, unread, produced)
    elif kind == "heading":  # version 3
        level = cell.get("level")
        yield heading(source, level if isinstance(level, int) else 1)
    elif isinstance(kind, str):
        yield (shown(source) if kind == "markdown" else source).strip("\n")
    if cell.get("attachments"):
        unread["image attached to a cell"] += len(_mapping(cell["attachments"]))


def _output(output: Mapping[str, object], unread: Unread, produced: Produced) -> Iterator[str]:
    """The text of an output. Of several forms of one output, the first that is text counts; a table counts before its text."""
    if output.get("output_type") in ("stream", "error", "pyerr"):
        said = _joined(output.get("text")) or "\n".join(map(str, _listed(output.get("traceback"))))
        yield _printed(said or f"{output.get('ename', '')}: {output.get('evalue', '')}")
        return
    forms = {_OLD_KEYS.get(name, name): value for name, value in output.items()} | dict(_mapping(output.get("data")))
    text = next((name for name in _TEXTS if _joined(forms.get(name)).strip()), None)
    table = _table(_joined(forms.get("text/html")), produced) if text != "text/markdown" else ""
    is_drawn = any(name.startswith("image/") for name in forms)
    if table:
        yield f"Output:\n\n{table}"
    elif text == "text/markdown":
        yield _joined(forms[text]).strip("\n")
    elif text is not None and not (is_drawn and _OBJECT.fullmatch(_joined(forms[text]).strip())):
        yield _printed(_joined(forms[text]))
    shown = [name for name in forms if "/" in name and name not in _TEXTS]
    is_copy = text is not None and not any(name.startswith("image/") for name in shown)
    if shown and not is_copy:
        unread[f"output of type {shown[0]}"] += 1


def _table(page: str, produced: Produced) -> str:
    """The tables of an output as Markdown; empty without one, and if the reader of HTML is not installed."""
    if "<table" not in page:
        return ""
    with suppress(MissingExtraError, ImportError):
        from hlgraph.read.formats.html import main_text

        return main_text(produced.origin, page.encode(), encoding="utf-8", produced=produced, is_whole=True).text
    return ""


def _printed(text: str) -> str:
    body = code(_ANSI.sub("", text))
    return f"Output:\n\n{body}" if body else ""


FORMAT = FileFormat("ipynb", suffixes=(".ipynb",), read=read_ipynb, mend="open it in Jupyter and save it again")
