"""Checks of an OpenSearch server: its version and plugins, and whether its indexes are as hlgraph created them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from hlgraph.errors import HLGraphError, MigrationError
from hlgraph.records import Kind
from hlgraph.stores import migrate
from hlgraph.stores.batches import batched
from hlgraph.stores.migrate import discover
from hlgraph.stores.opensearch import indexes as index_forms
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.indexes import Indexes, settings_of
from hlgraph.stores.opensearch.migrations import OpenSearchTarget
from hlgraph.stores.opensearch.query_bodies import count, find, of_ids, vector_of
from hlgraph.stores.opensearch.wire import Health, Mapped, Plugin, Root
from hlgraph.stores.opensearch.wire import Row as Found
from hlgraph.stores.opensearch.writes import terms
from hlgraph.stores.protocols import Damage, Finding, Row

OLDEST = (2, 19)
"""The oldest version that the store supports."""


def check(connection: Connection, indexes: Indexes) -> Iterator[Finding]:
    """Run all checks; yield their findings. Changes nothing.

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
        mapped = indexes.all()
        if not connection.is_serverless:
            yield _health(connection)
            yield _blocks(connection)
        yield _aliases(indexes, mapped)
        yield _drift(connection)
        yield _languages(connection, mapped)
        yield _counts(connection, indexes, mapped)
    except HLGraphError as error:
        yield Finding("vector server", False, str(error))


def probed(connection: Connection) -> Iterator[Finding]:
    """Check the version of the server, and whether every index has its data. Raises a StoreError if the server does not answer.

    Parameters
    ----------
    connection : connection to the server
    """
    if connection.is_serverless:
        connection.ask("GET", "/_cat/indices", answer=list[object], parameters={"format": "json"})
        yield Finding("vector store", True, "Amazon OpenSearch Serverless")
        return
    yield _version(connection)._replace(check="vector store")
    yield _health(connection)


def _version(connection: Connection) -> Finding:
    version = connection.ask("GET", "/", answer=Root).version
    numbers = tuple(int(part) for part in re.findall(r"\d+", version.number)[:2])
    is_fine = version.distribution == "opensearch" and numbers >= OLDEST
    remedy = "" if is_fine else f"; use OpenSearch {'.'.join(map(str, OLDEST))} or newer"
    return Finding("vector server", is_fine, f"{version.distribution or 'no OpenSearch'} {version.number}{remedy}")


def _plugin(connection: Connection) -> Finding:
    parameters = {"format": "json", "h": "component,version"}
    plugins = connection.ask("GET", "/_cat/plugins", answer=list[Plugin], parameters=parameters)
    versions = sorted({item.version for item in plugins if "knn" in item.component.lower()})
    if not versions:
        return Finding("k-NN plugin", False, "missing; install opensearch-knn on every node")
    return Finding("k-NN plugin", len(versions) == 1, ", ".join(versions))


def _migrations(connection: Connection) -> Finding:
    try:
        plan = migrate.plan(OpenSearchTarget(connection))
    except MigrationError as error:
        return Finding("vector migrations", False, str(error))
    is_fine = not plan.applied or not plan.pending
    return Finding("vector migrations", is_fine, plan.summary)


def _health(connection: Connection) -> Finding:
    health = connection.ask("GET", f"/_cluster/health/{connection.settings.prefix}-*", answer=Health)
    # Yellow means that replicas are missing, but no data.
    seen = f"{health.status}, {health.unassigned_shards} shards unassigned"
    return Finding("vector index health", health.status != "red", seen)


def _blocks(connection: Connection) -> Finding:
    indexes = settings_of(connection, f"/{connection.settings.prefix}-*/_settings/index.blocks.*")
    blocked = sorted(name for name, item in indexes.items() if "true" in item.settings.values())
    seen = f"{', '.join(blocked)}: read-only; free disk space and lift index.blocks" if blocked else "none"
    return Finding("vector index blocks", not blocked, seen)


def _aliases(indexes: Indexes, mapped: Mapping[str, Mapped]) -> Finding:
    wrong = []
    for name, item in mapped.items():
        meta = item.mappings.meta
        try:
            if meta.corpus and indexes.find(meta.corpus, Kind(meta.kind), is_fresh=True) is None:
                wrong.append(f"{name} has no alias; run: hlgraph migrate repair")
        except HLGraphError as error:
            wrong.append(str(error))
    return Finding("vector index aliases", not wrong, "; ".join(dict.fromkeys(wrong)) or f"{len(mapped)} indexes")


def _drift(connection: Connection) -> Finding:
    """Compare the form and the aliases of each index with the newest migration and the settings."""
    wrong = index_forms.differences(connection, discover("opensearch")[-1])
    said = f"{'; '.join(map(str, wrong))}; run: hlgraph migrate repair" if wrong else "as they were made"
    return Finding("vector mappings", not wrong, said)


def _languages(connection: Connection, mapped: Mapping[str, Mapped]) -> Finding:
    wanted = connection.settings.language
    others = sorted({item.mappings.meta.language for item in mapped.values()} - {wanted})
    drift = f"opensearch.language is {wanted}, indexes are {', '.join(others)}; run: hlgraph migrate repair"
    return Finding("text analysis", not others, drift if others else wanted)


def _counts(connection: Connection, indexes: Indexes, mapped: Mapping[str, Mapped]) -> Finding:
    seen: list[tuple[str, str, int]] = []
    for name, item in mapped.items():
        meta = item.mappings.meta
        if meta.is_shared:
            seen += [(corpus, meta.kind, rows) for corpus, rows in index_forms.counts(connection, name).items()]
        else:
            alias = indexes.alias(meta.corpus, Kind(meta.kind))
            seen.append((meta.corpus, meta.kind, count(connection, alias)))
    counted = "; ".join(f"{corpus}: {rows:,} of {kind}" for corpus, kind, rows in sorted(seen))
    return Finding("vector rows", True, counted or "none")


# Damaged rows: the text differs from the record, or the norm of the vector is not 1.


_BATCH = 500
_COPIES = 4  # maximum number of copies of one row while a write on serverless is unfinished
_TOLERANCE = 1e-3


class _Written(msgspec.Struct):
    words: str = ""
    source: str = ""


def examine(connection: Connection, alias: str, *, dimensions: int, rows: Iterable[Row]) -> Damage:
    """Find stored rows whose text or source differs from the record, or whose vector does not have norm 1.

    Lucene verifies the bytes of its files itself; this check finds rows that were overwritten.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    dimensions : length of a vector
    rows : the expected rows
    """
    vectors: set[str] = set()
    texts: set[str] = set()
    for batch in batched(rows, _BATCH):
        wanted = {item.id: item for item in batch}
        body = of_ids(list(wanted), "id", "data", copies=_COPIES if connection.is_serverless else 1)
        body |= {"_source": ["words", "source"], "stored_fields": []}
        for row in find(connection, alias, body=body).hits.hits:
            name = row.text("id")
            if not _is_whole(row, dimensions):
                vectors.add(name)
            item, written = wanted[name], msgspec.convert(row.source, _Written)
            if (written.words, written.source) != (" ".join(terms(item.text)), item.source_id):
                texts.add(name)
    return Damage(frozenset(vectors), frozenset(texts))


def _is_whole(row: Found, dimensions: int) -> bool:
    vector = vector_of(row)
    return len(vector) == dimensions and bool(abs(np.linalg.norm(vector.astype(np.float64)) - 1) <= _TOLERANCE)
