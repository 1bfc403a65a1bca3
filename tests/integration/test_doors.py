"""To add a strategy, a reader, a command or an analyst query is to add one file: a toy of each, in a copy of the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

STRATEGY = '''
"""The chunks with the shortest ids: a toy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from hlgraph.records import Hit, Kind
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Presets, Ranked
from hlgraph.retrieve.session import Session


@dataclass(frozen=True, slots=True)
class ToyRetriever:
    """A toy."""

    name: ClassVar[str] = "toy"
    unit: ClassVar[Unit] = "chunk"
    diversity: ClassVar[float] = 0.5
    presets: ClassVar[Presets] = {"tuned": {"weight": 2.0}}
    weight: float = 1.0

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        hits = [Hit(hit.id, hit.score * self.weight) for hit in session.seeds(Kind.CHUNK, k)]
        return Ranked(Kind.CHUNK, hits, {})
'''
READER = '''
"""Toy files: every line backwards."""

from __future__ import annotations

from hlgraph.read.content import Origin
from hlgraph.read.content import decode
from hlgraph.read.formats._format import FileFormat
from hlgraph.read.options import ReadOptions
from hlgraph.records import Document


def read_toy(origin: Origin, data: bytes, *, options: ReadOptions) -> Document:
    """The one document of a toy file."""
    text, warnings = decode(origin, data, encoding=options.encoding)
    return Document(uri=origin.uri, text="\\n".join(line[::-1] for line in text.splitlines()), title="toy", warnings=warnings)


FORMAT = FileFormat("toy", suffixes=(".toy",), read=read_toy)
'''
COMMAND = '''
"""hlgraph toy."""

from __future__ import annotations

import typer

from hlgraph.cli.command import Invocation, command

PLACE = 25  # in the list of commands
app = typer.Typer()


@command(app, "toy")
def toy(cli: Invocation) -> None:
    """Say toy."""
    cli.show({"says": "toy"}, ["a toy speaks"])
'''
QUERY = """// How many sources the corpus has: a toy.
// params: corpus
// columns: sources
// $corpus text = default: the corpus
// example: hlgraph cypher run count_toys
MATCH (s:Source) WHERE s.corpus = $corpus
RETURN count(s) AS sources
"""
CALLS = """
import contextlib, io, json, sys
from hlgraph.cli import main

said = []
for arguments in json.loads(sys.argv[1]):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main(arguments)
    said.append(out.getvalue())
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one file more for each thing."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("hlgraph", "cypher", "migrations"):
        shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", root)
    (root / "hlgraph/retrieve/strategies/toy.py").write_text(STRATEGY.lstrip(), encoding="utf-8")
    (root / "hlgraph/read/formats/toy.py").write_text(READER.lstrip(), encoding="utf-8")
    (root / "hlgraph/cli/commands/toy.py").write_text(COMMAND.lstrip(), encoding="utf-8")
    (root / "cypher/analyst/count_toys.cypher").write_text(QUERY, encoding="utf-8")
    (root / "a.toy").write_text("egdirB noomflaH eht sdliub lreuQ sanoJ", encoding="utf-8")
    return root


def _python(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout), "HLGRAPH_STORE": "hlgraph://./store"}
    return subprocess.run(
        [sys.executable, "-c", *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def _said(checkout: Path, *calls: list[str]) -> list[str]:
    """What the command line prints for each of these calls, its white space folded."""
    done = _python(checkout, CALLS, json.dumps(calls))
    assert done.returncode == 0, done.stderr
    return [" ".join(item.split()) for item in json.loads(done.stdout)]


@pytest.mark.model
def test_a_toy_of_each_is_used_and_listed(checkout: Path) -> None:
    toy, commands, formats, ingested, strategies, found, queries, query = _said(
        checkout,
        ["toy"],
        ["--help"],
        ["ingest", "--help"],
        ["ingest", "a.toy", "--json"],
        ["search", "--help"],
        ["search", "bridge", "--strategy", "toy", "--preset", "tuned", "--explain", "--json"],
        ["cypher", "list"],
        ["cypher", "show", "count_toys"],
    )
    assert toy == "a toy speaks"
    listed = commands.partition("Commands:")[2].split()
    assert listed.index("search") < listed.index("toy") < listed.index("init")
    assert "tei, text, toml, toy, vcf, vtt, wikitext, xlsx, xml or yaml, whatever its suffix" in formats
    assert json.loads(ingested)["sources"]["added"] == 1
    assert "topic_graph, toy." in strategies
    tree = json.loads(found)
    assert tree["evidence"][0]["text"] == "Jonas Querl builds the Halfmoon Bridge"
    assert (tree["explain"]["strategy"], tree["explain"]["parameters"]["weight"]) == ("toy", 2.0)
    assert "count_toys" in queries
    assert "How many sources the corpus has" in query


def test_a_file_that_holds_something_else_is_refused(checkout: Path) -> None:
    wrong = checkout / "hlgraph/retrieve/strategies/wrong.py"
    wrong.write_text(STRATEGY.lstrip(), encoding="utf-8")
    try:
        done = _python(checkout, "import hlgraph.retrieve")
    finally:
        wrong.unlink()
    assert done.returncode == 1
    assert "0 classes whose name is 'wrong'; it must have one" in done.stderr
