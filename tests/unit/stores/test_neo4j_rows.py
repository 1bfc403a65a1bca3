"""What Neo4j is sent, and the counts behind derived data: pure functions, no server."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from neo4j.exceptions import ServiceUnavailable

from hlgraph.change import Change, MentionLink
from hlgraph.errors import MigrationError, SettingsError, StoreUnavailableError
from hlgraph.records import Source
from hlgraph.settings import Neo4jSettings
from hlgraph.stores.migrate import Migration, discover
from hlgraph.stores.neo4j.migrations import statements
from hlgraph.stores.neo4j.publish import Said, name_changes, name_rows
from hlgraph.stores.neo4j.rows import mention_rows, metadata, source_rows
from hlgraph.stores.neo4j.server import Server, auth_of

_SAID = st.lists(
    st.builds(
        Said,
        st.sampled_from(["c1", "c2", "c3"]),
        st.sampled_from(["e1", "e2", "e3", "e4"]),
        st.sampled_from(["A", "a", "B"]),
        st.sampled_from(["", "person", "place"]),
        st.integers(1, 3),
    ),
    max_size=8,
)


def test_metadata_keeps_its_types_and_becomes_properties_if_neo4j_supports_them() -> None:
    values = {"year": 3, "share": 0.5, "is_open": True, "tags": ("a", "b"), "mixed": (1, "a"), "huge": 10**30, "no": ()}
    change = Change("x", "c", sources=(Source("s", "c", "u", "t", "sum", values),), base_versions=(0,))
    row = source_rows(change)[0]["properties"]
    assert isinstance(row, dict)
    assert metadata(row["metadata"]) == values
    shown = {key: value for key, value in row.items() if key.startswith("meta_")}
    assert shown == {"meta_year": 3, "meta_share": 0.5, "meta_is_open": True, "meta_tags": ["a", "b"]}
    assert row["metadata_keys"] == sorted(values)


def test_mentions_are_grouped_by_statement_and_entity() -> None:
    links = (
        MentionLink("c1", "s", "e", "Mara", "person"),
        MentionLink("c2", "s", "e", "Quill", ""),
        MentionLink("c1", "s", "e", "again", "person"),
    )
    rows = mention_rows(Change("x", "c", mentions=links))
    assert rows == [
        {
            "statement_id": "s",
            "entity_id": "e",
            "chunks": ["c1", "c2"],
            "surfaces": ["Mara", "Quill"],
            "kinds": ["person", ""],
        }
    ]


@given(_SAID, _SAID)
def test_incremental_name_counts_equal_counting_at_once(first: list[Said], second: list[Said]) -> None:
    """Counting in two steps, or taking the first away again, gives what counting at once gives."""
    at_once = _named(name_rows(_empty(first, second), name_changes((), [*first, *second])))
    stored = name_rows(_empty(first, second), _complete(name_changes((), first), first, second))
    in_steps = _named(name_rows(_stored(stored), _complete(name_changes((), second), first, second)))
    assert {key: value for key, value in in_steps.items() if value[2]} == at_once
    undone = name_rows(_stored(stored), _complete(name_changes(first, ()), first, second))
    assert not any(row["aliases"] for row in undone)


def _empty(*said: list[Said]) -> list[dict[str, object]]:
    names = sorted({item.entity_id for part in said for item in part})
    return [{"id": name, "surfaces": [], "kinds": [], "counts": []} for name in names]


def _stored(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{key: row[key] for key in ("id", "surfaces", "kinds", "counts")} for row in rows]


def _complete(changes: dict[str, Counter[tuple[str, str]]], *said: list[Said]) -> dict[str, Counter[tuple[str, str]]]:
    return {str(row["id"]): changes.get(str(row["id"]), Counter()) for row in _empty(*said)}


def _named(rows: list[dict[str, object]]) -> dict[str, tuple[object, object, object]]:
    return {str(row["id"]): (row["name"], row["kind"], row["aliases"]) for row in rows}


def test_name_ties_break_alphabetically() -> None:
    said = [Said("c", "e", "Zoe", "person", 2), Said("c", "e", "Ann", "place", 2)]
    row = name_rows(_empty(said), name_changes((), said))[0]
    assert (row["name"], row["kind"], row["aliases"]) == ("Ann", "person", ["Ann", "Zoe"])


def test_every_migration_splits_into_statements() -> None:
    for migration in discover("neo4j"):
        found = statements(migration)
        assert found
        assert all(("IF NOT EXISTS" in item or item.startswith("MATCH ")) and ";" not in item for item in found)
    with pytest.raises(MigrationError, match="not terminated"):
        statements(Migration(1, "x", "", "RETURN 1"))


@pytest.mark.parametrize(
    "url", ["neo4j://user:secret@host:7687", "bolt://", "neo4j://host/database", "http://host:7474", "neo4j://h?x=1"]
)
def test_invalid_url_is_refused_without_showing_the_password(url: str) -> None:
    with pytest.raises(SettingsError, match="not the URL of a Neo4j server") as caught:
        Server(url, Neo4jSettings())
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        (Neo4jSettings(password="p"), {"scheme": "basic", "principal": "neo4j", "credentials": "p"}),
        (Neo4jSettings(), None),
        (Neo4jSettings(auth="none", password="p"), None),
        (Neo4jSettings(auth="bearer", token="t"), {"scheme": "bearer", "credentials": "t"}),
        (Neo4jSettings(auth="kerberos", token="t"), {"scheme": "kerberos", "principal": "", "credentials": "t"}),
        (
            Neo4jSettings(auth="custom", user="u", password="p", realm="r", scheme="x"),
            {"scheme": "x", "principal": "u", "credentials": "p", "realm": "r"},
        ),
    ],
)
def test_auth_follows_the_settings(settings: Neo4jSettings, sent: dict[str, str] | None) -> None:
    found = auth_of(settings)
    assert (None if found is None else vars(found)) == sent


def test_driver_receives_the_pool_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def driver(_url: str, **options: object) -> object:
        given.update(options)
        raise ServiceUnavailable("not now")

    monkeypatch.setattr("neo4j.GraphDatabase.driver", driver)
    settings = Neo4jSettings(timeout=3, retry_seconds=200, pool_size=7, max_connection_lifetime=60)
    with pytest.raises(StoreUnavailableError):
        Server("bolt://h:1", settings).driver()
    wanted = {"connection_timeout": 3, "connection_acquisition_timeout": 3, "max_connection_pool_size": 7}
    wanted |= {"max_connection_lifetime": 60, "max_transaction_retry_time": 200}
    assert {name: given[name] for name in wanted} == wanted
