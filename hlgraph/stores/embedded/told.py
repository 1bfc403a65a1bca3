"""How the embedded store describes to a trace what it does: SQL as it is run, words for what it reads in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from hlgraph.stores.protocols import PullShape, Scope, VectorQuery
from hlgraph.trace import Running, traced
from hlgraph.where import Where, to_text

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
