"""How many of a seeded sample of small faults the tests see: ``python tests/mutants/mutants.py TREE --work FOLDER``.

The sample is spread over the areas by their lines of code. Each mutant is one edit (see ``edits.py``), made in a copy of the
tree; the tests that see its line run until one fails. ``make mutants`` does that for this tree.

To compare the suites of two trees, name the other one too, and the areas where their folders are not the same:

    python tests/mutants/mutants.py OLD --beside NEW --work FOLDER \
        --area algorithms=algorithms --area stores=stores --area retrieve=retrieve --area ingest=pipeline.py,batches.py

The edits are picked in OLD and found again in NEW by function and statement; one that is not there is left out and the next
of the seeded sequence takes its place. What was done is kept in FOLDER, so that a run that was cut off goes on.

With ``--servers STATE``, the folder of servers that run (``docker/local/servers.py start --state STATE``), the mutants that
survived without servers meet the tests that need them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from edits import Edit, Key, edits, lines_of_code
from suite import Limits, Outcome, Suite

SEED, COUNT = 20261123, 100
AREAS = ("algorithms", "stores", "ingest", "retrieve")

Result = dict[str, Any]


def pick(tree: Path, beside: Sequence[Path], areas: dict[str, list[str]], count: int, seed: int) -> list[list[Edit]]:
    """For each mutant its edit in ``tree``, then in each tree beside it."""
    package = tree / "hlgraph"
    files = {area: list(_modules(package, names)) for area, names in areas.items()}
    shares = _shares({area: sum(map(lines_of_code, found)) for area, found in files.items()}, count)
    finders = [_finder(package, other / "hlgraph") for other in beside]
    picked: list[list[Edit]] = []
    for area, found in files.items():
        sequence = [edit for file in found for edit in edits(package, file)]
        random.Random(f"{seed} {area}").shuffle(sequence)
        wanted = len(picked) + shares[area]
        for edit in sequence:
            same = [edit, *(other for find in finders if (other := find(edit)))]
            if len(same) == 1 + len(beside) and edit.compiles((tree / edit.file).read_bytes()):
                picked.append(same)
            if len(picked) == wanted:
                break
    return picked


def _modules(package: Path, names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        place = package / name
        if not place.exists():
            sys.exit(f"{place}: not there; name the folders of this tree with --area")
        yield from [place] if place.is_file() else sorted(place.rglob("*.py"))


def _shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """The count divided by size; the largest remainders get what rounding leaves."""
    whole = sum(sizes.values())
    exact = {area: count * size / whole for area, size in sizes.items()}
    shares = {area: int(share) for area, share in exact.items()}
    for area in sorted(exact, key=lambda area: shares[area] - exact[area])[: count - sum(shares.values())]:
        shares[area] += 1
    return shares


def _finder(package: Path, other: Path) -> Callable[[Edit], Edit | None]:
    """Finds an edit of a package in another, where it moved to: the file that shares the most edits with its own."""
    there: dict[Key, list[Edit]] = {}
    for file in sorted(other.rglob("*.py")):
        for edit in edits(other, file):
            there.setdefault(edit.key, []).append(edit)
    shared: Counter[tuple[str, str]] = Counter()
    for file in sorted(package.rglob("*.py")):
        for edit in edits(package, file):
            shared.update((edit.file, found.file) for found in there.get(edit.key, ()))

    def find(edit: Edit) -> Edit | None:
        found = there.get(edit.key, [])
        return max(found, key=lambda one: (one.file == edit.file, shared[edit.file, one.file]), default=None)

    return find


def run(
    suite: Suite, chosen: Sequence[tuple[int, Edit]], kept: Path, *, before: dict[int, Result]
) -> dict[int, Result]:
    """The result of each mutant by its number; ``kept`` has a line for each that was run.

    ``before`` are the results in another tree: the test that killed a mutant there is tried first.
    """
    done = {result["number"]: result for result in _read(kept)}
    free: SimpleQueue[tuple[Path, Path]] = SimpleQueue()
    for number, copy in enumerate(suite.copies):
        free.put((copy, suite.folder / f"{suite.kind}{number}.tests"))

    def one(number: int, edit: Edit, killer: str | None) -> None:
        copy, order = free.get()
        try:
            outcome = suite.tried(edit, copy, order, killer) if killer else suite.run(edit, copy, order)
        finally:
            free.put((copy, order))
        if outcome:
            done[number] = {"suite": suite.kind, **_result(number, edit, outcome)}
            with kept.open("a", encoding="utf-8") as log:
                log.write(json.dumps(done[number]) + "\n")
            _say(row(done[number]))

    with ThreadPoolExecutor(len(suite.copies)) as pool:
        known = {
            number: result["by"]
            for number, result in before.items()
            if "::" in result["by"] and result["suite"] == suite.kind
        }
        first = [(number, edit, known[number]) for number, edit in chosen if number in known and number not in done]
        list(pool.map(lambda job: one(*job), first))
        left = [(number, edit, None) for number, edit in chosen if number not in done]
        if left:
            suite.record()
        list(pool.map(lambda job: one(*job), left))
    return done


def _result(number: int, edit: Edit, outcome: Outcome) -> Result:
    return {
        "number": number,
        "file": edit.file,
        "line": edit.start[0],
        "function": edit.key.function,
        "kind": edit.key.kind,
        "before": edit.before,
        "after": edit.after,
        **outcome._asdict(),
    }


def _read(kept: Path) -> list[Result]:
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept.exists() else []


def row(result: Result) -> str:
    """One line of the table."""
    end = f"killed by {result['by']}" if result["is_killed"] else f"SURVIVED {result['by']}"
    change = " ".join(f"{result['before']}  ->  {result['after']}".split())[:150]
    place = f"{result['file']}:{result['line']}"
    return f"{result['number']:3} {place} {result['function']}: {change} | {end} ({result['seconds']} s)"


def compare(trees: Sequence[str], results: Sequence[dict[int, Result]]) -> str:
    """How many each suite killed, and where they differ."""
    lines = [
        f"{tree}: {sum(result['is_killed'] for result in found.values())} of {len(found)} killed"
        for tree, found in zip(trees, results, strict=True)
    ]
    for number in sorted(results[0]):
        said = [found.get(number) for found in results]
        if len({one["is_killed"] for one in said if one}) > 1:
            lines += ["differs:", *(f"  {row(one)}" for one in said if one)]
    return "\n".join(lines)


def main() -> None:
    options = _parser().parse_args()
    areas = dict(text.split("=", 1) for text in options.area) or {area: area for area in AREAS}
    trees = [path.absolute() for path in (options.tree, *options.beside)]
    work = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    names = {area: named.split(",") for area, named in areas.items()}
    mutants = pick(trees[0], trees[1:], names, options.count, options.seed)
    results: list[dict[int, Result]] = []
    for place, tree in enumerate(trees):
        folder = work / f"{place}-{tree.name}"
        folder.mkdir(exist_ok=True)
        suite = Suite(tree, folder, processes=options.processes, limits=Limits(budget=options.budget))
        chosen = [(number, same[place]) for number, same in enumerate(mutants)]
        before = results[0] if results else {}
        found = run(suite, chosen, folder / "embedded.jsonl", before=before)
        if options.servers:
            left = [(number, edit) for number, edit in chosen if not found[number]["is_killed"]]
            suite = dataclasses.replace(suite, servers=str(options.servers.absolute()))
            found = found | run(suite, left, folder / "servers.jsonl", before=before)
        results.append(found)
    _say(compare([str(tree) for tree in trees], results))
    for place, found in enumerate(results):
        text = json.dumps([found[number] for number in sorted(found)], indent=1)
        (work / f"results-{place}.json").write_text(text, encoding="utf-8")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="where copies, records and results go")
    parser.add_argument("--beside", type=Path, action="append", default=[], help="another tree, same mutants")
    parser.add_argument("--area", action="append", default=[], metavar="NAME=PATH,...", help="paths below hlgraph/")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--budget", type=float, default=Limits.budget, help="seconds of recorded tests for a mutant")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--servers", type=Path, help="the state folder of servers that run")
    return parser


if __name__ == "__main__":
    main()
