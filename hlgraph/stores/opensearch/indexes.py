"""The indexes of a corpus: their names, their creation, and the metadata in their mappings.

There is one index per corpus and kind. Term statistics are therefore those of the kind, corpora with different models can
coexist, and a corpus is removed by removing its indexes. An index is named ``<prefix>-<hash of the corpus>-<kind>-v<schema>``
and has the alias ``<prefix>-<hash>-<kind>``. The name of the corpus is data, so it is in ``_meta`` of the mapping.
"""

from __future__ import annotations

import re
import threading
import time
import uuid

import msgspec

from hlgraph.errors import ModelMismatchError, SettingsError, StoreCorruptError
from hlgraph.ids import content_id
from hlgraph.records import Kind
from hlgraph.stores.migrate import discover
from hlgraph.stores.opensearch.connection import Connection, cause_of
from hlgraph.stores.opensearch.foreign_errors import refusal
from hlgraph.stores.opensearch.wire import Anything, Json, Mapped, Meta

LANGUAGES = frozenset(
    {
        *("any", "danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian"),
        *("portuguese", "russian", "spanish", "swedish"),
    }
)
"""Stemmers for the text of a new index; ``any`` does not stem. The embedded store stems like ``english``."""

_REMEMBERED_SECONDS = 5.0  # another process may remove an index, and create it again for another model
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_THERE = "resource_already_exists_exception"
_NOT_SERVERLESS = (
    *("number_of_shards", "number_of_replicas", "refresh_interval", "max_result_window"),
    "merge.policy.expunge_deletes_allowed",
)  # fmt: skip


class Indexes:
    """Finds and creates the indexes of one server; caches the metadata of each for 5 s.

    Raises SettingsError for a prefix or a language that OpenSearch or hlgraph does not support.
    """

    def __init__(self, connection: Connection) -> None:
        settings = connection.settings
        if not _PREFIX.fullmatch(settings.prefix):
            raise SettingsError(
                f"opensearch.prefix is {settings.prefix!r}; use up to 100 lower-case letters, digits, - and _, "
                "a letter or digit first"
            )
        if settings.language not in LANGUAGES:
            raise SettingsError(
                f"opensearch.language is {settings.language!r}; choose one of {', '.join(sorted(LANGUAGES))}"
            )
        self._connection = connection
        self._known: dict[str, tuple[float, Meta]] = {}
        self._guard = threading.Lock()

    def alias(self, corpus: str, kind: Kind) -> str:
        """The alias of an index, which requests use.

        Parameters
        ----------
        corpus : name of the corpus
        kind : kind of the rows
        """
        return f"{self._connection.settings.prefix}-{content_id('corpus', corpus)[:20]}-{kind}"

    def meta(self, corpus: str, kind: Kind, *, is_fresh: bool = False) -> Meta | None:
        """The metadata of an index; None if it does not exist.

        Parameters
        ----------
        corpus : name of the corpus
        kind : kind of the rows
        is_fresh : whether to ask the server even if the metadata is cached

        Raises
        ------
        StoreCorruptError
            The alias names several indexes, or an index of another corpus or program.
        """
        alias = self.alias(corpus, kind)
        with self._guard:
            known = self._known.get(alias)
        if known is not None and not is_fresh and time.monotonic() - known[0] < _REMEMBERED_SECONDS:
            return known[1]
        found = self._connection.send("GET", f"/{alias}/_mapping")
        if found.status == 404:
            self.forget(alias)
            return None
        if found.status >= 400:
            raise refusal(self._connection.url, found.status, cause=cause_of(found.body))
        indexes = self._connection.decoded(found.body, dict[str, Mapped])
        if len(indexes) != 1:
            raise StoreCorruptError(
                f"{self._connection.url}: the alias {alias} names {len(indexes)} indexes ({', '.join(sorted(indexes))}); "
                "remove all but the newest from the alias"
            )
        meta = next(iter(indexes.values())).mappings.meta
        if (meta.corpus, meta.kind) != (corpus, kind.value):
            raise StoreCorruptError(
                f"{self._connection.url}: the index {next(iter(indexes))} belongs to another program or corpus; delete it, "
                "or set another opensearch.prefix"
            )
        with self._guard:
            self._known[alias] = (time.monotonic(), meta)
        return meta

    def forget(self, alias: str) -> None:
        """Drops the cached metadata of an index."""
        with self._guard:
            self._known.pop(alias, None)

    def ensure(self, corpus: str, kind: Kind, *, dimensions: int = 0) -> str:
        """The alias of an index; creates the index if it does not exist.

        Parameters
        ----------
        corpus : name of the corpus
        kind : kind of the rows
        dimensions : length of the vectors; 0 for sources

        Raises
        ------
        ModelMismatchError
            The index holds vectors of another length.
        """
        meta = self.meta(corpus, kind, is_fresh=True)
        if meta is None:
            self._create(corpus, kind, dimensions)
            meta = self.meta(corpus, kind, is_fresh=True)
        if meta is not None and meta.dimensions != dimensions:
            raise ModelMismatchError(
                f"corpus {corpus!r} holds {kind} vectors of {meta.dimensions} dimensions, these have {dimensions}; "
                "use the embedding model of the corpus, or another corpus"
            )
        return self.alias(corpus, kind)

    def drop(self, alias: str) -> None:
        """Removes the index behind an alias, if it exists."""
        self.forget(alias)
        found = self._connection.send("GET", f"/{alias}/_mapping")
        if found.status == 404:
            return
        for name in self._connection.decoded(found.body, dict[str, Mapped]):
            gone = self._connection.send("DELETE", f"/{name}")
            if gone.status >= 400 and gone.status != 404:
                raise refusal(self._connection.url, gone.status, cause=cause_of(gone.body))

    def all(self) -> dict[str, Mapped]:
        """All indexes of the prefix that hlgraph created for corpora, by name."""
        found = self._connection.ask("GET", f"/{self._connection.settings.prefix}-*/_mapping", answer=dict[str, Mapped])
        return {name: item for name, item in found.items() if item.mappings.meta.kind in set(Kind)}

    def _create(self, corpus: str, kind: Kind, dimensions: int) -> None:
        settings = self._connection.settings
        migration = discover("opensearch")[-1]
        meta = Meta(corpus, kind.value, dimensions, migration.version, settings.language, uuid.uuid4().hex)
        body = index_body(
            migration.text, meta, replicas=settings.replicas, is_serverless=self._connection.is_serverless
        )
        alias = self.alias(corpus, kind)
        body["aliases"] = {alias: {}}
        found = self._connection.send("PUT", f"/{alias}-v{migration.version:03d}", body=body)
        # Another process may have been faster: its index is checked like any other.
        if found.status >= 400 and _THERE not in found.body:
            raise refusal(self._connection.url, found.status, cause=cause_of(found.body))
        self._connection.decoded(found.body, Anything)


def index_body(text: str, meta: Meta, *, replicas: int, is_serverless: bool = False) -> dict[str, Json]:
    """The body of the request that creates an index, from the text of a migration.

    Parameters
    ----------
    text : text of the migration
    meta : metadata of the index
    replicas : number of replicas
    is_serverless : whether to leave out the settings of shards, refreshes and merges, which serverless refuses, and to use
        faiss, its only engine

    Raises
    ------
    StoreCorruptError
        The migration holds no body of an index.
    """
    bodies: dict[str, Json] = msgspec.json.decode(text)
    values: dict[str, Json] = {
        "$replicas": replicas,
        "$dimensions": meta.dimensions,
        "$analyzer": f"words_{meta.language}",
        "$meta": msgspec.to_builtins(meta),
    }
    body = _filled(bodies["sources" if meta.kind == Kind.SOURCE else "rows"], values)
    if not isinstance(body, dict):
        raise StoreCorruptError("the OpenSearch migration holds no body of an index; install hlgraph again")
    if is_serverless:
        index = _part(body, "settings", "index")
        for name in _NOT_SERVERLESS:
            index.pop(name, None)
        if "knn" in index:
            _part(body, "mappings", "properties", "vector", "method")["engine"] = "faiss"
    return body


def _filled(tree: Json, values: dict[str, Json]) -> Json:
    """A copy with the placeholders replaced by values."""
    if isinstance(tree, dict):
        return {name: _filled(item, values) for name, item in tree.items()}
    if isinstance(tree, list):
        return [_filled(item, values) for item in tree]
    return values[tree] if isinstance(tree, str) and tree in values else tree


def _part(tree: dict[str, Json], *names: str) -> dict[str, Json]:
    for name in names:
        inner = tree.get(name)
        tree = inner if isinstance(inner, dict) else {}
    return tree
