"""Checks of an OpenSearch server: its version and plugins, and whether its indexes are as hlgraph created them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from hlgraph.errors import HLGraphError, MigrationError
from hlgraph.records import Kind
from hlgraph.stores import migrate
from hlgraph.stores.migrate import discover
from hlgraph.stores.opensearch import drift
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.indexes import Indexes
from hlgraph.stores.opensearch.migrations import OpenSearchTarget
from hlgraph.stores.opensearch.query_bodies import find
from hlgraph.stores.opensearch.wire import Health, Mapped, Plugin, Root

OLDEST = (2, 19)
"""The oldest version that the store supports."""


class _Settings(msgspec.Struct):
    settings: dict[str, str] = {}


def check(connection: Connection, indexes: Indexes) -> Iterator[tuple[str, bool, str]]:
    """Runs all checks; yields the name of each, whether it passed, and what it saw. Changes nothing.

    A server that cannot be reached is a failed check, not an error.

    Parameters
    ----------
    connection : connection to the server
    indexes : its indexes
    """
    try:
        if not connection.is_serverless:  # serverless does not describe its nodes
            yield _version(connection)
            yield _plugin(connection)
        yield _migrations(connection)
        found = indexes.all()
        if not connection.is_serverless:
            yield _health(connection)
            yield _blocks(connection)
        yield _aliases(indexes, found)
        yield _drift(connection, found)
        yield _languages(connection, found)
        yield _counts(connection, indexes, found)
    except HLGraphError as error:
        yield "vector server", False, str(error)


def _version(connection: Connection) -> tuple[str, bool, str]:
    found = connection.ask("GET", "/", answer=Root).version
    numbers = tuple(int(part) for part in re.findall(r"\d+", found.number)[:2])
    is_fine = found.distribution == "opensearch" and numbers >= OLDEST
    remedy = "" if is_fine else f"; use OpenSearch {'.'.join(map(str, OLDEST))} or newer"
    return "vector server", is_fine, f"{found.distribution or 'no OpenSearch'} {found.number}{remedy}"


def _plugin(connection: Connection) -> tuple[str, bool, str]:
    parameters = {"format": "json", "h": "component,version"}
    found = connection.ask("GET", "/_cat/plugins", answer=list[Plugin], parameters=parameters)
    versions = sorted({item.version for item in found if "knn" in item.component.lower()})
    if not versions:
        return "k-NN plugin", False, "missing; install opensearch-knn on every node"
    return "k-NN plugin", len(versions) == 1, ", ".join(versions)


def _migrations(connection: Connection) -> tuple[str, bool, str]:
    try:
        plan = migrate.plan(OpenSearchTarget(connection))
    except MigrationError as error:
        return "vector migrations", False, str(error)
    is_fine = not plan.applied or not plan.pending
    return "vector migrations", is_fine, f"{len(plan.applied)} applied, {len(plan.pending)} pending"


def _health(connection: Connection) -> tuple[str, bool, str]:
    found = connection.ask("GET", f"/_cluster/health/{connection.settings.prefix}-*", answer=Health)
    # Yellow means that replicas are missing, but no data.
    return "vector index health", found.status != "red", f"{found.status}, {found.unassigned_shards} shards unassigned"


def _blocks(connection: Connection) -> tuple[str, bool, str]:
    found = connection.ask(
        "GET",
        f"/{connection.settings.prefix}-*/_settings/index.blocks.*",
        answer=dict[str, _Settings],
        parameters={"flat_settings": "true"},
    )
    blocked = sorted(name for name, item in found.items() if "true" in item.settings.values())
    seen = f"{', '.join(blocked)}: read-only; free disk space and lift index.blocks" if blocked else "none"
    return "vector index blocks", not blocked, seen


def _aliases(indexes: Indexes, found: Mapping[str, Mapped]) -> tuple[str, bool, str]:
    wrong = []
    for name, item in found.items():
        meta = item.mappings.meta
        try:
            if indexes.meta(meta.corpus, Kind(meta.kind), is_fresh=True) is None:
                wrong.append(f"{name} has no alias; run: hlgraph migrate repair")
        except HLGraphError as error:
            wrong.append(str(error))
    return "vector index aliases", not wrong, "; ".join(dict.fromkeys(wrong)) or f"{len(found)} indexes"


def _drift(connection: Connection, found: Mapping[str, Mapped]) -> tuple[str, bool, str]:
    """Checks that fields and settings of each index are those of its migration."""
    wrong = drift.differences(connection, found, texts={item.version: item.text for item in discover("opensearch")})
    return "vector mappings", not wrong, "; ".join(map(str, wrong)) or "as they were made"


def _languages(connection: Connection, found: Mapping[str, Mapped]) -> tuple[str, bool, str]:
    wanted = connection.settings.language
    others = sorted({item.mappings.meta.language for item in found.values()} - {wanted})
    if not others:
        return "text analysis", True, wanted
    return (
        "text analysis",
        False,
        f"opensearch.language is {wanted}, indexes are {', '.join(others)}; ingest them again",
    )


def _counts(connection: Connection, indexes: Indexes, found: Mapping[str, Mapped]) -> tuple[str, bool, str]:
    seen = []
    for item in sorted(found.values(), key=lambda one: (one.mappings.meta.corpus, one.mappings.meta.kind)):
        meta = item.mappings.meta
        alias = indexes.alias(meta.corpus, Kind(meta.kind))
        count = find(connection, alias, body={"size": 0, "track_total_hits": True}).count
        seen.append(f"{meta.corpus}: {count:,} of {meta.kind}")
    return "vector rows", True, "; ".join(seen) or "none"
