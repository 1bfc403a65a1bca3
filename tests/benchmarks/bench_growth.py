"""How every strategy grows with the corpus: made-up corpora of 10,000 and 100,000 statements with hubs, each strategy alone.

Required: the 95th percentile of a question grows less than linearly with the number of statements. `--statements
10000,100000,1000000` takes the third size, which needs about half an hour of one processor, 7 GB
of disk, and for the ingest 3 GB of memory. `hierarchy` is left out: the made-up corpora have no layers of summaries.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from measure import say, table

from hlgraph.evaluate import bench
from hlgraph.evaluate.bench import BenchPlan, Cell, Size, growths, ingest_size, measure, questions_for
from hlgraph.evaluate.runner import chosen
from hlgraph.settings import Settings

QUESTIONS = 100
LIMIT = 1.0
_UNBUILT = "hierarchy"


def show(folder: Path, statements: list[int], *, strategies: str) -> bool:
    """Measure and print; whether every strategy keeps the limit and none failed."""
    sizes: list[Size] = []
    cells: list[Cell] = []
    for number in statements:
        settings, size = ingest_size(number, Settings(store=f"hlgraph://{folder}"), embedder="made-up")
        sizes.append(size)
        asked = questions_for(number, QUESTIONS)
        for name in (item for item in chosen(strategies, "paper") if item != _UNBUILT):
            plan = BenchPlan(settings=settings, strategy=name, preset="paper", questions=asked, embedder="made-up")
            cells.append(measure(plan, size=number))
    grown = growths(cells)
    for item in (bench.sizes_table(sizes), bench.cells_table(cells), bench.growth_table(grown)):
        say(item.title)
        table(item.head, item.rows)
        say()
    say(bench.embedder_line("made-up"))
    exponents = {name: fits["p95"].exponent for name, fits in grown.items() if fits["p95"] is not None}
    over = sorted(name for name, exponent in exponents.items() if exponent >= LIMIT)
    failed = sorted({cell.strategy for cell in cells if cell.errors})
    say(f"linear or more: {', '.join(over) or 'none'}; failed: {', '.join(failed) or 'none'}")
    return not over and not failed


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", default="10000,100000", metavar="N,...", help="sizes of the corpora")
    parser.add_argument("--strategies", default="all", metavar="NAMES", help="which to ask; default: all")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the store here, for the next run")
    given = parser.parse_args()
    statements = [int(part) for part in given.statements.split(",")]
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as made:
        is_fine = show(given.folder or Path(made), statements, strategies=given.strategies)
    raise SystemExit(0 if is_fine else 1)


if __name__ == "__main__":
    main()
