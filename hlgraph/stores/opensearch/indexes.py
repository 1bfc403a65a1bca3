"""The indexes of corpora: their names and aliases, their creation, and the metadata in their mappings.

Requests name a corpus and a kind by the alias ``<prefix>-<hash of the corpus>-<kind>``, whatever index is behind it:

- *shared*: one index a kind (and length of vectors) for all corpora. The alias filters the rows of its corpus and searches the
  one shard that holds them. The index also has the alias ``<prefix>-shared-<kind>-<dimensions>``, by which the next corpus
  finds it. A filter of an alias does not reach into a k-NN search, so searches also carry it themselves: :meth:`Home.clause`.
- *dedicated*: an index of one corpus. Its rows are spread over its shards by their ids.

An index is named after its alias, its migration and a hash of its form. The name of the corpus is data, so it is in ``_meta``
of the mapping of a dedicated index, and in the filter of an alias of a shared one.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hlgraph.errors import ModelMismatchError, SettingsError, StoreCorruptError, StoreUnavailableError
from hlgraph.ids import content_id
from hlgraph.records import Kind
from hlgraph.stores.migrate import Migration, discover
from hlgraph.stores.opensearch.connection import Connection, cause_of
from hlgraph.stores.opensearch.foreign_errors import refusal
from hlgraph.stores.opensearch.forms import SHARED_SINCE, form_of, index_body
from hlgraph.stores.opensearch.wire import Anything, Json, Mapped, Meta

LANGUAGES = frozenset(
    {
        *("any", "danish", "dutch", "english", "finnish", "french", "german", "hungarian", "italian", "norwegian"),
        *("portuguese", "russian", "spanish", "swedish"),
    }
)
"""Stemmers for the text of a new index; ``any`` does not stem. The embedded store stems like ``english``."""

REMEMBERED_SECONDS = 5.0  # another process may remove an index, and create it again for another model
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_THERE = "resource_already_exists_exception"
TRIAL = "-trial-"
"""Part of the name of an index that a migration creates only to test the server."""


@dataclass(frozen=True, slots=True)
class Home:
    """The index that holds the rows of one kind of a corpus.

    Attributes
    ----------
    alias : alias of the corpus and kind
    name : name of the index
    corpus : name of the corpus
    key : hash of the corpus: where its rows are kept, and the beginning of the ids of their documents
    meta : metadata of the index
    """

    alias: str
    name: str
    corpus: str
    key: str
    meta: Meta

    @property
    def clause(self) -> Json:
        """What a k-NN search must be filtered by to see this corpus alone; None: nothing.

        While the rows are being moved to another index, the index behind the alias may change before this description of it
        does; the clause then fits both.
        """
        mine: Json = {"term": {"corpus": self.corpus}}
        if self.meta.moving:
            either: list[Json] = [mine, {"bool": {"must_not": {"exists": {"field": "corpus"}}}}]
            return {"bool": {"should": either, "minimum_should_match": 1}}
        return mine if self.meta.is_shared else None


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
        self._known: dict[str, tuple[float, Home]] = {}
        self._guard = threading.Lock()

    def alias(self, corpus: str, kind: Kind) -> str:
        """The alias of an index, which requests use.

        Parameters
        ----------
        corpus : name of the corpus
        kind : kind of the rows
        """
        return f"{self._connection.settings.prefix}-{key_of(corpus)}-{kind}"

    def shared(self, kind: Kind, dimensions: int) -> str:
        """The alias of the index of this kind that corpora share.

        Parameters
        ----------
        kind : kind of the rows
        dimensions : length of the vectors; 0 for sources
        """
        return f"{self._connection.settings.prefix}-shared-{kind}" + (f"-{dimensions}" if dimensions else "")

    @property
    def is_sharing(self) -> bool:
        """Whether new corpora share indexes."""
        return self._connection.settings.layout == "shared" and not self._connection.is_serverless

    def find(self, corpus: str, kind: Kind, *, is_fresh: bool = False) -> Home | None:
        """The index of a corpus and kind; None if the corpus has none.

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
        if not is_fresh:
            if self._remembered(alias) is None:
                self.look(corpus)  # a search asks for one kind after the other: one request finds all of them
            home = self._remembered(alias)
            if home is not None:
                return home
        indexes = self.behind(alias)
        if not indexes:
            self.forget(alias)
            return None
        home = self._home(corpus, kind, indexes)
        self._remember(home)
        return home

    def look(self, corpus: str) -> None:
        """Reads the metadata of all kinds of a corpus anew, by one request; what is amiss is left to those who ask for it."""
        for kind in Kind:
            self.forget(self.alias(corpus, kind))
        kinds = {kind.value: kind for kind in Kind}
        aliases = ",".join(self.alias(corpus, kind) for kind in Kind)
        found = defaultdict[str, dict[str, Mapped]](dict)
        for name, item in self.behind(aliases, options="?ignore_unavailable=true").items():
            found[item.mappings.meta.kind][name] = item
        for value in found.keys() & kinds:
            with contextlib.suppress(StoreCorruptError):
                self._remember(self._home(corpus, kinds[value], found[value]))

    def are_of(self, corpus: str, *, schema: int) -> bool:
        """Whether a corpus has indexes, as :meth:`look` found them, and a schema made all of them.

        Parameters
        ----------
        corpus : name of the corpus
        schema : version of the schema
        """
        homes = [self._remembered(self.alias(corpus, kind)) for kind in Kind]
        schemas = {home.meta.schema for home in homes if home is not None}
        return schemas == {schema}

    def _remembered(self, alias: str) -> Home | None:
        with self._guard:
            since, home = self._known.get(alias, (0.0, None))
        return home if time.monotonic() - since < REMEMBERED_SECONDS else None

    def _home(self, corpus: str, kind: Kind, indexes: Mapping[str, Mapped]) -> Home:
        """The one index behind an alias; StoreCorruptError where it is another's, or one of several."""
        alias = self.alias(corpus, kind)
        if len(indexes) != 1:
            raise StoreCorruptError(
                f"{self._connection.url}: the alias {alias} names {len(indexes)} indexes ({', '.join(sorted(indexes))}); "
                "remove all but the newest from the alias"
            )
        name, meta = next((name, item.mappings.meta) for name, item in indexes.items())
        is_ours = meta.corpus == corpus or (meta.is_shared and meta.schema >= SHARED_SINCE)
        if not is_ours or meta.kind != kind.value:
            raise StoreCorruptError(
                f"{self._connection.url}: the index {name} belongs to another program or corpus; delete it, "
                "or set another opensearch.prefix"
            )
        return Home(alias, name, corpus, key_of(corpus), meta)

    def _remember(self, home: Home) -> None:
        with self._guard:
            self._known[home.alias] = (time.monotonic(), home)

    def behind(self, alias: str, *, options: str = "") -> dict[str, Mapped]:
        """The indexes behind an alias, by name.

        Parameters
        ----------
        alias : an alias, or several with commas between them
        options : of the request, such as ``?ignore_unavailable=true``
        """
        found = self._connection.send("GET", f"/{alias}/_mapping{options}")
        return {} if found.status == 404 else self._connection.accepted(found, dict[str, Mapped])

    def forget(self, alias: str) -> None:
        """Drops the cached metadata of an index."""
        with self._guard:
            self._known.pop(alias, None)

    def ensure(self, corpus: str, kind: Kind, *, dimensions: int = 0, is_fresh: bool = True) -> Home:
        """The index of a corpus and kind; creates it, or lets the corpus share one, if it has none.

        Parameters
        ----------
        corpus : name of the corpus
        kind : kind of the rows
        dimensions : length of the vectors; 0 for sources
        is_fresh : see :meth:`find`; False after :meth:`look`

        Raises
        ------
        ModelMismatchError
            The corpus has vectors of another length.
        """
        home = self.find(corpus, kind, is_fresh=is_fresh)
        if home is None:
            self._create(corpus, kind, dimensions)
            home = self.find(corpus, kind, is_fresh=True)
        if home is None:
            raise StoreUnavailableError(
                f"{self._connection.url}: another process has removed the index of corpus {corpus!r} meanwhile; "
                "run the same command again"
            )
        if home.meta.dimensions != dimensions:
            raise ModelMismatchError(
                f"corpus {corpus!r} holds {kind} vectors of {home.meta.dimensions} dimensions, these have {dimensions}; "
                "use the embedding model of the corpus, or another corpus"
            )
        return home

    def drop(self, home: Home) -> None:
        """Removes a corpus that has no rows of a kind: its index, or its alias of a shared one."""
        self.forget(home.alias)
        for name, item in self.behind(home.alias).items():
            if item.mappings.meta.is_shared:
                self.act({"remove": {"index": name, "alias": home.alias}})
            else:
                self.remove(name)

    def remove(self, name: str) -> None:
        """Deletes an index, if it exists."""
        gone = self._connection.send("DELETE", f"/{name}")
        if gone.status >= 400 and gone.status != 404:
            raise refusal(self._connection.url, gone.status, cause=cause_of(gone.body))

    def all(self) -> dict[str, Mapped]:
        """All indexes of the prefix that hlgraph created for corpora, by name."""
        found = self._connection.ask("GET", f"/{self._connection.settings.prefix}-*/_mapping", answer=dict[str, Mapped])
        kinds = set(Kind)
        return {name: item for name, item in found.items() if item.mappings.meta.kind in kinds and TRIAL not in name}

    def all_shared(self) -> list[str]:
        """The names of all indexes that corpora share."""
        return [name for name, item in self.all().items() if item.mappings.meta.is_shared]

    def act(self, *actions: Json) -> None:
        """Changes aliases, all at once."""
        self._connection.ask("POST", "/_aliases", answer=Anything, body={"actions": list[Json](actions)})

    def wanted(
        self, corpus: str, kind: Kind, *, dimensions: int, migration: Migration, taken: Sequence[str] = ()
    ) -> tuple[str, dict[str, dict[str, Json]]]:
        """The name and the body of the index that the settings ask for.

        Parameters
        ----------
        corpus : name of the corpus; empty: of all corpora that share the index
        kind : kind of the rows
        dimensions : length of the vectors; 0 for sources
        migration : the migration that defines the index
        taken : names of indexes of another form
        """
        settings = self._connection.settings
        words = (
            corpus,
            kind.value,
            dimensions,
            migration.version,
            settings.language,
            uuid.uuid4().hex,
            settings.shards,
        )
        is_serverless = self._connection.is_serverless
        body = index_body(migration.text, Meta(*words), settings=settings, is_serverless=is_serverless)
        alias = self.alias(corpus, kind) if corpus else self.shared(kind, dimensions)
        name = f"{alias}-v{migration.version:03d}-{form_of(body)}"
        return (f"{name}b" if name in taken else name), body

    def view(self, corpus: str) -> dict[str, Json]:
        """What the alias of a corpus shows of an index that corpora share."""
        return {"filter": {"term": {"corpus": corpus}}, "search_routing": key_of(corpus)}

    def _create(self, corpus: str, kind: Kind, dimensions: int) -> None:
        migration = discover("opensearch")[-1]
        alias = self.alias(corpus, kind)
        if not self.is_sharing:
            name, body = self.wanted(corpus, kind, dimensions=dimensions, migration=migration)
            self.make(name, body, aliases={alias: {}})
            return
        base = self.shared(kind, dimensions)
        view = self.view(corpus)
        there = sorted(self.behind(base))
        if not there:
            name, body = self.wanted("", kind, dimensions=dimensions, migration=migration)
            if self.make(name, body, aliases={base: {}, alias: view}):
                return
            there = [name]  # another process was faster
            self.act({"add": {"index": name, "alias": base}})
        self.act({"add": {"index": there[0], "alias": alias, **view}})

    def make(self, name: str, body: dict[str, dict[str, Json]], *, aliases: dict[str, Json]) -> bool:
        """Creates an index; False if it exists.

        Parameters
        ----------
        name : name of the index
        body : settings and mappings
        aliases : its aliases
        """
        found = self._connection.send("PUT", f"/{name}", body={**body, "aliases": aliases})
        if found.status >= 400 and _THERE in found.body:
            return False
        self._connection.accepted(found, Anything)
        return True


def key_of(corpus: str) -> str:
    """The hash of the name of a corpus."""
    return content_id("corpus", corpus)[:20]
