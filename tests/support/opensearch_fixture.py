"""A vector store on the OpenSearch server of the tests: every test has a prefix of its own and leaves nothing behind."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from hlgraph.settings import OpenSearchSettings
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.opensearch.wire import Anything, Mapped


def settings_of(server: SimpleNamespace, **changes: Any) -> OpenSearchSettings:
    """How to reach the server, with a new prefix."""
    login = OpenSearchSettings(
        user=server.user or "", password=server.password or "", ca=server.ca or None, patience=20.0
    )
    return dataclasses.replace(login, **{"prefix": f"t{uuid.uuid4().hex[:12]}", **changes})


@contextlib.contextmanager
def opened(server: SimpleNamespace, **changes: Any) -> Iterator[OpenSearchVectorStore]:
    """A store with a prefix of its own; its indexes are removed at the end."""
    with OpenSearchVectorStore(server.url, settings_of(server, **changes)) as store:
        try:
            yield store
        finally:
            remove(store)


def remove(store: OpenSearchVectorStore) -> None:
    """Delete every index of the store's prefix."""
    for name in store.connection.ask(
        "GET", f"/{store.connection.settings.prefix}-*/_mapping", answer=dict[str, Mapped]
    ):
        store.connection.ask("DELETE", f"/{name}", answer=Anything)
