"""What of the indexes of OpenSearch is not as their migrations make it: fields, settings and aliases; and their repair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from hlgraph.records import Kind
from hlgraph.stores.migrate import Difference
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.indexes import Indexes, index_body
from hlgraph.stores.opensearch.wire import Anything, Json, Mapped, Mappings

_CHANGEABLE = frozenset(
    f"index.{name}"
    for name in ("number_of_replicas", "refresh_interval", "max_result_window", "merge.policy.expunge_deletes_allowed")
)
_ANEW = "delete the index, then run: hlgraph reconcile --repair"


class _Settings(msgspec.Struct):
    settings: dict[str, str | list[str]] = {}
    aliases: dict[str, Anything] = {}


def differences(connection: Connection, found: Mapping[str, Mapped], *, texts: Mapping[int, str]) -> list[Difference]:
    """Fields, settings and aliases of the indexes that are missing or other than their migrations make them.

    Parameters
    ----------
    connection : connection to the server
    found : result of :meth:`Indexes.all`
    texts : texts of the migrations by version
    """
    seen = {} if connection.is_serverless or not found else _settings(connection)
    indexes = Indexes(connection)
    wrong: list[Difference] = []
    for name, item in sorted(found.items()):
        meta = item.mappings.meta
        if meta.schema not in texts:
            text = f"of migration {meta.schema}, which this hlgraph does not know; upgrade hlgraph"
            wrong.append(Difference(name, text, is_mendable=False))
            continue
        body = index_body(texts[meta.schema], meta, replicas=connection.settings.replicas)
        expected, there = msgspec.convert(body["mappings"], Mappings).properties, item.mappings.properties
        for field in sorted({*expected, *there}):
            if there.get(field) != expected.get(field):
                what = (
                    "missing" if field not in there else "of another mapping" if field in expected else "not hlgraph's"
                )
                wrong.append(Difference(f"{name}, field {field}", f"{what}; {_ANEW}", is_mendable=False))
        if name in seen:
            wrong += _of_settings(name, seen[name].settings, wanted=body["settings"])
            if indexes.alias(meta.corpus, Kind(meta.kind)) not in seen[name].aliases:
                wrong.append(Difference(name, "has no alias, so nothing in it is found"))
    return wrong


def mend(
    connection: Connection, found: Mapping[str, Mapped], *, wrong: Sequence[Difference], texts: Mapping[int, str]
) -> None:
    """Gives indexes the settings and the aliases that they should have.

    Parameters
    ----------
    connection : connection to the server
    found : result of :meth:`Indexes.all`
    wrong : mendable differences of :func:`differences`
    texts : texts of the migrations by version
    """
    indexes = Indexes(connection)
    for name in sorted({item.name.partition(", ")[0] for item in wrong}):
        meta = found[name].mappings.meta
        wanted = dict(_flat(index_body(texts[meta.schema], meta, replicas=connection.settings.replicas)["settings"]))
        body: dict[str, Json] = {key: value for key, value in wanted.items() if key in _CHANGEABLE}
        connection.ask("PUT", f"/{name}/_settings", answer=Anything, body=body)
        alias = indexes.alias(meta.corpus, Kind(meta.kind))
        connection.ask("PUT", f"/{name}/_alias/{alias}", answer=Anything)
        indexes.forget(alias)


def _settings(connection: Connection) -> dict[str, _Settings]:
    path = f"/{connection.settings.prefix}-*"
    return connection.ask("GET", path, answer=dict[str, _Settings], parameters={"flat_settings": "true"})


def _of_settings(name: str, there: Mapping[str, str | list[str]], *, wanted: Json) -> Iterator[Difference]:
    for key, value in _flat(wanted):
        if there.get(key) == value:
            continue
        is_mendable = key in _CHANGEABLE
        seen = f"is {there[key]}, not {value}" if key in there else "missing"
        yield Difference(f"{name}, setting {key}", seen if is_mendable else f"{seen}; {_ANEW}", is_mendable)


def _flat(tree: Json, prefix: str = "") -> Iterator[tuple[str, Json]]:
    """The leaves of settings by their whole names, as the server tells them: texts, and lists of texts."""
    if isinstance(tree, dict):
        for name, item in tree.items():
            yield from _flat(item, f"{prefix}.{name}" if prefix else name)
    elif isinstance(tree, list):
        yield prefix, [str(item) for item in tree]
    else:
        yield prefix, str(tree).lower() if isinstance(tree, bool) else str(tree)
