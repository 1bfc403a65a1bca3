"""Bulk writes: bodies of bounded size, a few in flight at a time, and a result for each item."""

from __future__ import annotations

import base64
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from hlgraph.change import VectorBlock
from hlgraph.errors import StoreError, StoreUnavailableError
from hlgraph.records import Source
from hlgraph.stores.opensearch import wire
from hlgraph.stores.opensearch.connection import BUSY, Connection, FormRefusedError, refusal, retry_of
from hlgraph.stores.opensearch.indexes import Home, settings_of
from hlgraph.stores.opensearch.query_bodies import count
from hlgraph.stores.opensearch.where_query import conditions
from hlgraph.stores.opensearch.wire import Anything, Bulk, Cause, Json, Written
from hlgraph.stores.terms import parts
from hlgraph.text import content_words, words

BODY_BYTES = 2 << 20
"""Size of a body in bytes. A server accepts 100 MiB by default, but small bodies are parsed while others are built."""

_UNDER_WAY = 4
_SHOWN = 3
_BLOCK = "cluster_block_exception"
_FORM_REFUSED = (400, 403, 406, 415)  # by a server, or by a proxy that lets JSON alone pass


class Item(NamedTuple):
    """One write.

    Attributes
    ----------
    id : id of the row
    source : the document; None: delete it
    is_named : whether to send the id to the server
    key : prefix of the id of the document, since rows of two corpora may have the same id
    routing : routing value, which selects the shard; empty: the id of the document
    is_smile : whether the document is Smile, not JSON; the same for all items of one request
    """

    id: str
    source: bytes | None = None
    is_named: bool = True
    key: str = ""
    routing: str = ""
    is_smile: bool = False

    @property
    def lines(self) -> bytes:
        """The action and, if present, the source, each with its terminator."""
        verb = b"delete" if self.source is None else b"index"
        parts = {"_id": f"{self.key}-{self.id}" if self.key else self.id} if self.is_named else {}
        if self.routing:
            parts["routing"] = self.routing
        if self.is_smile and self.source is not None:
            return wire.document({verb.decode(): parts}) + self.source
        action = b'{"' + verb + b'":' + msgspec.json.encode(parts) + b"}\n"
        return action if self.source is None else action + self.source + b"\n"


class Outcome(NamedTuple):
    """The numbers of documents written and deleted."""

    written: int
    deleted: int


def write(connection: Connection, alias: str, *, items: Iterable[Item], is_alias: bool = True) -> Outcome:
    """Send items to an index; return when all of them are durable.

    At most four bodies are in flight while a fifth is built, so that items are consumed no faster than the server accepts
    them. Items that a busy server rejects are retried separately until the patience is over. All other refusals are collected.

    Parameters
    ----------
    connection : connection to the server
    alias : alias of the index
    items : writes; consumed once
    is_alias : False: ``alias`` is the name of an index, which exists

    Raises
    ------
    StoreError
        The server refused some items: states how many, which and why. All others were written.
    IndexMovedError
        The index is being moved, or was moved since the caller looked it up.
    FormRefusedError
        The items are Smile, and the server, or a proxy, does not accept it.
    StoreUnavailableError
        The index is read-only, or the server is busy for longer than the patience.
    """
    results: list[Outcome] = []
    running: set[Future[Outcome]] = set()
    with ThreadPoolExecutor(_UNDER_WAY, thread_name_prefix="hlgraph-bulk") as threads:
        for body in _bodies(items):
            running.add(threads.submit(_send, connection, alias, items=body, is_alias=is_alias))
            if len(running) > _UNDER_WAY:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                results += [one.result() for one in done]
        results += [one.result() for one in running]
    return Outcome(sum(one.written for one in results), sum(one.deleted for one in results))


def _bodies(items: Iterable[Item]) -> Iterator[list[Item]]:
    body: list[Item] = []
    size = 0
    for item in items:
        length = len(item.source or b"") + 64
        if body and size + length > BODY_BYTES:
            yield body
            body, size = [], 0
        body.append(item)
        size += length
    if body:
        yield body


def _send(connection: Connection, alias: str, *, items: Sequence[Item], is_alias: bool) -> Outcome:
    """Send one body, and repeat the items that a busy server rejects."""
    retry = retry_of(connection.settings)
    left = list(items)
    written = deleted = 0
    while True:
        body, parameters = b"".join(item.lines for item in left), {"require_alias": str(is_alias).lower()}
        reply = connection.send("POST", f"/{alias}/_bulk", body=body, parameters=parameters)
        if reply.status in _FORM_REFUSED and left[0].is_smile:
            raise FormRefusedError(f"{connection.url}: a body in Smile was refused ({reply.status})")
        answer = connection.accepted(reply, Bulk)
        results = list(itertools.chain.from_iterable(item.values() for item in answer.items))
        if len(results) != len(left):
            raise StoreError(
                f"{connection.url}: {len(left)} writes to {alias} were answered by {len(results)} results; check any "
                "proxy in between, and run the same command again; it continues where it stopped"
            )
        busy: list[tuple[Item, Written]] = []
        refused: list[tuple[str, Written]] = []
        for item, result in zip(left, results, strict=True):
            if result.status < 300:
                written += result.result != "deleted"
                deleted += result.result == "deleted"
            elif result.status == 404 and result.error is None:
                pass  # the document to delete does not exist
            elif result.status in BUSY and (result.status >= 500 or _BLOCK not in _words(result)):
                busy.append((item, result))
            else:
                refused.append((item.id, result))
        if refused:
            raise _complaint(connection, alias, refused=refused)
        if not busy:
            return Outcome(written, deleted)
        if not retry.goes_on():
            last = busy[-1][1]
            raise refusal(connection.url, last.status, cause=last.error or "")
        left = [item for item, _ in busy]


def _words(result: Written) -> str:
    return result.error.words() if isinstance(result.error, Cause) else result.error or ""


def _complaint(connection: Connection, alias: str, *, refused: Sequence[tuple[str, Written]]) -> Exception:
    """Combine all refused items into one error; a reason that concerns the whole index is raised as its own error."""
    status, cause = refused[0][1].status, refused[0][1].error or ""
    first = refusal(connection.url, status, cause=cause, request=f"POST /{alias}/_bulk")
    if type(first) is not StoreError or status == HTTPStatus.FORBIDDEN:
        return first
    shown = "; ".join(f"{name}: {_words(item)[:200]}" for name, item in refused[:_SHOWN])
    more = f" and {len(refused) - _SHOWN:,} more" if len(refused) > _SHOWN else ""
    return StoreError(
        f"{connection.url}: {len(refused):,} documents of {alias} were refused: {shown}{more}; all others were written, "
        "fix the cause and run the same command again"
    )


# Terms of a text, as in the full-text index of the embedded store. Only stemming is left to the server, whose stemmer for English
# is :func:`hlgraph.stores.terms.stem`.


def terms(text: str) -> list[str]:
    """All terms of a text, in order.

    Examples
    --------
    >>> terms("The U.S. café, 1,000.50")
    ['the', 'u', 's', 'cafe', '1', '000', '50']
    """
    return [term for word in words(text) for term in parts(word)]


def phrases(question: str) -> list[tuple[str, ...]]:
    """The distinct words to search for, each as a tuple of terms that must be adjacent.

    Function words are left out, unless the question has no others.

    Examples
    --------
    >>> phrases("Who was in the U.S. in 1950?")
    [('u', 's'), ('1950',)]
    """
    wanted = dict.fromkeys(content_words(question) or words(question))
    return [split for split in map(parts, wanted) if split]


# Bulk loads switch off periodic refreshes and replicas, and restore them at the end. After a kill, an index has no refresh: the
# next load gives it the settings of a new index. Until then each write refreshes the index itself.


_REFRESH, _REPLICAS = "index.refresh_interval", "index.number_of_replicas"
_OFF = "-1"
_EVERY = "30s"  # of a new index, by the migrations

Kept = dict[str, dict[str, str]]
"""The settings to restore, by the name of the index."""


def begin(connection: Connection, homes: Iterable[Home]) -> Kept:
    """Disable the periodic refresh of indexes, and the replicas of those in which no other corpus has rows.

    Parameters
    ----------
    connection : connection to the server
    homes : the indexes of a corpus

    Returns
    -------
    Kept
        The settings that :func:`end` restores.
    """
    kept: Kept = {}
    for home in homes:
        seen = settings_of(connection, f"/{home.name}")[home.name].settings
        was_left = seen.get(_REFRESH) == _OFF
        every = _EVERY if was_left else str(seen.get(_REFRESH, _EVERY))
        copies = str(connection.settings.replicas if was_left else seen.get(_REPLICAS, "0"))
        kept[home.name] = {_REFRESH: every, _REPLICAS: copies}
        now = {_REFRESH: _OFF}
        if not was_left and (not home.meta.is_shared or not count(connection, home.name)):
            now[_REPLICAS] = "0"
        connection.command("PUT", f"/{home.name}/_settings", body=dict(now))
    return kept


def end(connection: Connection, kept: Kept) -> None:
    """Restore the settings of indexes, and make all rows searchable.

    Parameters
    ----------
    connection : connection to the server
    kept : result of :func:`begin`
    """
    for name, settings in kept.items():
        connection.command("PUT", f"/{name}/_settings", body=dict(settings))
    if kept:
        connection.command("POST", f"/{','.join(sorted(kept))}/_refresh")


# Removing deleted rows from disk. Three things keep a deleted row: its segment, the log of writes (until a flush), and the history
# that a replica of the shard needs to catch up. A lease keeps this history; the server advances it every 30 seconds, and no
# setting changes that. So: flush, wait for the leases, and rewrite the segments with deleted rows.


_LEASE_SECONDS = 90.0
_POLL_SECONDS = 0.5


class _Lease(msgspec.Struct):
    retaining_seq_no: int = 0


class _Leases(msgspec.Struct):
    leases: list[_Lease] = []


class _Numbers(msgspec.Struct):
    max_seq_no: int = -1


class _Docs(msgspec.Struct):
    count: int = 0
    deleted: int = 0


class _Copy(msgspec.Struct):
    docs: _Docs = msgspec.field(default_factory=_Docs)
    seq_no: _Numbers = msgspec.field(default_factory=_Numbers)
    retention_leases: _Leases = msgspec.field(default_factory=_Leases)

    def holds(self, write: int) -> bool:
        """Whether the history up to this sequence number is still retained for a replica."""
        return any(lease.retaining_seq_no <= write for lease in self.retention_leases.leases)


class _Index(msgspec.Struct):
    shards: dict[str, list[_Copy]] = {}


class _Stats(Anything):
    indices: dict[str, _Index] = msgspec.field(default_factory=dict)


def purge(connection: Connection, names: Sequence[str]) -> None:
    """Rewrite all segments with deleted rows; return when the deleted data is no longer on disk, after up to a minute.

    Parameters
    ----------
    connection : connection to the server
    names : names of the indexes

    Raises
    ------
    StoreUnavailableError
        The server still retains their history for a lagging replica.
    """
    if not names:
        return
    joined = ",".join(names)
    connection.command("POST", f"/{joined}/_flush")
    until = time.monotonic() + _LEASE_SECONDS
    # What is written from now on, in a shared index by other corpora, too, is not waited for.
    last = {shard: max(copy.seq_no.max_seq_no for copy in copies) for shard, copies in _shards(connection, joined)}
    while any(copy.holds(last.get(shard, -1)) for shard, copies in _shards(connection, joined) for copy in copies):
        if time.monotonic() > until:
            raise StoreUnavailableError(
                f"{connection.url}: the server keeps deleted rows of {joined} for a replica that is behind; wait until the "
                "indexes are green (hlgraph doctor), and try again"
            )
        time.sleep(_POLL_SECONDS)
    _merge(connection, joined, is_waiting=True)
    connection.command("POST", f"/{joined}/_refresh")  # releases the replaced segments


def begin_purge(connection: Connection, names: Sequence[str], *, always_below: int, share: float) -> None:
    """Start rewriting the segments with deleted rows; rows deleted within the last 30 s may remain.

    Parameters
    ----------
    connection : connection to the server
    names : names of the indexes
    always_below : maximum number of rows of an index whose segments are rewritten in any case
    share : share of deleted rows, from 0 to 1, beyond which the segments of a larger index are rewritten
    """
    due = []
    for name, index in sorted(_stats(connection, ",".join(names)).items()):
        copies = [copy.docs for copies in index.shards.values() for copy in copies]
        live, deleted = sum(docs.count for docs in copies), sum(docs.deleted for docs in copies)
        if live <= always_below or deleted > share * (live + deleted):
            due.append(name)
    if due:
        _merge(connection, ",".join(due), is_waiting=False)


def deleted_rows(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """The number of deleted rows of each index whose segments are not rewritten yet.

    Parameters
    ----------
    connection : connection to the server
    names : names of the indexes
    """
    indexes = _stats(connection, ",".join(names)) if names else {}
    return {
        name: sum(copy.docs.deleted for copies in index.shards.values() for copy in copies)
        for name, index in sorted(indexes.items())
    }


def _merge(connection: Connection, names: str, *, is_waiting: bool) -> None:
    parameters = {"only_expunge_deletes": "true", "ignore_unavailable": "true"}
    parameters["wait_for_completion"] = str(is_waiting).lower()
    connection.command("POST", f"/{names}/_forcemerge", parameters=parameters)


def _shards(connection: Connection, names: str) -> Iterator[tuple[tuple[str, str], list[_Copy]]]:
    for name, index in _stats(connection, names).items():
        for shard, copies in index.shards.items():
            yield (name, shard), copies


def _stats(connection: Connection, names: str) -> dict[str, _Index]:
    parameters = {"level": "shards", "ignore_unavailable": "true"}
    return connection.ask("GET", f"/{names}/_stats/docs", answer=_Stats, parameters=parameters).indices


# Conversion of rows and sources to documents.


_AT_ONCE = 256  # rows whose vectors are encoded together


def row_items(block: VectorBlock, change: str, *, home: Home, is_smile: bool = False) -> Iterator[Item]:
    """Convert rows to writes.

    Parameters
    ----------
    block : rows
    change : id of the change that writes them
    home : index of their corpus
    is_smile : whether to write Smile, which is smaller and cheaper for the server; default JSON
    """
    values = np.ascontiguousarray(block.matrix(), dtype="<f4")
    for start in range(0, len(block.ids), _AT_ONCE):
        part = values[start : start + _AT_ONCE]
        numbers = wire.number_arrays(part) if is_smile else []
        data = wire.binaries(part.view(np.uint8)) if is_smile else []
        for at, vector in enumerate(part):
            name, source, words = block.ids[start + at], block.source_ids[start + at], terms(block.texts[start + at])
            fields: dict[str, str | int] = {"id": name, "source": source, "change": change, "length": len(words)}
            fields["words"] = " ".join(words)
            if is_smile:
                encoded = {"vector": numbers[at], "data": data[at]}
                yield item(name, {**fields, **encoded}, home=home, encode=wire.document)
            else:
                yield item(name, {**fields, **vector_fields(vector)}, home=home)


def vector_fields(vector: NDArray[np.float32]) -> dict[str, Json]:
    """Encode a vector twice: as numbers for the k-NN field, and as bytes to read back.

    HNSW is built from the numbers, which have nine decimals; scores are computed from the bytes.
    """
    numbers: list[Json] = list(np.round(vector.astype(np.float64), 9).tolist())
    return {"vector": numbers, "data": base64.b64encode(vector.astype("<f4").tobytes()).decode()}


def source_items(sources: Iterable[Source], *, home: Home) -> Iterator[Item]:
    """Convert the metadata of sources to writes.

    Parameters
    ----------
    sources : sources of one corpus
    home : index of the sources of the corpus
    """
    for source in sources:
        metadata = msgspec.json.encode(source.metadata).decode()
        described = {"uri": source.uri, "title": source.title, "metadata": metadata}
        document = {"id": source.id, "conditions": conditions(source), "described": described}
        yield item(source.id, document, home=home)


def item(
    name: str,
    document: Mapping[str, Any] | None,
    *,
    home: Home,
    encode: Callable[[Mapping[str, Any]], bytes] = msgspec.json.encode,
) -> Item:
    """Create the write of one document.

    In a shared index a document names its corpus, which selects the shard. In a dedicated index the id selects it. A shared
    index refuses documents without routing, and a dedicated index refuses documents that name a corpus. A process that does
    not know that the index was replaced therefore writes nothing to the new one.

    Parameters
    ----------
    name : id of the row
    document : its fields without the name of the corpus; None: delete it
    home : index of its corpus
    encode : encodes the document, as JSON or Smile
    """
    key, corpus = (home.key, {"corpus": home.corpus}) if home.meta.is_shared else ("", {})
    data = None if document is None else encode({**corpus, **document})
    return Item(name, data, key=key, routing=key, is_smile=encode is wire.document)
