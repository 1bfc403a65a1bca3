"""Checks of a Neo4j server: its version and schema, and the consistency of its data."""

from __future__ import annotations

from collections.abc import Iterator

from hlgraph.errors import HLGraphError
from hlgraph.stores import migrate
from hlgraph.stores.neo4j.gds import PLUGIN
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.server import Server
from hlgraph.stores.protocols import Finding

OLDEST = (5, 26)
"""The oldest version of Neo4j that supports the queries."""
_CHECKS = (
    "admin/check_chunks_missing_from_summaries",
    "admin/check_chunks_without_a_source",
    "admin/check_communities_without_a_member",
    "admin/check_counts_of_names",
    "admin/check_counts_of_relates",
    "admin/check_entities_without_a_mention",
    "admin/check_facts_without_a_statement",
    "admin/check_facts_without_a_subject",
    "admin/check_levels_of_communities",
    "admin/check_merges_decided_twice",
    "admin/check_merges_of_two_corpora",
    "admin/check_parts_of_summaries",
    "admin/check_sizes_of_communities",
    "admin/check_statements_without_a_chunk",
    "admin/check_summaries_without_a_community",
    "admin/check_topics_without_a_chunk",
    "admin/check_unfinished_communities",
    "admin/check_unfinished_summaries",
)


def probed(server: Server, store: str = "graph store") -> Iterator[Finding]:
    """Check whether hlgraph supports the version of the server. Raises a StoreError if the server does not answer.

    Parameters
    ----------
    server : the server
    store : name of the finding
    """
    row = server.ask("admin/read_version")[0]
    version, edition = row["version"], row["edition"]
    is_new = _numbers(version) >= OLDEST
    yield Finding(store, is_new, f"Neo4j {version} {edition}" + ("" if is_new else "; hlgraph needs 5.26 or newer"))


def check(server: Server) -> Iterator[Finding]:
    """Run all checks; yield their findings. Reads everything, changes nothing."""
    try:
        yield from probed(server, "neo4j")
    except HLGraphError as error:
        yield Finding("neo4j", False, str(error))
        return
    yield _gds(server)
    plan = migrate.plan(Neo4jTarget(server))
    if not plan.applied:
        yield Finding("neo4j migrations", True, "nothing of hlgraph is in this database yet")
        return
    yield Finding("neo4j migrations", not plan.pending, plan.summary)
    if plan.pending:
        return
    wrong = migrate.differences(Neo4jTarget(server))
    yield Finding("neo4j schema", not wrong, migrate.described(wrong))
    yield from _co_occurs(server)
    yield Finding.of_journal(
        len(server.read(lambda transaction: transaction.rows("persist/list_changes", corpus=None)))
    )
    for name in _CHECKS:
        count = server.ask(name)[0]["wrong"]
        yield Finding(name.partition("_")[2].replace("_", " "), count == 0, f"{count} wrong")


def _co_occurs(server: Server) -> Iterator[Finding]:
    """List corpora with outdated CO_OCCURS; this is not a fault, since hlgraph does not read them."""
    rows = [row for row in server.ask("persist/read_corpora") if row["co_occurs"] is not None]
    if rows:
        old = [row["name"] for row in rows if row["co_occurs"] != row["version"]]
        said = f"outdated for {', '.join(old)}; run: hlgraph materialise co_occurs" if old else "up to date"
        yield Finding("stored CO_OCCURS", True, said)


def _gds(server: Server) -> Finding:
    if not server.ask("admin/find_plugin_functions", function=PLUGIN):
        return Finding("gds", True, "not installed: ranking and clustering run in process")
    return Finding("gds", True, "installed")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
