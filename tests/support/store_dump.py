"""Everything that an embedded store and the files beside it say, as plain values that do not depend on how it came about."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from hlgraph.models.cache import cache_file
from hlgraph.records import Kind
from hlgraph.stores.embedded.text_rows import all_texts
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import snapshot

_ROWS = "SELECT n, corpus, kind, id FROM vector JOIN vector_file USING (file)"


def dump(folder: Path, *, gone: Sequence[str] = ()) -> dict[str, object]:
    """Ids, text, links and vectors of every corpus, what is derived from them, decisions, full text, and the embedding cache.

    Times and versions are left out. ``folder`` holds the folders ``store`` and ``cache``; ``doctor`` must find the store fine.
    The files that hold one of the texts ``gone`` are listed.
    """
    result: dict[str, object] = {}
    opened = open_stores(f"hlgraph://{folder}/store")
    with opened.closing:
        result["doctor"] = [item for item in opened.check() if not item.is_fine]
        stores = opened.stores
        graph: Any = stores.graph
        for corpus in (item.corpus for item in graph.stats(has_counts=False)):
            parts: dict[str, object] = dict(snapshot(stores, corpus))
            runs = graph.derived.runs(corpus)
            parts["runs"] = [(item.name, item.parameters, item.levels) for item in runs]
            for run in (item.name for item in runs):
                parts[f"communities of {run}"] = graph.derived.communities(corpus, run)
                parts[f"summaries of {run}"] = [
                    (one.summary, one.community_id, one.vector.round(4).tolist(), one.parts, one.source_id)
                    for one in graph.derived.summaries(corpus, run).items
                ]
            parts["vectors of summaries"] = sorted(stores.vectors.ids(Kind.SUMMARY, corpus))
            decisions = (replace(item, at="") for item in graph.merges.decisions(corpus))
            parts["decisions"] = sorted(decisions, key=lambda item: item.id)
            parts["domain"] = graph.domains.read(corpus)
            result |= {f"{corpus}: {name}": value for name, value in parts.items()}
    result["full text"] = _full_text(folder / "store" / "hlgraph.db")
    cache = cache_file(str(folder / "cache"))
    if cache.exists():
        with closing(sqlite3.connect(cache)) as connection:
            result["cache"] = connection.execute("SELECT hex(text_hash) FROM vectors ORDER BY 1").fetchall()
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    exports = {path.parent for path in files if path.name == "sources.jsonl.gz"}
    result["exports"] = [(path.parent.name, path.name, path.read_bytes()) for path in files if path.parent in exports]
    result["failures"] = [(path.parent.name, path.name) for path in files if "quarantine" in path.parts]
    result["deleted text"] = [
        (path.name, text) for path in files for text in gone if text.encode() in path.read_bytes()
    ]
    return result


def _full_text(database: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        rows = {n: row for n, *row in connection.execute(_ROWS)}
        files = [file for (file,) in connection.execute("SELECT DISTINCT file FROM text")]
        return sorted(((*rows.get(n, ()), text) for file in files for n, text in all_texts(connection, file)), key=str)
