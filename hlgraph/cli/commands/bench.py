"""The command ``hlgraph bench``."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, command, option
from hlgraph.errors import InputError
from hlgraph.progress import step

if TYPE_CHECKING:
    from hlgraph.evaluate.bench import Cell, EmbedderName, Size
    from hlgraph.settings import Settings

PLACE = 180  # position in the list of commands

app = typer.Typer()

Statements = Annotated[str, option("N,...", "Corpus sizes in statements, separated by commas; multiples of 10.")]
Strategies = Annotated[
    str, option("NAMES", "Strategies, separated by commas, or all: every strategy that needs no chat model.")
]
Preset = Annotated[str, option("NAME", "Parameters: paper, tuned, fast or plain.")]
Vectors = Annotated[
    Literal["made-up", "model"],
    option("", "Made-up vectors, which need no model, or vectors of the model in the settings."),
]
Folder = Annotated[str | None, option("DIR", "Create the embedded store here and keep it for the next run.")]
Out = Annotated[str | None, option("DIR", "Write table.md, results.json and a plot to this folder.")]


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


def _measure(
    settings: Settings, presets: Mapping[str, str], *, statements: int, questions: int, embedder: EmbedderName
) -> tuple[Size, list[Cell]]:
    """Ingest a corpus of a size and ask it by each strategy, with its preset."""
    from hlgraph.evaluate.bench import BenchPlan, ingest_size, measure, prepare_size, questions_for
    from hlgraph.sdk.client import connect

    texts = questions_for(statements, questions)
    chosen, size = ingest_size(statements, settings, embedder=embedder)
    cells = []
    try:
        prepare_size(chosen, presets, embedder=embedder)
        for name, preset in presets.items():
            plan = BenchPlan(settings=chosen, strategy=name, preset=preset, questions=texts, embedder=embedder)
            with step(f"ask {name} over {statements:,} statements"):
                cells.append(measure(plan, size=statements))
    finally:
        if not settings.store.startswith("hlgraph://"):
            with step("remove the corpus"), connect(chosen) as graph:
                graph.delete(everything=True)
    return size, cells


@command(app, "bench", "quiet")
def bench(
    cli: Invocation,
    statements: Statements = "10000,100000",
    strategies: Strategies = "all",
    preset: Preset = "paper",
    questions: Annotated[int, option("N", "Questions to ask each strategy.")] = 100,
    embedder: Vectors = "made-up",
    folder: Folder = None,
    out: Out = None,
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
    from hlgraph.evaluate.figures import as_lines, as_markdown
    from hlgraph.evaluate.report import write_files
    from hlgraph.evaluate.runner import chosen

    presets = dict.fromkeys(chosen(strategies, preset), preset)
    sizes: list[Size] = []
    cells: list[Cell] = []
    with _place(cli.settings(), folder) as settings, cli.progress("measuring"):
        for count in _sizes(statements):
            size, new_cells = _measure(settings, presets, statements=count, questions=questions, embedder=embedder)
            sizes.append(size)
            cells.extend(new_cells)
    tree = {
        **benches.as_tree(sizes, cells),
        "embedder": embedder,
        "preset": preset,
        "questions": questions,
        "store": settings.store.partition("://")[0],
    }
    tables = benches.tables(sizes, cells)
    notes = benches.notes(cells, embedder)
    if out is not None:
        markdown = [line for table in tables for line in (*as_markdown(table), "")]
        contents = {
            "table.md": "\n".join(["# hlgraph bench", "", *(f"- {line}" for line in notes), "", *markdown]),
            "results.json": f"{dumps(tree, indent=2)}\n",
            "growth.svg": benches.plot(cells),
        }
        write_files(Path(out), contents)
    cli.show(
        tree,
        [*(line for table in tables for line in (*as_lines(table), "")), *notes],
        fails=any(cell.errors for cell in cells),
    )
