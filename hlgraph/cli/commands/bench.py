"""hlgraph bench."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from hlgraph.cli.output import print_json, say
from hlgraph.cli.progress import progress
from hlgraph.cli.state import Json, State
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.evaluate.bench import Cell, EmbedderName, Size
    from hlgraph.evaluate.figures import Table
    from hlgraph.settings import Settings

PLACE = 180  # in the list of commands

Statements = Annotated[str, typer.Option(metavar="N,...", help="Sizes of the corpora, in statements; multiples of 10.")]
Strategies = Annotated[
    str, typer.Option(metavar="NAMES", help="Strategies, with commas between, or all: those that need no chat model.")
]
Preset = Annotated[str, typer.Option(metavar="NAME", help="Parameters: paper, tuned, fast or plain.")]
Vectors = Annotated[
    Literal["made-up", "model"], typer.Option(help="Vectors without a model, or by the model of the settings.")
]
Folder = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Make the embedded store here and keep it for the next run.", show_default=False),
]
Out = Annotated[
    str | None, typer.Option(metavar="DIR", help="Write table.md, results.json and a plot here.", show_default=False)
]


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
    from hlgraph.sdk.client import connect

    with connect(settings) as graph:
        graph.delete(everything=True)


class _Asked(NamedTuple):
    """The presets by strategy, how many questions, and by what the vectors are."""

    names: dict[str, str]
    questions: int
    embedder: EmbedderName


def _measured(
    settings: Settings, asked: _Asked, *, statements: int, show: Callable[[str], None]
) -> tuple[Size, list[Cell]]:
    from hlgraph.evaluate.bench import BenchPlan, ingest_size, measure, prepare_size, questions_for

    questions = questions_for(statements, asked.questions)
    chosen, size = ingest_size(statements, settings, embedder=asked.embedder, show=show)
    cells = []
    try:
        prepare_size(chosen, asked.names, embedder=asked.embedder)
        for name, preset in asked.names.items():
            show(f"{statements:,}: asking {name}")
            plan = BenchPlan(
                settings=chosen, strategy=name, preset=preset, questions=questions, embedder=asked.embedder
            )
            cells.append(measure(plan, size=statements))
    finally:
        if not settings.store.startswith("hlgraph://"):
            show(f"{statements:,}: removing the corpus")
            _remove(chosen)
    return size, cells


def _show(tables: Sequence[Table], notes: Sequence[str]) -> None:
    from hlgraph.evaluate.figures import as_lines

    for table in tables:
        say(*as_lines(table), "")
    say(*notes)


def _write(
    folder: str, tree: dict[str, object], *, tables: Sequence[Table], notes: Sequence[str], drawing: str
) -> None:
    from json import dumps

    from hlgraph.evaluate.figures import as_markdown
    from hlgraph.evaluate.results import write_files

    words = [line for table in tables for line in (*as_markdown(table), "")]
    contents = {
        "table.md": "\n".join(["# hlgraph bench", "", *(f"- {line}" for line in notes), "", *words]),
        "results.json": f"{dumps(tree, indent=2)}\n",
        "growth.svg": drawing,
    }
    write_files(Path(folder), contents)


def bench(
    context: typer.Context,
    statements: Statements = "10000,100000",
    strategies: Strategies = "all",
    preset: Preset = "paper",
    questions: Annotated[int, typer.Option(metavar="N", help="Questions to ask each strategy.")] = 100,
    embedder: Vectors = "made-up",
    folder: Folder = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure what a question costs as the corpus grows.

    Corpora of several sizes are made up, the same in every run, with hubs as real ones have: a few entities are in very
    many statements. They are ingested through the pipeline into an embedded store of their own, which is removed
    afterwards (see --folder), or into the servers of the settings, as corpora bench-N, which are removed too. Every
    strategy is asked in a process of its own. first_ms is the first question there, which loads what all share; cpu_ms is
    what the process computed for a question; own_MB is the memory that it took without mapped files. Growth exponents are
    over the number of statements: below 1 is less than linear. What is found means nothing; a strategy that fails makes
    the exit code 1. With the extra ann, more than 200,000 vectors are searched approximately, and ingested more slowly.

    \b
    Examples:
      hlgraph bench
      hlgraph bench --statements 10000,100000,1000000 --folder bench/ --out tables/
      hlgraph bench --statements 10000 --strategies chunk,statement --embedder model --json
    """
    from hlgraph.evaluate import bench_tables
    from hlgraph.evaluate.asking import chosen
    from hlgraph.evaluate.bench import growths

    state: State = context.obj
    names = dict.fromkeys(chosen(strategies, preset), preset)
    sizes: list[Size] = []
    cells: list[Cell] = []
    with _place(state.settings(), folder) as settings, progress("making up", is_shown=not json) as show:
        for number in _sizes(statements):
            asked = _Asked(names, questions, embedder)
            size, found = _measured(settings, asked, statements=number, show=show)
            sizes.append(size)
            cells.extend(found)
    tree = {
        **bench_tables.as_tree(sizes, cells, grown=growths(cells)),
        "embedder": embedder,
        "preset": preset,
        "questions": questions,
        "store": settings.store.partition("://")[0],
    }
    tables = bench_tables.tables(sizes, cells)
    notes = bench_tables.notes(cells, embedder)
    if out is not None:
        _write(out, tree, tables=tables, notes=notes, drawing=bench_tables.plot(cells))
    if json:
        print_json(tree)
    else:
        _show(tables, notes)
    if any(cell.errors for cell in cells):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench)
