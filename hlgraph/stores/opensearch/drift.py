"""What of the indexes of OpenSearch is not as the migrations and the settings make it: form, settings, layout, aliases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from hlgraph.records import Kind
from hlgraph.stores.migrate import Difference, Migration
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.forms import CHANGEABLE, SHARED_SINCE, index_body
from hlgraph.stores.opensearch.indexes import Indexes
from hlgraph.stores.opensearch.wire import Anything, Json, Mapped, Mappings, Meta, Property

_ANEW = "delete the index, then run: hlgraph reconcile --repair"
_AFTER = "run: hlgraph migrate apply"
_CHANGEABLE = frozenset(f"index.{name}" for name in CHANGEABLE)
_READ = ("id", "source", "change", "length", "words", "data", "conditions", "described")
"""The fields from which rows are copied to another index."""
_CORPORA = 10_000


class _Alias(msgspec.Struct):
    filter: dict[str, dict[str, str]] = {}
    search_routing: str = ""


class Seen(msgspec.Struct):
    """The settings of an index by their whole names, and its aliases."""

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
    """One difference of an index from its form; ``is_slight``: it can be changed while the index is used."""

    name: str
    text: str
    is_slight: bool = False
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class Index:
    """An index as the server has it, and what is wrong with it.

    Attributes
    ----------
    name : name of the index
    meta : its metadata
    seen : its settings and aliases; None on serverless, which does not tell them
    faults : differences from the form that the migration and the settings make
    corpora : corpora whose rows it holds, by the name of their alias
    """

    name: str
    meta: Meta
    seen: Seen | None
    faults: tuple[Fault, ...]
    corpora: Mapping[str, str]

    @property
    def needs_move(self) -> bool:
        """Whether only a re-index makes it what it should be."""
        return any(not fault.is_slight for fault in self.faults)

    @property
    def is_readable(self) -> bool:
        """Whether its rows can be copied to another index."""
        return all(fault.is_readable for fault in self.faults)


def look(connection: Connection, migration: Migration) -> list[Index]:
    """All indexes of the prefix, compared with what a migration and the settings make.

    Parameters
    ----------
    connection : connection to the server
    migration : the last one that ran
    """
    indexes = Indexes(connection)
    found = indexes.all()
    seen = {} if connection.is_serverless or not found else _seen(connection)
    looked = []
    for name, item in sorted(found.items()):
        meta, there = item.mappings.meta, seen.get(name)
        faults = tuple(_faults(connection, item, there, migration=migration))
        corpora = {indexes.alias(meta.corpus, Kind(meta.kind)): meta.corpus} if meta.corpus else {}
        if meta.is_shared and there is not None:
            corpora = _shown(connection, indexes, name, meta=meta, seen=there)
        looked.append(Index(name, meta, there, faults, corpora))
    return looked


def differences(connection: Connection, migration: Migration) -> list[Difference]:
    """What of the indexes is missing or other than a migration and the settings make it.

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
    """Gives indexes the settings that can be changed in place, and the aliases that they lack.

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
            connection.ask("PUT", f"/{index.name}/_settings", answer=Anything, body={"index.blocks.write": None})
            meta = msgspec.structs.replace(index.meta, moving=False)
            connection.ask("PUT", f"/{index.name}/_mapping", answer=Anything, body={"_meta": msgspec.to_builtins(meta)})
        if any(fault.is_slight for fault in index.faults):
            body: dict[str, Json] = {key: value for key, value in wanted.items() if key in _CHANGEABLE}
            connection.ask("PUT", f"/{index.name}/_settings", answer=Anything, body=body)
        for alias, corpus in index.corpora.items():
            if alias not in homes:
                view = indexes.view(corpus) if index.meta.is_shared else {}
                indexes.act({"add": {"index": index.name, "alias": alias, **view}})
                indexes.forget(alias)


def _seen(connection: Connection) -> dict[str, Seen]:
    path = f"/{connection.settings.prefix}-*"
    return connection.ask("GET", path, answer=dict[str, Seen], parameters={"flat_settings": "true"})


def _shown(connection: Connection, indexes: Indexes, name: str, *, meta: Meta, seen: Seen) -> dict[str, str]:
    """The corpora of a shared index: those that its aliases show, and those that have rows in it."""
    shown = {item.filter.get("term", {}).get("corpus", "") for item in seen.aliases.values()}
    held = counts(connection, name)
    return {indexes.alias(corpus, Kind(meta.kind)): corpus for corpus in sorted({*shown, *held} - {""})}


def counts(connection: Connection, name: str) -> dict[str, int]:
    """The number of rows of each corpus in a shared index; at most those of the 10,000 largest corpora.

    Parameters
    ----------
    connection : connection to the server
    name : name of the index
    """
    body: Json = {"size": 0, "aggs": {"corpora": {"terms": {"field": "corpus", "size": _CORPORA}}}}
    found = connection.ask("POST", f"/{name}/_search", answer=_Counted, body=body)
    return {bucket.key: bucket.doc_count for bucket in found.aggregations["corpora"].buckets}


def _body(connection: Connection, meta: Meta, migration: Migration) -> dict[str, dict[str, Json]]:
    wanted = msgspec.structs.replace(meta, language=connection.settings.language)
    return index_body(migration.text, wanted, settings=connection.settings, is_serverless=connection.is_serverless)


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
    """The leaves of settings by their whole names, as the server tells them: texts, and lists of texts."""
    if isinstance(tree, dict):
        for name, item in tree.items():
            yield from _flat(item, f"{prefix}.{name}" if prefix else name)
    elif isinstance(tree, list):
        yield prefix, [str(item) for item in tree]
    else:
        yield prefix, str(tree).lower() if isinstance(tree, bool) else str(tree)
