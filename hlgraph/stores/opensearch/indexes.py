"""The indexes of corpora: their names and aliases, their creation, and the metadata in their mappings.

Requests address a corpus and a kind by the alias ``<prefix>-<hash of the corpus>-<kind>``. The index behind it has one of two
layouts:

- *shared*: one index per kind (and length of vectors) for all corpora. The alias filters the rows of its corpus and searches the
  one shard that holds them. The index also has the alias ``<prefix>-shared-<kind>-<dimensions>``, by which the next corpus
  finds it. The filter of an alias does not apply to a k-NN search, so searches include it themselves: :meth:`Home.clause`.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from hlgraph.errors import ModelMismatchError, SettingsError, StoreCorruptError, StoreUnavailableError
from hlgraph.ids import content_id
from hlgraph.records import Kind
from hlgraph.settings import OpenSearchSettings
from hlgraph.stores.migrate import Difference, Migration, discover
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.wire import Anything, Json, Mapped, Mappings, Meta, Property
from hlgraph.stores.protocols import PlaceOfRows, base_of

# Settings and mapping of an index, from the text of a migration and the settings of the server.


SHARED_SINCE = 2
"""The first migration in which rows name their corpus, so that corpora can share an index."""
CHANGEABLE = (
    *("number_of_replicas", "refresh_interval", "max_result_window"),
    *("merge.policy.expunge_deletes_allowed", "merge_on_flush.enabled"),
)
"""Settings that can be changed on a live index; all others need a re-index."""

_NOT_SERVERLESS = ("number_of_shards", *CHANGEABLE)
_ENCODERS: dict[str, Json] = {
    "fp16": {"name": "sq", "parameters": {"type": "fp16"}},
    "byte": {"name": "sq", "parameters": {"bits": 7}},
}


def index_body(text: str, meta: Meta, *, settings: OpenSearchSettings) -> dict[str, dict[str, Json]]:
    """The body of the request that creates an index, from the text of a migration.

    Parameters
    ----------
    text : text of the migration
    meta : metadata of the index
    settings : shards, replicas and the k-NN method; serverless accepts no settings of shards, refreshes and merges, and its
        only engine is faiss

    Raises
    ------
    StoreCorruptError
        The migration does not contain the body of an index.
    """
    bodies: dict[str, Json] = msgspec.json.decode(text)
    is_serverless = settings.is_serverless
    values: dict[str, Json] = {
        "$shards": settings.shards,
        "$replicas": settings.replicas,
        "$dimensions": meta.dimensions,
        "$analyzer": f"words_{meta.language}",
        "$method": _method(settings, engine="faiss" if is_serverless else settings.engine),
        "$meta": msgspec.to_builtins(meta),
    }
    body = _filled(bodies["sources" if meta.kind == Kind.SOURCE else "rows"], values)
    if not isinstance(body, dict):
        raise StoreCorruptError("the OpenSearch migration holds no body of an index; install hlgraph again")
    sections: dict[str, dict[str, Json]] = {name: item for name, item in body.items() if isinstance(item, dict)}
    if is_serverless:
        index = sections["settings"]["index"]
        for name in _NOT_SERVERLESS:
            if isinstance(index, dict):
                index.pop(name, None)
    fields = sections["mappings"]["properties"]
    if not meta.is_shared and isinstance(fields, dict):
        fields.pop("corpus", None)
        sections["mappings"].pop("_routing", None)
    return sections


def form_of(body: dict[str, dict[str, Json]]) -> str:
    """A hash of the settings and mapping that only a re-index can change; part of the name of an index."""
    index = body["settings"]["index"]
    kept = {name: item for name, item in index.items() if name not in CHANGEABLE} if isinstance(index, dict) else {}
    mappings = {name: item for name, item in body["mappings"].items() if name != "_meta"}
    return content_id("form", msgspec.json.encode([kept, mappings], order="sorted").decode())[:8]


def _method(settings: OpenSearchSettings, *, engine: str) -> Json:
    parameters: dict[str, Json] = {"m": settings.hnsw_m, "ef_construction": settings.hnsw_ef_construction}
    if settings.quantisation in _ENCODERS:
        parameters["encoder"] = _ENCODERS[settings.quantisation]
    return {"name": "hnsw", "engine": engine, "space_type": "innerproduct", "parameters": parameters}


def _filled(tree: Json, values: dict[str, Json]) -> Json:
    """A copy with the placeholders replaced by values."""
    if isinstance(tree, dict):
        return {name: _filled(item, values) for name, item in tree.items()}
    if isinstance(tree, list):
        return [_filled(item, values) for item in tree]
    return values[tree] if isinstance(tree, str) and tree in values else tree


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
    key : hash of the corpus: the routing of its rows, and the prefix of their document ids
    meta : metadata of the index
    """

    alias: str
    name: str
    corpus: str
    key: str
    meta: Meta

    @property
    def clause(self) -> Json:
        """The filter that restricts a k-NN search to this corpus; None if none is needed.

        While the rows are being moved, the index behind the alias may change before this description is refreshed; the clause
        is valid for both indexes.
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
        return f"{self._connection.settings.prefix}-{key_of(_owner(corpus, kind))}-{kind}"

    def shared(self, kind: Kind, dimensions: int) -> str:
        """The alias of the shared index of this kind.

        Parameters
        ----------
        kind : kind of the rows
        dimensions : length of the vectors; 0 for sources
        """
        return f"{self._connection.settings.prefix}-shared-{kind}" + (f"-{dimensions}" if dimensions else "")

    @property
    def is_sharing(self) -> bool:
        """Whether new corpora get shared indexes."""
        return self._connection.settings.layout == "shared" and not self._connection.is_serverless

    def find(self, corpus: str, kind: Kind, *, is_fresh: bool = False) -> Home | None:
        """Find the index of a corpus and kind; None if the corpus has none.

        Parameters
        ----------
        corpus : name of the corpus
        kind : kind of the rows
        is_fresh : whether to ask the server even if the metadata is cached

        Raises
        ------
        StoreCorruptError
            The alias points to several indexes, or to an index of another corpus or program.
        """
        corpus = _owner(corpus, kind)
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
        return self._home(corpus, kind, indexes)

    def look(self, corpus: str) -> None:
        """Read the metadata of all kinds of a corpus in one request; errors are raised later, by :meth:`find`."""
        for kind in Kind:
            self.forget(self.alias(corpus, kind))
        aliases = ",".join(self.alias(corpus, kind) for kind in Kind)
        indexes = self.behind(aliases, options="?ignore_unavailable=true")
        for kind in Kind:
            behind = {name: item for name, item in indexes.items() if item.mappings.meta.kind == kind}
            with contextlib.suppress(StoreCorruptError):
                if behind:
                    self._home(_owner(corpus, kind), kind, behind)

    def are_of(self, corpus: str, *, schema: int) -> bool:
        """Whether a corpus has indexes, according to :meth:`look`, all of them created by this schema.

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
        """Cache and return the single index behind an alias. Raises StoreCorruptError for several, or a foreign index."""
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
        home = Home(alias, name, corpus, key_of(corpus), meta)
        with self._guard:
            self._known[alias] = (time.monotonic(), home)
        return home

    def behind(self, alias: str, *, options: str = "") -> dict[str, Mapped]:
        """The indexes behind an alias, by name.

        Parameters
        ----------
        alias : an alias, or several separated by commas
        options : options of the request, such as ``?ignore_unavailable=true``
        """
        reply = self._connection.send("GET", f"/{alias}/_mapping{options}")
        return {} if reply.status == 404 else self._connection.accepted(reply, dict[str, Mapped])

    def forget(self, alias: str) -> None:
        """Drop the cached metadata of an index."""
        with self._guard:
            self._known.pop(alias, None)

    def ensure(self, corpus: str, kind: Kind, *, dimensions: int = 0, is_fresh: bool = True) -> Home:
        """Return the index of a corpus and kind; create it, or assign a shared one, if the corpus has none.

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
        corpus = _owner(corpus, kind)
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
        """Remove the index of a corpus without rows of a kind, or its alias of a shared index."""
        self.forget(home.alias)
        for name, item in self.behind(home.alias).items():
            if item.mappings.meta.is_shared:
                self.act({"remove": {"index": name, "alias": home.alias}})
            else:
                self.remove(name)

    def remove(self, name: str) -> None:
        """Delete an index, if it exists."""
        gone = self._connection.send("DELETE", f"/{name}")
        if gone.status != 404:
            self._connection.accepted(gone, Anything)

    def all(self) -> dict[str, Mapped]:
        """All indexes of the prefix that hlgraph created for corpora, by name."""
        path, kinds = f"/{self._connection.settings.prefix}-*/_mapping", set(Kind)
        indexes = self._connection.ask("GET", path, answer=dict[str, Mapped])
        return {name: item for name, item in indexes.items() if item.mappings.meta.kind in kinds and TRIAL not in name}

    def with_deleted(self, place: PlaceOfRows) -> list[str]:
        """The names of the indexes that may have deleted rows of a corpus."""
        homes = [self.find(name, kind, is_fresh=True) for name in (place.name, *place.others) for kind in Kind]
        # A corpus without rows has left the shared indexes, but its deleted rows may still be there.
        shared = [name for name, item in self.all().items() if item.mappings.meta.is_shared]
        return sorted({*(home.name for home in homes if home is not None), *shared})

    def act(self, *actions: Json) -> None:
        """Change aliases in one atomic request."""
        self._connection.command("POST", "/_aliases", body={"actions": list[Json](actions)})

    def wanted(
        self, corpus: str, kind: Kind, *, dimensions: int, migration: Migration, taken: Sequence[str] = ()
    ) -> tuple[str, dict[str, dict[str, Json]]]:
        """The name and the body of the index that the settings require.

        Parameters
        ----------
        corpus : name of the corpus; empty: the index is shared
        kind : kind of the rows
        dimensions : length of the vectors; 0 for sources
        migration : the migration that defines the index
        taken : names of existing indexes with other settings or mappings
        """
        settings = self._connection.settings
        mark = uuid.uuid4().hex
        meta = Meta(corpus, kind.value, dimensions, migration.version, settings.language, mark, settings.shards)
        body = index_body(migration.text, meta, settings=settings)
        alias = self.alias(corpus, kind) if corpus else self.shared(kind, dimensions)
        name = f"{alias}-v{migration.version:03d}-{form_of(body)}"
        return (f"{name}b" if name in taken else name), body

    def view(self, corpus: str) -> dict[str, Json]:
        """The alias action that gives a corpus its view of a shared index."""
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
        """Create an index; False if it exists.

        Parameters
        ----------
        name : name of the index
        body : settings and mappings
        aliases : its aliases
        """
        reply = self._connection.send("PUT", f"/{name}", body={**body, "aliases": aliases})
        if reply.status >= 400 and _THERE in reply.body:
            return False
        self._connection.accepted(reply, Anything)
        return True


def _owner(corpus: str, kind: Kind) -> str:
    """The name under which rows are stored: the sources of all sets of vectors of a corpus are those of the corpus."""
    return base_of(corpus) if kind is Kind.SOURCE else corpus


def key_of(corpus: str) -> str:
    """The hash of the name of a corpus."""
    return content_id("corpus", corpus)[:20]


# Differences of indexes from the migrations and the settings: mapping, settings, layout, aliases.


_ANEW = "delete the index, then run: hlgraph reconcile --repair"
_AFTER = "run: hlgraph migrate apply"
_CHANGEABLE = frozenset(f"index.{name}" for name in CHANGEABLE)
_READ = ("id", "source", "change", "length", "words", "data", "conditions", "described")
"""The fields from which rows are copied to another index."""
_CORPORA = 10_000


class _Alias(msgspec.Struct):
    filter: dict[str, dict[str, str]] = {}


class Seen(msgspec.Struct):
    """The settings of an index by their full names, and its aliases."""

    settings: dict[str, str | list[str] | None] = {}
    aliases: dict[str, _Alias] = {}


class _Bucket(msgspec.Struct):
    key: str
    doc_count: int


class _Buckets(msgspec.Struct):
    buckets: list[_Bucket] = []


class _Counted(msgspec.Struct):
    aggregations: dict[str, _Buckets]


class Fault(NamedTuple):
    """One difference of an index; ``is_slight``: it can be changed on the live index."""

    name: str
    text: str
    is_slight: bool = False
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Index:
    """An index on the server, with its differences from the migration and the settings.

    Attributes
    ----------
    name : name of the index
    meta : its metadata
    seen : its settings and aliases; None on serverless, which does not report them
    faults : differences from the migration and the settings
    corpora : corpora with rows in the index, by the name of their alias
    """

    name: str
    meta: Meta
    seen: Seen | None
    faults: tuple[Fault, ...]
    corpora: Mapping[str, str]

    @property
    def needs_move(self) -> bool:
        """Whether a re-index is needed to remove the differences."""
        return any(not fault.is_slight for fault in self.faults)

    @property
    def is_readable(self) -> bool:
        """Whether its rows can be copied to another index."""
        return all(fault.is_readable for fault in self.faults)


def look(connection: Connection, migration: Migration) -> list[Index]:
    """List all indexes of the prefix, compared with a migration and the settings.

    Parameters
    ----------
    connection : connection to the server
    migration : the last one that ran
    """
    indexes = Indexes(connection)
    mapped = indexes.all()
    seen: dict[str, Seen] = {}
    if mapped and not connection.is_serverless:
        seen = settings_of(connection, f"/{connection.settings.prefix}-*")
    looked = []
    for name, item in sorted(mapped.items()):
        meta, there = item.mappings.meta, seen.get(name)
        faults = tuple(_faults(connection, item, there, migration=migration))
        corpora = {meta.corpus}
        if meta.is_shared and there is not None:  # corpora with an alias, and corpora with rows in the index
            shown = {alias.filter.get("term", {}).get("corpus", "") for alias in there.aliases.values()}
            corpora = {*shown, *counts(connection, name)}
        by_alias = {indexes.alias(corpus, Kind(meta.kind)): corpus for corpus in sorted(corpora - {""})}
        looked.append(Index(name, meta, there, faults, by_alias))
    return looked


def differences(connection: Connection, migration: Migration) -> list[Difference]:
    """The differences of all indexes from a migration and the settings.

    Parameters
    ----------
    connection : connection to the server
    migration : the last one that ran
    """
    looked = look(connection, migration)
    homes = homes_of(looked)
    wrong: list[Difference] = []
    for index in looked:
        for fault in index.faults:
            can_move = index.is_readable and migration.version >= SHARED_SINCE
            can = fault.is_slight or can_move
            text = fault.text if can else f"{fault.text}; {_AFTER if index.is_readable else _ANEW}"
            wrong.append(Difference(f"{index.name}, {fault.name}" if fault.name else index.name, text, is_mendable=can))
        if index.seen is None:
            continue
        for alias, corpus in sorted(index.corpora.items()):
            if alias not in homes:
                said = "has no alias" if index.meta.corpus else f"has no alias of corpus {corpus!r}"
                wrong.append(Difference(index.name, f"{said}, so nothing in it is found"))
            elif alias not in index.seen.aliases:
                wrong.append(Difference(index.name, f"holds rows of corpus {corpus!r} that are in {homes[alias]}"))
    return wrong


def homes_of(looked: Sequence[Index]) -> dict[str, str]:
    """The index behind each alias of a corpus."""
    return {
        alias: index.name
        for index in looked
        if index.seen is not None
        for alias in index.corpora
        if alias in index.seen.aliases
    }


def mend(connection: Connection, looked: Sequence[Index], *, migration: Migration) -> None:
    """Correct the settings that can be changed on live indexes, and add missing aliases.

    Parameters
    ----------
    connection : connection to the server
    looked : result of :func:`look`
    migration : the last one that ran
    """
    indexes, homes = Indexes(connection), homes_of(looked)
    for index in (index for index in looked if index.seen is not None and index.meta.schema <= migration.version):
        wanted = dict(_flat(_body(connection, index.meta, migration)["settings"]))
        if index.meta.moving:
            connection.command("PUT", f"/{index.name}/_settings", body={"index.blocks.write": None})
            meta = msgspec.structs.replace(index.meta, moving=False)
            connection.command("PUT", f"/{index.name}/_mapping", body={"_meta": msgspec.to_builtins(meta)})
        if any(fault.is_slight for fault in index.faults):
            body: dict[str, Json] = {key: value for key, value in wanted.items() if key in _CHANGEABLE}
            connection.command("PUT", f"/{index.name}/_settings", body=body)
        for alias, corpus in index.corpora.items():
            if alias not in homes:
                view = indexes.view(corpus) if index.meta.is_shared else {}
                indexes.act({"add": {"index": index.name, "alias": alias, **view}})
                indexes.forget(alias)


def settings_of(connection: Connection, path: str) -> dict[str, Seen]:
    """The settings of some indexes, and their aliases if the path includes them, by index.

    Parameters
    ----------
    connection : connection to the server
    path : path of the request
    """
    return connection.ask("GET", path, answer=dict[str, Seen], parameters={"flat_settings": "true"})


def counts(connection: Connection, name: str) -> dict[str, int]:
    """The number of rows of each corpus in a shared index, for at most the 10,000 largest corpora.

    Parameters
    ----------
    connection : connection to the server
    name : name of the index
    """
    body: Json = {"size": 0, "aggs": {"corpora": {"terms": {"field": "corpus", "size": _CORPORA}}}}
    reply = connection.ask("POST", f"/{name}/_search", answer=_Counted, body=body)
    return {bucket.key: bucket.doc_count for bucket in reply.aggregations["corpora"].buckets}


def _body(connection: Connection, meta: Meta, migration: Migration) -> dict[str, dict[str, Json]]:
    wanted = msgspec.structs.replace(meta, language=connection.settings.language)
    return index_body(migration.text, wanted, settings=connection.settings)


def _faults(connection: Connection, item: Mapped, seen: Seen | None, *, migration: Migration) -> Iterator[Fault]:
    meta = item.mappings.meta
    if meta.schema > migration.version:
        yield Fault(
            "", f"of migration {meta.schema}, which this hlgraph does not know; upgrade hlgraph", is_readable=False
        )
        return
    body = _body(connection, meta, migration)
    if connection.is_serverless:
        yield from _of_fields(item, msgspec.convert(body["mappings"], Mappings), can_move=False)
        return
    if meta.moving:
        yield Fault("", "is being re-indexed, or was when a migration was killed", is_slight=True)
    if migration.version >= SHARED_SINCE and meta.is_shared != (connection.settings.layout == "shared"):
        here = "shared by corpora" if meta.is_shared else "of one corpus"
        yield Fault("", f"is {here}, but opensearch.layout is {connection.settings.layout}")
    yield from _of_fields(item, msgspec.convert(body["mappings"], Mappings), can_move=True)
    if seen is not None:
        yield from _of_settings(seen.settings, wanted=body["settings"])


def _of_fields(item: Mapped, wanted: Mappings, *, can_move: bool) -> Iterator[Fault]:
    expected, there = wanted.properties, item.mappings.properties
    for field in sorted({*expected, *there}):
        one, other = there.get(field, Property("")), expected.get(field, Property(""))
        if not can_move:  # serverless has one engine, and tells of it what it likes
            one, other = (msgspec.structs.replace(each, method=None) for each in (one, other))
        if one == other:
            continue
        what = "missing" if field not in there else "of another mapping" if field in expected else "not hlgraph's"
        can_read = field not in _READ or field not in expected or one.type == other.type
        yield Fault(f"field {field}", what, is_readable=can_move and can_read)


def _of_settings(there: Mapping[str, str | list[str] | None], *, wanted: Json) -> Iterator[Fault]:
    for key, value in _flat(wanted):
        if there.get(key) != value:
            text = f"is {there[key]}, not {value}" if key in there else "missing"
            yield Fault(f"setting {key}", text, is_slight=key in _CHANGEABLE)


def _flat(tree: Json, prefix: str = "") -> Iterator[tuple[str, Json]]:
    """The leaves of a settings tree by their full names, as the server reports them: texts, and lists of texts."""
    if isinstance(tree, dict):
        for name, item in tree.items():
            yield from _flat(item, f"{prefix}.{name}" if prefix else name)
    elif isinstance(tree, list):
        yield prefix, [str(item) for item in tree]
    else:
        yield prefix, str(tree).lower() if isinstance(tree, bool) else str(tree)
