"""The ledger: every chat call with its tokens and cost, written to disk before the call and again when it ends."""

from __future__ import annotations

import datetime as dt
import logging
import sqlite3
import uuid
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, NamedTuple

from hlgraph.models.protocols import Completion
from hlgraph.models.sqlite_file import DiskFile
from hlgraph.settings import Price

_log = logging.getLogger(__name__)
_TRIES = 3
_LOSS = "the cost of chat calls is not recorded; free disk space, or set HLGRAPH_LEDGER to a writable folder"
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
# The reply belongs to the last unfinished call of its request that began after the last paid one.
_FINISH = """
UPDATE calls SET state = 'paid', input_tokens = ?, output_tokens = ?, usd = ?, is_estimated = (expected_tokens = ?)
WHERE id = (SELECT max(id) FROM calls WHERE request = ? AND state = 'begun') AND NOT EXISTS (
    SELECT 1 FROM calls AS later WHERE later.request = calls.request AND later.state = 'paid' AND later.id > calls.id)
"""
GroupBy = Literal["source", "stage", "strategy", "corpus", "model"]
GROUPS: tuple[GroupBy, ...] = ("source", "stage", "strategy", "corpus", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """The purpose of a chat call.

    Attributes
    ----------
    stage : ``extract``, ``retrieve``, ``answer``, ...
    strategy : the retrieval strategy that makes the call; empty: none
    source : id of the source whose text the call sends; empty: no source, or several
    part : hash of the part of the source that the call sends
    prompt : version of the prompt
    """

    stage: str = ""
    strategy: str = ""
    source: str = ""
    part: str = ""
    prompt: str = ""


class Entry(NamedTuple):
    """A call before it is made. ``source`` is an id: the ledger holds no text and no source names."""

    corpus: str
    source: str
    purpose: Purpose
    model: str
    request: str
    expected_tokens: int


@dataclass(frozen=True, slots=True)
class Spent:
    """Totals of one group of calls in the ledger.

    Attributes
    ----------
    name : name of the source, stage, strategy, corpus or model
    calls : number of paid calls
    input_tokens, output_tokens : tokens of the paid calls
    usd : cost in US dollars of the paid calls with a known price; None: no price is known
    unpriced_calls : paid calls whose price is not known
    estimated_calls : paid calls whose tokens are estimated, since the provider did not report them
    kept_calls : calls answered from stored replies, at no cost
    unfinished_calls : calls that began and never ended, since the process was killed or the call timed out; they may have
        been charged
    seconds : duration of all paid calls together
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
    """Totals of the paid calls of one model and prompt, as a basis for forecasts.

    Attributes
    ----------
    calls : number of calls
    expected_tokens : input tokens estimated before the calls
    input_tokens, output_tokens : tokens that the provider reported
    seconds : duration of all calls together
    """

    calls: int
    expected_tokens: int
    input_tokens: int
    output_tokens: int
    seconds: float


class Ledger:
    """A file with one row per chat call. Safe for threads and several processes; a killed run loses no paid call.

    A row is written before its call and completed when the call ends, so an interrupted call is visible.

    Parameters
    ----------
    path : the file; created at the first call

    Attributes
    ----------
    run : random id of the rows that this object writes
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = uuid.uuid4().hex
        self._file = DiskFile(path, _SCHEMA, name="ledger", loss=_LOSS)

    def begin(self, entry: Entry) -> int | None:
        """Record that a call is about to begin; returns its row number, None if the ledger cannot be written."""
        return self._write(entry, state="begun")

    def keep(self, entry: Entry, completion: Completion, *, price: Price | None) -> None:
        """Record that a stored reply replaced a call; completes the unfinished call that the reply came from, if any.

        Parameters
        ----------
        entry : the call that was not made
        completion : the stored reply
        price : price of the model; None: not known
        """
        self.finish(entry.request, completion, price=price)
        self._write(entry, state="kept")

    def finish(self, request: str, completion: Completion, *, price: Price | None) -> None:
        """Record the cost of the call that produced a stored reply, if its process was killed before it could.

        A reply is stored before its call is completed here, so that a kill between the two never causes a second payment. The
        reply belongs to the last unfinished call of this request that began after the last paid one.

        Parameters
        ----------
        request : key of the request
        completion : the stored reply
        price : price of the model; None: not known
        """
        tokens = (completion.input_tokens, completion.output_tokens)
        values = (*tokens, None if price is None else price.cost(*tokens), completion.input_tokens, request)
        if self._file.attempt(lambda connection: _is_unfinished(connection, request)):
            self._file.write(lambda connection: connection.execute(_FINISH, values))

    def end(self, number: int | None, completion: Completion, *, price: Price | None, seconds: float) -> None:
        """Record the cost of a call that ended.

        Parameters
        ----------
        number : its row number, from :meth:`begin`
        completion : the reply
        price : price of the model; None: not known
        seconds : duration of the call
        """
        tokens = (completion.input_tokens, completion.output_tokens)
        usd = None if price is None else price.cost(*tokens)
        values = (*tokens, completion.is_estimated, usd, seconds, number)
        statement = """
            UPDATE calls SET state = 'paid', input_tokens = ?, output_tokens = ?, is_estimated = ?, usd = ?, seconds = ?
            WHERE id = ?"""
        if not any(self._file.write(lambda connection: connection.execute(statement, values)) for _ in range(_TRIES)):
            message = "ledger %s is missing a call of %d tokens, since other processes were writing to it"
            _log.warning(message, self.path, sum(tokens))

    def drop(self, number: int | None) -> None:
        """Delete the row of a call that the provider refused and did not charge."""
        self._file.write(lambda connection: connection.execute("DELETE FROM calls WHERE id = ?", (number,)))

    def spent(self, by: GroupBy = "stage", *, corpus: str | None = None) -> list[Spent]:
        """Totals of the calls in groups, the most expensive first, then by tokens and name.

        Parameters
        ----------
        by : what to group by; ``source`` gives source ids; default ``stage``
        corpus : count the calls of this corpus only; default: all corpora

        Returns
        -------
        list
            One line per group; empty if there is no ledger.
        """

        # The column comes from a closed list.
        statement = f"""
            SELECT {GROUPS[GROUPS.index(by)]}, sum(state = 'paid'), sum(input_tokens), sum(output_tokens), sum(usd),
            sum(state = 'paid' AND usd IS NULL), sum(is_estimated), sum(state = 'kept'), sum(state = 'begun'), sum(seconds)
            FROM calls WHERE ? IS NULL OR corpus = ? GROUP BY 1"""  # noqa: S608
        rows = self._file.read(lambda connection: connection.execute(statement, (corpus, corpus)).fetchall())
        lines = [Spent(*row) for row in rows or []]
        return sorted(lines, key=lambda line: (-(line.usd or 0.0), -line.input_tokens - line.output_tokens, line.name))

    def experience(self, model: str, prompt: str) -> Experience:
        """Totals of the paid calls of a model and a prompt version, over all corpora; estimated ones are left out.

        Parameters
        ----------
        model : fingerprint of the model
        prompt : version of the prompt

        Returns
        -------
        Experience
            The totals; all 0 if there are no such calls.
        """

        statement = (
            "SELECT count(*), coalesce(sum(expected_tokens), 0), coalesce(sum(input_tokens), 0), "
            "coalesce(sum(output_tokens), 0), total(seconds) "
            "FROM calls WHERE model = ? AND prompt = ? AND state = 'paid' AND NOT is_estimated"
        )
        row = self._file.read(lambda connection: connection.execute(statement, (model, prompt)).fetchone())
        return Experience(*(row or (0, 0, 0, 0, 0.0)))

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

        statement = """
            INSERT INTO calls (at, run, corpus, source, stage, strategy, prompt, model, request, state, expected_tokens)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
        cursor = self._file.write(lambda connection: connection.execute(statement, values))
        return None if cursor is None else cursor.lastrowid


def _is_unfinished(connection: sqlite3.Connection, request: str) -> bool:
    statement = "SELECT 1 FROM calls WHERE request = ? AND state = 'begun'"
    return connection.execute(statement, (request,)).fetchone() is not None


def total(lines: list[Spent], name: str = "all") -> Spent:
    """The sum of several lines.

    Parameters
    ----------
    lines : the lines
    name : name of the sum; default ``all``

    Returns
    -------
    Spent
        The sum; ``usd`` is None if no line has a price.

    Examples
    --------
    >>> total([Spent(name="a", calls=1, usd=0.5), Spent(name="b", calls=2)])  # doctest: +ELLIPSIS
    Spent(name='all', calls=3, input_tokens=0, output_tokens=0, usd=0.5, ...
    """
    prices = [line.usd for line in lines if line.usd is not None]
    names = [field.name for field in fields(Spent) if field.name not in ("name", "usd")]
    sums = {field: sum(getattr(line, field) for line in lines) for field in names}
    return Spent(name=name, usd=sum(prices) if prices else None, **sums)
