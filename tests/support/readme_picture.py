"""The picture of README and of the first page of docs/: a screenshot of the page that :data:`COMMAND` writes.

``python tests/support/readme_picture.py`` makes docs/search.png again, by Chromium (``make browser``). The file carries the text of
the page that it shows, so that a test can tell whether the current build still writes that page.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from pages import DOCS, REPOSITORY, Reader
from PIL import Image, PngImagePlugin
from playwright.sync_api import Browser, sync_playwright

PICTURE = DOCS / "search.png"
QUESTION = "Which architect designed the lighthouse at which the author of The Water Came at Four was born?"
COMMAND = f'hlgraph search "{QUESTION}" --strategy path --preset tuned --k 3 --picture search.html'
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


def text_of_picture(png: bytes) -> str:
    """The text that a PNG file carries; empty without one."""
    with Image.open(io.BytesIO(png)) as image:
        image.load()
        return str(image.info.get("Source", "")).encode("latin-1").decode()


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
    text, small = PngImagePlugin.PngInfo(), io.BytesIO()
    text.add_text("Source", text_of_page(page).encode(), zip=True)
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(64)  # 64 colours: a third of the bytes
    image.save(small, "PNG", optimize=True, pnginfo=text)
    return small.getvalue()


@contextlib.contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """The Chromium of this machine, started with some options."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        raise FileNotFoundError("there is no Chromium; run: make browser, or: apt-get install chromium")
    # The sandbox of Chromium refuses to run as root, which containers are.
    arguments = [*options, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, chromium() as started:
        PICTURE.write_bytes(screenshot(started, source_page(Path(name, "reader"), f"{name}/cache"), Path(name)))
