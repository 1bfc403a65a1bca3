"""The page at ``/`` of the server, in a real browser: each view, by mouse and by keyboard; and its files, built anew."""

from __future__ import annotations

import contextlib
import gzip
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
from playwright.sync_api import Browser, Page, expect
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
        server = uvicorn.Server(uvicorn.Config(application(service, is_local=is_open), log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield Site(f"http://127.0.0.1:{listener.getsockname()[1]}", service)
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
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(request.url) if not request.url.startswith(url) else None)
    yield page
    assert context.cookies() == []
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    context.close()
    assert [line for line in said if "status of 401" not in line] == []


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
    page.locator(".found").first.click()
    page.get_by_text("The path that led here").click()
    expect(page.locator(".chain .joint a").first).to_be_visible()


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
    expect(alert).to_contain_text("where")
