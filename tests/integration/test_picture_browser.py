"""The page of an explanation in a real browser: what is drawn, with and without JavaScript, and what it does not do."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from reports import hostile_results

import hlgraph
from hlgraph.evaluate.report import report_page
from hlgraph.records import Document
from hlgraph.retrieve import SearchResult
from hlgraph.settings import Settings
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder

HOSTILE = Document(
    "doc:hostile",
    'Mara Quill said <script>document.title = "owned"</script> in Tessing. Mara Quill wrote <img src="https://example.org/x" '
    'onerror="document.title = 1"> to Ivo Brandt.',
    "</title></svg><script>alert(1)</script>",
)
QUESTION = 'What did Mara Quill say? <script>document.title = "owned"</script>'


@dataclass
class Seen:
    """A page, what it said to the console, and what it asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchResult]:
    settings = Settings(store=f"hlgraph://{tmp_path_factory.mktemp('picture')}/s")
    with hlgraph.connect(settings, embedder=WordEmbedder()) as graph:
        graph.ingest([*DOCUMENTS, HOSTILE])
        yield graph.search(QUESTION, strategy="chunk_entity", k=6, explain=True)


@pytest.fixture(scope="module")
def file(result: SearchResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "picture.html"
    path.write_text(result.explain.to_html(), encoding="utf-8")
    return path


def _open(browser: Browser, file: Path, *, has_scripts: bool = True, scheme: str = "light") -> Seen:
    context = browser.new_context(
        java_script_enabled=has_scripts,
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": 1400, "height": 1000},
    )
    seen = Seen(context.new_page())
    seen.page.on("console", lambda message: seen.said.append(message.text))
    seen.page.on("pageerror", lambda error: seen.said.append(str(error)))
    seen.page.on("request", lambda request: seen.asked.append(request.url))
    seen.page.goto(file.as_uri())
    seen.page.wait_for_load_state("networkidle")
    return seen


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with-scripts", "without-scripts"])
def test_the_picture_is_seen_and_nothing_is_asked_of_the_network(
    browser: Browser, file: Path, result: SearchResult, *, has_scripts: bool
) -> None:
    seen = _open(browser, file, has_scripts=has_scripts)
    graph = result.explain.graph
    assert seen.page.locator("svg").is_visible()
    assert seen.page.locator("svg .node").count() == len(graph.nodes) + 1
    seeds = [item for item in graph.nodes if item.node.seed_rank is not None]
    assert seen.page.locator("svg .edge").count() == len(graph.edges) + len(seeds)
    assert seen.page.locator("svg .badge").count() == len(result.evidence)
    assert all(node.is_visible() for node in seen.page.locator("svg .node rect").all())
    assert seen.said == []
    assert seen.asked == [file.as_uri()]


def test_hostile_text_is_shown_and_does_nothing(browser: Browser, file: Path) -> None:
    seen = _open(browser, file)
    assert seen.page.title() == QUESTION
    assert seen.page.locator("script").count() == 1
    assert seen.page.locator("img").count() == 0
    assert 'said <script>document.title = "owned"</script>' in seen.page.locator("ol").first.inner_text()


def test_labels_stay_inside_their_boxes(browser: Browser, file: Path) -> None:
    page = _open(browser, file).page
    outside = page.evaluate(
        """() => [...document.querySelectorAll("svg .node")].filter((node) => {
             const box = node.querySelector("rect").getBBox(), text = node.querySelector("text").getBBox();
             return text.x < box.x || text.x + text.width > box.x + box.width
               || text.y < box.y || text.y + text.height > box.y + box.height;
           }).map((node) => node.textContent)"""
    )
    assert outside == []


def test_a_node_under_the_pointer_stands_out_with_its_neighbours(browser: Browser, file: Path) -> None:
    page = _open(browser, file).page
    node = page.locator("svg .node.chunk").first
    node.hover()
    assert "has-focus" in (page.locator("svg").get_attribute("class") or "")
    assert (
        page.locator("svg .edge.lit").count()
        == page.locator(
            f'svg .edge[data-a="{node.get_attribute("data-id")}"], svg .edge[data-b="{node.get_attribute("data-id")}"]'
        ).count()
    )
    page.mouse.move(1, 1)
    assert page.locator("svg .lit").count() == 0


def test_it_is_light_or_dark_as_the_reader_has_it(browser: Browser, file: Path, tmp_path: Path) -> None:
    colors = []
    for scheme in ("light", "dark"):
        page = _open(browser, file, scheme=scheme).page
        colors.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        shot = page.screenshot(path=tmp_path / f"{scheme}.png", full_page=True)
        assert struct.unpack(">II", shot[16:24])[0] == 1400
    assert colors == ["rgb(255, 255, 255)", "rgb(18, 22, 28)"]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_of_an_evaluation_fits_its_window_and_asks_for_nothing(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_page(hostile_results()), encoding="utf-8")
    seen = _open(browser, file)
    seen.page.set_viewport_size({"width": width, "height": 900})
    assert seen.asked == [file.as_uri()]
    assert seen.said == []
    assert seen.page.title().startswith("Evaluation of </title>")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.page.locator("main svg").count() == seen.page.locator("main svg > title").count() == 11
    assert seen.page.get_by_role("region").count() == seen.page.locator("main table").count() > 8
    seen.page.get_by_text("bad: 5 questions").click()
    assert seen.page.locator("section.loss").first.is_visible()
