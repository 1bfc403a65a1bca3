"""hlgraph bench."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.output import print_json, say
from hlgraph.cli.progress import progress
from hlgraph.cli.state import Json, State
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.evaluate.bench import Cell, EmbedderName, Size
    from hlgraph.settings import Settings


@contextlib.contextmanager
def _place(settings: Settings, folder: str | None) -> Iterator[Settings]:
    """The servers of the settings where there are any, else an embedded store of its own; never the one of the settings."""
    if not settings.store.startswith("hlgraph://"):
        if folder is not None:
            raise InputError(f"--folder {folder} is for the embedded store; the settings name {settings.store}")
        yield settings
        return
    with contextlib.ExitStack() as closing:
        made = folder or closing.enter_context(tempfile.TemporaryDirectory(prefix="hlgraph-bench-"))
        yield replace(settings, store=f"hlgraph://{Path(made).absolute()}", vectors="")


def _sizes(text: str) -> list[int]:
    try:
        found = sorted({int(part.replace("_", "")) for part in text.split(",") if part.strip()})
    except ValueError as error:
        raise InputError(f"--statements {text!r} is no list of numbers; write some, such as 10000,100000") from error
    if not found:
        raise InputError("--statements names no number; write some, such as 10000,100000")
    return found


def _remove(settings: Settings) -> None:
    from hlgraph.client import connect

    with connect(settings) as graph:
        graph.delete(is_all=True)


def _measured(
    settings: Settings,
    names: dict[str, str],
    *,
    statements: int,
    questions: int,
    embedder: EmbedderName,
    show: Callable[[str], None],
) -> tuple[Size, list[Cell]]:
    from hlgraph.evaluate.bench import BenchPlan, ingest_size, measure, questions_for

    asked = questions_for(statements, questions)
    chosen, size = ingest_size(statements, settings, embedder=embedder, show=show)
    cells = []
    try:
        for name, preset in names.items():
            show(f"{statements:,}: asking {name}")
            plan = BenchPlan(settings=chosen, strategy=name, preset=preset, questions=asked, embedder=embedder)
            cells.append(measure(plan, size=statements))
    finally:
        if not settings.store.startswith("hlgraph://"):
            show(f"{statements:,}: removing the corpus")
            _remove(chosen)
    return size, cells


def bench(
    context: typer.Context,
    statements: Annotated[
        str, typer.Option(metavar="N,...", help="Sizes of the corpora, in statements; multiples of 10.")
    ] = "10000,100000",
    strategies: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Strategies, with commas between, or all: those that need no chat model."),
    ] = "all",
    preset: Annotated[str, typer.Option(metavar="NAME", help="Parameters: paper, tuned or plain.")] = "paper",
    questions: Annotated[int, typer.Option(metavar="N", help="Questions to ask each strategy.")] = 100,
    embedder: Annotated[
        Literal["made-up", "model"], typer.Option(help="Vectors without a model, or by the model of the settings.")
    ] = "made-up",
    folder: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="Make the embedded store here and keep it for the next run.", show_default=False
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Write table.md, results.json and a plot here.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Measure what a question costs as the corpus grows.

    Corpora of several sizes are made up, the same in every run, with hubs as real ones have: a few entities are in very
    many statements. They are ingested through the pipeline into an embedded store of their own, which is removed
    afterwards (see --folder), or into the servers of the settings, as corpora bench-N, which are removed too. Every
    strategy is asked in a process of its own. first_ms is the first question there, which loads what all share; own_MB is
    the memory that the process took without mapped files. Growth exponents are of the 95th percentile over the number of
    statements: below 1 is less than linear. What is found means nothing; a strategy that fails makes the exit code 1.

    \b
    Examples:
      hlgraph bench
      hlgraph bench --statements 10000,100000,1000000 --folder bench/ --out tables/
      hlgraph bench --statements 10000 --strategies chunk,statement --embedder model --json
    """
    from hlgraph.evaluate import bench_tables
    from hlgraph.evaluate.asking import chosen
    from hlgraph.evaluate.bench import growths
    from hlgraph.evaluate.results import write_files
    from hlgraph.evaluate.tables import as_lines, as_markdown

    state: State = context.obj
    names = dict.fromkeys(chosen(strategies, preset), preset)
    wanted = _sizes(statements)
    sizes: list[Size] = []
    cells: list[Cell] = []
    with _place(state.settings(), folder) as settings, progress("making up", is_shown=not json) as show:
        for number in wanted:
            size, found = _measured(
                settings, names, statements=number, questions=questions, embedder=embedder, show=show
            )
            sizes.append(size)
            cells.extend(found)
    grown = growths(cells)
    tree = {
        **bench_tables.as_tree(sizes, cells, growths=grown),
        "embedder": embedder,
        "preset": preset,
        "questions": questions,
        "store": settings.store.partition("://")[0],
    }
    tables = [bench_tables.sizes_table(sizes), bench_tables.cells_table(cells)]
    if len(wanted) > 1:
        tables.append(bench_tables.growth_table(grown))
    notes = [
        bench_tables.embedder_line(embedder),
        *(
            f"{cell.strategy}, {cell.size:,}: failed {count} times: {error}"
            for cell in cells
            for error, count in cell.errors.items()
        ),
    ]
    if out is not None:
        import json as encoder

        words = [line for table in tables for line in (*as_markdown(table), "")]
        contents = {
            "table.md": "\n".join(["# hlgraph bench", "", *(f"- {line}" for line in notes), "", *words]),
            "results.json": f"{encoder.dumps(tree, indent=2)}\n",
            "growth.svg": bench_tables.plot(cells),
        }
        write_files(Path(out), contents)
    if json:
        print_json(tree)
    else:
        for table in tables:
            say(*as_lines(table), "")
        say(*notes)
    if any(cell.errors for cell in cells):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench)
