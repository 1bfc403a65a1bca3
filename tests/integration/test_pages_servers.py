"""The blocks of the pages on servers run, and the tables of the schema are what an ingest stores."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from live_stores import EMPTY, neo4j_of
from opensearch_fixture import opened as remembered
from opensearch_fixture import settings_of
from pages import DOCS, README, REPOSITORY, Reader, blocks, name_of
from sample_vectors import copied

from hlgraph.stores import queries
from hlgraph.stores.neo4j.server import Server
from local_servers import state

_SERVERS = DOCS / "how-to" / "servers.md"
_ANALYSTS = DOCS / "how-to" / "analysts.md"
_SCHEMA = (DOCS / "reference" / "schema.md").read_text(encoding="utf-8")


class Served(NamedTuple):
    """The graph that the pages on servers made."""

    server: Server
    corpus: str
    failed: list[str]


@pytest.fixture(scope="module")
def served(servers: Any, sample_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The pages on servers, run as they stand on the servers of the tests, in a corpus and indexes of its own."""
    folder = tmp_path_factory.mktemp("served")
    corpus = f"pages-{uuid.uuid4().hex[:8]}"
    index = settings_of(servers.opensearch)
    lines = [
        state.settings(servers.neo4j, servers.opensearch).replace(
            "opensearch: {", f'opensearch: {{"prefix": "{index.prefix}", '
        ),
        f"corpus: {corpus}\n",
    ]
    state.write_private(_made(folder / ".hlgraph" / "servers") / state.SETTINGS, "".join(lines))
    shutil.copytree(REPOSITORY / "hlgraph" / "samples", folder / "hlgraph" / "samples")
    reader = Reader(folder, {"HLGRAPH_CACHE": copied(sample_vectors, folder / "cache")})
    server = Server(servers.neo4j.url, neo4j_of(servers))
    with contextlib.closing(server), remembered(servers.opensearch, prefix=index.prefix):
        server.schema(EMPTY)  # the pages ask doctor and reconcile about every corpus, and others have other indexes
        try:
            failed = [reader.read(page, has_servers=True) for page in (README, _SERVERS, _ANALYSTS)]
            # What is derived on demand stands in the tables of the schema too.
            reader.run("hlgraph communities build", "hlgraph hierarchy build --long-source 300")
            yield Served(server, corpus, failed)
        finally:
            reader.run("hlgraph delete --all")


def _made(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def test_the_blocks_that_need_servers_run_in_order(served: Served) -> None:
    assert served.failed == ["", "", ""]


@pytest.mark.parametrize("page", [README, _SERVERS], ids=name_of)
def test_make_servers_writes_the_settings_where_the_pages_read_them(page: Path) -> None:
    block = next(block.text for block in blocks(page, "sh") if block.needs_servers)
    (made,) = re.findall(r"^make servers SERVERS=(\S+)", block, flags=re.MULTILINE)
    assert f"export HLGRAPH_CONFIG={made}/{state.SETTINGS}" in block
    run = subprocess.run(
        ["make", "-n", "servers", f"SERVERS={made}"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert f"--state {made}" in run.stdout


def _examples() -> list[tuple[str, list[list[object]]]]:
    """The queries of the page for analysts, and the rows that it says they give."""
    (block,) = (each.text for each in blocks(_ANALYSTS, "cypher"))
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
    rows = _SCHEMA.split(f"{head}\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def _properties(row: list[str]) -> set[str]:
    return set(re.findall(r"`(\w+)`", " ".join(row)))


_LABELS = "| label | key | properties |"
_NODES = {name: _properties(row) for row in _table(_LABELS) for name in row[0].split(", ")}
_LINKS = _table("| relationship | from, to | properties |")
# Decisions of people and models, of which the pages make none, and what a page stores on request and drops again.
_WRITTEN = {
    "SAME_AS": "index/merge_same_as",
    "JUDGED": "index/merge_judged",
    "CO_OCCURS": "index/write_co_occurrences",
}
_PASSING = {"arrived", "arriving", "valid_from", "valid_to", "co_occurs", "vector_sets", "has_acl"}
"""Properties that no node has at the end of the pages."""


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
    assert found - shown == _NODES[label] - _PASSING


@pytest.mark.parametrize("name", _WRITTEN)
def test_the_table_has_what_is_written_on_request(name: str) -> None:
    (row,) = [row for row in _LINKS if row[0] == name]
    text = queries.load(_WRITTEN[name]).text
    assert set(re.findall(r"\br\.(\w+) =", text)) == _properties(row[2:])


@pytest.mark.parametrize("row", [row for row in _LINKS if row[0] not in _WRITTEN], ids=lambda row: " ".join(row[:2]))
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
    """Read from the statements: records of the journal go when they are done, and the pages set no domain."""
    texts = [queries.load(name).text for name in queries.names()]
    chosen = "\n".join(text for text in texts if f"({variable}:{label} " in text)
    written = set(re.findall(rf"\b{variable}\.(\w+) = ", chosen))
    (documented,) = (_properties(row) for row in _table(_LABELS) if label in row[0].split(", "))
    assert written
    assert written <= documented
