"""From the url of a store to the two protocols: one closed table."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from hlgraph.errors import UnknownNameError
from hlgraph.migrate import MigrationTarget
from hlgraph.stores.protocols import Stores


class Finding(NamedTuple):
    """What a doctor found: the name of the check, whether it is fine, and what was seen."""

    check: str
    is_fine: bool
    seen: str


class Opened(NamedTuple):
    """A store that is open: the pair, what is to be closed, what checks it, and what migrates it."""

    stores: Stores
    closing: contextlib.ExitStack
    check: Callable[[], list[Finding]]
    targets: tuple[MigrationTarget, ...]


def _embedded(rest: str) -> Opened:
    from hlgraph.stores.embedded.database import Database
    from hlgraph.stores.embedded.doctor import check
    from hlgraph.stores.embedded.graph import EmbeddedGraphStore
    from hlgraph.stores.embedded.migrations import SqliteTarget
    from hlgraph.stores.embedded.vectors import EmbeddedVectorStore

    database = Database(Path(rest).expanduser())
    closing = contextlib.ExitStack()
    stores = Stores(
        closing.enter_context(EmbeddedGraphStore(database)), closing.enter_context(EmbeddedVectorStore(database))
    )
    return Opened(stores, closing, lambda: [Finding(*item) for item in check(database)], (SqliteTarget(database.file),))


_STORES: Mapping[str, Callable[[str], Opened]] = {"hlgraph": _embedded}


def open_stores(url: str) -> Opened:
    """Open the store of a url such as ``hlgraph://./folder``. Nothing is read or made yet.

    Raises UnknownNameError for a url that names no kind of store, or no place.
    """
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _STORES:
        known = ", ".join(f"{name}://" for name in sorted(_STORES))
        raise UnknownNameError(
            f"{url!r} is no url of a store; write one that starts with {known}, such as hlgraph://./folder"
        )
    if not rest:
        raise UnknownNameError(f"{url!r} names no folder; write one, such as hlgraph://./folder")
    return _STORES[scheme](rest)
