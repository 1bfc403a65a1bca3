"""What importing hlgraph and asking the command for help cost: medians of processes that take turns.

Required: `import hlgraph` in under 150 ms more than a bare interpreter, `hlgraph --help` in under 400 ms.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from measure import medians, say, table, verdict

IMPORT_LIMIT, HELP_LIMIT = 150.0, 400.0
_BARE = ("-c", "pass")
_IMPORT = ("-c", "import hlgraph")
_HELP = ("-c", "from hlgraph.cli import main; main(['--help'])")
_SHOWN = 5


def start(arguments: Sequence[str]) -> str:
    """Run an interpreter, away from the working folder, to its end; returns what it wrote to its error stream."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tempfile.gettempdir())
    return done.stderr


def help_command() -> Callable[[int], object]:
    """The installed command; where it is not beside the interpreter, what it does."""
    script = Path(sys.executable).with_name("hlgraph")
    if not script.exists():
        return lambda _: start(_HELP)
    return lambda _: subprocess.run([script, "--help"], check=True, capture_output=True, cwd=tempfile.gettempdir())


def slowest_imports(arguments: Sequence[str]) -> list[tuple[str, str, str]]:
    """The modules that take longest by themselves: name, own and cumulative milliseconds."""
    rows: list[tuple[float, float, str]] = []
    for line in start(("-X", "importtime", *arguments)).splitlines():
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
    actions = (lambda _: start(_BARE), lambda _: start(_IMPORT), help_command())
    medians(actions, runs=1)  # the first of each kind fills the caches of the system
    bare, imported, helped = (1000 * seconds for seconds in medians(actions, runs=chosen.runs))
    more = imported - bare
    table(
        (f"median of {chosen.runs}", "ms", "limit", ""),
        (
            ("bare interpreter", f"{bare:.0f}", "", ""),
            ("import hlgraph, without the interpreter", f"{more:.0f}", f"{IMPORT_LIMIT:.0f}", verdict(more, IMPORT_LIMIT)),
            ("hlgraph --help", f"{helped:.0f}", f"{HELP_LIMIT:.0f}", verdict(helped, HELP_LIMIT)),
        ),
    )
    say(f"hlgraph --help takes {helped / bare:.1f} times a bare interpreter, import hlgraph {imported / bare:.1f} times")
    for name, value, limit, arguments in (
        ("import hlgraph", more, IMPORT_LIMIT, _IMPORT),
        ("hlgraph --help", helped, HELP_LIMIT, _HELP),
    ):
        if value >= limit:
            say(f"\n{name} is over its limit; its slowest modules:")
            table(("module", "own ms", "cumulative ms"), slowest_imports(arguments))


if __name__ == "__main__":
    main()
