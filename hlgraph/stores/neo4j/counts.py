"""Reference counts behind the names of entities. Pure functions.

The rules are those of the embedded store, so that both build the same graph. An entity gets the name that most mentions
use, ties in alphabetical order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hlgraph.stores.neo4j.server import Row


class Said(NamedTuple):
    """How often a chunk mentions an entity by one name and kind."""

    chunk_id: str
    entity_id: str
    surface: str
    kind: str
    mentions: int


def said_by(rows: Iterable[Row]) -> list[Said]:
    """The counts of new chunks, from the rows of their mentions."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows:
        entity = str(row["entity_id"])
        for chunk, surface, kind in zip(
            _texts(row["chunks"]), _texts(row["surfaces"]), _texts(row["kinds"]), strict=True
        ):
            found[chunk, entity, surface, kind] += 1
    return [Said(*key, count) for key, count in found.items()]


def name_changes(old: Iterable[Said], new: Iterable[Said]) -> dict[str, Counter[tuple[str, str]]]:
    """Changes in the count of each name and kind of each entity.

    Parameters
    ----------
    old : counts of the chunks before the change
    new : counts of the chunks after the change
    """
    found: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for said, sign in ((old, -1), (new, 1)):
        for item in said:
            found[item.entity_id][item.surface, item.kind] += sign * item.mentions
    return dict(found)


def name_rows(stored: Iterable[Row], changes: Mapping[str, Counter[tuple[str, str]]]) -> list[Row]:
    """Entities with their counts after a change, and the name and kind that follow from these.

    An entity without mentions keeps its name, because a fact may still refer to it.

    Parameters
    ----------
    stored : entities with their present counts
    changes : changes of the counts, by id, from :func:`name_changes`
    """
    rows: list[Row] = []
    for row in stored:
        name = str(row["id"])
        counts = Counter(
            dict(
                zip(
                    zip(_texts(row["surfaces"]), _texts(row["kinds"]), strict=True),
                    _numbers(row["counts"]),
                    strict=True,
                )
            )
        )
        for key, change in changes[name].items():
            counts[key] += change
        kept = sorted((key, count) for key, count in counts.items() if count > 0)
        rows.append(
            {
                "id": name,
                "name": _most((surface, count) for (surface, _), count in kept) if kept else None,
                "kind": _most((kind, count) for (_, kind), count in kept if kind),
                "aliases": sorted({surface for (surface, _), _ in kept}),
                "surfaces": [surface for (surface, _), _ in kept],
                "kinds": [kind for (_, kind), _ in kept],
                "counts": [count for _, count in kept],
            }
        )
    return rows


def _most(counted: Iterable[tuple[str, int]]) -> str:
    total: Counter[str] = Counter()
    for text, count in counted:
        total[text] += count
    return min(total, key=lambda text: (-total[text], text), default="")


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _numbers(value: object) -> list[int]:
    return [int(item) for item in value] if isinstance(value, list) else []
