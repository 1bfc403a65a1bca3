"""Publishing a change costs what the change is, not what the corpus is: no statement reads a whole permanent table."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hlgraph.change import Change
from hlgraph.persist.journal import persist
from hlgraph.records import Kind
from hlgraph.stores import migrate
from hlgraph.stores.embedded.migrations import SqliteTarget
from hlgraph.stores.embedded.rows import script
from hlgraph.stores.embedded.sqlite import add_functions
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import Scope
from hlgraph.stores.trace import listening
from hlgraph.where import parse

_SCAN = re.compile(r"SCAN (\w+)")
_ALIAS = re.compile(r"(\w+) AS (\w+)")


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    file: Path = tmp_path_factory.mktemp("plan") / "hlgraph.db"
    migrate.apply(SqliteTarget(file))
    with closing(sqlite3.connect(file)) as opened:
        for statement in script("temporary"):
            opened.execute(statement)
        yield opened


@pytest.mark.parametrize("statement", script("publish"))
def test_a_statement_reads_no_whole_table(connection: sqlite3.Connection, statement: str) -> None:
    permanent = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    names = {alias: table for table, alias in _ALIAS.findall(statement)}
    values = {"corpus": "c"} if ":corpus" in statement else {}
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    scanned = {names.get(found[1], found[1]) for step in plan if (found := _SCAN.match(step))}
    assert not scanned & permanent, plan


def test_records_are_found_by_their_ids_and_not_through_their_corpus(tmp_path: Path) -> None:
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        with opened.stores.graph.lock("c"):
            persist(Change("nothing", "c"), opened.stores)  # makes the corpus
        with listening() as heard:
            opened.stores.graph.records(Kind.STATEMENT, ["x"], scope=Scope("c"))
        with closing(sqlite3.connect(tmp_path / "store" / "hlgraph.db")) as connection:
            add_functions(connection)
            (call,) = [call for call in heard.calls if call.name == "read statement"]
            plan = [
                row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {call.text}", {"ids": "[]", "corpus": "c"})
            ]
    assert plan[0].startswith("SEARCH node USING INDEX sqlite_autoindex_node_1 (key=?)"), plan


@pytest.mark.parametrize("kind", [Kind.SOURCE, Kind.CHUNK, Kind.TOPIC, Kind.STATEMENT])
@pytest.mark.parametrize("scope", [Scope("c", sources=("x",)), Scope("c", where=parse("year > 1900"))])
def test_the_records_of_some_sources_are_found_by_the_sources_and_not_through_their_corpus(
    kind: Kind, scope: Scope, tmp_path: Path
) -> None:
    """An edit of one source read the nodes of all of its corpus."""
    opened = open_stores(f"hlgraph://{tmp_path}/store")
    with opened.closing:
        with opened.stores.graph.lock("c"):
            persist(Change("nothing", "c"), opened.stores)  # makes the corpus
        with listening() as heard:
            list(opened.stores.graph.find(kind, scope))
        with closing(sqlite3.connect(tmp_path / "store" / "hlgraph.db")) as connection:
            (call,) = [call for call in heard.calls if call.name == f"read {kind}"]
            values = dict.fromkeys(re.findall(r":(\w+)", call.text), "[]")
            plan = [row[3] for row in add_functions(connection).execute(f"EXPLAIN QUERY PLAN {call.text}", values)]
    assert [step for step in plan if "node_source (source=? AND kind=?)" in step], plan
    assert not [step for step in plan if "node_corpus" in step], plan
