"""Every block of README.md and docs/ runs, and what the pages say of names, options and figures is so."""

from __future__ import annotations

import contextlib
import importlib
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from chat_server import ChatServer
from pages import BUILT, DOCS, LANGUAGES, PAGES, README, REPOSITORY, Reader, blocks, name_of, shell_lines, text_of
from pytest_httpserver import HTTPServer
from sample_vectors import copied

from hlgraph.cli.app import app
from hlgraph.evaluate.sweep import knob, with_variants
from hlgraph.models.choose import CHAT_PROVIDERS, EMBEDDER_PROVIDERS, RERANKER_PROVIDERS, split_name
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.search import retriever
from hlgraph.settings import load

_TEXTS = {name_of(page): text_of(page) for page in PAGES}
_ALL = "\n".join(_TEXTS.values())
_PAPERS = [name for name in _TEXTS if re.fullmatch(r"docs/papers/(?!index)\w+\.md", name)]
_SERVERS = DOCS / "how-to" / "servers.md"
_ANALYSTS = DOCS / "how-to" / "analysts.md"
_PROVIDERS = DOCS / "how-to" / "providers.md"
# Each begins with its own copy of the samples; all other pages go on with the store that the tutorial makes.
_FRESH = (README, DOCS / "tutorial.md")
_STORE = "hlgraph://./my-graph"
# Files that commands make.
_MADE = ("docker/.env", "docs/_build/html")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, sample_vectors: Path) -> Reader:
    """A reader who has done the first steps of the tutorial: the samples are in ``library`` and in a store."""
    folder = tmp_path_factory.mktemp("reader")
    shutil.copytree(REPOSITORY / "hlgraph" / "samples", folder / "library")
    found = Reader(folder, {"HLGRAPH_STORE": _STORE, "HLGRAPH_CACHE": copied(sample_vectors, folder / "cache")})
    found.run("hlgraph ingest library")
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if page not in (_SERVERS, _ANALYSTS)], ids=name_of)
def test_the_blocks_of_a_page_run_in_order(page: Path, reader: Reader, sample_vectors: Path, tmp_path: Path) -> None:
    cache = {"HLGRAPH_CACHE": copied(sample_vectors, tmp_path / "cache")}
    if page in _FRESH:
        failed = Reader(tmp_path, cache).read(page)
    elif page == _PROVIDERS:
        with HTTPServer(threaded=True) as server:
            keys = {"HLGRAPH_CHAT_URL": ChatServer(server).url, "OPENAI_API_KEY": "test", **cache}
            failed = Reader(reader.folder, {**reader.variables, **keys}).read(page)
    else:
        failed = Reader(reader.folder, {**reader.variables, **cache}).read(page)
    assert failed == ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_has_blocks_of_known_languages_only(page: Path) -> None:
    for block in blocks(page):
        assert block.language in LANGUAGES, block.place
        assert block.language != "cypher" or page == _ANALYSTS, f"{block.place}: no test runs this query"


def test_readme_is_short() -> None:
    assert _TEXTS["README.md"].count("\n") <= 200


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s:]+)(?:#[\w-]+)?\)", _TEXTS[name_of(page)]):
            assert (page.parent / target).exists(), f"{name_of(page)}: {target}"


def test_every_page_is_in_the_contents() -> None:
    listed = set(re.findall(r"^([\w/-]+)$", _TEXTS["docs/index.md"], flags=re.MULTILINE))
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if page != README}
    assert pages == {name for name in listed if not name.startswith(BUILT)} | {"index"}


# What the pages name


def test_the_settings_blocks_name_models_that_exist(tmp_path: Path) -> None:
    for block in blocks(_PROVIDERS, "yaml"):
        (tmp_path / "hlgraph.yaml").write_text(block.text)
        settings = load(tmp_path / "hlgraph.yaml", environment={})
        for name, providers in (
            (settings.models.chat, CHAT_PROVIDERS),
            (settings.models.embedder, EMBEDDER_PROVIDERS),
            (settings.models.reranker, RERANKER_PROVIDERS),
        ):
            assert split_name(name, providers, kind="model")


def test_the_pip_lines_name_extras_that_exist() -> None:
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for names in re.findall(r"hlgraph\[([\w,-]+)\]", _ALL):
        assert set(names.split(",")) <= set(extras)


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"(?:`|^)make ([a-z]+(?:-[a-z]+)*)\b", _ALL, flags=re.MULTILINE))
    assert {"demo", "test", "setup", "check", "docs", "faults", "bench", "servers", "servers-stop"} <= targets
    for target in targets:
        run = subprocess.run(["make", "-n", target], cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr


def _commands() -> dict[str, set[str]]:
    """The options of every command, by its words."""
    found: dict[str, set[str]] = {}

    def walk(command: Any, path: tuple[str, ...]) -> None:
        inner = getattr(command, "commands", {})
        found[" ".join(path)] = {name for each in command.params for name in each.opts} | {"--help"}
        for name, each in inner.items():
            walk(each, (*path, name))

    walk(typer.main.get_command(app), ())
    return found


def test_every_command_and_option_named_exists() -> None:
    """In blocks of any language, and in code in the text; what follows a query of the library is its own."""
    commands = _commands()
    lines = [line for page in PAGES for block in blocks(page, "sh", "text") for line in shell_lines(block.text)]
    lines += re.findall(r"`(hlgraph [^`]+)`", _ALL)
    seen = set()
    for line in lines:
        for part in re.findall(r"\bhlgraph (?!-$)([^|&;#]+)", line):
            words = re.sub(r"^((--\w+ \S+ )+)", "", part).split()
            if not words or not re.fullmatch(r"[a-z]+", words[0]) or words[0].startswith("is"):
                continue
            name = " ".join(words[:2]) if " ".join(words[:2]) in commands else words[0]
            assert name in commands, line
            seen.add(name.split(" ")[0])
            if name != "cypher run":
                wanted = {word.split("=")[0] for word in words if word.startswith("--")}
                assert wanted <= commands[name], line
    assert len(seen) > 10


def test_every_strategy_is_described() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", _TEXTS["docs/papers/index.md"], flags=re.MULTILINE))
    assert named == set(STRATEGIES)


def _resolved(name: str) -> object:
    """The module, class or function that a dotted name in hlgraph names."""
    parts = name.split(".")
    for at in range(len(parts), 0, -1):
        with contextlib.suppress(ModuleNotFoundError):
            found: object = importlib.import_module(".".join(["hlgraph", *parts[:at]]))
            for part in parts[at:]:
                found = getattr(found, part)
            return found
    raise AssertionError(name)


@pytest.mark.parametrize("paper", _PAPERS)
def test_the_functions_of_the_papers_exist(paper: str) -> None:
    part = _TEXTS[paper].split("\n## Where its equations are\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| [^|]+ \| [^|]+ \| (.*`.*) \|$", part, flags=re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`([\w.]+\.[\w.]+)`", row)}
    assert len(rows) > 5
    assert len(names) > 5
    for name in names:
        assert _resolved(name), name


def _has(thing: object, name: str) -> bool:
    for part in name.split("."):
        if not hasattr(thing, part):
            return False
        thing = getattr(thing, part)
    return True


@pytest.mark.parametrize("paper", _PAPERS)
def test_the_parameters_of_the_papers_exist(paper: str) -> None:
    part = _TEXTS[paper].split("\n## Its parameters\n")[1].split("\n## ")[0].split("<!-- generated")[0]
    cells = re.findall(r"^\| [^|]+ \| [^|]+ \| (.+) \|$", part, flags=re.MULTILINE)
    names = {name for cell in cells for name in re.findall(r"`([a-z_]+(?:\.[a-z_]+)?)`", cell)}
    listed = re.findall(r"<!-- generated: parameters-(\w+) -->", _TEXTS[paper])
    there = [load(environment={}), *(STRATEGIES[name]() for name in listed)]
    words = {
        "chat",
        "names",
        "whole",
        "graph",
        "induced",
        "extractive",
    }  # values, beside the parameter that they are of
    assert listed
    for name in names - words - set(STRATEGIES):
        assert any(_has(thing, name) for thing in there), name


@pytest.mark.parametrize("paper", _PAPERS)
def test_the_options_of_the_ablations_are_values_of_a_parameter(paper: str) -> None:
    """Each is tried beside the parameters of the paper and of the preset tuned, as the tables do."""
    options = re.findall(r"--set\s+([a-z_]+\.[a-z_.]+=[^\s`]+)", _TEXTS[paper])
    assert options or paper == "docs/papers/graphmpa.md"
    for option in set(options):
        found = knob(option)
        bases = [{found.strategy: retriever(found.strategy, preset)} for preset in ("paper", "tuned")]
        assert any(len(with_variants(base, [found])) > 1 for base in bases), option


def test_a_page_of_a_paper_has_every_part() -> None:
    parts = ["Where its equations are", "Its parameters", "What differs, and why", "Its ablations"]
    for paper in _PAPERS:
        found = re.findall(r"^## (.+)$", _TEXTS[paper], flags=re.MULTILINE)
        assert [part for part in found if part in parts] == parts, paper


def test_the_files_named_exist() -> None:
    for path in set(re.findall(r"`((?:hlgraph|tests|docker|cypher|docs)/[\w./-]+)`", _ALL)):
        assert (REPOSITORY / path).exists() or path in _MADE, path
    for path in set(re.findall(r"`((?:retrieve|stores|read|sdk)/\w+\.py)`", _ALL)):
        assert (REPOSITORY / "hlgraph" / path).exists(), path
