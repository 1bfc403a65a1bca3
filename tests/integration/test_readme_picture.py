"""The picture of README shows the page that the current build writes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from pages import README
from playwright.sync_api import Browser
from readme_picture import PICTURE, screenshot, source_page, text_of_page, text_of_picture
from sample_vectors import copied


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, sample_vectors: Path) -> str:
    folder = tmp_path_factory.mktemp("readme")
    return source_page(folder / "reader", copied(sample_vectors, folder / "cache"))


def test_the_picture_shows_the_page_of_this_build(page: str) -> None:
    assert text_of_picture(PICTURE.read_bytes()) == text_of_page(page), (
        "docs/search.png shows another page; run: python tests/support/readme_picture.py"
    )


def test_the_text_tells_pages_with_other_parameters_or_evidence_apart(page: str) -> None:
    text = text_of_page(page)
    assert "... ms" in text
    assert text_of_page(page.replace("damping_first", "is_exact")) != text
    assert text_of_page(page.replace("Emeric Vaude", "Emil Vaude")) != text
    assert text_of_page(page.replace(" ms,", "0 ms,", 1)) == text


def test_a_picture_carries_the_text_of_its_page(browser: Browser, page: str, tmp_path: Path) -> None:
    png = screenshot(browser, page, tmp_path)
    assert text_of_picture(png) == text_of_page(page)
    assert struct.unpack(">II", png[16:24]) == struct.unpack(">II", PICTURE.read_bytes()[16:24])


def test_readme_says_which_command_wrote_it() -> None:
    readme = README.read_text(encoding="utf-8")
    assert "](docs/search.png)" in readme
    assert "`hlgraph search --strategy path --preset tuned --picture FILE` wrote this page" in " ".join(readme.split())
