"""Progress of long work: each step tells how far it is, and whoever listens hears it; without a listener nothing happens.

Who listens is found by context (:mod:`contextvars`), as in :mod:`hlgraph.stores.trace`: two ingests in two threads do not
hear each other, and no function between a command and its innermost loop passes a callback on. The two threads of one ingest
tell one listener, which hears one event at a time; each has steps of its own.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeAlias

from hlgraph import telemetry

EVERY = 0.1
"""Seconds between two events inside a step; the first and the last event of a step always come."""
_WINDOW = 60.0
"""Seconds of the past from which the time left is estimated, so that sources that were skipped at once do not count."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far long work is.

    Attributes
    ----------
    step : what is being done: in an ingest ``look``, ``read``, ``compare``, ``extract``, ``embed`` and ``persist``
    done, total : how much of this turn of the step is done, and of how much; ``total`` is None where it is not known. An ingest
        goes through its steps again for every batch of sources. Of a step that is over both are the same
    unit : what ``done`` counts, such as ``texts``
    so_far : how much is done in all turns of the step
    sources, chunks, statements : of an ingest so far: sources that are stored or unchanged, and what they added
    found : number of files and documents that the ingest has to go through; None where it is not known
    seconds : since the work began
    rate : units of this step in a second, over all its turns so far; None before there is anything to measure
    seconds_left : for the whole ingest, from the bytes read in the last minute; else for this step; None if not known
    """

    step: str
    done: int = 0
    total: int | None = None
    unit: str = ""
    so_far: int = 0
    sources: int = 0
    found: int | None = None
    chunks: int = 0
    statements: int = 0
    seconds: float = 0.0
    rate: float | None = None
    seconds_left: float | None = None


OnProgress: TypeAlias = Callable[[Progress], None]
"""Called with the progress of long work, in a thread of the work; never twice at once."""


@dataclass(slots=True)
class _Listener:
    """One who listens, and what is known so far."""

    call: OnProgress
    began: float
    told: float = 0.0
    guard: threading.RLock = field(default_factory=threading.RLock)
    past: dict[str, tuple[int, float]] = field(default_factory=dict)
    sources: int = 0
    chunks: int = 0
    statements: int = 0
    found: int | None = None
    size: int | None = None
    taken: int = 0
    arrived: deque[tuple[float, int]] = field(default_factory=deque)

    def tell(self, step: _Step, *, is_edge: bool) -> None:
        """Call the function; the caller holds the guard."""
        now = time.monotonic()
        if not is_edge and now - self.told < EVERY:
            return
        self.told = now
        units, seconds = self.past.get(step.name, (0, 0.0))
        units, seconds = units + step.done, seconds + now - step.began
        rate = units / seconds if units and seconds > 0 else None
        is_read = bool(self.arrived) and self.size is not None and self.arrived[-1][1] >= self.size
        left = _left_of(step, rate) if self.size is None or is_read else self._left(step, rate, now)
        counts = units, self.sources, self.found, self.chunks, self.statements
        self.call(Progress(step.name, step.done, step.total, step.unit, *counts, now - self.began, rate, left))

    def _left(self, step: _Step, rate: float | None, now: float) -> float | None:
        """The rest of the bytes, at the speed of the last minute; in the first batch, at that of its embedding."""
        if self.size is None:
            return None
        if not self.arrived:
            rest = _left_of(step, rate) if step.name == "embed" else None
            if rest is None or not self.taken:
                return None
            return rest + (now - self.began + rest) * (self.size - self.taken) / self.taken
        last, size = self.arrived[-1]
        since, before = self.arrived[0] if len(self.arrived) > 1 else (self.began, 0)
        if size <= before or last <= since:
            return None
        return max(0.0, (self.size - size) * (last - since) / (size - before) - (now - last))


@dataclass(slots=True)
class _Step:
    """A step under way."""

    listener: _Listener
    outer: _Step | None
    name: str
    total: int | None
    unit: str
    began: float
    done: int = 0
    is_over: bool = False

    def tell(self, *, is_edge: bool) -> None:
        """Tell how far it is."""
        with self.listener.guard:
            self.listener.tell(self, is_edge=is_edge)

    def advance(self, count: int) -> None:
        """Tell that more of it is done; its end tells the last of it."""
        with self.listener.guard:
            self.done += count
            if self.total is None or self.done < self.total:
                self.listener.tell(self, is_edge=False)

    def end(self) -> None:
        """Add it to what is past."""
        self.is_over = True
        with self.listener.guard:
            units, seconds = self.listener.past.get(self.name, (0, 0.0))
            self.listener.past[self.name] = units + self.done, seconds + time.monotonic() - self.began


def _left_of(step: _Step, rate: float | None) -> float | None:
    return max(0, step.total - step.done) / rate if rate and step.total is not None else None


_LISTENER: ContextVar[_Listener | None] = ContextVar("hlgraph_progress", default=None)
_STEP: ContextVar[_Step | None] = ContextVar("hlgraph_progress_step", default=None)
"""The step that this context began last."""


@contextlib.contextmanager
def listening(call: OnProgress | None) -> Iterator[None]:
    """Call a function with the progress of a block.

    Parameters
    ----------
    call : called in the thread of the work, at most ten times a second inside a step; what it raises ends the work. None:
        whoever listens already goes on listening

    Examples
    --------
    >>> with listening(lambda at: print(at.step, at.done, at.total)), step("embed", 2, unit="texts"):
    ...     advance("embed")
    ...     advance("embed")
    embed 0 2
    embed 2 2
    """
    if call is None:
        yield
        return
    token = _LISTENER.set(_Listener(call, time.monotonic()))
    try:
        yield
    finally:
        _LISTENER.reset(token)


def is_listening() -> bool:
    """Whether anyone hears the progress of this context."""
    return _LISTENER.get() is not None


@contextlib.contextmanager
def step(name: str, total: int | None = None, *, unit: str = "") -> Iterator[None]:
    """Tell that a step begins, and that it ends, unless it ends by an error. A span of OpenTelemetry too.

    Parameters
    ----------
    name : name of the step, a verb
    total : how much there is to do; None: not known
    unit : what is counted, in the plural
    """
    with telemetry.span(f"hlgraph {name}", {"hlgraph.step.unit": unit}) as span:
        span.set({"hlgraph.step.total": total})
        with _told(name, total, unit=unit):
            yield


@contextlib.contextmanager
def _told(name: str, total: int | None, *, unit: str) -> Iterator[None]:
    listener = _LISTENER.get()
    if listener is None:
        yield
        return
    made = _Step(listener, _current(), name, total, unit, time.monotonic())
    _STEP.set(made)
    try:
        made.tell(is_edge=True)
        yield
        if total is None:
            made.total = made.done  # now it is known
        else:
            made.done = total
        made.tell(is_edge=True)
    finally:
        made.end()
        _STEP.set(_current())


def _current() -> _Step | None:
    """The innermost step of this context that is not over: a generator may end one after another one has begun."""
    found = _STEP.get()
    while found is not None and found.is_over:
        found = found.outer
    return found


def advance(name: str, count: int = 1) -> None:
    """Tell that more of a step is done; ignored where another step is under way, such as the search of an evaluation.

    Parameters
    ----------
    name : name of the innermost step
    count : how much more
    """
    current = _current()
    if current is not None and current.listener is _LISTENER.get() and current.name == name:
        current.advance(count)


def expect(found: int, size: int) -> None:
    """Note how many files and documents an ingest goes through, and their size, from which the time left is estimated.

    Parameters
    ----------
    found : number of files and documents
    size : of all of them, in bytes or characters
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener.found, listener.size = found, size
        listener.arrived.clear()


def take(size: int) -> None:
    """Note how much of the files and documents a batch and those before it have, in the measure of :func:`expect`."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.taken = size


def count(*, sources: int, chunks: int = 0, statements: int = 0, size: int | None = None) -> None:
    """Note what an ingest has done since it last noted something.

    Parameters
    ----------
    sources, chunks, statements : how many more, see :class:`Progress`
    size : of all files and documents that are done, in the measure of :func:`expect`; None: not known
    """
    listener = _LISTENER.get()
    if listener is None:
        return
    with listener.guard:
        listener.sources += sources
        listener.chunks += chunks
        listener.statements += statements
        if size is None:
            return
        now = time.monotonic()
        listener.arrived.append((now, size))
        while len(listener.arrived) > 2 and now - listener.arrived[1][0] > _WINDOW:
            listener.arrived.popleft()
