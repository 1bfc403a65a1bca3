"""The one place where errors of SQLite and of the file system become those of hlgraph."""

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

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into those of hlgraph, naming the store and the mend."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise StoreLockedError(
                f"{path}: another process is writing to this store; try again when it is done"
            ) from error
        if "full" in text or "disk I/O" in text:
            raise StoreUnavailableError(
                f"{path}: cannot write ({text}); free some space and run the same command again: it goes on where it stopped"
            ) from error
        if "readonly" in text or "unable to open" in text:
            raise StoreUnavailableError(f"{path}: {text}; check that the directory exists and is writable") from error
        raise StoreError(f"{path}: {text}") from error
    except sqlite3.DatabaseError as error:
        raise StoreCorruptError(f"{path}: {error}; restore a copy, or delete the directory and ingest again") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        mend = (
            "free some space and run the same command again: it goes on where it stopped"
            if error.errno in _FULL
            else "check that the directory exists and is writable"
        )
        raise StoreUnavailableError(f"{path}: {reason}; {mend}") from error


STORE = "embedded"


def sql(name: str, text: str, *, values: Mapping[str, object] | None = None) -> AbstractContextManager[Running]:
    """Trace a SELECT. Lists are sent as JSON; the trace shows them as lists."""
    return traced(STORE, name, text=lambda: _even(text), language="sql", params=lambda: _listed(values or {}))


def pulling(name: str, seeds: Sequence[str], *, shape: PullShape, scope: Scope) -> AbstractContextManager[Running]:
    """Trace a walk over the graph in memory."""
    return traced(
        STORE,
        name,
        text=lambda: (
            f"breadth-first over the graph of corpus {scope.corpus!r} in memory: {shape.hops} hops from {len(seeds)} seeds, "
            f"at most {shape.fan_out:,} neighbours of a node and {shape.node_cap:,} nodes"
            if name == "pull"
            else f"the whole graph of corpus {scope.corpus!r} in memory"
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
    """Trace a search by vector, which reads a file that is mapped into memory."""
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
    """A statement without the indentation that it has in the source."""
    lines = text.strip().splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    return "\n".join([lines[0], *(line[margin:] for line in lines[1:])]) if lines else ""
