"""Bulk writes: bodies of bounded size, a few in flight at a time, and a result for each item."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import msgspec

from hlgraph.errors import StoreError
from hlgraph.stores.opensearch import smile
from hlgraph.stores.opensearch.connection import BUSY, Connection, Patience
from hlgraph.stores.opensearch.foreign_errors import FormRefusedError, refusal
from hlgraph.stores.opensearch.wire import Bulk, Cause, Written

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
    key : beginning of the id of the document, before that of the row: rows of two corpora may have one id
    routing : what chooses the shard; empty: the id of the document
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
        """The action and, if present, the source, each with its end mark."""
        verb = b"delete" if self.source is None else b"index"
        parts = {"_id": f"{self.key}-{self.id}" if self.key else self.id} if self.is_named else {}
        if self.routing:
            parts["routing"] = self.routing
        if self.is_smile and self.source is not None:
            return smile.document({verb.decode(): parts}) + self.source
        action = b'{"' + verb + b'":' + msgspec.json.encode(parts) + b"}\n"
        return action if self.source is None else action + self.source + b"\n"


class Outcome(NamedTuple):
    """How many documents were written, and how many were deleted."""

    written: int
    deleted: int


def write(connection: Connection, alias: str, *, items: Iterable[Item], is_alias: bool = True) -> Outcome:
    """Sends items to an index; returns when all of them are durable.

    At most four bodies are in flight while a fifth is built, so that items are consumed no faster than the server accepts
    them. Items that a busy server rejects are sent again, on their own, until the patience is over. All other refusals are
    collected.

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
        The index is being moved, or was since the caller looked it up.
    FormRefusedError
        The items are Smile, and the server, or a proxy, does not accept it.
    StoreUnavailableError
        The index is read-only, or the server is busy for longer than the patience.
    """
    total = Outcome(0, 0)
    running: set[Future[Outcome]] = set()
    with ThreadPoolExecutor(_UNDER_WAY, thread_name_prefix="hlgraph-bulk") as threads:
        for body in _bodies(items):
            running.add(threads.submit(_send, connection, alias, items=body, is_alias=is_alias))
            if len(running) > _UNDER_WAY:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                total = _added(total, done)
        return _added(total, running)


def _added(total: Outcome, done: Iterable[Future[Outcome]]) -> Outcome:
    for one in done:
        written, deleted = one.result()
        total = Outcome(total.written + written, total.deleted + deleted)
    return total


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
    """Sends one body, and repeats the items that a busy server rejects."""
    waiting = Patience(connection.settings.patience)
    left = list(items)
    written = deleted = 0
    refused: list[tuple[str, Written]] = []
    while True:
        found = connection.send(
            "POST",
            f"/{alias}/_bulk",
            body=b"".join(item.lines for item in left),
            parameters={"require_alias": str(is_alias).lower()},
        )
        if found.status in _FORM_REFUSED and left[0].is_smile:
            raise FormRefusedError(f"{connection.url}: a body in Smile was refused ({found.status})")
        answer = connection.accepted(found, Bulk)
        results = list(itertools.chain.from_iterable(item.values() for item in answer.items))
        if len(results) != len(left):
            raise StoreError(
                f"{connection.url}: {len(left)} writes to {alias} were answered by {len(results)} results; check any "
                "proxy in between, and run the same command again; it continues where it stopped"
            )
        busy: list[Item] = []
        last: Written | None = None
        for item, result in zip(left, results, strict=True):
            if result.status < 300:
                written += result.result != "deleted"
                deleted += result.result == "deleted"
            elif result.status == 404 and result.error is None:
                pass  # the document to delete does not exist
            elif result.status in BUSY and (result.status >= 500 or _BLOCK not in _words(result)):
                busy.append(item)
                last = result
            else:
                refused.append((item.id, result))
        if refused:
            raise _complaint(connection, alias, refused=refused)
        if not busy or last is None:
            return Outcome(written, deleted)
        if not waiting.goes_on():
            raise refusal(connection.url, last.status, cause=last.error or "")
        left = busy


def _words(result: Written) -> str:
    return result.error.words() if isinstance(result.error, Cause) else result.error or ""


def _complaint(connection: Connection, alias: str, *, refused: Sequence[tuple[str, Written]]) -> Exception:
    """One error for all refused items; a reason that concerns the whole index is raised by itself."""
    first = refusal(connection.url, refused[0][1].status, cause=refused[0][1].error or "")
    if type(first) is not StoreError:
        return first
    shown = "; ".join(f"{name}: {_words(item)[:200]}" for name, item in refused[:_SHOWN])
    more = f" and {len(refused) - _SHOWN:,} more" if len(refused) > _SHOWN else ""
    return StoreError(
        f"{connection.url}: {len(refused):,} documents of {alias} were refused: {shown}{more}; all others were written, "
        "fix the cause and run the same command again"
    )
