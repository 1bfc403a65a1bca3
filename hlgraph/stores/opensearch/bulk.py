"""Many writes at once: bodies of bounded size, a few under way at a time, each item accounted for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

import msgspec

from hlgraph.errors import StoreError
from hlgraph.stores.opensearch.connection import BUSY, Connection, Patience
from hlgraph.stores.opensearch.foreign_errors import refusal
from hlgraph.stores.opensearch.wire import Bulk, Cause, Written

BODY_BYTES = 2 << 20
"""A body is sent when it has so many bytes; a server takes 100 MiB by default, small ones parse while others are made."""

_UNDER_WAY = 4
_SHOWN = 3
_BLOCK = "cluster_block_exception"


class Item(NamedTuple):
    """One write: the id of the document and its source as JSON; None deletes it. ``is_named``: the server is told the id."""

    id: str
    source: bytes | None = None
    is_named: bool = True

    @property
    def lines(self) -> bytes:
        """The action, and the source if there is one, each with its line end."""
        verb = b"delete" if self.source is None else b"index"
        name = b'"_id":' + msgspec.json.encode(self.id) if self.is_named else b""
        action = b'{"' + verb + b'":{' + name + b"}}\n"
        return action if self.source is None else action + self.source + b"\n"


class Outcome(NamedTuple):
    """How many documents were written anew or changed, and how many were deleted."""

    written: int
    deleted: int


def write(connection: Connection, alias: str, *, items: Iterable[Item]) -> Outcome:
    """Send items to the index behind an alias; returns when all of them are durable.

    At most four bodies are under way while a fifth is made: items are taken from the iterable no faster than the server
    takes them. Items that the server is too busy for are sent again, alone, until the patience is over; every other
    refusal is collected.

    Raises
    ------
    StoreError : some items were refused; says how many, which and why. All others were written.
    StoreUnavailableError : the index is read-only, or the server too busy for longer than the patience
    """
    total = Outcome(0, 0)
    running: set[Future[Outcome]] = set()
    with ThreadPoolExecutor(_UNDER_WAY, thread_name_prefix="hlgraph-bulk") as threads:
        for body in _bodies(items):
            running.add(threads.submit(_send, connection, alias, items=body))
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


def _send(connection: Connection, alias: str, *, items: Sequence[Item]) -> Outcome:
    """One body, its busy items again and again."""
    waiting = Patience(connection.settings.patience)
    left = list(items)
    written = deleted = 0
    refused: list[tuple[str, Written]] = []
    while True:
        answer = connection.ask(
            "POST",
            f"/{alias}/_bulk",
            answer=Bulk,
            body=b"".join(item.lines for item in left),
            parameters={"require_alias": "true"},
        )
        results = list(itertools.chain.from_iterable(item.values() for item in answer.items))
        if len(results) != len(left):
            raise StoreError(
                f"{connection.url}: {len(left)} writes to {alias} were answered by {len(results)} results; check any "
                "proxy in between, and run the same command again: it goes on where it stopped"
            )
        busy: list[Item] = []
        last: Written | None = None
        for item, result in zip(left, results, strict=True):
            if result.status < 300:
                written += result.result != "deleted"
                deleted += result.result == "deleted"
            elif result.status == 404 and result.error is None:
                pass  # deleting what is not there
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
    """One error for all items that were refused; a reason that concerns the whole index is that error alone."""
    first = refusal(connection.url, refused[0][1].status, cause=refused[0][1].error or "")
    if type(first) is not StoreError:
        return first
    shown = "; ".join(f"{name}: {_words(item)[:200]}" for name, item in refused[:_SHOWN])
    more = f" and {len(refused) - _SHOWN:,} more" if len(refused) > _SHOWN else ""
    return StoreError(
        f"{connection.url}: {len(refused):,} documents of {alias} were refused: {shown}{more}; all others were written, "
        "mend the cause and run the same command again"
    )
