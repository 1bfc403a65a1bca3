"""The picture of README and of the first page of docs/: a screenshot of the page that :data:`COMMAND` writes.

``python tests/support/readme_picture.py`` makes docs/search.png again, by Chromium (``make browser``). The file carries the text of
the page that it shows, so that a test can tell whether the current build still writes that page.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import struct
import sys
import tempfile
import zlib
from html.parser import HTMLParser
from pathlib import Path

from pages import DOCS, REPOSITORY, Reader
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

PICTURE = DOCS / "search.png"
QUESTION = "Which architect designed the lighthouse at which the author of The Water Came at Four was born?"
COMMAND = f'hlgraph search "{QUESTION}" --strategy path --preset tuned --k 3 --picture search.html'
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_WIDTH = 1500
_UNSHOWN = {"style", "script", "title"}


def source_page(folder: Path, cache: str) -> str:
    """The page that :data:`COMMAND` writes about the samples, made in an empty folder."""
    shutil.copytree(REPOSITORY / "hlgraph" / "samples", folder / "library")
    reader = Reader(folder, {"HLGRAPH_STORE": "hlgraph://./my-graph", "HLGRAPH_CACHE": cache})
    reader.run("hlgraph ingest library --quiet", COMMAND)
    return (folder / "search.html").read_text(encoding="utf-8")


class _Texts(HTMLParser):
    """The texts of a page by part: before the first <h2> is the part ""."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[str, list[str]] = {"": []}
        self._part = ""
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        if not data.strip() or _UNSHOWN & set(self._open):
            return
        if "h2" in self._open:
            self._part = data.strip()
            self.parts[self._part] = []
        else:
            self.parts[self._part].append(data.strip())


def text_of_page(page: str) -> str:
    """What the picture shows of a page, a line for each text in order of the alphabet, and its parameters; no times."""
    texts = _Texts()
    texts.feed(page)
    shown = sorted(re.sub(r"[\d.]+ ms", "... ms", text) for text in texts.parts[""])
    return "\n".join([*shown, "", "Parameters", *texts.parts["Parameters"]])


def with_text(png: bytes, text: str) -> bytes:
    """A PNG file that carries a text: a chunk zTXt after its header."""
    body = b"Source\0\0" + zlib.compress(text.encode())
    chunk = struct.pack(">I", len(body)) + b"zTXt" + body + struct.pack(">I", zlib.crc32(b"zTXt" + body))
    return png[:33] + chunk + png[33:]


def text_of_picture(png: bytes) -> str:
    """The text that a PNG file carries; empty without one."""
    at = len(_SIGNATURE)
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        body = png[at + 8 : at + 8 + size]
        if png[at + 4 : at + 8] == b"zTXt" and body.startswith(b"Source\0\0"):
            return zlib.decompress(body[len(b"Source\0\0") :]).decode()
        at += size + 12
    return ""


def screenshot(browser: Browser, page: str, folder: Path) -> bytes:
    """The page from its top to the end of its legend, in light colours, as a PNG file with its text."""
    file = folder / "shown.html"
    file.write_text(page, encoding="utf-8")
    context = browser.new_context(color_scheme="light", viewport={"width": _WIDTH, "height": 1000})
    view = context.new_page()
    view.goto(file.as_uri())
    legend = view.locator(".legend").bounding_box()
    assert legend is not None
    height = legend["y"] + legend["height"] + 16
    png = view.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": _WIDTH, "height": height})
    context.close()
    small = io.BytesIO()  # 64 colours: a third of the bytes
    Image.open(io.BytesIO(png)).convert("RGB").quantize(64).save(small, "PNG", optimize=True)
    return with_text(small.getvalue(), text_of_page(page))


def chromium() -> str | None:
    """The path of a Chromium on this machine."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def sandbox_arguments() -> list[str]:
    """The sandbox of Chromium refuses to run as root, which containers are."""
    return ["--no-sandbox"] if os.geteuid() == 0 else []


def _main() -> None:
    executable = chromium()
    if executable is None:
        sys.exit("there is no Chromium; run: make browser, or: apt-get install chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        page = source_page(Path(name) / "reader", str(Path(name) / "cache"))
        browser = playwright.chromium.launch(executable_path=executable, args=sandbox_arguments())
        PICTURE.write_bytes(screenshot(browser, page, Path(name)))
        browser.close()


if __name__ == "__main__":
    _main()
