"""SQLite at the edge of the embedded store: its errors become those of hlgraph, and its calls are traced."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from hlgraph.errors import StoreCorruptError, StoreError, StoreLockedError, StoreUnavailableError
from hlgraph.stores.protocols import PullShape, Scope, VectorQuery
from hlgraph.stores.trace import Running, traced
from hlgraph.where import Where, to_text

STORE = "embedded"
"""The name of this store in a trace."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Raises errors of SQLite and of the file system in a block as hlgraph errors that name the store and the remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise StoreLockedError(
                f"{path}: another process is writing to this store; try again when it has finished"
            ) from error
        if "full" in text or "disk I/O" in text:
            raise StoreUnavailableError(
                f"{path}: cannot write ({text}); free some space and run the same command again; it continues where it stopped"
            ) from error
        if "readonly" in text or "unable to open" in text:
            raise StoreUnavailableError(f"{path}: {text}; check that the directory exists and is writable") from error
        raise StoreError(f"{path}: {text}") from error
    except sqlite3.DatabaseError as error:
        raise StoreCorruptError(f"{path}: {error}; restore a copy, or delete the directory and ingest again") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        remedy = (
            "free some space and run the same command again; it continues where it stopped"
            if error.errno in _FULL
            else "check that the directory exists and is writable"
        )
        raise StoreUnavailableError(f"{path}: {reason}; {remedy}") from error


def sql(name: str, text: str, *, values: Mapping[str, object] | None = None) -> AbstractContextManager[Running]:
    """Traces a SELECT.

    Parameters
    ----------
    name : name of the call
    text : the statement
    values : its parameters; a list is sent as JSON text, and the trace shows it as a list
    """
    return traced(STORE, name, text=lambda: _even(text), language="sql", params=lambda: _listed(values or {}))


_READS = {
    "pull": "breadth-first over the graph of corpus {corpus} in memory: {hops} hops from {seeds} seeds, "
    "at most {fan_out:,} neighbours of a node and {cap:,} nodes",
    "match": "the statements of corpus {corpus} in memory that mention any of {seeds} entities, by the number of names",
    "whole": "the whole graph of corpus {corpus} in memory",
}


def pulling(name: str, seeds: Sequence[str], *, shape: PullShape, scope: Scope) -> AbstractContextManager[Running]:
    """Traces a pull from the graph in memory, a match, or a read of all of it.

    Parameters
    ----------
    name : ``pull``, ``match`` or ``whole``
    seeds : ids of the seeds
    shape : bounds of the pull
    scope : corpus and sources that may be seen
    """
    return traced(
        STORE,
        name,
        text=lambda: _READS[name].format(
            corpus=repr(scope.corpus), seeds=len(seeds), hops=shape.hops, fan_out=shape.fan_out, cap=shape.node_cap
        ),
        params=lambda: {
            "seeds": list(seeds),
            "relationships": sorted(shape.relationships),
            "kinds": sorted(shape.kinds),
            **_filter(scope.where),
            **({} if scope.sources is None else {"sources": list(scope.sources)}),
        },
    )


def searching(query: VectorQuery, k: int) -> AbstractContextManager[Running]:
    """Traces a vector search, which reads a memory-mapped file.

    Parameters
    ----------
    query : the search
    k : number of rows to find
    """
    return traced(
        STORE,
        f"search {query.kind} by vector",
        text=lambda: f"the {k:,} highest products of the question and the vectors of every {query.kind} of the corpus",
        params=lambda: {"corpus": query.corpus, "k": k, "vector": query.vector, **_filter(query.where)},
    )


def _filter(where: Where | None) -> dict[str, str]:
    return {} if where is None else {"where": to_text(where)}


def _listed(values: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in values.items():
        is_list = isinstance(value, str) and value.startswith('["') and value.endswith('"]')
        found[key] = json.loads(str(value)) if is_list else value
    return found


def _even(text: str) -> str:
    """A statement without its indentation in the source code."""
    lines = text.strip().splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    return "\n".join([lines[0], *(line[margin:] for line in lines[1:])]) if lines else ""
