"""The page at ``/`` of the server, in a real browser: each view, by mouse and by keyboard; and its files, built anew."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import uvicorn
from pages import DOCS
from PIL import Image, PngImagePlugin
from playwright.sync_api import Browser, Page, expect
from readme_picture import text_of_picture
from sample_vectors import SAMPLES

import hlgraph
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.serve.application import application
from hlgraph.serve.service import Service
from hlgraph.settings import ServeSettings, Settings
from hlgraph.testing.embedder import WordEmbedder

EXPLORER = Path(hlgraph.__file__).parent / "serve" / "explorer"
QUESTION = "Who designed the Halfmoon Bridge?"
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 375, "height": 740}
HOSTILE = Document(
    "notes/hostile",
    "The <img src=x onerror=alert(1)> of Tessing was painted by Mara Quill. 𝔊reat 🜁 signs <b>burn</b> in Gannow.",
    "<script>document.title='taken'</script>",
    {"year": 1931},
)


@dataclass
class Site:
    """A server of this process, its service, and its address."""

    url: str
    service: Service

    def get(self, path: str) -> Any:
        return httpx.get(f"{self.url}/v1/corpora/default/{path}").json()


@contextlib.contextmanager
def serving(folder: Path, *, given: Sequence[Any], is_open: bool = True) -> Iterator[Site]:
    """A server of a new embedded store, in a thread."""
    settings = Settings(store=f"hlgraph://{folder}/store", serve=ServeSettings(state=str(folder / "state")))
    graph = HLGraph(settings, embedder=WordEmbedder())
    graph.ingest(given)
    service = Service(graph, is_open=is_open)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(
            uvicorn.Config(application(service, is_local=is_open), log_config=None, timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Site(f"http://127.0.0.1:{listener.getsockname()[1]}", service)
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server of the samples and of a text that looks like markup."""
    with serving(tmp_path_factory.mktemp("explorer"), given=[SAMPLES]) as site:
        site.service.graph.ingest(HOSTILE)
        site.service.graph.communities.build()
        yield site


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """A page of the server; an error on its console, such as a breach of its policy, fails the test."""
    with opened(browser, site.url, viewport=WIDE) as page:
        yield page


@contextlib.contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    context = browser.new_context(base_url=url, reduced_motion="reduce", **options)
    page = context.new_page()
    page.set_default_timeout(15_000)
    expect.set_options(timeout=15_000)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(request.url) if not request.url.startswith(url) else None)
    yield page
    assert context.cookies() == []
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    context.close()
    # Chromium says by itself that a request was refused, which is what some tests do.
    assert [line for line in said if not line.startswith("Failed to load resource: the server responded with")] == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the page, installed from its lockfile and built anew."""
    if shutil.which("npm") is None:
        pytest.fail("there is no npm; run: make browser, or: apt-get install npm")
    folder = tmp_path_factory.mktemp("built") / "explorer"
    shutil.copytree(EXPLORER, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    for command in ("ci --prefer-offline --ignore-scripts --no-audit --no-fund", "run build"):
        done = subprocess.run(["npm", *command.split()], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


# Its files


def test_the_built_files_are_those_of_the_sources(built: Path) -> None:
    def contents(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (folder / "dist").iterdir()}

    assert contents(built) == contents(EXPLORER), "run: make explorer"
    assert "://" not in (EXPLORER / "package-lock.json").read_text().replace('"url": "https://', "")


def test_the_files_have_types_tags_and_a_policy(site: Site) -> None:
    kinds = {"/": "text/html", "/app.js": "text/javascript", "/app.css": "text/css", "/icon.svg": "image/svg+xml"}
    size = 0
    for path, kind in kinds.items():
        reply = httpx.get(site.url + path, headers={"accept-encoding": "gzip"})
        assert reply.headers["content-type"].startswith(kind)
        assert reply.headers["content-encoding"] == "gzip"
        policy = reply.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "set-cookie" not in reply.headers
        known = {"accept-encoding": "gzip", "if-none-match": reply.headers["etag"]}
        assert httpx.get(site.url + path, headers=known).status_code == 304
        plain = httpx.get(site.url + path, headers={"accept-encoding": "identity"})
        assert plain.content == reply.content
        assert plain.headers["etag"] != reply.headers["etag"]
        size += len(gzip.compress(reply.content))
    assert size < 350_000
    assert httpx.post(site.url + "/").status_code == 405


# Ask


def test_a_sentence_opens_its_evidence_and_its_characters_in_the_source(page: Page, site: Site) -> None:
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Ask, and see where it says so")
    page.get_by_label("Question").fill(QUESTION)
    page.get_by_role("button", name="Ask").click()
    page.locator(".sentence .words", has_text="designed by the engineer Jonas Querl").click()
    asked = {"question": QUESTION}
    answer = httpx.post(f"{site.url}/v1/corpora/default/answer", json=asked, timeout=30).json()
    cited = answer["citations"][0]
    text = site.get(f"sources/{cited['source']['id']}")["text"]
    expect(page.locator(".evidence mark")).to_have_text(text[cited["start"] : cited["end"]])
    page.get_by_text("The path that led here").click()
    expect(page.get_by_text("found it itself, as number 1").or_(page.locator(".chain")).first).to_be_visible()
    page.get_by_role("link", name="Open in the whole text").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Halfmoon Bridge")
    assert page.locator("mark").evaluate("node => node.textContent") == text[cited["start"] : cited["end"]]
    assert page.locator(".whole").evaluate("node => node.textContent") == text
    expect(page.locator("mark")).to_be_in_viewport()


def test_a_path_shows_the_entities_that_join_its_texts(page: Page) -> None:
    page.goto(f"/#/ask?q={quote(QUESTION)}&strategy=statement_graph")
    expect(page.locator(".evidence mark")).to_be_visible()
    joints: list[str] = []
    for piece in page.locator(".found").all():  # some begin where the search did, and have no path
        piece.click()
        expect(piece).to_have_attribute("aria-expanded", "true")
        page.get_by_text("The path that led here").click()
        expect(page.get_by_text("The whole search in words")).to_be_visible()
        joints += page.locator(".chain .joint a").all_inner_texts()
        if joints:
            return
    pytest.fail("no piece has a path")


def test_a_span_of_a_pdf_names_its_page(page: Page, site: Site) -> None:
    (source,) = [each for each in site.get("sources?limit=1000")["sources"] if each["uri"].endswith(".pdf")]
    opened = site.get(f"sources/{source['id']}")
    span = opened["statements"][-1]
    page.goto(f"/#/source/{source['id']}?start={span['start']}&end={span['end']}")
    assert page.locator("mark").evaluate("node => node.textContent") == opened["text"][span["start"] : span["end"]]
    expect(page.locator(".place .tag")).to_have_text("Page 3")


def test_texts_that_look_like_markup_are_texts(page: Page, site: Site) -> None:
    (source,) = site.get("sources?where=uri = 'notes/hostile'")["sources"]
    opened = site.get(f"sources/{source['id']}")
    span = next(each for each in opened["statements"] if "burn" in each["text"])
    page.goto(f"/#/source/{source['id']}?start={span['start']}&end={span['end']}")
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE.title)
    assert page.locator(".whole").evaluate("node => node.textContent") == HOSTILE.text
    assert page.locator("mark").evaluate("node => node.textContent") == HOSTILE.text[span["start"] : span["end"]]
    assert page.locator("main img, main script").count() == 0
    assert page.title().startswith("<script>")


def test_a_problem_says_what_to_do(page: Page) -> None:
    page.goto(f"/#/ask?q={quote(QUESTION)}&where={quote('year >')}")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("What to do")
    expect(alert).to_contain_text("Filter, character 7: expected a value")


def test_an_answer_that_is_not_supported_says_why(page: Page) -> None:
    page.goto(f"/#/ask?q={quote('Who painted the Halfmoon Bridge?')}")
    expect(page.locator(".tag.warn").first).to_have_text("Not supported. No statement says *painted*.")


# Entities


def test_an_entity_has_facts_neighbours_a_path_and_merges_with_undo(page: Page, site: Site) -> None:
    page.goto("/#/entities?name=halfmoon")
    page.get_by_role("link", name="Halfmoon Bridge", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Halfmoon Bridge")
    count = site.get("entities/Halfmoon Bridge")["fact_count"]
    facts = page.get_by_role("region", name="Facts")
    expect(facts).to_contain_text(f"25 of {count} facts shown")
    facts.get_by_role("button", name="Show more").click()
    expect(facts).to_contain_text(f"{count} of {count} facts shown")
    expect(facts.get_by_role("button", name="Show more")).to_have_count(0)
    path = page.get_by_role("region", name="Path")
    path.get_by_label("Name of the other entity").fill("Jonas Querl")
    path.get_by_role("button", name="Find a path").click()
    expect(path.locator(".chain .joint")).to_have_text("Halfmoon Bridge was designed by Jonas Querl")
    merges = page.get_by_role("region", name="Merges")
    merges.get_by_text("Decide about another entity").click()
    merges.get_by_label("Name or id").fill("Half Moon")
    merges.get_by_label("Why").fill("its short name")
    merges.get_by_role("button", name="Decide").click()
    expect(merges.get_by_role("listitem")).to_contain_text(
        "Half Moon is the same as Halfmoon Bridge by local: its short name"
    )
    assert [each["name"] for each in site.get("entities/Halfmoon Bridge")["merged"]] == ["Half Moon"]
    merges.get_by_role("button", name="Undo").click()
    expect(merges).to_contain_text("No decision about this entity.")
    assert site.get("merges")["decisions"] == []
    facts.get_by_role("link", name="designed by the engineer Jonas Querl").first.click()
    expect(page.locator("mark")).to_contain_text("The Halfmoon Bridge was designed by the engineer Jonas Querl")


# Sources and their ingest


def test_sources_are_filtered_and_files_ingested_with_their_progress(page: Page, site: Site, tmp_path: Path) -> None:
    total = site.get("sources?limit=1")["total"]
    page.goto("/#/sources")
    stored = page.get_by_role("region", name="Stored sources")
    expect(stored).to_contain_text(f"50 of {total} sources shown")
    stored.get_by_role("button", name="Show more").click()
    expect(stored).to_contain_text(f"{total} of {total} sources shown")
    stored.get_by_text("Add a condition").click()
    stored.get_by_label("Field").select_option("category")
    stored.get_by_label("Value").fill("ship")
    stored.get_by_role("button", name="Add", exact=True).click()
    stored.get_by_role("button", name="Filter").click()
    ships = site.get("sources?where=category = 'ship'")["total"]
    expect(stored).to_contain_text(f"{ships} of {ships} sources shown")
    notes = tmp_path / "notes.md"
    notes.write_text("# Tessing\n\nMara Quill painted the Aldane Bridge in Tessing.\n")
    unread = tmp_path / "broken.pdf"
    unread.write_bytes(b"no PDF")
    page.locator("#files").set_input_files([notes, unread])
    card = page.locator(".job").first
    expect(card).to_contain_text("Done: 1 added", timeout=20_000)
    expect(card).to_contain_text("1 file could not be read")
    card.get_by_role("button", name="Show the list again").click()
    expect(page.get_by_role("region", name="Ingests")).to_contain_text("done")
    (source,) = site.get("sources?where=uri = 'upload:notes.md'")["sources"]
    page.goto(f"/#/source/{source['id']}")
    page.get_by_role("button", name="Remove this source…").click()
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sources")
    assert site.get("sources?limit=1")["total"] == total


def test_files_can_be_dropped_and_their_progress_is_told(page: Page, site: Site) -> None:
    page.goto("/#/sources")
    expect(page.get_by_text("Drop files here")).to_be_visible()
    page.evaluate(DROP, ["dropped.txt", "Petra Voss dropped the lantern of Gannow."])
    card = page.locator(".job").first
    expect(card).to_contain_text("Done: 1 added", timeout=20_000)
    assert any(text != "Sending…" for text in page.evaluate("window.told")[:-1])
    site.service.graph.delete("upload:dropped.txt")


DROP = """([name, text]) => {
  window.told = [];
  new MutationObserver(() => window.told.push(document.querySelector(".job-words")?.textContent)).observe(
    document.querySelector("main"), {childList: true, subtree: true, characterData: true});
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name, {type: "text/plain"}));
  document.querySelector(".drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
}"""


# The map, and two strategies


def test_the_map_finds_an_entity_and_opens_a_community(page: Page, site: Site) -> None:
    page.goto("/#/map?limit=100")
    drawn = site.get("map?limit=100")
    expect(page.get_by_role("img", name="Map of 100 entities")).to_be_visible()
    expect(page.get_by_role("region", name="Map", exact=True)).to_contain_text(
        f"100 of {drawn['node_total']} entities shown"
    )
    expect(page.locator(".map-state")).to_have_text("")
    assert page.locator(".canvas canvas").count() > 3
    page.get_by_role("combobox", name="Name").fill("ombry")
    page.get_by_role("button", name="Find").click()
    degree = next(node["degree"] for node in drawn["nodes"] if node["name"] == "Ombry")
    expect(page.locator("#chosen")).to_contain_text(f"{degree} in all")
    found = site.get("communities?level=0&limit=1")
    communities = page.get_by_role("region", name="Communities")
    expect(communities).to_contain_text(f"12 of {found['total']} communities shown")
    communities.get_by_role("link").first.click()
    size = found["communities"][0]["size"]
    expect(page.get_by_role("region", name="Map", exact=True)).to_contain_text(f"{size} of {size} entities shown")
    page.get_by_role("link", name="Whole map").click()
    page.get_by_role("region", name="Map", exact=True).get_by_role("button", name="Show more").first.click()
    expect(page.get_by_role("region", name="Map", exact=True)).to_contain_text(
        f"{drawn['node_total']} of {drawn['node_total']}"
    )


def test_two_strategies_answer_side_by_side(page: Page) -> None:
    page.goto(
        f"/#/compare?q={QUESTION}&left=chunk&right=statement_graph"
    )  # as someone writes it, with its question mark
    expect(page.get_by_label("Question")).to_have_value(QUESTION)
    expect(page.get_by_role("status").filter(has_text="in both")).to_be_visible()
    for name in ("chunk", "statement_graph"):
        side = page.get_by_role("region", name=f"Strategy {name}", exact=True)
        expect(side).to_contain_text("Jonas Querl")
        expect(side.locator(".tag", has_text="in both").first).to_be_visible()


# Its picture in the documentation


def test_the_picture_of_the_page_shows_this_build(page: Page, tmp_path: Path) -> None:
    page.goto(f"/#/ask?q={quote(QUESTION)}")
    expect(page.locator(".evidence mark")).to_be_visible()
    page.evaluate("document.activeElement.blur()")
    # Without the other evidence: texts with equal scores are in the order of their ids, which follow from the folder.
    text = "\n".join(page.locator(part).inner_text() for part in (".sentences", ".evidence"))
    picture = DOCS / "explorer.png"
    if os.environ.get("HLGRAPH_UPDATE_SNAPSHOTS"):
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(64)
        info = PngImagePlugin.PngInfo()
        info.add_text("Source", text.encode(), zip=True)
        shot.save(picture, "PNG", optimize=True, pnginfo=info)
    assert text_of_picture(picture.read_bytes()) == text, "run this test with HLGRAPH_UPDATE_SNAPSHOTS=1"
    assert picture.stat().st_size < 150_000


# Everyone

VIEWS = (
    f"ask?q={quote(QUESTION)}",
    "ask",
    "entity/Halfmoon Bridge",
    "entities",
    "map?limit=60",
    "sources",
    f"compare?q={quote(QUESTION)}&left=chunk&right=statement",
)


@pytest.mark.parametrize(("scheme", "viewport"), [("light", WIDE), ("dark", PHONE)])
def test_every_view_can_be_used_by_all(browser: Browser, site: Site, built: Path, scheme: Any, viewport: Any) -> None:
    axe = (built / "node_modules" / "axe-core" / "axe.min.js").read_text()
    (source,) = site.get("sources?where=filename = 'halfmoon-bridge.md'")["sources"]
    with opened(browser, site.url, viewport=viewport, color_scheme=scheme) as page:
        for view in (*VIEWS, f"source/{source['id']}?start=620&end=745"):
            page.goto(f"/#/{view}")
            expect(page.locator(".busy")).to_have_count(0)
            expect(page.get_by_role("heading", level=1)).to_have_count(1)
            for role in ("banner", "main", "navigation", "contentinfo"):
                expect(page.get_by_role(role)).to_have_count(1)
            page.evaluate(axe)
            found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
            assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], view
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view


def test_a_question_is_asked_and_its_evidence_opened_by_keyboard(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_label("Question")).to_be_focused()
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".found").first).to_be_visible()
    page.keyboard.press("Tab")
    seen = []
    for _ in range(20):
        seen.append(page.evaluate("document.activeElement.className"))
        if seen[-1] == "words":
            break
        page.keyboard.press("Tab")
    assert seen[-1] == "words", seen
    page.keyboard.press("Enter")
    expect(page.locator(".evidence h2")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Open in the whole text")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("mark")).to_be_in_viewport()
    expect(page.get_by_role("main")).to_be_focused()
    page.reload()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


def test_a_server_with_keys_asks_for_one_and_forgets_it(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, given=HOSTILE, is_open=False) as site:
        key, _ = site.service.keys.add("page", rights=("read",))
        with opened(browser, site.url, viewport=WIDE) as page:
            page.goto("/")
            field = page.get_by_label("Key")
            expect(field).to_be_focused()
            field.fill("hlg_wrong_key")
            page.keyboard.press("Enter")
            expect(page.get_by_role("alert")).to_contain_text("does not accept this key")
            page.get_by_label("Key").fill(key)
            page.get_by_role("button", name="Use this key").click()
            page.get_by_label("Question").fill("Who painted Tessing?")
            page.keyboard.press("Enter")
            expect(page.locator(".found").first).to_contain_text("Mara Quill")
            page.goto("/#/sources")
            page.locator("#files").set_input_files({"name": "a.txt", "mimeType": "text/plain", "buffer": b"Ada left."})
            expect(page.get_by_role("alert")).to_contain_text("right to write")
            page.reload()
            expect(page.get_by_label("Key")).to_be_visible()
            page.get_by_label("Key").fill(key)
            page.keyboard.press("Enter")
            page.get_by_role("button", name="Forget the key").click()
            expect(page.get_by_label("Key")).to_be_visible()
