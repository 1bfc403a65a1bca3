"""The command ``hlgraph eval``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import note, print_json, say
from hlgraph.cli.state import Json, Quiet, State
from hlgraph.errors import InputError
from hlgraph.progress import advance, step

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Dataset
    from hlgraph.evaluate.results import Results
    from hlgraph.evaluate.runner import EvalReport
    from hlgraph.evaluate.runs import Run, Setting
    from hlgraph.ingest.pipeline import Report
    from hlgraph.records import Document
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings

PLACE = 170  # position in the list of commands

_K = 20
Folder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of the evaluation set.", show_default=False)]
Questions = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Questions to use instead of those in the folder.", show_default=False),
]
Strategies = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Strategies, separated by commas, or all: every strategy that needs no chat model.  [default: those of "
        "--set, else all]",
        show_default=False,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="STRATEGY.PARAMETER=VALUES",
        help="Ask the strategy again with other values of a parameter, separated by commas (may be repeated).",
        show_default=False,
    ),
]
Subset = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Ask only the questions of this subset (may be repeated).", show_default=False),
]
Limit = Annotated[int | None, typer.Option(metavar="N", help="Ask only the first N questions.", show_default=False)]
Preset = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Parameters: paper (as in the papers), tuned (for small models), fast (strategy path in less time), plain "
        "(no reranker).",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Compare the others with this strategy (default: the best one).", show_default=False
    ),
]
Save = Annotated[
    str | None, typer.Option(metavar="RUN.json", help="Save every outcome to this file.", show_default=False)
]
Baseline = Annotated[
    str | None, typer.Option(metavar="RUN.json", help="Compare with this saved run.", show_default=False)
]
Out = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Write table.md, results.json and a plot to this folder.", show_default=False),
]


def _documents(dataset: Dataset) -> Iterator[Document]:
    from hlgraph.evaluate.asking import PREFIX
    from hlgraph.evaluate.datasets import read_passages
    from hlgraph.records import Document

    for passage in read_passages(dataset.passages_path):
        yield Document(f"{PREFIX}{passage.id}", passage.text, passage.title, passage.metadata, key=passage.id)


def _ingest(graph: HLGraph, dataset: Dataset) -> Report:
    files = tuple(str(path) for path in dataset.extractions)
    return graph.ingest(
        _documents(dataset),
        extract="precomputed" if files else "local",
        extractions=files,
        missing="local",
        is_chunked=True,
    )


def _ingest_line(dataset: Dataset, report: Report) -> str:
    seconds = ", ".join(f"{step} {value:.1f} s" for step, value in report.seconds.items())
    return (
        f"{dataset.name}: {report.sources_added} passages added, {report.sources_changed} changed, "
        f"{report.sources_unchanged} unchanged ({seconds})"
    )


def _extraction(dataset: Dataset) -> str:
    files = ", ".join(path.name for path in dataset.extractions)
    return f"precomputed: {files}; local for passages without a record" if files else "local"


def _setting(settings: Settings, dataset: Dataset, *, preset: str, retrievers: dict[str, Retriever]) -> Setting:
    from hlgraph import __version__
    from hlgraph.evaluate.asking import parameters
    from hlgraph.evaluate.runs import Setting
    from hlgraph.models.choose import chosen_reranker

    kinds = [url.partition("://")[0] for url in (settings.store, settings.vectors) if url]
    return Setting(
        version=__version__,
        preset=preset,
        extraction=_extraction(dataset),
        store=" and ".join(kinds),
        embedder=settings.models.embedder,
        reranker=chosen_reranker(settings.models.reranker, settings.models).fingerprint,
        k=_K,
        parameters=parameters(retrievers),
    )


def _with_embedder(planned: Run, graph: HLGraph) -> Run:
    """The run with the exact embedding model of the corpus, known once it is ingested."""
    held = next((item.embedding for item in graph.stats() if item.corpus == graph.corpus), "")
    return replace(planned, setting=replace(planned.setting, embedder=held)) if held else planned


def _warm(graph: HLGraph, dataset: Dataset) -> None:
    """Load the model and embed every question before timing starts, so that the first strategy does not pay for it."""
    from hlgraph.retrieve.strategies.chunk import ChunkRetriever

    with step("warm", len(dataset.questions), unit="questions"):
        for question in dataset.questions:
            graph.search(question.text, strategy=ChunkRetriever(), k=1)
            advance("warm")


def _retrievers(strategies: str | None, sets: Sequence[str], *, preset: str) -> dict[str, Retriever]:
    """The retrievers to ask, and their variants; without ``--strategies`` those that ``--set`` names, else all."""
    from hlgraph.evaluate.asking import ALL, chosen
    from hlgraph.evaluate.sweep import knob, with_variants

    knobs = [knob(text) for text in sets]
    named = strategies or ",".join(dict.fromkeys(item.strategy for item in knobs)) or ALL
    return with_variants(chosen(named, preset), knobs)


def _prepare(graph: HLGraph, retrievers: dict[str, Retriever], *, is_all: bool) -> None:
    """Build what the retrievers need; with ``is_all``, skip the hierarchy if its extra is not installed."""
    from hlgraph.errors import MissingExtraError
    from hlgraph.evaluate.asking import prepare
    from hlgraph.evaluate.sweep import base_of

    try:
        prepare(graph, retrievers.values())
    except MissingExtraError as error:
        if not is_all:
            raise
        note(f"hlgraph: warning: the strategy hierarchy is skipped: {error}")
        for name in [name for name in retrievers if base_of(name) == "hierarchy"]:
            del retrievers[name]


def _ask(graph: HLGraph, dataset: Dataset, *, retrievers: dict[str, Retriever]) -> EvalReport:
    from hlgraph.evaluate.asking import searches
    from hlgraph.evaluate.counting import Tally, counted
    from hlgraph.evaluate.runner import evaluate as run

    tally = Tally()
    watched = graph.watched(lambda stores: counted(stores, tally))
    _warm(watched, dataset)
    return run(dataset, searches(watched, retrievers, k=_K), cost=tally.take)


def _plan(dataset: Dataset, setting: Setting, baseline: str | None) -> tuple[Run, Run | None]:
    """The new run without outcomes, and the earlier run; an incomparable one is refused before any question is asked."""
    from hlgraph.evaluate.datasets import corpus_fingerprint, questions_fingerprint
    from hlgraph.evaluate.runner import EvalReport
    from hlgraph.evaluate.runs import check_comparable, load_run, run_of

    planned = run_of(
        EvalReport(dataset.name, dataset.questions, {}),
        setting,
        corpus=corpus_fingerprint(dataset.passages_path),
        asked=questions_fingerprint(dataset.questions),
    )
    if baseline is None:
        return planned, None
    earlier = load_run(baseline)
    check_comparable(planned, earlier)
    return planned, earlier


def _results(report: EvalReport, planned: Run, *, earlier: Run | None, against: str | None) -> Results:
    from hlgraph.evaluate.comparison import run_differences, uncertainty
    from hlgraph.evaluate.results import Results, default_against
    from hlgraph.evaluate.runs import changed

    return Results(
        report=report,
        uncertainty=uncertainty(report),
        setting=planned.setting,
        corpus=planned.corpus,
        asked=planned.asked,
        against=default_against(report, against),
        earlier=tuple(run_differences(report, earlier.report())) if earlier else (),
        changes=tuple(changed(planned.setting, earlier.setting)) if earlier else (),
    )


def _check_place(save: str | None) -> None:
    """Check that the folder of ``save`` exists, since asking can take an hour."""
    if save is not None and not Path(save).absolute().parent.is_dir():
        raise InputError(f"{save}: the folder {Path(save).parent} does not exist; create it, or give another path")


def _check_names(retrievers: dict[str, Retriever], *, against: str | None, earlier: Run | None) -> None:
    if against is not None and against not in retrievers:
        raise InputError(
            f"--against {against!r} is not among the strategies asked; give one of {', '.join(retrievers)}"
        )
    if earlier is not None and not set(retrievers) & set(earlier.outcomes):
        raise InputError(
            f"the earlier run asked {', '.join(earlier.outcomes)}, this one asks {', '.join(retrievers)}; ask at least "
            "one strategy of the earlier run"
        )


def evaluate(
    context: typer.Context,
    folder: Folder,
    questions: Questions = None,
    strategies: Strategies = None,
    sets: Set = None,
    subset: Subset = None,
    limit: Limit = None,
    preset: Preset = "paper",
    against: Against = None,
    save: Save = None,
    baseline: Baseline = None,
    out: Out = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure retrieval on an evaluation set.

    The folder holds corpus.jsonl.gz (id, title, text), questions.dev.jsonl.gz (id, question, supporting_passage_ids)
    and optionally extractions; plain .jsonl files work too. The passages are ingested once, one chunk each, into the
    corpus eval-DIR of the store, and reused if unchanged. Recall is the percentage of supporting passages found;
    round_trips, rows and bytes are store traffic, the mean per question; cpu_ms is the median CPU time of this process.
    Questions are embedded before timing starts.

    With --set, every combination of the values is one more strategy, such as path[jump_points=0]; the table compares
    all of them with the strategy itself. A part of a parameter is named with a dot: local.walk.damping=0.5. Values that
    exclude each other are refused.

    Intervals are 95 % confidence intervals from a paired bootstrap over questions (10,000 resamples, seeded). A
    difference whose interval contains 0 is marked as noise. Two runs are compared only if corpus and questions are the
    same. A question on which a strategy fails counts as nothing found, and the exit code is 1.

    \b
    Examples:
      hlgraph eval data/musique --strategies chunk,statement --limit 100 --json
      hlgraph eval data/musique --save before.json --out tables/
      hlgraph eval data/musique --preset tuned --baseline before.json
      hlgraph eval data/musique --set local.cycles=1,2,3
    """
    from hlgraph.evaluate.asking import ALL
    from hlgraph.evaluate.datasets import load
    from hlgraph.evaluate.results import as_text, as_tree, write_folder
    from hlgraph.evaluate.runs import run_of
    from hlgraph.evaluate.runs import save as save_run

    state: State = context.obj
    retrievers = _retrievers(strategies, sets or (), preset=preset)
    _check_place(save)
    dataset = load(folder, questions=questions, limit=limit, subsets=subset or ())
    setting = _setting(state.settings(), dataset, preset=preset, retrievers=retrievers)
    planned, earlier = _plan(dataset, setting, baseline)
    _check_names(retrievers, against=against, earlier=earlier)
    with state.open(f"eval-{dataset.name}") as graph, progress("evaluating", quiet=quiet, is_json=json):
        ingested = _ingest(graph, dataset)
        if not json:
            note(_ingest_line(dataset, ingested))
        for failure in ingested.failed:
            note(f"hlgraph: warning: not ingested: {failure.error}")
        planned = _with_embedder(planned, graph)
        _prepare(graph, retrievers, is_all=strategies in (None, ALL))
        report = _ask(graph, dataset, retrievers=retrievers)
    compared = against or next((text.partition(".")[0].strip() for text in sets or ()), None)
    results = _results(report, planned, earlier=earlier, against=compared)
    if save is not None:
        save_run(run_of(report, planned.setting, corpus=planned.corpus, asked=planned.asked), save)
    if out is not None:
        write_folder(results, out)
    if json:
        print_json(as_tree(results))
    else:
        say(*as_text(results))
    if ingested.failed or report.failed:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)
