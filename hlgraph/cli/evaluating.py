"""Implementation of ``hlgraph eval``: ingests a set, runs its questions, and assembles the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from hlgraph.cli.bars import progress
from hlgraph.cli.claiming import check_claims, claims_of
from hlgraph.cli.judging import Judging, judged_in_eval
from hlgraph.cli.output import note, print_json, say
from hlgraph.errors import InputError
from hlgraph.progress import advance, step

if TYPE_CHECKING:
    from hlgraph.cli.state import State
    from hlgraph.evaluate.answering import AnswerReport
    from hlgraph.evaluate.datasets import Dataset
    from hlgraph.evaluate.judges.report import JudgeReport
    from hlgraph.evaluate.report import Results
    from hlgraph.evaluate.runner import EvalReport
    from hlgraph.evaluate.runs import Run, Setting
    from hlgraph.evaluate.statistics import Section
    from hlgraph.ingest.pipeline import Report
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.records import Document
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings

_K = 20
NO_JUDGE = Judging(judges="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The options of ``hlgraph eval``, one field per option.

    ``made`` are the retrievers to ask in place of those that ``strategies`` and ``sets`` name.
    """

    folder: str | None
    questions: str | None = None
    qrels: str | None = None
    runs: tuple[str, ...] = ()
    strategies: str | None = None
    sets: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()
    limit: int | None = None
    preset: str = "paper"
    against: str | None = None
    metrics: str = ""
    is_alone: bool = False
    is_answered: bool = False
    claims: str = ""
    judging: Judging = NO_JUDGE
    budget: Budget | None = None
    save: str | None = None
    baseline: str | None = None
    out: str | None = None
    made: Mapping[str, Retriever] | None = None


def run_evaluation(state: State, asked: Evaluation, *, quiet: bool, is_json: bool) -> int:
    """Ask, measure, judge, write the files and print the results.

    The exit code is 0, 6 if the budget ended before the judges did, or 1 if anything else is missing.
    """
    from hlgraph.evaluate.report import as_text, as_tree, write_folder

    results, is_whole = measure(state, asked, quiet=quiet, is_json=is_json)
    if asked.out is not None:
        write_folder(results, asked.out)
    if is_json:
        print_json(as_tree(results))
    else:
        say(*as_text(results))
    return exit_code(results, is_whole=is_whole)


def exit_code(results: Results, *, is_whole: bool) -> int:
    """0, 6 if the budget ended before the judges did, or 1 if anything else is missing."""
    if results.judged is not None and results.judged.is_out_of_budget:
        return 6
    return 0 if is_whole and not (results.judged and results.judged.missing) else 1


def measure(state: State, asked: Evaluation, *, quiet: bool, is_json: bool) -> tuple[Results, bool]:
    """The results, and whether everything was ingested, found and answered; all checks run before the first question."""
    from hlgraph.evaluate.datasets import load
    from hlgraph.evaluate.report import default_against
    from hlgraph.evaluate.runner import ALL, lacking, named_files, read_runs, with_runs
    from hlgraph.evaluate.runs import run_of
    from hlgraph.evaluate.runs import save as save_run

    if asked.folder is None:
        raise InputError("no evaluation set is given; give its folder DIR, or a table of a paper with --recipe")
    check_claims(asked.claims, state.settings(), is_answered=asked.is_answered)
    further = _further(asked.metrics, is_answered=asked.is_answered)
    retrievers = _retrievers(asked)
    _check_place(asked.save)
    dataset = load(asked.folder, questions=asked.questions, limit=asked.limit, subsets=asked.subsets, qrels=asked.qrels)
    outside = read_runs(named_files(asked.runs, strategies=retrievers), dataset, k=_K)
    setting = _setting(state.settings(), dataset, asked=asked, retrievers=retrievers)
    planned, earlier = _plan(dataset, setting, asked.baseline)
    _check_names([*retrievers, *outside], against=asked.against, earlier=earlier)
    asked.judging.check(state.settings(), asked.budget, strategies=list(retrievers), is_answered=asked.is_answered)
    with state.open(f"eval-{dataset.name}") as graph, progress("evaluating", quiet=quiet, is_json=is_json):
        ingested = ingest_set(graph, dataset)
        if not is_json:
            note(_ingest_line(dataset, ingested))
        for failure in ingested.failed:
            note(f"hlgraph: warning: not ingested: {failure.error}")
        planned = _with_embedder(planned, graph)
        _prepare(graph, retrievers, is_all=asked.strategies in (None, ALL))
        own = _ask(graph, dataset, retrievers=retrievers)
        report = with_runs(own, outside)
        answered = _answer(graph, dataset, retrievers=retrievers, budget=asked.budget) if asked.is_answered else None
        judged = judged_in_eval(graph.settings, answered, asked.judging, budget=asked.budget)
        sections = _sections(report, answered, judged, further=further)
        if answered is not None and asked.claims:
            sections.append(
                claims_of(answered, asked.claims, settings=graph.settings, budget=asked.budget, judged=judged)
            )
    compared = asked.against or next((text.partition(".")[0].strip() for text in asked.sets), None)
    compared = default_against(report if compared else own, compared)
    results = _results(report, planned, earlier=earlier, against=compared)
    results = _with_sections(replace(results, answers=answered, judged=judged), earlier, sections=sections)
    results = replace(results, titles=_titles(dataset, results), warnings=tuple(lacking(dataset, outside)))
    if asked.save is not None:
        save_run(
            run_of(report, planned.setting, corpus=planned.corpus, asked=planned.asked, sections=sections), asked.save
        )
    failed = (
        ingested.failed or report.failed or (answered and any(item.failed for item in answered.strategies.values()))
    )
    return results, not failed


def _documents(dataset: Dataset) -> Iterator[Document]:
    from hlgraph.evaluate.datasets import read_passages
    from hlgraph.evaluate.runner import PREFIX
    from hlgraph.records import Document

    for passage in read_passages(dataset.passages_path):
        yield Document(f"{PREFIX}{passage.id}", passage.text, passage.title, passage.metadata, key=passage.id)


def ingest_set(graph: HLGraph, dataset: Dataset) -> Report:
    """Ingest the passages of an evaluation set, one chunk each, with their extractions; unchanged passages are reused."""
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


def _setting(settings: Settings, dataset: Dataset, *, asked: Evaluation, retrievers: dict[str, Retriever]) -> Setting:
    from hlgraph import __version__
    from hlgraph.evaluate.runner import parameters
    from hlgraph.evaluate.runs import Setting
    from hlgraph.models.choose import chosen_reranker

    kinds = [url.partition("://")[0] for url in (settings.store, settings.vectors) if url]
    return Setting(
        version=__version__,
        preset=asked.preset,
        extraction=_extraction(dataset),
        store=" and ".join(kinds),
        embedder=settings.models.embedder,
        reranker=chosen_reranker(settings.models.reranker, settings.models).fingerprint,
        chat=settings.models.chat if asked.is_answered else "",
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


def _retrievers(asked: Evaluation) -> dict[str, Retriever]:
    """The retrievers to run, their variants, and the baselines; by default those that ``--set`` names, otherwise all."""
    from hlgraph.evaluate.runner import ALL, chosen, with_baselines
    from hlgraph.evaluate.sweep import knob, with_variants

    knobs = [knob(text) for text in asked.sets]
    named = asked.strategies or ",".join(dict.fromkeys(item.strategy for item in knobs)) or ALL
    found = dict(asked.made) if asked.made is not None else with_variants(chosen(named, asked.preset), knobs)
    return found if asked.is_alone else with_baselines(found)


def _prepare(graph: HLGraph, retrievers: dict[str, Retriever], *, is_all: bool) -> None:
    """Build what the retrievers need; with ``is_all``, skip the hierarchy if its extra is not installed."""
    from hlgraph.errors import MissingExtraError
    from hlgraph.evaluate.runner import prepare
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
    from hlgraph.evaluate.counting import Tally, counted
    from hlgraph.evaluate.runner import evaluate as run
    from hlgraph.evaluate.runner import searches

    tally = Tally()
    watched = graph.watched(lambda stores: counted(stores, tally))
    _warm(watched, dataset)
    return run(dataset, searches(watched, retrievers, k=_K), cost=tally.take)


def _answer(
    graph: HLGraph, dataset: Dataset, *, retrievers: dict[str, Retriever], budget: Budget | None
) -> AnswerReport:
    """The answers; a chat model is asked for its reason, so that the answer stands alone behind it."""
    from hlgraph.evaluate.answering import answer_all

    style: Literal["plain", "reason"] = "reason" if graph.settings.models.chat else "plain"
    return answer_all(graph, dataset, retrievers=retrievers, k=_K, style=style, budget=budget)


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


class _Further(NamedTuple):
    """The measures of ``--metrics``: of rankings, and of texts of answers."""

    of_rankings: tuple[str, ...]
    of_texts: tuple[str, ...]


def _further(metrics: str, *, is_answered: bool) -> _Further:
    """The named measures, checked before anything is asked."""
    from hlgraph.evaluate.answering import NAMES, check_texts
    from hlgraph.evaluate.metrics.retrieval import check_names

    names = tuple(dict.fromkeys(name.strip() for name in metrics.split(",") if name.strip()))
    found = _Further(tuple(name for name in names if name not in NAMES), tuple(name for name in names if name in NAMES))
    check_names(found.of_rankings, others=NAMES)
    if found.of_texts and not is_answered:
        raise InputError(f"{', '.join(found.of_texts)}: a measure of answers; give --answers, too")
    check_texts(found.of_texts)
    return found


def _results(report: EvalReport, planned: Run, *, earlier: Run | None, against: str) -> Results:
    from hlgraph.evaluate.comparison import run_differences, uncertainty
    from hlgraph.evaluate.report import Results
    from hlgraph.evaluate.runs import changed

    return Results(
        report=report,
        uncertainty=uncertainty(report),
        setting=planned.setting,
        corpus=planned.corpus,
        asked=planned.asked,
        against=against,
        earlier=tuple(run_differences(report, earlier.report())) if earlier else (),
        changes=tuple(changed(planned.setting, earlier.setting)) if earlier else (),
    )


def _sections(
    report: EvalReport, answered: AnswerReport | None, judged: JudgeReport | None, *, further: _Further
) -> list[Section]:
    """The measures beside recall, in the order of the report."""
    from hlgraph.evaluate.answering import section, text_section
    from hlgraph.evaluate.comparison import ranked_section
    from hlgraph.evaluate.judges.report import judged_section

    found = [ranked_section(report, further.of_rankings)] if further.of_rankings else []
    if answered is None:
        return found
    outcomes = {name: item.outcomes for name, item in answered.strategies.items()}
    by = "chat model" if answered.by_chat else "extractive"
    found.append(section(answered.questions, outcomes, title=f"answers ({by})"))
    if further.of_texts:
        found.append(text_section(answered, further.of_texts))
    return found if judged is None or not judged.answers else [*found, judged_section(judged)]


def _with_sections(results: Results, earlier: Run | None, *, sections: Sequence[Section]) -> Results:
    """The results with their further sections, compared in pairs, and with those of the earlier run."""
    from hlgraph.evaluate.comparison import section_differences
    from hlgraph.evaluate.statistics import in_pairs

    before = {item.title: item for item in earlier.sections} if earlier else {}
    further = [
        found for item in sections if item.title in before for found in section_differences(item, before[item.title])
    ]
    alone = sorted({item.title for item in sections} ^ set(before)) if earlier else []
    return replace(
        results,
        sections=tuple(in_pairs(item, results.against) for item in sections),
        earlier=(*results.earlier, *further),
        changes=(*results.changes, *(f"{title}: only one of the two runs has it" for title in alone)),
    )


def _titles(dataset: Dataset, results: Results) -> dict[str, str]:
    """Titles of the passages that the page of the report names."""
    from hlgraph.evaluate.datasets import read_passages
    from hlgraph.evaluate.figures import losses, passages_of

    wanted = passages_of(item for items in losses(results.report, results.against).values() for item in items)
    return {item.id: item.title for item in read_passages(dataset.passages_path) if item.id in wanted and item.title}


def _check_place(save: str | None) -> None:
    """Check that the folder of ``save`` exists, since asking can take an hour."""
    if save is not None and not Path(save).absolute().parent.is_dir():
        raise InputError(f"{save}: the folder {Path(save).parent} does not exist; create it, or give another path")


def _check_names(strategies: Sequence[str], *, against: str | None, earlier: Run | None) -> None:
    from hlgraph.evaluate.runner import BASELINES

    if against is not None and against not in strategies:
        raise InputError(
            f"--against {against!r} is not among the strategies asked; give one of {', '.join(strategies)}"
        )
    named = set(strategies) - set(BASELINES) or set(strategies)
    if earlier is not None and not named & set(earlier.outcomes):
        raise InputError(
            f"the earlier run asked {', '.join(earlier.outcomes)}, this one asks {', '.join(strategies)}; ask at least "
            "one strategy of the earlier run"
        )
