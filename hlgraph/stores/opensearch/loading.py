"""Settings of indexes during a bulk load: no periodic refresh, no replicas while rows arrive; afterwards as they were.

A kill leaves an index without refresh. The next load finds it so, and gives it the settings that a new index has. Nobody waits
for a refresh that does not come: whoever writes rows refreshes the index by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.drift import Seen
from hlgraph.stores.opensearch.indexes import Home
from hlgraph.stores.opensearch.rounds import find
from hlgraph.stores.opensearch.wire import Anything

_REFRESH, _REPLICAS = "index.refresh_interval", "index.number_of_replicas"
_OFF = "-1"
_EVERY = "30s"  # of a new index, by the migrations

Kept = dict[str, dict[str, str]]
"""The settings to give back, by the name of the index."""


def begin(connection: Connection, homes: Iterable[Home]) -> Kept:
    """Ends the periodic refresh of some indexes, and the copying to replicas of those that no other corpus has rows in.

    Parameters
    ----------
    connection : connection to the server
    homes : the indexes of a corpus

    Returns
    -------
    Kept
        The settings to give back by :func:`end`.
    """
    kept: Kept = {}
    for home in homes:
        path, plain = f"/{home.name}", {"flat_settings": "true"}
        seen = connection.ask("GET", path, answer=dict[str, Seen], parameters=plain)[home.name].settings
        was_left = seen.get(_REFRESH) == _OFF
        every = _EVERY if was_left else str(seen.get(_REFRESH, _EVERY))
        copies = str(connection.settings.replicas if was_left else seen.get(_REPLICAS, "0"))
        kept[home.name] = {_REFRESH: every, _REPLICAS: copies}
        now = {_REFRESH: _OFF}
        if not was_left and (not home.meta.is_shared or not _rows(connection, home.name)):
            now[_REPLICAS] = "0"
        connection.ask("PUT", f"{path}/_settings", answer=Anything, body=dict(now))
    return kept


def end(connection: Connection, kept: Kept) -> None:
    """Gives indexes their settings back, and makes all rows searchable.

    Parameters
    ----------
    connection : connection to the server
    kept : result of :func:`begin`
    """
    for name, settings in kept.items():
        connection.ask("PUT", f"/{name}/_settings", answer=Anything, body=dict(settings))
    if kept:
        connection.ask("POST", f"/{','.join(sorted(kept))}/_refresh", answer=Anything)


def _rows(connection: Connection, name: str) -> int:
    return find(connection, name, body={"size": 0, "track_total_hits": True}).count
