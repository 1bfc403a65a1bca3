"""The command ``hlgraph bench``."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Json, Quiet, State
from hlgraph.errors import InputError
from hlgraph.progress import step

if TYPE_CHECKING:
    from hlgraph.evaluate.bench import Cell, EmbedderName, Size
    from hlgraph.evaluate.figures import Table
    from hlgraph.settings import Settings

PLACE = 180  # position in the list of commands

Statements = Annotated[
    str, typer.Option(metavar="N,...", help="Corpus sizes in statements, separated by commas; multiples of 10.")
]
Strategies = Annotated[
    str,
    typer.Option(
        metavar="NAMES", help="Strategies, separated by commas, or all: every strategy that needs no chat model."
    ),
]
Preset = Annotated[str, typer.Option(metavar="NAME", help="Parameters: paper, tuned, fast or plain.")]
Vectors = Annotated[
    Literal["made-up", "model"],
    typer.Option(help="Made-up vectors, which need no model, or vectors of the model in the settings."),
]
Folder = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="Create the embedded store here and keep it for the next run.", show_default=False
    ),
]
Out = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Write table.md, results.json and a plot to this folder.", show_default=False),
]


@contextlib.contextmanager
def _place(settings: Settings, folder: str | None) -> Iterator[Settings]:
    """Settings for the servers, if the settings name any, else for a new embedded store; never the user's embedded store."""
    if not settings.store.startswith("hlgraph://"):
        if folder is not None:
            raise InputError(
                f"--folder {folder} needs the embedded store, but the settings name {settings.store}; leave out one of them"
            )
        yield settings
        return
    with contextlib.ExitStack() as closing:
        directory = folder or closing.enter_context(tempfile.TemporaryDirectory(prefix="hlgraph-bench-"))
        yield replace(settings, store=f"hlgraph://{Path(directory).absolute()}", vectors="")


def _sizes(text: str) -> list[int]:
    try:
        sizes = sorted({int(part.replace("_", "")) for part in text.split(",") if part.strip()})
    except ValueError as error:
        raise InputError(f"--statements {text!r} is not a list of numbers; write for example 10000,100000") from error
    if not sizes:
        raise InputError("--statements holds no number; write for example 10000,100000")
    return sizes


def _remove(settings: Settings) -> None:
    from hlgraph.sdk.client import connect

    with connect(settings) as graph:
        graph.delete(everything=True)


class _Asked(NamedTuple):
    """What a benchmark asks.

    Attributes
    ----------
    names : preset by name of strategy
    questions : number of questions
    embedder : what makes the vectors
    """

    names: dict[str, str]
    questions: int
    embedder: EmbedderName


def _measured(settings: Settings, asked: _Asked, *, statements: int) -> tuple[Size, list[Cell]]:
    from hlgraph.evaluate.bench import BenchPlan, ingest_size, measure, prepare_size, questions_for

    questions = questions_for(statements, asked.questions)
    chosen, size = ingest_size(statements, settings, embedder=asked.embedder)
    cells = []
    try:
        prepare_size(chosen, asked.names, embedder=asked.embedder)
        for name, preset in asked.names.items():
            plan = BenchPlan(
                settings=chosen, strategy=name, preset=preset, questions=questions, embedder=asked.embedder
            )
            with step(f"ask {name} over {statements:,} statements"):
                cells.append(measure(plan, size=statements))
    finally:
        if not settings.store.startswith("hlgraph://"):
            with step("remove the corpus"):
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
    from hlgraph.evaluate.report import write_files

    markdown = [line for table in tables for line in (*as_markdown(table), "")]
    contents = {
        "table.md": "\n".join(["# hlgraph bench", "", *(f"- {line}" for line in notes), "", *markdown]),
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
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure how the cost of a question grows with the corpus.

    The corpora are synthetic and the same in every run. Like real ones they have hubs: a few entities occur in very many
    statements. They are ingested by the pipeline into a temporary embedded store (--folder keeps it), or as corpora
    bench-N into the servers of the settings, from which they are removed afterwards. Each strategy runs in its own
    process. first_ms is the first question in it, which loads what later questions share; cpu_ms is the CPU time of the
    process per question; own_MB is its memory without mapped files. Growth exponents are over the number of statements:
    below 1 is less than linear. The evidence found is meaningless. A strategy that fails makes the exit code 1.

    \b
    Examples:
      hlgraph bench
      hlgraph bench --statements 10000,100000,1000000 --folder bench/ --out tables/
      hlgraph bench --statements 10000 --strategies chunk,statement --embedder model --json
    """
    from hlgraph.evaluate import bench as benches
    from hlgraph.evaluate.bench import growths
    from hlgraph.evaluate.runner import chosen

    state: State = context.obj
    names = dict.fromkeys(chosen(strategies, preset), preset)
    sizes: list[Size] = []
    cells: list[Cell] = []
    with _place(state.settings(), folder) as settings, progress("measuring", quiet=quiet, is_json=json):
        for number in _sizes(statements):
            asked = _Asked(names, questions, embedder)
            size, new_cells = _measured(settings, asked, statements=number)
            sizes.append(size)
            cells.extend(new_cells)
    tree = {
        **benches.as_tree(sizes, cells, grown=growths(cells)),
        "embedder": embedder,
        "preset": preset,
        "questions": questions,
        "store": settings.store.partition("://")[0],
    }
    tables = benches.tables(sizes, cells)
    notes = benches.notes(cells, embedder)
    if out is not None:
        _write(out, tree, tables=tables, notes=notes, drawing=benches.plot(cells))
    if json:
        print_json(tree)
    else:
        _show(tables, notes)
    if any(cell.errors for cell in cells):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bench")(bench)
