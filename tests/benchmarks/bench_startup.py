"""What importing hlgraph and asking the command for help cost: medians of processes that take turns.

Required: `import hlgraph` in under 150 ms more than a bare interpreter, `hlgraph --help` in under 400 ms. Milliseconds "of
processors" are those that the process computed: on a machine that others use too, they are the fairer ones.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from measure import say, table, verdict

IMPORT_LIMIT, HELP_LIMIT = 150.0, 400.0
_SHOWN = 5


class Cost(NamedTuple):
    """Milliseconds of a process, by the clock and of the processors."""

    clock: float
    processors: float


def finished(command: Sequence[str]) -> str:
    """Run a process, away from the working folder, to its end; returns what it wrote to its error stream."""
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=tempfile.gettempdir()).stderr


def cost(command: Sequence[str]) -> Cost:
    """What one process costs."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    finished(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(1000 * (time.perf_counter() - start), 1000 * used)


def costs(commands: Sequence[Sequence[str]], *, runs: int) -> list[Cost]:
    """The median cost of each command; a first round, which fills the caches of the system, does not count."""
    rounds = [[cost(command) for command in commands] for _ in range(runs + 1)][1:]
    return [Cost(*(statistics.median(part) for part in zip(*each, strict=True))) for each in zip(*rounds, strict=True)]


def slowest_imports(arguments: Sequence[str]) -> list[tuple[str, str, str]]:
    """The modules that take longest by themselves: name, own and cumulative milliseconds."""
    rows: list[tuple[float, float, str]] = []
    for line in finished((sys.executable, "-X", "importtime", *arguments)).splitlines():
        parts = line.removeprefix("import time:").split("|")
        if len(parts) == 3 and parts[0].strip().isdigit():
            rows.append((int(parts[0]) / 1000, int(parts[1]) / 1000, parts[2].strip()))
    rows.sort(reverse=True)
    return [(name, f"{own:.1f}", f"{cumulative:.1f}") for own, cumulative, name in rows[:_SHOWN]]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="processes of each kind")
    chosen = parser.parse_args()
    importing = ("-c", "import hlgraph")
    helping = ("-c", "from hlgraph.cli import main; main(['--help'])")
    script = Path(sys.executable).with_name("hlgraph")
    command = (str(script), "--help") if script.exists() else (sys.executable, *helping)
    bare, imported, helped = costs(
        ((sys.executable, "-c", "pass"), (sys.executable, *importing), command), runs=chosen.runs
    )
    more = Cost(imported.clock - bare.clock, imported.processors - bare.processors)
    limited = (
        ("import hlgraph, without the interpreter", more, IMPORT_LIMIT, importing),
        ("hlgraph --help", helped, HELP_LIMIT, helping),
    )
    rows = [("bare interpreter", f"{bare.clock:.0f}", f"{bare.processors:.0f}", "", "")]
    rows.extend(
        (name, f"{each.clock:.0f}", f"{each.processors:.0f}", f"{limit:.0f}", verdict(each.clock, limit))
        for name, each, limit, _ in limited
    )
    table((f"median of {chosen.runs}", "ms", "of processors", "limit", ""), rows)
    for name, each, limit, arguments in limited:
        say(f"{name}: {each.clock / bare.clock:.1f} times a bare interpreter")
        if each.clock >= limit:
            table(("its slowest modules", "own ms", "cumulative ms"), slowest_imports(arguments))


if __name__ == "__main__":
    main()
