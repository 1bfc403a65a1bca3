"""Everything that an embedded store and the files beside it say, as plain values that do not depend on how it came about."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hlgraph.models.local.load import cache_file
from hlgraph.records import Kind
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import snapshot

_WORDS = """
    SELECT corpus, kind, vector.id, words FROM text LEFT JOIN vector USING (n, file) LEFT JOIN vector_file USING (file)"""


def dump(folder: Path, *, gone: Sequence[str] = ()) -> dict[str, object]:
    """Ids, text, links and vectors of every corpus, what is derived from them, decisions, full text, and the embedding cache.

    Times and versions are left out. ``doctor`` must find the store fine.

    Parameters
    ----------
    folder : holds the folders ``store`` and ``cache``
    gone : texts; the files that hold one of them are listed
    """
    found: dict[str, object] = {}
    opened = open_stores(f"hlgraph://{folder}/store")
    with opened.closing:
        found["doctor"] = [item for item in opened.check() if not item.is_fine]
        stores = opened.stores
        assert stores.graph.derived is not None
        assert stores.graph.merges is not None
        assert stores.graph.domains is not None
        for corpus in (item.corpus for item in stores.graph.stats(has_counts=False)):
            for name, value in snapshot(stores, corpus).items():
                found[f"{corpus}: {name}"] = value
            runs = stores.graph.derived.runs(corpus)
            found[f"{corpus}: runs"] = [(item.name, item.parameters, item.levels) for item in runs]
            for item in runs:
                found[f"{corpus}: communities of {item.name}"] = stores.graph.derived.communities(corpus, item.name)
                made = stores.graph.derived.summaries(corpus, item.name)
                found[f"{corpus}: summaries of {item.name}"] = [
                    (one.summary, one.community_id, one.vector.round(4).tolist(), one.parts, one.source_id)
                    for one in made.items
                ]
            held = sorted(stores.vectors.ids(Kind.SUMMARY, corpus))
            found[f"{corpus}: vectors of summaries"] = held
            found[f"{corpus}: decisions"] = sorted(
                (replace(item, at="") for item in stores.graph.merges.decisions(corpus)), key=lambda item: item.id
            )
            found[f"{corpus}: domain"] = stores.graph.domains.read(corpus)
    found["full text"] = _full_text(folder / "store" / "hlgraph.db")
    cache = cache_file(str(folder / "cache"))
    if cache.exists():
        with closing(sqlite3.connect(cache)) as connection:
            found["cache"] = connection.execute("SELECT hex(text_hash) FROM vectors ORDER BY 1").fetchall()
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    found["failures"] = [(path.parent.name, path.name) for path in files if "quarantine" in path.parts]
    held_in = [(path.name, text) for path in files for text in gone if text.encode() in path.read_bytes()]
    found["deleted text"] = held_in
    return found


def _full_text(database: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return sorted(connection.execute(_WORDS), key=str)
