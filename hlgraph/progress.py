"""Progress of long work: steps report events to a listener. Without a listener nothing happens.

The listener is looked up by context (:mod:`contextvars`), as in :mod:`hlgraph.stores.trace`. So two ingests in two threads do
not mix their events, and no function between a command and its innermost loop passes a callback on. The two threads of one
ingest have separate steps and share one listener, which receives one event at a time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from hlgraph import telemetry

EVERY = 0.1
"""Minimum number of seconds between two events inside a step. The first and the last event are always reported."""
_WINDOW = 60.0
"""Seconds of recent progress from which the remaining time is estimated, or a whole batch if that takes longer: skipped sources
soon stop to count, and the short texts with which a batch begins do not stand for the long ones at its end."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of long work.

    Attributes
    ----------
    step : the current step; in an ingest ``look`` (for files), ``read``, ``compare``, ``extract``, ``embed``, ``pair`` (names of a
        large document) and ``persist``
    done, total : units done in this round of the step, and their total; ``total`` is None if unknown. An ingest repeats its
        steps for every batch of sources. At the end of a step both are equal
    unit : the unit that ``done`` counts, such as ``texts``
    so_far : units done in all rounds of the step
    sources, chunks, statements : totals of an ingest so far: sources that are stored or unchanged, and the records added
    found : number of files and documents of the ingest; None if unknown
    seconds : seconds since the work began
    rate : units of this step per second, over all its rounds so far; None before anything is measured
    seconds_left : estimate for the whole ingest from the work of the last minute, or of a whole batch if that took longer, else
        for this step; None if unknown
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
"""Called with the progress of long work, in a thread of the work, never concurrently."""


class Work(NamedTuple):
    """The share of an ingest that a batch of sources is, or a part of a large batch while it is prepared.

    The work of a batch is its ``extract``, ``embed`` and ``persist`` step, weighted by the time that these took so far.

    Attributes
    ----------
    start, end : total size of the files and documents before the batch, and up to its end, in the unit of :func:`expect`
    begin, stop : where the part begins and stops in the text of the batch, as fractions; the whole batch by default
    """

    start: int
    end: int
    begin: float = 0.0
    stop: float = 1.0


_STEPS = {"extract": 0.35, "embed": 0.35, "persist": 0.3}
"""The steps of the work of a batch, and their shares before anything is measured."""


@dataclass(slots=True)
class _Listener:
    """A listener, and the totals so far."""

    call: OnProgress
    began: float
    last_event: float = 0.0
    guard: threading.RLock = field(default_factory=threading.RLock)
    past: dict[str, tuple[int, float]] = field(default_factory=dict)
    sources: int = 0
    chunks: int = 0
    statements: int = 0
    found: int | None = None
    size: int | None = None
    arrived: deque[tuple[float, float]] = field(default_factory=deque)
    batch: float = 0.0
    failure: Exception | None = None

    def tell(self, step: _Step, *, is_edge: bool) -> None:
        """Call the function, unless it has failed. The caller must hold the guard."""
        if self.failure is not None:
            raise self.failure
        now = time.monotonic()
        if not is_edge and now - self.last_event < EVERY:
            return
        self.last_event = now
        units, seconds = self.past.get(step.name, (0, 0.0))
        units, seconds = units + step.done, seconds + now - step.began
        rate = units / seconds if units and seconds > 0 else None
        self._arrive(step, now)
        is_read = bool(self.arrived) and self.size is not None and self.arrived[-1][1] >= self.size
        left = _left_of(step, rate) if self.size is None or is_read else self._left(now)
        counts = units, self.sources, self.found, self.chunks, self.statements
        try:
            self.call(Progress(step.name, step.done, step.total, step.unit, *counts, now - self.began, rate, left))
        except Exception as error:
            self.failure = error
            raise

    def reach(self, size: float, now: float) -> None:
        """Note that the work on files and documents up to this total size is done."""
        if self.arrived and size <= self.arrived[-1][1]:
            return
        self.arrived.append((now, size))
        while len(self.arrived) > 2 and now - self.arrived[1][0] > _WINDOW and size - self.arrived[1][1] >= self.batch:
            self.arrived.popleft()

    def _arrive(self, step: _Step, now: float) -> None:
        """Note how far the batch of a step is."""
        if step.work is None or not step.total or step.name not in _STEPS:
            return
        start, end, begin, stop = step.work
        self.batch = (stop - begin) * (end - start)
        extract, embed, persist = self._shares()
        done = step.done / step.total
        if step.name == "persist":
            share = extract + embed + persist * done
        else:
            inside = extract * done if step.name == "extract" else extract + embed * done
            share = begin * (extract + embed) + (stop - begin) * inside
        if share > 0:
            self.reach(start + share * (end - start), now)

    def _shares(self) -> tuple[float, ...]:
        """The share of each step in the time of a batch: as measured, or the usual one if the step has not ended yet."""
        spent = {name: self.past[name][1] for name in _STEPS if name in self.past}
        known, total = sum(_STEPS[name] for name in spent), sum(spent.values())
        if not total:
            return tuple(_STEPS.values())
        return tuple(spent[name] / total * known if name in spent else share for name, share in _STEPS.items())

    def _left(self, now: float) -> float | None:
        """Seconds for the remaining sizes at the recent speed; None if it is not known, or has been exceeded."""
        if self.size is None or not self.arrived:
            return None
        last, size = self.arrived[-1]
        since, before = self.arrived[0] if len(self.arrived) > 1 else (self.began, 0)
        if size <= before or last <= since:
            return None
        left = (self.size - size) * (last - since) / (size - before) - (now - last)
        return left if left > 0 else None


@dataclass(slots=True)
class _Step:
    """A running step."""

    listener: _Listener
    outer: _Step | None
    name: str
    total: int | None
    unit: str
    began: float
    work: Work | None = None
    done: int = 0
    is_over: bool = False

    def tell(self, *, is_edge: bool) -> None:
        """Report its progress."""
        with self.listener.guard:
            self.listener.tell(self, is_edge=is_edge)

    def advance(self, count: int) -> None:
        """Add to the units done and report them. The end of the step reports the last event."""
        with self.listener.guard:
            self.done += count
            if self.total is None or self.done < self.total:
                self.listener.tell(self, is_edge=False)

    def end(self) -> None:
        """Add this round to the totals of the step."""
        self.is_over = True
        with self.listener.guard:
            units, seconds = self.listener.past.get(self.name, (0, 0.0))
            self.listener.past[self.name] = units + self.done, seconds + time.monotonic() - self.began


def _left_of(step: _Step, rate: float | None) -> float | None:
    return max(0, step.total - step.done) / rate if rate and step.total is not None else None


_LISTENER: ContextVar[_Listener | None] = ContextVar("hlgraph_progress", default=None)
_STEP: ContextVar[_Step | None] = ContextVar("hlgraph_progress_step", default=None)
"""The last step that this context began."""


@contextlib.contextmanager
def listening(call: OnProgress | None) -> Iterator[None]:
    """Call a function with the progress of a block.

    Parameters
    ----------
    call : called in the thread of the work, at most ten times per second inside a step. An error that it raises ends the
        work, and leaves the block as it is, also if the work took it for one of a model or a file. None keeps the current listener

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
    listener = _Listener(call, time.monotonic())
    try:
        with telemetry.within(_LISTENER, listener):
            yield
    except Exception as error:
        if listener.failure in (None, error):
            raise
        raise listener.failure from None
    else:
        if listener.failure is not None:  # the work took it for a file that it leaves out
            raise listener.failure
    finally:
        listener.failure = None  # it would keep the frames of the work


def is_listening() -> bool:
    """Whether this context has a listener."""
    return _LISTENER.get() is not None


@contextlib.contextmanager
def step(name: str, total: int | None = None, *, unit: str = "", work: Work | None = None) -> Iterator[None]:
    """Report the begin of a step, and its end unless it fails. Also an OpenTelemetry span.

    A step without any unit to do is not reported.

    Parameters
    ----------
    name : name of the step, a verb
    total : number of units; None if unknown
    unit : the unit, in the plural
    work : what the step works on, from which the remaining time is estimated; None if it is no work of an ingest
    """
    with telemetry.span(f"hlgraph {name}", {"hlgraph.step.unit": unit}) as span:
        span.set({"hlgraph.step.total": total})
        with _reported(name, total, unit=unit, work=work):
            yield


@contextlib.contextmanager
def _reported(name: str, total: int | None, *, unit: str, work: Work | None) -> Iterator[None]:
    listener = _LISTENER.get()
    if listener is None or (total == 0 and unit):
        yield
        return
    current = _Step(listener, _current(), name, total, unit, time.monotonic(), work)
    _STEP.set(current)
    try:
        current.tell(is_edge=True)
        yield
        if total is not None:
            current.done = total
        elif current.done or not unit:
            current.total = current.done  # now it is known
        current.tell(is_edge=True)
    finally:
        current.end()
        _STEP.set(_current())


def _current() -> _Step | None:
    """The innermost running step of this context. A generator may end a step after another one has begun."""
    innermost = _STEP.get()
    while innermost is not None and innermost.is_over:
        innermost = innermost.outer
    return innermost


def advance(name: str, count: int = 1) -> None:
    """Add to the units done of a step; ignored if another step is running, such as the search of an evaluation.

    Parameters
    ----------
    name : name of the innermost step
    count : units to add
    """
    current = _current()
    if current is not None and current.listener is _LISTENER.get() and current.name == name:
        current.advance(count)


def expect(number: int, size: int) -> None:
    """Set the number and the size of the files and documents of an ingest, from which the remaining time is estimated.

    Parameters
    ----------
    number : number of files and documents
    size : their total size, in bytes or characters
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener.found, listener.size = number, size
        listener.arrived.clear()


def count(*, sources: int, chunks: int = 0, statements: int = 0, size: int | None = None) -> None:
    """Add to the totals of an ingest.

    Parameters
    ----------
    sources, chunks, statements : numbers to add, see :class:`Progress`
    size : total size of the finished files and documents, in the unit of :func:`expect`; None if unknown
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
        listener.reach(size, time.monotonic())
