"""hlgraph eval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.output import note, print_json
from hlgraph.cli.state import Json, State
from hlgraph.errors import UnknownNameError

if TYPE_CHECKING:
    from hlgraph.client import HLGraph
    from hlgraph.evaluate.datasets import Dataset
    from hlgraph.evaluate.runner import EvalReport, Search
    from hlgraph.records import Document

_K = 20
_PREFIX = "passage:"


def _documents(dataset: Dataset) -> Iterator[Document]:
    from hlgraph.evaluate.datasets import read_passages
    from hlgraph.records import Document

    for passage in read_passages(dataset.passages_path):
        yield Document(f"{_PREFIX}{passage.id}", passage.text, passage.title, key=passage.id)


def _ingest(graph: HLGraph, dataset: Dataset) -> None:
    from hlgraph.client import IngestOptions

    files = tuple(str(path) for path in dataset.extractions)
    options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
    report = graph.ingest(_documents(dataset), options=options, on_progress=lambda at: note(f"{at.sources} passages"))
    seconds = ", ".join(f"{step} {value:.1f} s" for step, value in report.seconds.items())
    note(
        f"{dataset.name}: {report.sources_added} passages added, {report.sources_changed} changed, "
        f"{report.sources_unchanged} unchanged ({seconds})"
    )
    for failure in report.failed:
        note(f"failed: {failure.error}")


def _search(graph: HLGraph, name: str, preset: str) -> Search:
    from hlgraph.evaluate.runner import Ranked
    from hlgraph.retrieve.presets import retriever

    chosen = retriever(name, preset)

    def ask(question: str) -> Ranked:
        found = graph.search(question, strategy=chosen, k=_K, unit="chunk")
        ids = tuple(item.source.uri.removeprefix(_PREFIX) for item in found.evidence)
        return Ranked(ids, found.explain.round_trips)

    return ask


def _table(report: EvalReport) -> list[str]:
    figures = report.to_json()["strategies"]
    columns = list(next(iter(figures.values())))
    lines = [f"{report.dataset}, {report.questions} questions", f"{'':14}" + "".join(f"{name:>12}" for name in columns)]
    lines.extend(f"{name:14}" + "".join(f"{row[column]:12.2f}" for column in columns) for name, row in figures.items())
    return lines


def evaluate(
    context: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Folder of the evaluation set.", show_default=False)],
    questions: Annotated[str | None, typer.Option(help="File of questions to use instead.", show_default=False)] = None,
    strategies: Annotated[str, typer.Option(help="Names with commas, or all.")] = "all",
    limit: Annotated[int | None, typer.Option(help="Ask only the first N questions.", show_default=False)] = None,
    preset: Annotated[str, typer.Option(help="Parameters: paper (those of the papers) or plain (no reranker).")] = "paper",
    json: Json = False,
) -> None:
    """Measure retrieval on a folder with corpus, questions and, where there, extractions (one chunk a passage).

    The passages are ingested once, into the corpus eval-NAME of the store, and reused when unchanged. Recall is in per
    cent of the supporting passages; round_trips are calls to the stores, mean a question.

    Example:

      hlgraph eval data/musique --strategies chunk,statement --limit 100 --json
    """
    from hlgraph.evaluate.datasets import load
    from hlgraph.evaluate.runner import evaluate as run
    from hlgraph.retrieve import STRATEGIES

    state: State = context.obj
    names = sorted(STRATEGIES) if strategies == "all" else [name.strip() for name in strategies.split(",") if name.strip()]
    if not names:
        raise UnknownNameError(f"no strategy is named; choose all, or some of: {', '.join(sorted(STRATEGIES))}")
    dataset = load(folder, questions=questions, limit=limit)
    with state.open(f"eval-{dataset.name}") as graph:
        searches = {name: _search(graph, name, preset) for name in names}
        _ingest(graph, dataset)
        report = run(dataset, searches)
    if json:
        print_json({**report.to_json(), "preset": preset})
    else:
        print("\n".join(_table(report)))


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)
