"""Every snippet of the README runs, and what it says of the command line is what --help says."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from live_stores import neo4j_of
from opensearch_fixture import opened as remembered
from opensearch_fixture import settings_of

from hlgraph.models.providers import CHAT_PROVIDERS, EMBEDDER_PROVIDERS, RERANKER_PROVIDERS, split_name
from hlgraph.retrieve import STRATEGIES
from hlgraph.settings import Settings, load
from hlgraph.stores import queries
from hlgraph.stores.neo4j.server import Server
from local_servers import state

_REPOSITORY = Path(__file__).parents[2]
_README = (_REPOSITORY / "README.md").read_text(encoding="utf-8")
_BIN = Path(sys.executable).parent


_BEFORE_SERVERS, _, _REST = _README.partition("\n## Servers\n")
_SERVERS, _, _AFTER_SERVERS = _REST.partition("\n## ")


def _blocks(language: str, text: str = _BEFORE_SERVERS + _AFTER_SERVERS) -> list[str]:
    """The snippets of the README, but for those that need servers."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the reader of the README has it: documents, rows, extractions."""
    found = tmp_path_factory.mktemp("reader")
    shutil.copytree(_REPOSITORY / "hlgraph" / "samples", found / "docs")
    rows = [{"number": n, "headline": f"Row {n}", "body": f"Mara Quill built house {n} in Tessing."} for n in range(3)]
    (found / "articles.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (found / "passages.jsonl").write_text('{"id": "p1", "title": "Quill", "text": "Mara Quill built a house."}\n')
    (found / "extractions.jsonl").write_text(
        '{"passage_id": "p1", "entities": ["Mara Quill"], "triples": [["Mara Quill", "built", "a house"]]}\n'
    )
    return found


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{_BIN}{os.pathsep}{os.environ['PATH']}", **more}


def test_the_shell_snippets_run_in_order(folder: Path) -> None:
    lines = [line for block in _blocks("sh") for line in block.splitlines()]
    script = "\n".join(line for line in lines if not line.startswith("pip install"))
    run = subprocess.run(
        ["bash", "-euxc", script], cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "Jonas Querl" in run.stdout
    assert "On the Scour of Piers" in run.stdout
    assert "0 added, 0 changed" in run.stdout
    assert "the store is fine" in run.stdout
    assert run.stdout.count('"evidence"') == 1


def test_the_python_snippets_run(folder: Path) -> None:
    for block in _blocks("python"):
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", block.replace("my-graph", "sdk-graph")],
            cwd=folder,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr[-3000:]
        assert "Jonas Querl" in run.stdout
        assert "On the Scour of Piers" in run.stdout


def test_the_settings_snippets_are_settings(tmp_path: Path) -> None:
    blocks = _blocks("yaml")
    assert blocks
    for block in blocks:
        (tmp_path / "hlgraph.yaml").write_text(block)
        settings = load(tmp_path / "hlgraph.yaml", environment={})
        assert settings != Settings()
        for name, providers in (
            (settings.models.chat, CHAT_PROVIDERS),
            (settings.models.embedder, EMBEDDER_PROVIDERS),
            (settings.models.reranker, RERANKER_PROVIDERS),
        ):
            assert split_name(name, providers, kind="model")


def test_the_pip_line_names_extras_that_exist() -> None:
    import tomllib

    extras = tomllib.loads((_REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for names in re.findall(r"hlgraph\[([\w,]+)\]", _README):
        assert set(names.split(",")) <= set(extras)


def test_the_make_targets_exist() -> None:
    targets = set(re.findall(r"\bmake ([a-z]\w+(?:-\w+)*)(?=[ `\n])", _README))
    assert {"demo", "test", "setup", "check", "faults", "bench", "servers", "servers-stop", "test-compat"} <= targets
    for target in targets:
        run = subprocess.run(["make", "-n", target], cwd=_REPOSITORY, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr


def _help(*command: str) -> str:
    run = subprocess.run(
        [str(_BIN / "hlgraph"), *command, "--help"],
        env=_environment(COLUMNS="200", NO_COLOR="1"),
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_the_commands_are_those_of_help() -> None:
    table = re.search(r"\| command \| does \|\n\|---\|---\|\n(.*?)\n\n", _README, flags=re.DOTALL)
    assert table
    named = {name for row in table[1].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    shown = set(re.findall(r"^  (\w+)\s{2,}", _help().split("Commands")[1], flags=re.MULTILINE))
    assert named == shown


def test_every_option_named_is_an_option_of_that_command() -> None:
    for name in ("ingest", "search", "eval"):
        line = re.search(rf"^- `{name} (.*?)`\s", _README, flags=re.MULTILINE | re.DOTALL)
        assert line
        shown = _help(name)
        for option in re.findall(r"--[\w-]+", line[1]):
            assert option in shown, (name, option)


def test_every_strategy_is_described() -> None:
    table = _README.split("## Strategies")[1].split("## Measured")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)) == set(STRATEGIES)


# With servers


class Served(NamedTuple):
    """What the server quick start printed, and the graph that it made."""

    out: str
    server: Server
    corpus: str


@pytest.fixture(scope="module")
def served(servers: Any, folder: Path) -> Iterator[Served]:
    """The quick start, run as it stands on the servers of the tests, in a corpus and indexes of its own."""
    corpus = f"readme-{uuid.uuid4().hex[:8]}"
    index = settings_of(servers.opensearch)
    lines = [
        state.settings(servers.neo4j, servers.opensearch).replace(
            "opensearch: {", f'opensearch: {{"prefix": "{index.prefix}", '
        ),
        f"corpus: {corpus}\n",
    ]
    state.write_private(_made(folder / ".hlgraph" / "servers") / state.SETTINGS, "".join(lines))
    shutil.copytree(_REPOSITORY / "hlgraph" / "samples", folder / "hlgraph" / "samples")
    (_made(folder / ".venv" / "bin") / "activate").touch()  # the environment of the tests is active already
    (block,) = _blocks("sh", _SERVERS)
    script = "".join(line for line in block.splitlines(keepends=True) if not line.startswith("make "))
    server = Server(servers.neo4j.url, neo4j_of(servers))
    with contextlib.closing(server), remembered(servers.opensearch, prefix=index.prefix):
        try:
            out = _run(script, folder)
            # What is derived on demand stands in the tables of the README too.
            settings = f"export HLGRAPH_CONFIG=.hlgraph/servers/{state.SETTINGS}\n"
            _run(f"{settings}hlgraph communities build\nhlgraph hierarchy build --long-source 300", folder)
            yield Served(out, server, corpus)
        finally:
            _run(f"export HLGRAPH_CONFIG=.hlgraph/servers/{state.SETTINGS}\nhlgraph delete --all", folder)


def _made(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def _run(script: str, folder: Path) -> str:
    run = subprocess.run(
        ["bash", "-euc", script], cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-3000:]
    return run.stdout


def test_the_server_quick_start_runs(served: Served) -> None:
    assert re.search(r"sources: \d\d added, 0 changed, 0 unchanged, 0 removed, 0 failed", served.out)
    assert "Jonas Querl" in served.out
    assert "the store is fine" in served.out


def test_the_server_quick_start_is_short() -> None:
    assert _SERVERS.partition("\n### ")[0].count("\n") <= 50


def test_make_servers_writes_the_settings_where_the_quick_start_reads_them() -> None:
    (block,) = _blocks("sh", _SERVERS)
    (made,) = re.findall(r"^make servers SERVERS=(\S+)", block, flags=re.MULTILINE)
    assert f"export HLGRAPH_CONFIG={made}/{state.SETTINGS}" in block
    run = subprocess.run(
        ["make", "-n", "servers", f"SERVERS={made}"], cwd=_REPOSITORY, capture_output=True, text=True, check=True
    )
    assert f"--state {made}" in run.stdout


def _examples() -> list[tuple[str, list[list[object]]]]:
    """The queries of the README, and the rows that it says they give."""
    (block,) = _blocks("cypher", _SERVERS)
    found: list[tuple[str, list[list[object]]]] = []
    for statement, said in re.findall(r"(.*?);\n((?://> [^\n]*\n)+)", block, flags=re.DOTALL):
        found.append((statement, [json.loads(f"[{line.removeprefix('//> ')}]") for line in said.splitlines()]))
    assert len(found) == block.count(";\n")
    return found


@pytest.mark.parametrize(
    ("statement", "rows"), [pytest.param(*item, id=item[0].splitlines()[0].strip("/ ")) for item in _examples()]
)
def test_the_cypher_examples_give_what_they_say(served: Served, statement: str, rows: list[list[object]]) -> None:
    asked = statement.replace("'default'", f"'{served.corpus}'")
    with served.server.driver().session(database=served.server.settings.database) as session:
        found = [record.values() for record in session.run(asked)]
        plan = session.run(f"EXPLAIN {statement}").consume().plan
    assert found == rows
    assert not re.search(r"AllNodesScan|CartesianProduct|ByLabelScan|RelationshipTypeScan", json.dumps(plan))


def _table(head: str) -> list[list[str]]:
    rows = _README.split(f"{head}\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def _properties(row: list[str]) -> set[str]:
    return set(re.findall(r"`(\w+)`", " ".join(row)))


_LABELS = "| label | key | properties |"
_NODES = {name: _properties(row) for row in _table(_LABELS) for name in row[0].split(", ")}
_LINKS = _table("| relationship | from, to | properties |")
# Decisions of people and models: the quick start makes none.
_DECIDED = ("SAME_AS", "JUDGED")


@pytest.mark.parametrize(
    "label", ["Source", "Chunk", "Topic", "Statement", "Fact", "Entity", "Community", "Summary", "Run", "Corpus"]
)
def test_the_table_of_labels_is_what_is_stored(served: Served, label: str) -> None:
    anchor = "n.name = $corpus" if label == "Corpus" else "n.corpus = $corpus AND n.id >= ''"
    asked = f"MATCH (n:{label}) WHERE {anchor} UNWIND keys(n) AS key RETURN DISTINCT key"
    with served.server.driver().session(database=served.server.settings.database) as session:
        found = {record["key"] for record in session.run(asked, corpus=served.corpus)}  # type: ignore[arg-type]
    shown = {name for name in found if name.startswith("meta_")}
    assert bool(shown) == (label == "Source")
    assert found - shown == _NODES[label] - {"valid_from", "valid_to"}  # which no sample has


@pytest.mark.parametrize("name", _DECIDED)
def test_the_table_has_what_a_decision_writes(name: str) -> None:
    (row,) = [row for row in _LINKS if row[0] == name]
    text = queries.load(f"index/merge_{name.lower()}").text
    assert set(re.findall(r"\br\.(\w+) =", text)) == _properties(row[2:])


@pytest.mark.parametrize("row", [row for row in _LINKS if row[0] not in _DECIDED], ids=lambda row: " ".join(row[:2]))
def test_the_table_of_relationships_is_what_is_stored(served: Served, row: list[str]) -> None:
    start, end = row[1].split(", ")
    documented = _properties(row[2:])
    for name in row[0].split(", "):
        asked = (
            f"MATCH (a:{start})-[r:{name}]->(b:{end}) WHERE a.corpus = $corpus AND a.id >= '' RETURN keys(r) AS found"
        )
        with served.server.driver().session(database=served.server.settings.database) as session:
            found = [set(record["found"]) for record in session.run(asked, corpus=served.corpus)]  # type: ignore[arg-type]
        assert found, name
        assert set.union(*found) == documented, name


def test_the_tables_have_every_label_and_relationship() -> None:
    written = "\n".join(
        queries.load(name).text for name in queries.names() if name.startswith(("persist/", "index/", "admin/"))
    )
    assert set(_NODES) == set(re.findall(r"(?:MERGE \(\w+|^SET \w+):(\w+)", written, re.MULTILINE))
    rows = {name.strip() for row in _LINKS for name in row[0].split(", ")}
    assert rows == set(re.findall(r"MERGE \(\w+\)-\[\w*:(\w+)", written))


@pytest.mark.parametrize(("label", "variable"), [("Change", "c"), ("ChangePart", "p"), ("Lease", "l"), ("Domain", "d")])
def test_the_table_has_what_is_written_beside_the_graph(label: str, variable: str) -> None:
    """Read from the statements: records of the journal go when they are done, and the quick start sets no domain."""
    texts = [queries.load(name).text for name in queries.names()]
    chosen = "\n".join(text for text in texts if f"({variable}:{label} " in text)
    written = set(re.findall(rf"\b{variable}\.(\w+) = ", chosen))
    (documented,) = (_properties(row) for row in _table(_LABELS) if label in row[0].split(", "))
    assert written
    assert written <= documented
