"""Progress of a command on standard error: a live line on a terminal, plain lines otherwise, nothing with --json."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hlgraph.cli.output import note


@contextmanager
def progress(title: str, *, is_shown: bool) -> Iterator[Callable[[str], None]]:
    """Yields a function that shows the progress of the block; until its first call, a terminal shows ``title``."""
    if not is_shown:
        yield lambda _: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as live:
            task = live.add_task(title, total=None)
            yield lambda text: live.update(task, description=text)
    else:
        yield _plain()


def _plain() -> Callable[[str], None]:
    last = ""

    def say(text: str) -> None:
        nonlocal last
        if text != last:
            note(text)
        last = text

    return say
