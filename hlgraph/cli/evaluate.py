"""hlgraph eval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.ingest import progress_text
from hlgraph.cli.output import note, print_json, say
from hlgraph.cli.progress import progress
from hlgraph.cli.state import Json, State
from hlgraph.errors import UnknownNameError

if TYPE_CHECKING:
    from hlgraph.client import HLGraph
    from hlgraph.evaluate.datasets import Dataset
    from hlgraph.evaluate.runner import EvalReport, Search
    from hlgraph.pipeline import Report
    from hlgraph.records import Document

_K = 20
_PREFIX = "passage:"
_PARTS = 10  # of the questions of a strategy, after each of which progress is shown


def _documents(dataset: Dataset) -> Iterator[Document]:
    from hlgraph.evaluate.datasets import read_passages
    from hlgraph.records import Document

    for passage in read_passages(dataset.passages_path):
        yield Document(f"{_PREFIX}{passage.id}", passage.text, passage.title, key=passage.id)


def _ingest(graph: HLGraph, dataset: Dataset, show: Callable[[str], None]) -> Report:
    from hlgraph.client import IngestOptions

    files = tuple(str(path) for path in dataset.extractions)
    options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
    return graph.ingest(_documents(dataset), options=options, on_progress=lambda at: show(progress_text(at)))


def _ingest_line(dataset: Dataset, report: Report) -> str:
    seconds = ", ".join(f"{step} {value:.1f} s" for step, value in report.seconds.items())
    return (
        f"{dataset.name}: {report.sources_added} passages added, {report.sources_changed} changed, "
        f"{report.sources_unchanged} unchanged ({seconds})"
    )


def _search(graph: HLGraph, name: str, preset: str) -> Search:
    from hlgraph.evaluate.runner import Ranked
    from hlgraph.retrieve.presets import retriever

    chosen = retriever(name, preset)

    def ask(question: str) -> Ranked:
        found = graph.search(question, strategy=chosen, k=_K, unit="chunk")
        ids = tuple(item.source.uri.removeprefix(_PREFIX) for item in found.evidence)
        return Ranked(ids, found.explain.round_trips)

    return ask


def _warm(graph: HLGraph, dataset: Dataset) -> None:
    """Load the model and embed every question before anything is timed, or the first strategy would pay for all."""
    for question in dataset.questions:
        graph.search(question.text, strategy="chunk", k=1)


def _asked(show: Callable[[str], None]) -> Callable[[str, int, int], None]:
    def at(name: str, done: int, total: int) -> None:
        if done % max(1, total // _PARTS) == 0 or done == total:
            show(f"{name}: {done} of {total} questions")

    return at


def _table(report: EvalReport) -> list[str]:
    figures = report.to_json()["strategies"]
    columns = list(next(iter(figures.values())))
    lines = [f"{report.dataset}, {report.questions} questions", f"{'':14}" + "".join(f"{name:>12}" for name in columns)]
    lines.extend(f"{name:14}" + "".join(f"{row[column]:12.2f}" for column in columns) for name, row in figures.items())
    return lines


def evaluate(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the evaluation set.", show_default=False)],
    questions: Annotated[
        str | None, typer.Option(metavar="FILE", help="Questions to use instead of its own.", show_default=False)
    ] = None,
    strategies: Annotated[str, typer.Option(metavar="NAMES", help="Strategies, with commas between, or all.")] = "all",
    limit: Annotated[
        int | None, typer.Option(metavar="N", help="Ask only the first N questions.", show_default=False)
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Parameters: paper (those of the papers), plain (no reranker) or tuned (for a small embedder).",
        ),
    ] = "paper",
    json: Json = False,
) -> None:
    """Measure retrieval on an evaluation set.

    The folder holds corpus.jsonl.gz (id, title, text), questions.dev.jsonl.gz (id, question, supporting_passage_ids)
    and, where there, extractions; .jsonl does too. The passages are ingested once, one chunk each, into the corpus
    eval-DIR of the store, and reused when unchanged. Recall is in per cent of the supporting passages; round_trips are
    calls to the stores, mean a question. Questions are embedded before they are timed.

    \b
    Example:
      hlgraph eval data/musique --strategies chunk,statement --limit 100 --json
    """
    from hlgraph.evaluate.datasets import load
    from hlgraph.evaluate.runner import evaluate as run
    from hlgraph.retrieve import STRATEGIES

    state: State = context.obj
    names = (
        sorted(STRATEGIES) if strategies == "all" else [name.strip() for name in strategies.split(",") if name.strip()]
    )
    if not names:
        raise UnknownNameError(f"no strategy is named; choose all, or some of: {', '.join(sorted(STRATEGIES))}")
    dataset = load(folder, questions=questions, limit=limit)
    with state.open(f"eval-{dataset.name}") as graph, progress("reading passages", is_shown=not json) as show:
        searches = {name: _search(graph, name, preset) for name in names}
        ingested = _ingest(graph, dataset, show)
        if not json:
            note(_ingest_line(dataset, ingested))
        for failure in ingested.failed:
            note(f"hlgraph: warning: not ingested: {failure.error}")
        _warm(graph, dataset)
        report = run(dataset, searches, progress=_asked(show))
    if json:
        print_json({**report.to_json(), "preset": preset})
    else:
        say(*_table(report))
    if ingested.failed:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)
