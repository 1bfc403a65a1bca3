"""The ledger: every call of a chat model with its tokens and its cost, on disk before the call and again when it ends."""

from __future__ import annotations

import datetime as dt
import logging
import sqlite3
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from hlgraph.models.seams import Completion
from hlgraph.models.sqlite_file import DiskFile, writing
from hlgraph.settings import Price

_log = logging.getLogger(__name__)
_TRIES = 3
_LOSS = "what chat calls cost is not recorded; make room, or set HLGRAPH_LEDGER to a folder that can be written"
_SCHEMA = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    run TEXT NOT NULL,
    corpus TEXT NOT NULL,
    source TEXT NOT NULL,
    stage TEXT NOT NULL,
    strategy TEXT NOT NULL,
    prompt TEXT NOT NULL,
    model TEXT NOT NULL,
    request TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'paid', 'kept')),
    expected_tokens INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    is_estimated INTEGER NOT NULL DEFAULT 0,
    usd REAL,
    seconds REAL NOT NULL DEFAULT 0
);
CREATE INDEX calls_by_corpus ON calls (corpus, stage);
CREATE INDEX calls_by_model ON calls (model, prompt);
CREATE INDEX calls_unfinished ON calls (request) WHERE state = 'begun'
"""
GroupBy = Literal["source", "stage", "strategy", "corpus", "model"]
GROUPS: tuple[GroupBy, ...] = ("source", "stage", "strategy", "corpus", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What a call is made for.

    Attributes
    ----------
    stage : ``extract``, ``retrieve``, ``answer``, ...
    strategy : of retrieval, where one asks
    uri : of the one source whose text the call shows; empty: none, or several
    part : a hash of the part of the source that it shows
    prompt : its version
    """

    stage: str = ""
    strategy: str = ""
    uri: str = ""
    part: str = ""
    prompt: str = ""


class Entry(NamedTuple):
    """What is known of a call before it is made. ``source`` is an id: a ledger holds no text, and no name of a source."""

    corpus: str
    source: str
    purpose: Purpose
    model: str
    request: str
    expected_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """A line of the ledger: the calls that have one thing in common.

    Attributes
    ----------
    name : of the source, stage, strategy, corpus or model
    calls, input_tokens, output_tokens : that were paid
    usd : what they cost, as far as their prices were known; None: of none of them
    unpriced_calls : calls that were paid and had no known price
    estimated_calls : calls whose tokens the provider did not say, so that they are estimated
    kept_calls : answered from the replies that were kept, at no cost
    unfinished_calls : begun and never ended (the process was killed, or nobody waited any longer): they may have been paid
    seconds : of all paid calls
    """

    name: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    unpriced_calls: int = 0
    estimated_calls: int = 0
    kept_calls: int = 0
    unfinished_calls: int = 0
    seconds: float = 0.0


class Experience(NamedTuple):
    """What paid calls of one model and prompt were like: how many, tokens expected and seen, output, seconds in all."""

    calls: int
    expected_tokens: int
    input_tokens: int
    output_tokens: int
    seconds: float


class Ledger:
    """A file with a row a call. Safe for threads and many processes; a killed run loses nothing that was paid.

    A call stands in it before it is made and is completed when it ends, so one that was cut short is seen.

    Parameters
    ----------
    path : the file; made when the first call is made
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = uuid.uuid4().hex
        self._file = DiskFile(path, _SCHEMA, name="ledger", loss=_LOSS)

    def begin(self, entry: Entry) -> int | None:
        """Note that a call is about to be made; its number in the ledger."""
        return self._write(entry, state="begun")

    def keep(self, entry: Entry, completion: Completion, *, price: Price | None) -> None:
        """Note that a kept reply stood in for a call; where it came of a call that never ended here, that one is paid now."""
        self.finish(entry.request, completion, price=price)
        self._write(entry, state="kept")

    def finish(self, request: str, completion: Completion, *, price: Price | None) -> None:
        """Note what the call that a kept reply came of has cost, where the process was killed before it could.

        A reply is kept before its call is ended, so that no kill between the two makes it be paid again. Of calls that were
        begun after the last paid one, the last is the one that the reply came of.
        """
        tokens = (completion.input_tokens, completion.output_tokens)

        def update(connection: sqlite3.Connection) -> None:
            with writing(connection):
                connection.execute(
                    """
                    UPDATE calls SET state = 'paid', input_tokens = ?, output_tokens = ?, usd = ?,
                    is_estimated = (expected_tokens = ?)
                    WHERE id = (SELECT max(id) FROM calls WHERE request = ? AND state = 'begun') AND NOT EXISTS (
                        SELECT 1 FROM calls AS later
                        WHERE later.request = calls.request AND later.state = 'paid' AND later.id > calls.id)
                    """,
                    (*tokens, None if price is None else price.cost(*tokens), completion.input_tokens, request),
                )

        if self._file.attempt(lambda connection: _is_unfinished(connection, request)):
            self._file.attempt(update)

    def end(self, number: int | None, completion: Completion, *, price: Price | None, seconds: float) -> None:
        """Note what a call has cost."""
        usd = None if price is None else price.cost(completion.input_tokens, completion.output_tokens)
        values = (
            completion.input_tokens,
            completion.output_tokens,
            completion.is_estimated,
            usd,
            seconds,
            number,
        )

        def update(connection: sqlite3.Connection) -> bool:
            with writing(connection):
                connection.execute(
                    "UPDATE calls SET state = 'paid', input_tokens = ?, output_tokens = ?, is_estimated = ?, usd = ?, "
                    "seconds = ? WHERE id = ?",
                    values,
                )
            return True

        if not any(self._file.attempt(update) for _ in range(_TRIES)):
            tokens = completion.input_tokens + completion.output_tokens
            _log.warning("ledger %s lacks a call of %d tokens; other processes were writing to it", self.path, tokens)

    def drop(self, number: int | None) -> None:
        """Forget a call that the provider refused: nothing was paid for it."""

        def delete(connection: sqlite3.Connection) -> None:
            with writing(connection):
                connection.execute("DELETE FROM calls WHERE id = ?", (number,))

        self._file.attempt(delete)

    def spent(self, by: GroupBy = "stage", *, corpus: str | None = None) -> list[Spent]:
        """What was spent, the dearest first, then by name.

        Parameters
        ----------
        by : what the calls of one line have in common; ``source`` gives ids
        corpus : of this one only; None: of all
        """
        if not self.path.exists():
            return []

        def select(
            connection: sqlite3.Connection,
        ) -> list[tuple[str, int, int, int, float | None, int, int, int, int, float]]:
            # The column comes from a closed list.
            statement = f"""
                SELECT {GROUPS[GROUPS.index(by)]}, total(state = 'paid'), total(input_tokens), total(output_tokens), sum(usd),
                total(state = 'paid' AND usd IS NULL), total(is_estimated), total(state = 'kept'),
                total(state = 'begun'), total(seconds)
                FROM calls WHERE ? IS NULL OR corpus = ? GROUP BY 1"""  # noqa: S608
            return connection.execute(statement, (corpus, corpus)).fetchall()

        lines = [
            Spent(
                name=row[0],
                calls=int(row[1]),
                input_tokens=int(row[2]),
                output_tokens=int(row[3]),
                usd=row[4],
                unpriced_calls=int(row[5]),
                estimated_calls=int(row[6]),
                kept_calls=int(row[7]),
                unfinished_calls=int(row[8]),
                seconds=row[9],
            )
            for row in self._file.attempt(select) or []
        ]
        return sorted(lines, key=lambda line: (-(line.usd or 0.0), -line.input_tokens - line.output_tokens, line.name))

    def experience(self, model: str, prompt: str) -> Experience:
        """What paid calls of this model and version of a prompt were like, of all corpora."""

        def select(connection: sqlite3.Connection) -> tuple[int, int, int, int, float] | None:
            found: tuple[int, int, int, int, float] | None = connection.execute(
                "SELECT count(*), total(expected_tokens), total(input_tokens), total(output_tokens), total(seconds) "
                "FROM calls WHERE model = ? AND prompt = ? AND state = 'paid' AND NOT is_estimated",
                (model, prompt),
            ).fetchone()
            return found

        found = self._file.attempt(select) if self.path.exists() else None
        calls, expected, sent, replied, seconds = found or (0, 0, 0, 0, 0.0)
        return Experience(int(calls), int(expected), int(sent), int(replied), seconds)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self._file.close()

    def _write(self, entry: Entry, *, state: str) -> int | None:
        purpose = entry.purpose
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        values = (
            *(now, self.run, entry.corpus, entry.source, purpose.stage, purpose.strategy, purpose.prompt),
            *(entry.model, entry.request, state, entry.expected_tokens),
        )

        def insert(connection: sqlite3.Connection) -> int | None:
            with writing(connection):
                return connection.execute(
                    "INSERT INTO calls (at, run, corpus, source, stage, strategy, prompt, model, request, state, "
                    "expected_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                ).lastrowid

        return self._file.attempt(insert)


def _is_unfinished(connection: sqlite3.Connection, request: str) -> bool:
    statement = "SELECT 1 FROM calls WHERE request = ? AND state = 'begun'"
    return connection.execute(statement, (request,)).fetchone() is not None


def total(lines: list[Spent], name: str = "all") -> Spent:
    """The sum of lines.

    Examples
    --------
    >>> total([Spent(name="a", calls=1, usd=0.5), Spent(name="b", calls=2)])  # doctest: +ELLIPSIS
    Spent(name='all', calls=3, input_tokens=0, output_tokens=0, usd=0.5, ...
    """
    priced = [line.usd for line in lines if line.usd is not None]
    return Spent(
        name=name,
        calls=sum(line.calls for line in lines),
        input_tokens=sum(line.input_tokens for line in lines),
        output_tokens=sum(line.output_tokens for line in lines),
        usd=sum(priced) if priced else None,
        unpriced_calls=sum(line.unpriced_calls for line in lines),
        estimated_calls=sum(line.estimated_calls for line in lines),
        kept_calls=sum(line.kept_calls for line in lines),
        unfinished_calls=sum(line.unfinished_calls for line in lines),
        seconds=sum(line.seconds for line in lines),
    )
