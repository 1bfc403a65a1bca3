"""Checks of a Neo4j server: its version and schema, and the consistency of its data."""

from __future__ import annotations

from collections.abc import Iterator

from hlgraph.errors import HLGraphError
from hlgraph.stores import migrate
from hlgraph.stores.neo4j.gds import PLUGIN
from hlgraph.stores.neo4j.migrations import Neo4jTarget
from hlgraph.stores.neo4j.server import Server

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


def probed(server: Server) -> tuple[bool, str]:
    """Check whether hlgraph supports the version of the server. Raises a StoreError if the server does not answer."""
    row = server.ask("admin/read_version")[0]
    version, edition = row["version"], row["edition"]
    is_new = _numbers(version) >= OLDEST
    return is_new, f"Neo4j {version} {edition}" + ("" if is_new else "; hlgraph needs 5.26 or newer")


def check(server: Server) -> Iterator[tuple[str, bool, str]]:
    """Run all checks; yield the name of each, whether it passed, and what it saw. Reads everything, changes nothing."""
    try:
        is_new, seen = probed(server)
    except HLGraphError as error:
        yield "neo4j", False, str(error)
        return
    yield "neo4j", is_new, seen
    yield _gds(server)
    plan = migrate.plan(Neo4jTarget(server))
    if not plan.applied:
        yield "neo4j migrations", True, "nothing of hlgraph is in this database yet"
        return
    yield "neo4j migrations", not plan.pending, f"{len(plan.applied)} applied, {len(plan.pending)} pending"
    if plan.pending:
        return
    yield from _schema(server)
    yield from _co_occurs(server)
    rows = server.read(lambda transaction: transaction.rows("persist/list_changes", corpus=None))
    unfinished = f"{len(rows)} unfinished changes; run any ingest or delete again to finish them"
    yield "journal", not rows, unfinished if rows else "nothing unfinished"
    for name in _CHECKS:
        count = server.ask(name)[0]["wrong"]
        yield name.partition("_")[2].replace("_", " "), count == 0, f"{count} wrong"


def _co_occurs(server: Server) -> Iterator[tuple[str, bool, str]]:
    """List corpora with outdated CO_OCCURS; this is not a fault, since hlgraph does not read them."""
    rows = [row for row in server.ask("persist/read_corpora") if row["co_occurs"] is not None]
    if rows:
        old = [row["name"] for row in rows if row["co_occurs"] != row["version"]]
        said = f"outdated for {', '.join(old)}; run: hlgraph materialise co_occurs" if old else "up to date"
        yield "stored CO_OCCURS", True, said


def _gds(server: Server) -> tuple[str, bool, str]:
    if not server.ask("admin/find_plugin_functions", function=PLUGIN):
        return "gds", True, "not installed: ranking and clustering run in process"
    return "gds", True, "installed"


def _schema(server: Server) -> Iterator[tuple[str, bool, str]]:
    wrong = migrate.differences(Neo4jTarget(server))
    said = "; ".join(map(str, wrong))
    yield "neo4j schema", not wrong, f"{said}; run: hlgraph migrate repair" if wrong else "as the migrations made it"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
