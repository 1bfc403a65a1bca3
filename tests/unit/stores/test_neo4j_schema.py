"""What is compared of the schema of a Neo4j database, without a server."""

from __future__ import annotations

import pytest

from hlgraph.errors import MigrationError
from hlgraph.stores import migrate
from hlgraph.stores.neo4j.migrations import Declared, declared, differences, statements

WANTED = declared(
    [
        "CREATE CONSTRAINT hlgraph_a IF NOT EXISTS FOR (n:A) REQUIRE n.id IS UNIQUE",
        "CREATE INDEX hlgraph_b IF NOT EXISTS FOR ()-[r:B]-() ON (r.corpus)",
        "MATCH (n) RETURN n",
    ]
)


def row(name: str, **other: object) -> dict[str, object]:
    known: dict[str, dict[str, object]] = {
        "hlgraph_a": {"constraint": True, "type": "RANGE", "on": ["A"], "keys": ["id"]},
        "hlgraph_b": {"constraint": False, "type": "RANGE", "on": ["B"], "keys": ["corpus"]},
    }
    return {"name": name, "state": "ONLINE", **known[name], **other}


def test_all_migrations_are_parsed() -> None:
    made = declared(text for migration in migrate.discover("neo4j") for text in statements(migration))
    assert len(made) == 42
    assert made["hlgraph_entity_names"][0] == Declared("fulltext index", "Entity", ("name", "aliases"))
    assert made["hlgraph_same_as_corpus"][0] == Declared("index", "SAME_AS", ("corpus",))


def test_unsupported_statement_is_refused() -> None:
    with pytest.raises(MigrationError, match="cannot be compared"):
        declared(["CREATE POINT INDEX a IF NOT EXISTS FOR (n:A) ON (n.place)"])


def test_unchanged_schema_has_no_differences() -> None:
    assert differences(WANTED, [row("hlgraph_a"), row("hlgraph_b")]) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"state": "FAILED"}, "index on B(corpus), whose state is FAILED"),
        ({"state": "POPULATING"}, "index on B(corpus), whose state is POPULATING; wait until it is ONLINE"),
        ({"type": "TEXT"}, "text index on B(corpus), in place of index on B(corpus)"),
        ({"keys": ["id"]}, "index on B(id), in place of index on B(corpus)"),
        ({"constraint": True}, "constraint on B(corpus), in place of index on B(corpus)"),
    ],
)
def test_changed_index_is_reported(other: dict[str, object], said: str) -> None:
    (found,) = differences(WANTED, [row("hlgraph_a"), row("hlgraph_b", **other)])
    assert (found.name, found.seen) == ("hlgraph_b", said)
    assert found.is_mendable is (other.get("state") != "POPULATING")
