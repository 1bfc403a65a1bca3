"""Progress of a command on standard error: bars on a terminal, otherwise a plain line every ten seconds.

Standard output stays free for the result. With --json a line is a JSON object; with --quiet there is none.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from hlgraph.cli.output import note
from hlgraph.progress import Progress, listening

if TYPE_CHECKING:
    from rich.console import Console

EVERY = 10.0
"""Seconds between two lines without a terminal."""
_BAR = 18  # columns of a bar: with it, all counts fit into 80
_DOING = {
    "adapt": "inferring the domain",
    "ask": "asking",
    "check": "checking",
    "cluster": "clustering",
    "compare": "comparing",
    "copy": "copying",
    "cover": "measuring",
    "embed": "embedding",
    "extract": "extracting",
    "judge": "judging",
    "look": "looking",
    "migrate": "migrating",
    "pair": "pairing names",
    "persist": "writing",
    "read": "reading",
    "remove": "removing",
    "renew": "renewing topics",
    "restore": "restoring",
    "summarise": "summarising",
    "wait": "waiting",
    "warm": "embedding questions",
}


@contextmanager
def progress(title: str, *, quiet: bool = False, is_json: bool = False) -> Iterator[None]:
    """Show the progress of a block under a title, such as ``ingesting``."""
    if quiet:
        yield
        return
    with _shown(title, is_json=is_json) as on_progress, listening(on_progress):
        yield


@contextmanager
def _shown(title: str, *, is_json: bool) -> Iterator[Callable[[Progress], None]]:
    if sys.stderr.isatty():
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_dumb_terminal:
            with _bars(title, console) as bars:
                yield bars
            return
    lines = _Lines(title, is_json=is_json)
    with lines.running():
        yield lines


@contextmanager
def _bars(title: str, console: Console) -> Iterator[Callable[[Progress], None]]:
    """A bar for the whole work and one for each step; they are erased at the end."""
    from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn
    from rich.progress import Progress as Live
    from rich.text import Text

    class Details(ProgressColumn):
        """The text behind a bar. The first bar shows the elapsed time, which advances between events."""

        def render(self, task: Task) -> Text:
            text = str(task.fields["text"])
            return Text(text if task.id else f"{_time(task.elapsed or 0.0)}{text}", no_wrap=True, overflow="ellipsis")

    columns = (TextColumn("{task.description}", markup=False), BarColumn(_BAR), Details())
    rows: dict[str, TaskID] = {}
    # What is printed on the same terminal goes above the bars; a redirected standard output stays where it is.
    with Live(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as live:
        whole = live.add_task(title, total=None, text="")

        def show(event: Progress) -> None:
            verb, (done, total) = event.step.partition(" ")[0], _done(event)
            if verb not in rows:
                rows[verb] = live.add_task("", total=None, text="")
            counts = _counts(event) if event.step == "persist" else ""
            text = counts or f"{_amount(event)}{'' if event.found or event.done == event.total else _left(event)}"
            done, total = (1, 1) if total == 0 else (done, total)  # a step without units is complete
            live.update(rows[verb], description=_doing(event.step), completed=done, total=total, text=text)
            if event.found and event.seconds_left is not None:
                live.update(whole, completed=event.seconds, total=event.seconds + event.seconds_left, text=_left(event))
            else:
                live.update(whole, completed=0, total=None, text="")

        yield show


@dataclass(slots=True)
class _Lines:
    """A line every ten seconds from a thread of its own, so that a step without events is not silent either."""

    title: str
    is_json: bool
    began: float = field(default_factory=time.monotonic)
    last: Progress = field(default_factory=lambda: Progress(""))
    at: float = 0.0

    def __call__(self, event: Progress) -> None:
        self.last, self.at = event, time.monotonic()

    @contextmanager
    def running(self) -> Iterator[None]:
        is_over = threading.Event()

        def run() -> None:
            while not is_over.wait(EVERY):
                note(self.line())

        thread = threading.Thread(target=run, name="hlgraph-progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def line(self) -> str:
        """The current progress."""
        seconds, last = time.monotonic() - self.began, self.last
        if self.is_json:
            tree = {
                name: round(value, 1) if isinstance(value, float) else value for name, value in asdict(last).items()
            }
            return json.dumps({"progress": {"command": self.title, **tree, "seconds": round(seconds, 1)}})
        left = _left(last, passed=time.monotonic() - self.at)
        step = f"{_doing(last.step)} {_amount(last)}".strip()
        files = f"{last.found:,} files" if last.found is not None and last.step != "read" else ""
        parts = [files, _counts(last), step if last.found else f"{step}{left}"]
        spent = f"{_time(seconds)}{left if last.found else ''}"
        return f"{self.title}: {'; '.join(part for part in (*parts, spent) if part)}"


def _doing(step: str) -> str:
    verb, _, rest = step.partition(" ")
    return f"{_DOING.get(verb, verb)} {rest}".rstrip()


def _done(event: Progress) -> tuple[int, int | None]:
    """The units done and their total: of the files of all batches, or of this round of a step."""
    return (event.so_far, event.found) if event.step == "read" else (event.done, event.total)


def _amount(event: Progress) -> str:
    """The units done, and their rate if it says something."""
    done, total = _done(event)
    if not event.unit or (not done and total is None):
        return ""
    amount = f"{done:,} {event.unit}" if total is None else f"{done:,} of {total:,} {event.unit}"
    if not event.rate or event.step in ("look", "read", "compare", "migrate", "persist"):
        return amount
    return f"{amount}, {_rate(event.rate)} a second"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 9.5 else f"{rate:.1g}"


def _counts(event: Progress) -> str:
    """What an ingest has stored so far."""
    if not event.sources:
        return ""
    return f"{event.sources:,} sources, {event.chunks:,} chunks, {event.statements:,} statements"


def _left(event: Progress, passed: float = 0.0) -> str:
    """The remaining time; nothing if it is not known, or if it has passed and the work is not done."""
    left = None if event.seconds_left is None else event.seconds_left - passed
    return "" if left is None or left < 0 else f", about {_time(left)} left"


def _time(seconds: float) -> str:
    """A duration as people say it.

    Examples
    --------
    >>> _time(9.4), _time(80), _time(5_000)
    ('9 s', '1 min 20 s', '1 h 23 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"
