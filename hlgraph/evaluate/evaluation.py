"""Run an evaluation: ingest a set, ask its questions, and measure, judge and compare the results."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hlgraph.errors import InputError, MissingExtraError, UnknownNameError
from hlgraph.evaluate import answering
from hlgraph.evaluate.answering import CLOSED_BOOK, ReaderOptions, Readers, reader_of
from hlgraph.evaluate.datasets import Dataset, Question, corpus_fingerprint, load, questions_fingerprint, read_passages
from hlgraph.evaluate.judges.report import JudgeOptions, JudgeReport, candidates_of, judged_section
from hlgraph.evaluate.metrics import check_names
from hlgraph.evaluate.report import Evaluation
from hlgraph.evaluate.runner import (
    ALL,
    BASELINES,
    EvalReport,
    GoldSelector,
    Run,
    Setting,
    StrategyResult,
    Tally,
    changed,
    check_comparable,
    chosen,
    counted,
    coverage,
    documents_of,
    evaluate,
    gold_statements,
    ingest_set,
    lacking,
    load_run,
    named_files,
    needs_hierarchy,
    parameters,
    prepare,
    read_runs,
    run_of,
    searches,
    with_baselines,
)
from hlgraph.evaluate.statistics import (
    Interval,
    Section,
    default_against,
    in_pairs,
    losses,
    passages_of,
    ranked_section,
    run_differences,
    section_differences,
    uncertainty,
)
from hlgraph.evaluate.sweep import base_of, knob, with_variants
from hlgraph.ids import checksum
from hlgraph.index.hierarchy import HierarchyQuery
from hlgraph.ingest.options import IngestOptions
from hlgraph.models.accounts.ledger import total
from hlgraph.models.choose import chosen_reranker
from hlgraph.progress import OnProgress, advance, listening, step
from hlgraph.records import Kind, Source
from hlgraph.retrieve.retriever import units_of
from hlgraph.retrieve.strategies.chunk import ChunkRetriever

if TYPE_CHECKING:
    from hlgraph.evaluate.answering import AnswerReport
    from hlgraph.ingest.report import Report
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings

K = 20
"""Number of passages to request from each strategy."""
_SAMPLE = 1_000  # statements that are judged for ACCURACY
_NODES = 10  # best nodes over all layers
_CHUNKS = 40  # chunks to request in order to rank 20 sources, if the gold of questions are sources
WORDS, CHAT = "words", "chat"
COUNTS: Mapping[str, Kind] = {
    name: Kind(name.removesuffix("s").replace("entitie", "entity"))
    for name in ("sources", "chunks", "topics", "statements", "facts", "entities")
}
"""Figures of a corpus that count its records."""
TOKENS = ("input_tokens", "output_tokens")
"""Tokens that a chat model used to extract the corpus; undefined if none was used."""
ACCURACY = "statement_accuracy"
"""Share of 1,000 statements that their chunks support (HLG, appendix A), judged by the chat model or by words."""

_SHARES = ((0, 2), (3, 5), (6, 8), (9, 10))
_LAYER_KINDS: Mapping[str, Kind] = {"chunks": Kind.CHUNK, "summaries": Kind.SUMMARY}
LAYERS = tuple(f"{kind}_{low}_{high}" for kind in _LAYER_KINDS for low, high in _SHARES)
"""Measures such as ``chunks_0_2``: whether 0 to 2 of the 10 best nodes over all layers are chunks (GraphMPA, Tables 5 and 6)."""
Layers: TypeAlias = HierarchyQuery | Mapping[str, HierarchyQuery]
"""Parameters of the layers for all strategies, or by the name of the strategy."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """How an evaluation is run: the parameters of :meth:`hlgraph.HLGraph.evaluate`, with names separated by commas.

    Attributes
    ----------
    questions, qrels : files that replace those of the set
    runs : runs of other systems, each as ``NAME=FILE``
    strategies : names; None: those that ``sets`` name, otherwise all
    sets : values of parameters to compare, such as ``path.jump_points=0,1``
    subsets, limit : which questions are asked
    preset : preset of the strategies' parameters
    against : the strategy to compare with; None: the first of ``sets``, otherwise the best
    metrics : names of further measures
    is_alone : leave out the baselines
    is_answered : answer the questions as well
    readers : options of the readers that answer; their ``diversity`` applies to the measured passages, too
    claims : ``words`` or ``chat``; empty: claims are not checked
    judging : how answers are judged; None: they are not judged
    budget : limit for all calls of chat models together
    baseline : an earlier run to compare with, or its file
    retrievers : retrievers to use instead of those that ``strategies`` and ``sets`` name
    of_corpus : figures of the corpus to report, by the names in ``COUNTS``, ``TOKENS`` and ``ACCURACY``
    plans : readers by name of the strategy, for strategies whose answers are only planned
    closed_book : with answers, the chat model also answers without any evidence
    gold_select : also run each strategy that has a Select step with a perfect Select
    hierarchy : parameters of the layers to build before strategies search them, for all strategies or by name; None: the stored
        layers if there are any, otherwise layers with the default parameters
    """

    questions: str | Path | None = None
    qrels: str | Path | None = None
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
    readers: Readers | None = None
    claims: str = ""
    judging: JudgeOptions | None = None
    budget: Budget | None = None
    baseline: str | Path | Run | None = None
    retrievers: Mapping[str, Retriever] | None = None
    of_corpus: tuple[str, ...] = ()
    plans: Mapping[str, ReaderOptions] = field(default_factory=dict)
    closed_book: bool = False
    gold_select: bool = False
    hierarchy: Layers | None = None

    def layers_of(self, name: str) -> HierarchyQuery | None:
        """The parameters of the layers to build for a strategy; None: use the stored layers."""
        return self.hierarchy if isinstance(self.hierarchy, HierarchyQuery) else (self.hierarchy or {}).get(name)


class _Further(NamedTuple):
    """The measures other than recall: of rankings, of the texts of answers, and of the layers in rankings."""

    of_rankings: tuple[str, ...]
    of_texts: tuple[str, ...]
    of_layers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationPlan:
    """An evaluation with checked options; :meth:`run` runs it.

    Attributes
    ----------
    options : the options
    dataset : the questions, and the files of the set
    retrievers : the retrievers to run, by name of the strategy
    outside : results of other systems, by name
    planned : the run, still without outcomes
    earlier : the run to compare with
    further : the measures other than recall
    titles : titles of the sources if the questions are about an existing corpus; None for an evaluation set
    """

    options: EvaluationOptions
    dataset: Dataset
    retrievers: Mapping[str, Retriever]
    outside: Mapping[str, StrategyResult]
    planned: Run
    earlier: Run | None
    further: _Further
    titles: Mapping[str, str] | None = None

    @property
    def judges(self) -> tuple[str, ...]:
        """The judges that the questions have gold for: correctness needs answers; assertions needs answers or assertions."""
        golds = {
            "pairwise": True,
            "correctness": any(question.answers for question in self.dataset.questions),
            "assertions": any(question.answers or question.assertions for question in self.dataset.questions),
        }
        return tuple(name for name in (self.options.judging.judges if self.options.judging else ()) if golds[name])

    def run(self, graph: HLGraph, *, on_ingested: Callable[[Report], None] | None = None) -> Evaluation:
        """Ingest the set, ask its questions, answer, judge and compare. Progress goes to the listener of :mod:`hlgraph.progress`.

        Parameters
        ----------
        graph : the corpus
        on_ingested : called with the report of the ingest; default none
        """
        options, dataset = self.options, self.dataset
        ingested = None if self.titles is not None else ingest_set(graph, dataset)
        if ingested is not None and on_ingested is not None:
            on_ingested(ingested)
        for failure in ingested.failed if ingested else ():
            _LOG.warning("not ingested: %s", failure.error)
        planned = _with_embedder(self.planned, graph)
        own, answered, layered = self._asked(graph)
        planned = replace(planned, setting=replace(planned.setting, layers=layered.built))
        report = replace(own, strategies={**own.strategies, **self.outside})
        judging = options.judging and replace(options.judging, judges=self.judges)
        judged = None if answered is None else _judged(graph.settings, answered, replace(options, judging=judging))
        sections = _sections(report, answered, judged, further=self.further)
        sections += [layered.section(dataset, self.further.of_layers)] if self.further.of_layers else []
        if answered is not None and options.claims:
            sections.append(_claims(answered, options, settings=graph.settings, judged=judged))
        against = options.against or next((text.partition(".")[0].strip() for text in options.sets), None)
        evaluation = Evaluation(
            report=report,
            uncertainty=uncertainty(report),
            setting=planned.setting,
            corpus=planned.corpus,
            asked=planned.asked,
            against=default_against(report if against else own, against),
            answers=answered,
            judged=judged,
            warnings=(*lacking(dataset, self.outside), *self._warnings(), *layered.empty),
            coverage={} if dataset.questions[0].gold else coverage(graph, report),
            ingested=ingested,
            of_corpus=_of_corpus(graph, options),
            planned={**layered.planned, **self._planned_extraction(graph)},
        )
        evaluation = _compared(evaluation, self.earlier, sections=sections)
        return replace(evaluation, titles=_titles(dataset, evaluation) if self.titles is None else self.titles)

    def _planned_extraction(self, graph: HLGraph) -> dict[str, dict[str, float]]:
        """Planned tokens of an extraction by a chat model, if they were requested and no model extracted the corpus."""
        if not set(TOKENS) & set(self.options.of_corpus):
            return {}
        if any(spent.name == "extract" and spent.calls for spent in graph.ledger()):
            return {}
        batches = replace(graph.batches, chat=answering.UNNAMED)
        options = IngestOptions(extract="chat", is_chunked=True)
        plan = batches.plan(documents_of(self.dataset), options)
        return {"": {name: float(getattr(plan, name)) for name in TOKENS}}

    def _warnings(self) -> list[str]:
        """Warnings about gold that the corpus does not have, and about measures that are undefined without gold."""
        judges = self.options.judging.judges if self.options.judging else ()
        lines = [
            f"{name}: undefined, no question has answers to judge by" for name in judges if name not in self.judges
        ]
        if unknown := self.dataset.unknown:
            count = sum(not unknown.isdisjoint(question.gold) for question in self.dataset.questions)
            lines.append(
                f"{len(unknown)} supporting passages of {count} questions are not in the corpus, such as {min(unknown)}; they "
                "count as not found"
            )
        if self.options.is_answered and not any(question.answers for question in self.dataset.questions):
            lines.append(
                "EM, F1 and claims: undefined, no question has answers; a chat model can judge the answers in pairs"
            )
        return lines

    def _asked(self, graph: HLGraph) -> tuple[EvalReport, AnswerReport | None, _Layered]:
        """The results, the answers and the layers. Strategies that search layers with the same parameters run together."""
        options, tally = self.options, Tally()
        watched = graph.watched(lambda stores: counted(stores, tally))
        _warm(watched, self.dataset)
        if options.is_answered:
            _check_k(graph, {name: reader_of(options.readers, name) for name in self.retrievers})
        answers = (
            answering.Answering(graph, self.dataset, readers=options.readers, budget=options.budget)
            if options.is_answered
            else None
        )
        if answers is not None and options.closed_book:
            answers.ask_closed_book()
        selectors = [selector for each in self.retrievers.values() if (selector := _gold_selector(each)) is not None]
        gold = gold_statements(graph, self.dataset) if selectors else {}
        for selector in selectors:
            selector.statements = gold
        results: dict[str, StrategyResult] = {}
        layered = _Layered({}, {}, {}, [])
        for query, some in _by_layers(self.retrievers, options):
            built, ready = _prepared(graph, some, query=query, is_all=options.strategies in (None, ALL))
            if not ready:
                continue
            if built:
                layered.check(graph, built)
            results |= self._searched(watched, ready, tally)
            if answers is not None:
                answers.ask(ready)
            layered.plan(graph, self.dataset.questions, retrievers=ready, readers=options.plans)
            layered.add(graph, self.dataset, retrievers=ready, built=built, is_counted=bool(self.further.of_layers))
        ordered = {name: results[name] for name in self.retrievers if name in results}
        report = EvalReport(self.dataset.name, self.dataset.questions, ordered)
        return report, None if answers is None else answers.report((*self.retrievers, CLOSED_BOOK)), layered

    def _searched(
        self, watched: HLGraph, retrievers: Mapping[str, Retriever], tally: Tally
    ) -> Mapping[str, StrategyResult]:
        diversity = {name: reader_of(self.options.readers, name).diversity for name in retrievers}
        if self.titles is None:
            asking = searches(watched, retrievers, k=K, diversity=diversity)
        else:
            asking = searches(watched, retrievers, k=_CHUNKS, diversity=diversity, of_sources=True)
        return evaluate(self.dataset, asking, cost=tally.take).strategies


def run_evaluation(
    graph: HLGraph,
    data: str | Path | Sequence[Question],
    *,
    options: EvaluationOptions,
    reranker: str = "",
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Evaluate a set in its own corpus, or questions about the corpus of the graph.

    Parameters
    ----------
    graph : the graph
    data : folder of a set, or questions
    options : the options
    reranker : fingerprint of the reranker; empty: that of the settings
    on_progress : called with the progress of every step; default none
    """
    with listening(on_progress):
        if isinstance(data, str | Path):
            chat = graph.answers.model
            plan = plan_evaluation(data, options, settings=graph.settings, reranker=reranker, chat=chat)
            return plan.run(graph.in_corpus(f"eval-{plan.dataset.name}"))
        return plan_questions(graph, data, options=options, reranker=reranker).run(graph)


def plan_evaluation(
    folder: str | Path, options: EvaluationOptions, *, settings: Settings, reranker: str = "", chat: str = ""
) -> EvaluationPlan:
    """Plan the evaluation of a set. All checks that can run before the first question is asked run here.

    Parameters
    ----------
    folder : folder of the set
    options : the options
    settings : all settings
    reranker : fingerprint of the reranker; empty: that of the settings
    chat : name of the chat model that answers; empty: that of the settings

    Raises
    ------
    InputError
        An option is invalid, or the earlier run cannot be compared with this one.
    ReadError
        A file of the set, a run of another system or the earlier run cannot be read.
    UnknownNameError
        A strategy, preset, measure or judge is unknown.
    """
    _check_claims(options, settings)
    further = _further(options)
    retrievers = _retrievers(options)
    chat = chat or settings.models.chat
    _check_readers(options, chat, retrievers)
    dataset = load(
        folder, questions=options.questions, limit=options.limit, subsets=options.subsets, qrels=options.qrels
    )
    files = ", ".join(path.name for path in dataset.extractions)
    extraction = f"precomputed: {files}; local for passages without a record" if files else "local"
    outside = read_runs(named_files(options.runs, strategies=retrievers), dataset, k=K)
    plan = EvaluationPlan(
        options=options,
        dataset=dataset,
        retrievers=retrievers,
        outside=outside,
        planned=run_of(
            EvalReport(dataset.name, dataset.questions, {}),
            _setting(options, settings, retrievers, extraction=extraction, reranker=reranker, chat=chat),
            corpus=corpus_fingerprint(dataset.passages_path),
            asked=questions_fingerprint(dataset.questions),
        ),
        earlier=_earlier(options.baseline),
        further=further,
    )
    return _checked(plan, settings)


def plan_questions(
    graph: HLGraph, questions: Sequence[Question], *, options: EvaluationOptions, reranker: str = ""
) -> EvaluationPlan:
    """Plan the evaluation of questions about an existing corpus; their gold are uris of sources.

    Parameters
    ----------
    graph : the corpus
    questions : the questions
    options : the options
    reranker : fingerprint of the reranker; empty: that of the settings

    Raises
    ------
    InputError
        There are no questions, a source that a question names is not in the corpus, or an option applies only to a set's files.
    UnknownNameError
        The corpus does not exist, or as :func:`plan_evaluation` raises it.
    """
    if given := [name for name in ("questions", "qrels", "runs", "subsets") if getattr(options, name)]:
        raise InputError(
            f"{', '.join(given)}: only valid with the folder of an evaluation set; leave it out if you pass questions"
        )
    settings = graph.settings
    _check_claims(options, settings)
    further = _further(options)
    retrievers = _retrievers(options)
    chat = graph.answers.model
    _check_readers(options, chat, retrievers)
    records = graph.facts.records(Kind.SOURCE, graph.facts.sources()).values()
    sources = [record for record in records if isinstance(record, Source)]
    selected = tuple(questions)[: options.limit]
    _check_questions(selected, {source.uri for source in sources}, corpus=graph.corpus)
    plan = EvaluationPlan(
        options=options,
        dataset=Dataset(graph.corpus, Path(), selected),
        retrievers=retrievers,
        outside={},
        planned=run_of(
            EvalReport(graph.corpus, selected, {}),
            _setting(options, settings, retrievers, extraction="as stored", reranker=reranker, chat=chat),
            corpus=checksum(*sorted(checksum(source.uri, source.checksum) for source in sources)),
            asked=questions_fingerprint(selected),
        ),
        earlier=_earlier(options.baseline),
        further=further,
        titles={source.uri: source.title for source in sources if source.title},
    )
    return _checked(plan, settings)


def _check_questions(questions: Sequence[Question], uris: set[str], *, corpus: str) -> None:
    if not questions:
        raise InputError("there are no questions; give at least one")
    for at, question in enumerate(questions):
        lists = (question.gold, question.answers, question.assertions, question.options)
        if not all(isinstance(each, Collection) and not isinstance(each, str) for each in lists) or not all(
            isinstance(text, str) for text in (question.id, question.text, *chain.from_iterable(lists))
        ):
            raise InputError(
                f"data[{at}] is {question!a:.200}; give texts as id and text, and lists of texts as gold, answers, assertions "
                "and options"
            )
    ids = [question.id for question in questions]
    if len(set(ids)) < len(ids):
        raise InputError(f"several questions have the id {max(ids, key=ids.count)!r}; give each its own id")
    if empty := [question.id for question in questions if not question.text.strip()]:
        raise InputError(f"question {empty[0]} has no text; give each question its text")
    without = [question.id for question in questions if not question.gold]
    if without and len(without) < len(questions):
        raise InputError(
            f"the question {without[0]} has no gold, but others have; name at least one source that supports its answer, or "
            "remove the gold of all questions"
        )
    unknown = sorted({name for question in questions for name in question.gold} - uris)
    if unknown:
        raise InputError(
            f"the gold of a question names {unknown[0]!r}, which is not a source of the corpus {corpus!r}; give the uri of a source"
        )


def _checked(plan: EvaluationPlan, settings: Settings) -> EvaluationPlan:
    """Return the plan after checking that its run can be compared with the earlier one and that its judges can be used."""
    if plan.earlier is not None:
        check_comparable(plan.planned, plan.earlier)
    _check_against([*plan.retrievers, *plan.outside], plan.options.against, earlier=plan.earlier)
    options = plan.options
    if options.gold_select and not plan.dataset.questions[0].gold:
        raise InputError("gold_select=True needs supporting passages, but no question names any; leave it out")
    if options.judging is None:
        return plan
    if not options.is_answered:
        raise InputError("judging: there are no answers to judge; give answers=True, or leave judging out")
    if not plan.judges:
        raise InputError(
            f"{', '.join(options.judging.judges)}: no question has answers to judge by; judge pairwise, or give the questions "
            "answers or assertions"
        )
    if "pairwise" in plan.judges and len(plan.retrievers) < 2:
        raise InputError(f"{next(iter(plan.retrievers))} is the only strategy, but pairs need two; name two or more")
    from hlgraph.evaluate.judges.judging import check_judge

    check_judge(settings, options.judging.model, budget=options.budget)
    return plan


def _check_against(strategies: Sequence[str], against: str | None, *, earlier: Run | None) -> None:
    if against is not None and against not in strategies:
        raise InputError(f"against is {against!r}, which is not evaluated; give one of {', '.join(strategies)}")
    named = set(strategies) - set(BASELINES) or set(strategies)
    if earlier is not None and not named & set(earlier.outcomes):
        raise InputError(
            f"the earlier run evaluated {', '.join(earlier.outcomes)}, this one evaluates {', '.join(strategies)}; name at "
            "least one strategy of the earlier run"
        )


def _check_claims(options: EvaluationOptions, settings: Settings) -> None:
    if not options.claims:
        return
    if options.claims not in (WORDS, CHAT):
        raise UnknownNameError(f"claims is {options.claims!r}; choose {WORDS!r} or {CHAT!r}")
    if not options.is_answered:
        raise InputError("claims: only answers have claims to check; give answers=True, too")
    if options.claims == CHAT and not settings.models.chat:
        raise InputError(
            "claims='chat' needs a chat model; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), or "
            "choose claims='words'"
        )


def _check_readers(options: EvaluationOptions, chat: str, retrievers: Mapping[str, Retriever]) -> None:
    if options.closed_book and not options.is_answered:
        raise InputError("closed_book=True answers without evidence; give answers=True, too")
    if options.closed_book and not chat:
        raise InputError(
            "closed_book=True asks a chat model without evidence, and none is configured; name one in HLGRAPH_CHAT or "
            "models.chat (such as openai:gpt-4o-mini), or leave it out"
        )
    layers = options.hierarchy if isinstance(options.hierarchy, Mapping) else {}
    if unknown := [name for name in layers if name not in retrievers or not needs_hierarchy(retrievers[name])]:
        raise UnknownNameError(
            f"hierarchy names {unknown[0]!r}, which is not an evaluated strategy that searches layers"
        )
    named = options.readers if isinstance(options.readers, Mapping) else {}
    if unknown := [name for name in named if name not in retrievers and name not in BASELINES]:
        raise UnknownNameError(f"readers names {unknown[0]!r}; the evaluated strategies are {', '.join(retrievers)}")
    for name, retriever in retrievers.items():
        reader = reader_of(options.readers, name)
        if reader.unit is not None and reader.unit not in units_of(retriever):
            raise InputError(f"unit is {reader.unit!r}, but {name} returns only {' or '.join(units_of(retriever))}")
        if not options.is_answered and (given := [option for option in reader.given if option != "diversity"]):
            raise InputError(f"{', '.join(given)}: an option of the reader of answers; give answers=True, too")
        if reader.style not in (None, "plain") and not chat:
            raise InputError(
                f"style is {reader.style!r}, and no chat model is configured; name one in HLGRAPH_CHAT or models.chat (such as "
                "openai:gpt-4o-mini), or leave it out"
            )


def _check_k(graph: HLGraph, readers: Mapping[str, ReaderOptions]) -> None:
    """Raise InputError if a reader requests more pieces of evidence than the corpus has."""
    records = next((stats.records for stats in graph.stats() if stats.corpus == graph.corpus), {})
    for name, reader in readers.items():
        kind = Kind.CHUNK if reader.unit == "chunk" else Kind.STATEMENT
        if reader.unit in ("chunk", "statement", None) and (reader.k or 1) > records.get(kind, 0):
            raise InputError(
                f"k of {name} is {reader.k}, but the corpus {graph.corpus!r} has only {records.get(kind, 0)} {kind.value}s; "
                "give at most that many, or evaluate a larger set"
            )


def _further(options: EvaluationOptions) -> _Further:
    """The measures that ``metrics`` names, checked before any question is asked."""
    names = tuple(dict.fromkeys(name.strip() for name in options.metrics.split(",") if name.strip()))
    of_texts, of_layers = (tuple(name for name in names if name in known) for known in (answering.NAMES, LAYERS))
    others = {*of_texts, *of_layers}
    further = _Further(tuple(name for name in names if name not in others), of_texts, of_layers)
    check_names(further.of_rankings, others=(*answering.NAMES, *LAYERS))
    if of_texts and not options.is_answered:
        raise InputError(f"{', '.join(of_texts)}: a measure of answers; give answers=True, too")
    if of_texts:
        answering.check_texts(of_texts)
    return further


def _gold_selector(retriever: Retriever) -> GoldSelector | None:
    selector = getattr(retriever, "selector", None)
    return selector if isinstance(selector, GoldSelector) else None


def _with_gold_select(retrievers: Mapping[str, Retriever], options: EvaluationOptions) -> dict[str, Retriever]:
    """The retrievers and, with ``gold_select``, a copy with a perfect Select of each that has a Select step."""
    if not options.gold_select:
        return dict(retrievers)
    if options.is_answered:
        raise InputError("gold_select=True measures passages, not answers; leave answers out, or leave gold_select out")
    selecting: dict[str, Any] = {name: each for name, each in retrievers.items() if hasattr(each, "selector")}
    if not selecting:
        raise InputError(f"gold_select: {', '.join(retrievers)} have no Select step; name local or global")
    return {
        **retrievers,
        **{f"{name}[select=gold]": replace(each, selector=GoldSelector()) for name, each in selecting.items()},
    }


def _retrievers(options: EvaluationOptions) -> dict[str, Retriever]:
    """The retrievers to run, their variants, and the baselines; by default those that ``sets`` names, otherwise all."""
    if options.retrievers is not None:
        retrievers = dict(options.retrievers)
    elif not options.sets:
        retrievers = chosen(options.strategies or ALL, options.preset)
    else:
        knobs = [knob(text) for text in options.sets]
        named = options.strategies or ",".join(dict.fromkeys(each.strategy for each in knobs))
        retrievers = with_variants(chosen(named, options.preset), knobs)
    retrievers = _with_gold_select(retrievers, options)
    return retrievers if options.is_alone else with_baselines(retrievers)


def _earlier(baseline: str | Path | Run | None) -> Run | None:
    return load_run(baseline) if isinstance(baseline, str | Path) else baseline


def _setting(
    options: EvaluationOptions,
    settings: Settings,
    retrievers: Mapping[str, Retriever],
    *,
    extraction: str,
    reranker: str,
    chat: str,
) -> Setting:
    kinds = [url.partition("://")[0] for url in (settings.store, settings.vectors) if url]
    return Setting(
        version=version("hlgraph"),
        preset=options.preset,
        extraction=extraction,
        store=" and ".join(kinds),
        embedder=settings.models.embedder,
        reranker=reranker or chosen_reranker(settings.models.reranker, settings.models).fingerprint,
        chat=chat if options.is_answered else "",
        k=K,
        parameters=parameters(retrievers),
        readers={name: given for name in retrievers if (given := reader_of(options.readers, name).given)},
    )


def _with_embedder(planned: Run, graph: HLGraph) -> Run:
    """The run with the exact embedding model of the corpus, which is known only after the ingest."""
    embedder = next((stats.embedding for stats in graph.stats() if stats.corpus == graph.corpus), "")
    return replace(planned, setting=replace(planned.setting, embedder=embedder)) if embedder else planned


def _warm(graph: HLGraph, dataset: Dataset) -> None:
    """Load the model and embed every question before timing starts, so that this time does not count for the first strategy."""
    with step("warm", len(dataset.questions), unit="questions"):
        for question in dataset.questions:
            graph.search(question.text, strategy=ChunkRetriever(), k=1)
            advance("warm")


def _by_layers(
    retrievers: Mapping[str, Retriever], options: EvaluationOptions
) -> Iterator[tuple[HierarchyQuery | None, dict[str, Retriever]]]:
    """The retrievers grouped by the layers to build for them; those that need none built come first."""
    groups: dict[HierarchyQuery | None, dict[str, Retriever]] = {None: {}}
    for name, retriever in retrievers.items():
        query = options.layers_of(name) if needs_hierarchy(retriever) else None
        groups.setdefault(query, {})[name] = retriever
    return ((query, some) for query, some in groups.items() if some)


def _prepared(
    graph: HLGraph, retrievers: Mapping[str, Retriever], *, query: HierarchyQuery | None, is_all: bool
) -> tuple[str, dict[str, Retriever]]:
    """Build the layers if the retrievers need them; return their parameters and the retrievers that can run.

    With ``is_all``, the strategy hierarchy is left out if its extra is not installed.
    """
    try:
        return prepare(graph, retrievers.values(), query=query), dict(retrievers)
    except MissingExtraError as error:
        if not is_all:
            raise
        _LOG.warning("the strategy hierarchy is skipped: %s", error)
        return "", {name: retriever for name, retriever in retrievers.items() if base_of(name) != "hierarchy"}


class _Layered(NamedTuple):
    """What is collected for each strategy apart from its results.

    Attributes
    ----------
    built : the parameters of the layers that it searched
    kinds : for each question, the kinds of its 10 best nodes
    planned : the planned tokens of an answer
    empty : warnings about layers without a summary
    """

    built: dict[str, str]
    kinds: dict[str, list[Counter[Kind]]]
    planned: dict[str, dict[str, float]]
    empty: list[str]

    def check(self, graph: HLGraph, built: str) -> None:
        """Warn if the layers with these parameters have no summary: their strategies search the chunks alone."""
        layers = graph.hierarchy.find(k=1)
        if layers.run is not None and layers.run.levels and not (layers.summaries or layers.sources):
            self.empty.append(f"no two chunks are similar enough for a summary ({built}); lower the threshold")

    def plan(
        self,
        graph: HLGraph,
        questions: Sequence[Question],
        *,
        retrievers: Mapping[str, Retriever],
        readers: Mapping[str, ReaderOptions],
    ) -> None:
        """Plan the answers of the retrievers that have a reader."""
        for name in retrievers.keys() & readers.keys():
            tokens = answering.planned_tokens(graph, questions, retriever=retrievers[name], reader=readers[name])
            self.planned[name] = dict(zip(("answer_input_tokens", "answer_output_tokens"), tokens, strict=True))

    def add(
        self, graph: HLGraph, dataset: Dataset, *, retrievers: Mapping[str, Retriever], built: str, is_counted: bool
    ) -> None:
        """Record the layers that these retrievers search, and count the kinds of the nodes that they return."""
        for name, retriever in retrievers.items():
            if needs_hierarchy(retriever):
                self.built[name] = built
            if is_counted and "mixed" in units_of(retriever):
                texts = (question.text for question in dataset.questions)
                searches_of = (graph.search(text, strategy=retriever, k=_NODES, unit="mixed") for text in texts)
                self.kinds[name] = [Counter(node.kind for node in search.evidence) for search in searches_of]

    def section(self, dataset: Dataset, names: Sequence[str]) -> Section:
        """The measures of ``LAYERS`` with these names."""

        def share(name: str, count: Counter[Kind]) -> float:
            kind, low, high = name.split("_")
            return float(int(low) <= count[_LAYER_KINDS[kind]] <= int(high))

        values = {
            strategy: tuple(tuple(share(name, count) for name in names) for count in counts)
            for strategy, counts in self.kinds.items()
        }
        asked = tuple(question.id for question in dataset.questions)
        title = f"layers of the {_NODES} best nodes"
        return Section(title=title, questions=asked, measures=tuple(names), values=values)


def _judged(settings: Settings, answered: AnswerReport, options: EvaluationOptions) -> JudgeReport | None:
    """The verdicts on the answers; None if no judge is named. The cost of the answers counts towards the budget."""
    if options.judging is None:
        return None
    from hlgraph.evaluate.judges.judging import judge_answers

    before = total([each.spent for each in answered.strategies.values()])
    candidates = candidates_of(answered)
    return judge_answers(candidates, options.judging, settings=settings, budget=options.budget, before=before)


def _claims(
    answered: AnswerReport, options: EvaluationOptions, *, settings: Settings, judged: JudgeReport | None
) -> Section:
    """The measures of claims. The cost of the answers and of the judges counts towards the budget."""
    from hlgraph.evaluate.claims import claims_by_chat, claims_by_words

    if options.claims == WORDS:
        return claims_by_words(answered)
    before = total([each.spent for each in (*answered.strategies.values(), *((judged,) if judged else ()))])
    return claims_by_chat(answered, settings=settings, budget=options.budget, before=before)


def _sections(
    report: EvalReport, answered: AnswerReport | None, judged: JudgeReport | None, *, further: _Further
) -> list[Section]:
    """The measures other than recall, in the order of the report."""
    sections = [ranked_section(report, further.of_rankings)] if further.of_rankings else []
    if answered is None:
        return sections
    outcomes = {name: each.outcomes for name, each in answered.strategies.items()}
    by = "chat model" if answered.by_chat else "extractive"
    sections.append(answering.section(answered.questions, outcomes, title=f"answers ({by})"))
    if further.of_texts:
        sections.append(answering.text_section(answered, further.of_texts))
    return sections if judged is None or not judged.answers else [*sections, judged_section(judged)]


def _compared(evaluation: Evaluation, earlier: Run | None, *, sections: Sequence[Section]) -> Evaluation:
    """The evaluation with its further sections, compared in pairs and with the earlier run."""
    evaluation = replace(evaluation, sections=tuple(in_pairs(section, evaluation.against) for section in sections))
    if earlier is None:
        return evaluation
    before = {section.title: section for section in earlier.sections}
    differences = [
        difference
        for section in sections
        if section.title in before
        for difference in section_differences(section, before[section.title])
    ]
    unmatched = sorted({section.title for section in sections} ^ set(before))
    return replace(
        evaluation,
        earlier=(*run_differences(evaluation.report, earlier.report()), *differences),
        changes=(
            *changed(evaluation.setting, earlier.setting),
            *(f"{title}: only one of the two runs has it" for title in unmatched),
        ),
    )


def _of_corpus(graph: HLGraph, options: EvaluationOptions) -> dict[str, Interval]:
    """The requested figures of the corpus that are defined; a count is an interval that holds one number."""
    figures: dict[str, float] = {}
    if options.of_corpus:
        records = next((stats.records for stats in graph.stats() if stats.corpus == graph.corpus), {})
        figures = {name: records.get(kind, 0) for name, kind in COUNTS.items()}
        extracted = (spent for spent in graph.ledger() if spent.name == "extract" and spent.calls)
        figures |= {name: getattr(spent, name) for spent in extracted for name in TOKENS}
    result = {name: Interval(*[figures[name]] * 3) for name in options.of_corpus if name in figures}
    if ACCURACY in options.of_corpus:
        budget = options.budget if graph.settings.models.chat else None
        result[ACCURACY] = Interval(*graph.quality.faithfulness(sample=_SAMPLE, budget=budget).accurate)
    return result


def _titles(dataset: Dataset, evaluation: Evaluation) -> dict[str, str]:
    """Titles of the passages that the report page names."""
    wanted = passages_of(each for lost in losses(evaluation.report, evaluation.against).values() for each in lost)
    passages = read_passages(dataset.passages_path)
    return {passage.id: passage.title for passage in passages if passage.id in wanted and passage.title}
