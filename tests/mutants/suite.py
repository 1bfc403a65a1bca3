"""A tree with its tests: copies of it, which tests see which line, and the run of one mutant."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import coverage
import pytest
from edits import Edit

SERVERS = "HLGRAPH_TEST_SERVERS"
TESTS = ("hlgraph", "tests/unit", "tests/property", "tests/contract", "tests/integration")
# Left out: rules about the source, slow tests that start processes and so see no line, and tests with their own servers.
LEFT_OUT = ("test_architecture*", "test_ray*", "test_wheel*", "test_local_servers*", "test_readme*", "test_picture_*")
# The contracts and what is quick: the long histories of tests/congruence/test_stores.py take ten minutes.
SERVER_TESTS = (
    "tests/contract/test_neo4j.py",
    "tests/contract/test_opensearch.py",
    "tests/congruence/test_hierarchy.py",
    "tests/congruence/test_neo4j_gds.py",
    "tests/congruence/test_opensearch_vectors.py",
    "tests/congruence/test_rankers.py",
    "tests/integration/test_abandoned_change.py",
    "tests/integration/test_gds_client.py",
    "tests/integration/test_init_servers.py",
    "tests/integration/test_neo4j_cost.py",
    "tests/integration/test_neo4j_lease.py",
    "tests/integration/test_neo4j_migrations.py",
    "tests/integration/test_opensearch_faults.py",
    "tests/integration/test_opensearch_journal.py",
    "tests/integration/test_opensearch_store.py",
)
_FIRST_FILES = 4
_NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".hlgraph", ".hypothesis", ".*_cache", "__pycache__", "*.egg-info"
)


class Outcome(NamedTuple):
    """What became of a mutant; ``by`` is the test that failed, or why no test could."""

    is_killed: bool
    by: str
    text: str
    seconds: float
    tests: int


class Test(NamedTuple):
    """One recorded test."""

    id: str
    seconds: float
    fixtures: tuple[str, ...]

    @property
    def file(self) -> str:
        return self.id.partition("::")[0]


@dataclass(frozen=True)
class Limits:
    """Seconds of recorded tests for a mutant, and what a run may take: a loop without end is killed by the clock."""

    budget: float = 45
    start: float = 90
    slower: float = 6

    def clock(self, tests: Sequence[Test]) -> float:
        return self.start + self.slower * sum(test.seconds for test in tests)


@dataclass(frozen=True)
class Suite:
    """The tests of a tree, run on copies of it under ``folder``."""

    tree: Path
    folder: Path
    servers: str = ""
    processes: int = 2
    limits: Limits = field(default_factory=Limits)

    @property
    def python(self) -> str:
        own = self.tree / ".venv" / "bin" / "python"
        return str(own) if own.exists() else sys.executable

    @property
    def kind(self) -> str:
        return "servers" if self.servers else "embedded"

    @cached_property
    def copies(self) -> list[Path]:
        """A copy for each process, without what a run that was cut off left there."""
        made = [self.folder / f"copy{number}" for number in range(1 if self.servers else self.processes)]
        for copy in made:
            shutil.copytree(self.tree, copy, ignore=_NOT_COPIED, dirs_exist_ok=True)
        return made

    def record(self) -> None:
        """Run the tests once, unless that was done, and keep which lines each sees."""
        copies = self.copies
        shares = [self._files()[number :: len(copies)] for number in range(len(copies))]
        runs = []
        for number, (copy, share) in enumerate(zip(copies, shares, strict=True)):
            file = self.folder / f"{self.kind}{number}.json"
            if not file.exists():
                log = (self.folder / f"{self.kind}{number}.log").open("w", encoding="utf-8")
                runs.append(self._start(copy, share, {"MUTANTS_RECORD": str(file)}, log))
        for run in runs:
            run.wait()

    def run(self, edit: Edit, copy: Path, order: Path) -> Outcome:
        """Apply an edit to a copy, run the tests that see it until one fails, and take the edit back."""
        return self._met(edit, copy, order, _stages(self.seeing(edit)))

    def tried(self, edit: Edit, copy: Path, order: Path, test: str) -> Outcome | None:
        """The same with one test, if the tree has it and it kills the mutant."""
        known = Test(test, self.limits.start, ())
        if not (self.tree / known.file).is_file():
            return None
        outcome = self._met(edit, copy, order, [[known]])
        return outcome if outcome.by == test else None

    def _met(self, edit: Edit, copy: Path, order: Path, stages: Sequence[Sequence[Test]]) -> Outcome:
        module = copy / edit.file
        source = (self.tree / edit.file).read_bytes()
        began = time.monotonic()
        is_killed, by, text = False, "" if stages else "no test sees it", ""
        try:
            _replace(module, edit.applied(source))
            for some in stages:
                is_killed, by, text = self._run(copy, some, order)
                if is_killed:
                    break
        finally:
            _replace(module, source)
            shutil.rmtree(copy / ".hypothesis", ignore_errors=True)
        return Outcome(is_killed, by, text, round(time.monotonic() - began, 1), sum(map(len, stages)))

    def seeing(self, edit: Edit) -> list[Test]:
        """The tests that run a line of the edit, then the others of their files, within the budget.

        Code at the level of a module or class runs at import, so whatever sees another line of the file counts.
        """
        contexts: set[str] = set()
        for at, found in self._lines(edit.file).items():
            if not edit.in_function or edit.start[0] <= at <= edit.end[0]:
                contexts |= found
        direct = [test for test in self._tests if test.id in contexts or not contexts.isdisjoint(test.fixtures)]
        taken, left = _within(direct, self.limits.budget)
        files = {test.file for test in direct}
        known = {test.id for test in direct}
        beside = [test for test in self._tests if test.file in files and test.id not in known]
        return taken + _within(beside, left)[0]

    def _files(self) -> list[str]:
        if self.servers:
            return [name for name in SERVER_TESTS if (self.tree / name).exists()]
        files = [
            str(file.relative_to(self.tree))
            for folder in TESTS[1:]
            for file in sorted((self.tree / folder).rglob("test_*.py"))
            if not any(file.match(pattern) for pattern in LEFT_OUT)
        ]
        return [TESTS[0], *files]

    def _run(self, copy: Path, tests: Sequence[Test], order: Path) -> tuple[bool, str, str]:
        order.write_text("".join(f"{test.id}\n" for test in tests), encoding="utf-8")
        order.with_suffix(".failure").unlink(missing_ok=True)
        files = list(dict.fromkeys(test.file for test in tests))
        with order.with_suffix(".log").open("w", encoding="utf-8") as log:
            run = self._start(copy, files, {"MUTANTS_TESTS": str(order)}, log, "-x")
            return _end(run, self.limits.clock(tests), order)

    def _start(
        self, copy: Path, files: Iterable[str], more: dict[str, str], log: Any, *options: str
    ) -> subprocess.Popen[bytes]:
        path = os.pathsep.join((str(copy), str(Path(__file__).parent)))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", **more}
        environment.pop(SERVERS, None)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each run would compile all that it imports
        if self.servers:
            environment[SERVERS] = self.servers
        command = [self.python, "-m", "pytest", "-p", "seeing", "-p", "no:cacheprovider", "-q", "--hypothesis-seed=0"]
        return subprocess.Popen(
            ["nice", "-n", "10", *command, *options, *files],
            cwd=copy,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @cached_property
    def _tests(self) -> list[Test]:
        found: dict[str, Test] = {}
        for file in sorted(self.folder.glob(f"{self.kind}?.json")):
            for name, said in json.loads(file.read_text(encoding="utf-8")).items():
                if said["passed"]:
                    found[name] = Test(name, said["seconds"], tuple(said["fixtures"]))
        return list(found.values())

    def _lines(self, file: str) -> dict[int, set[str]]:
        """The contexts of each line of a file."""
        lines: dict[int, set[str]] = defaultdict(set)
        for number in range(len(self.copies)):
            data = coverage.CoverageData(str(self.folder / f"{self.kind}{number}.json.coverage"))
            data.read()
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[line].update(contexts)
        return lines


def _within(tests: Sequence[Test], budget: float) -> tuple[list[Test], float]:
    """The quick files first, as many tests as fit, and the seconds left over.

    Tests of one file stay together and in order: they share fixtures.
    """
    groups: dict[str, list[Test]] = defaultdict(list)
    for test in tests:
        groups[test.file].append(test)
    taken: list[Test] = []
    for group in sorted(groups.values(), key=lambda group: sum(test.seconds for test in group)):
        fitting: set[str] = set()
        for test in sorted(group, key=lambda test: test.seconds):
            if test.seconds > budget:
                break
            fitting.add(test.id)
            budget -= test.seconds
        taken += [test for test in group if test.id in fitting]
    return taken, budget


def _stages(tests: Sequence[Test]) -> list[Sequence[Test]]:
    """The tests of the first files, then the others: to collect a file takes longer than most of its tests."""
    early = list(dict.fromkeys(test.file for test in tests))[:_FIRST_FILES]
    first = [test for test in tests if test.file in early]
    return [some for some in (first, [test for test in tests if test.file not in early]) if some]


def _replace(module: Path, source: bytes) -> None:
    """Write a module, and forget its bytecode: that is compared by size and by whole seconds."""
    for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*.pyc"):
        compiled.unlink()
    module.write_bytes(source)


def _end(run: subprocess.Popen[bytes], limit: float, order: Path) -> tuple[bool, str, str]:
    """Whether the run failed, by which test, and what that said."""
    try:
        code = run.wait(limit)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return True, f"time-out after {limit:.0f} s", ""
    if code == 0:
        return False, "", ""
    note = order.with_suffix(".failure")
    if note.exists():
        said = json.loads(note.read_text(encoding="utf-8"))
        return True, said["test"], said["text"]
    tail = order.with_suffix(".log").read_text(encoding="utf-8", errors="replace")[-2000:]
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        return False, "no test was collected", tail
    return True, f"pytest ended with {code}", tail
