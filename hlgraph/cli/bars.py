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
from typing import TYPE_CHECKING, Any

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
    with _shown(title, is_json=is_json) as tell, listening(tell):
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
    """A bar for the whole and one for each step; they are erased at the end."""
    from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn
    from rich.progress import Progress as Live
    from rich.text import Text

    class Said(ProgressColumn):
        """The text behind a bar; that of the first bar shows the elapsed time, which advances between events."""

        def render(self, task: Task) -> Text:
            said = str(task.fields["said"])
            return Text(said if task.id else f"{_time(task.elapsed or 0.0)}{said}", no_wrap=True, overflow="ellipsis")

    columns = (TextColumn("{task.description}", markup=False), BarColumn(_BAR), Said())
    rows: dict[str, TaskID] = {}
    # What is printed on the same terminal goes above the bars; a redirected standard output stays where it is.
    with Live(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as live:
        whole = live.add_task(title, total=None, said="")

        def tell(at: Progress) -> None:
            verb, (done, total) = at.step.partition(" ")[0], _done(at)
            if verb not in rows:
                rows[verb] = live.add_task("", total=None, said="")
            said = _counts(at) or f"{_said(at)}{'' if at.found or at.done == at.total else _left(at)}"
            done, total = (1, 1) if total == 0 else (done, total)  # nothing of nothing is all of it
            live.update(rows[verb], description=_doing(at.step), completed=done, total=total, said=said)
            if at.found and at.seconds_left is not None:
                live.update(whole, completed=at.seconds, total=at.seconds + at.seconds_left, said=_left(at))
            else:
                live.update(whole, completed=0, total=None, said="")

        yield tell


@dataclass(slots=True)
class _Lines:
    """A line every ten seconds, from a thread of its own: a step that tells nothing for long is not silent either."""

    title: str
    is_json: bool
    began: float = field(default_factory=time.monotonic)
    last: Progress | None = None
    at: float = 0.0

    def __call__(self, at: Progress) -> None:
        self.last, self.at = at, time.monotonic()

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
        """The progress as of now."""
        seconds = time.monotonic() - self.began
        last = self.last or Progress("")
        if self.is_json:
            return json.dumps({"progress": {"command": self.title, **_tree(last), "seconds": round(seconds, 1)}})
        left = _left(last, passed=time.monotonic() - self.at)
        step = f"{_doing(last.step)} {_said(last)}".strip()
        parts = [_files(last), _counts_of(last), step if last.found else f"{step}{left}"]
        spent = f"{_time(seconds)}{left if last.found else ''}"
        return f"{self.title}: {'; '.join(part for part in (*parts, spent) if part)}"


def _tree(at: Progress) -> dict[str, Any]:
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in asdict(at).items()}


def _doing(step: str) -> str:
    verb, _, rest = step.partition(" ")
    return f"{_DOING.get(verb, verb)} {rest}".rstrip()


def _done(at: Progress) -> tuple[int, int | None]:
    """How far the bar of a step is: of the files of all batches, or within its turn."""
    return (at.so_far, at.found) if at.step == "read" else (at.done, at.total)


def _said(at: Progress) -> str:
    done, total = _done(at)
    if not at.unit or (not done and total is None):
        return ""
    amount = f"{done:,} {at.unit}" if total is None else f"{done:,} of {total:,} {at.unit}"
    return (
        f"{amount}, {_rate(at.rate)} a second"
        if at.rate and at.step not in ("look", "read", "compare", "migrate", "persist")
        else amount
    )


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 9.5 else f"{rate:.1g}"


def _counts(at: Progress) -> str:
    """What an ingest has stored so far, behind the bar of its last step."""
    return _counts_of(at) if at.step == "persist" else ""


def _counts_of(at: Progress) -> str:
    if not at.sources:
        return ""
    return f"{at.sources:,} sources, {at.chunks:,} chunks, {at.statements:,} statements"


def _files(at: Progress) -> str:
    """The number of files, where another step than reading is under way."""
    return f"{at.found:,} files" if at.found is not None and at.step != "read" else ""


def _left(at: Progress, passed: float = 0.0) -> str:
    return "" if at.seconds_left is None else f", about {_time(max(0.0, at.seconds_left - passed))} left"


def _time(seconds: float) -> str:
    """A time as people say it.

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
