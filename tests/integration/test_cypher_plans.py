"""How the live server would run every query of the library: each begins at an index, and none is read up in between.

Plans are read with ``EXPLAIN`` on a database with the schema and the tiny corpus. What may be otherwise stands below by
name, with the reason; an entry that is not needed any more fails too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import neo4j
import pytest
from live_stores import empty
from neo4j_graphs import tiny_graph

from hlgraph.stores import queries

_NAMES = queries.names()
_NEVER = ("AllNodesScan", "AllRelationshipsScan", "CartesianProduct")

# All work of one part is done before the next begins. A deletion needs that, so every DELETE may have it.
_EAGER = {
    "persist/merge_sources": "replaces all properties, whose names are data: for all that the planner knows, the next MERGE "
    "reads one of them; a batch of sources is small beside its chunks",
    "persist/create_sources": "as merge_sources",
    **dict.fromkeys(
        ("persist/create_chunks", "persist/create_facts"),
        "for all that the planner knows, a new node may be one of those that are found next: 5,000 rows at a time",
    ),
    **dict.fromkeys(
        ("admin/take_lease", "admin/take_lease_under", "persist/hide_corpus", "persist/record_change"), "one row"
    ),
    "index/merge_run": "one row",
    "index/write_co_occurrences": "reads the property of one relationship and writes that of another; 500 entities at a time",
    **dict.fromkeys(
        (
            *("index/hide_communities", "index/show_communities", "persist/count_communities"),
            *("index/hide_summaries", "index/show_summaries"),
        ),
        "changes what it found them by: communities are few beside their members",
    ),
}
# The planner of 5.26 is more careful than that of 2026.x.
_EAGER_BEFORE = {"admin/drop_lease": "one row", "index/raise_version": "one row"}
_HANDFUL = "a handful of nodes"
_DOCTOR = "the doctor reads everything"
_LOAD = "once, when a bulk load ends: what it imported is the whole database"
_SCANS = {
    "admin/list_names": _HANDFUL,
    "admin/read_migrations": _HANDFUL,
    "index/outdate_runs": _HANDFUL,
    "persist/list_changes": _HANDFUL,
    "persist/read_corpora": _HANDFUL,
    "persist/read_corpus": _HANDFUL,
    "admin/find_load": _HANDFUL,
    "persist/show_corpus": _HANDFUL,
    "retrieve/open_corpus": _HANDFUL,
    **{name: _LOAD for name in _NAMES if name.startswith("persist/mend_lists_of_")},
    **{name: _DOCTOR for name in _NAMES if name.startswith("admin/check_")},
}
Plan = Mapping[str, Any]


@pytest.fixture(scope="module")
def session(servers: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[neo4j.Session]:
    """A database with the schema and the tiny corpus, and nothing else: what is left of other tests changes plans."""
    empty(servers)
    with (
        tiny_graph(servers, tmp_path_factory.mktemp("plans")) as tiny,
        tiny.server.driver().session(database=tiny.server.settings.database) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def plans(session: neo4j.Session) -> Mapping[str, Plan | None]:
    """The plan of every query by name; None where the server makes none."""
    return {name: _plan(session, query.text) for name, query in queries.load_all().items()}


def _plan(session: neo4j.Session, text: str) -> Plan | None:
    return session.run(f"EXPLAIN {text}").consume().plan  # type: ignore[arg-type]


def _operators(plan: Plan | None) -> set[str]:
    """The operators of a plan and of all below it, without the name of the database behind them."""
    if plan is None:
        return set()
    below = (_operators(child) for child in plan.get("children") or ())
    return {plan["operatorType"].partition("@")[0]}.union(*below)


def _which(plans: Mapping[str, Plan | None], *operators: str) -> set[str]:
    """The queries that have one of these operators, also as part of a name: IntersectionNodeByLabelsScan is a scan too."""
    return {
        name for name, plan in plans.items() if any(part in found for found in _operators(plan) for part in operators)
    }


def _deletes(name: str) -> bool:
    return re.search(r"^\s*(DETACH )?DELETE\b", queries.load(name).text, flags=re.MULTILINE) is not None


def test_every_query_has_a_plan(plans: Mapping[str, Plan | None]) -> None:
    assert [name for name, plan in plans.items() if not plan] == []  # SHOW and CALL have one too
    seen = set[str]().union(*map(_operators, plans.values()))
    assert {"NodeUniqueIndexSeek", "NodeIndexSeek", "Expand(All)", "Eager", "NodeByLabelScan"} <= seen


def test_no_query_reads_the_whole_graph_or_multiplies(plans: Mapping[str, Plan | None]) -> None:
    empty = {"admin/count_labels"}  # asked of a database that has to be empty, and bounded
    assert _which(plans, *_NEVER) == empty


def test_whole_labels_and_types_are_read_only_where_it_is_meant(plans: Mapping[str, Plan | None]) -> None:
    """Which of the two is cheaper to begin with depends on how much of each there is.

    What the doctor asks may begin with a seek on a server that has held much more before.
    """
    found = _which(plans, "ByLabelScan", "ByLabelsScan", "RelationshipTypeScan", "IndexScan")
    assert found <= set(_SCANS)
    assert {name for name, why in _SCANS.items() if why != _DOCTOR} <= found


def test_rows_are_held_back_only_where_something_is_deleted(
    plans: Mapping[str, Plan | None], session: neo4j.Session
) -> None:
    eager = {name for name, plan in plans.items() if "Eager" in _operators(plan)}
    is_before = session.run("EXPLAIN RETURN 1").consume().server.agent.startswith("Neo4j/5.")
    allowed = {**_EAGER, **_EAGER_BEFORE} if is_before else _EAGER
    assert {name for name in eager if not _deletes(name)} == set(allowed)


@pytest.mark.parametrize("query", ["persist/read_corpus", "retrieve/open_corpus"])
def test_whether_a_corpus_has_groups_costs_the_same_for_any_number_of_sources(
    session: neo4j.Session, query: str
) -> None:
    """Every search asks it. Two corpora of 3,000 sources, of which one has groups."""
    rows = "UNWIND range(1, 3000) AS n CREATE (:Source {id: $name + n, corpus: $name, metadata_keys: $keys, has_acl: $has_acl})"
    reads = {}
    for name, has_acl in (("closed", True), ("open", None)):
        keys = ["acl"] if has_acl else ["year"]
        session.run("CREATE (:Corpus {name: $name, version: 1})", name=name).consume()
        session.run(rows, name=name, keys=keys, has_acl=has_acl).consume()
        result = session.run(f"PROFILE {queries.load(query).text}", corpus=name)  # type: ignore[arg-type]
        assert result.single(strict=True)["has_acl"] is bool(has_acl)
        reads[name] = _rows_read(result.consume().profile)
    session.run(
        "MATCH (s:Source|Corpus) WHERE coalesce(s.corpus, s.name) IN $names DELETE s", names=list(reads)
    ).consume()
    assert max(reads.values()) < 100


def _rows_read(profile: Any) -> int:
    """The rows that all operators of a profiled query passed on."""
    return int(profile["rows"]) + sum(map(_rows_read, profile.get("children") or ()))


@pytest.mark.parametrize(
    ("statement", "operator"),
    [
        ("MATCH (n) RETURN n", "AllNodesScan"),
        ("MATCH (a:Entity {id: 'x'}), (b:Entity {id: 'y'}) RETURN a, b", "CartesianProduct"),
        ("MATCH (n:Entity) WHERE n.kind = 'x' RETURN n", "NodeByLabelScan"),
        ("MATCH (n:Entity {id: 'x'})-->(m:Entity) SET m.id = 'y' RETURN n", "Eager"),
    ],
)
def test_what_is_looked_for_is_found(session: neo4j.Session, statement: str, operator: str) -> None:
    assert operator in _operators(_plan(session, statement))
