"""The command ``hlgraph eval``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, argument, command, option
from hlgraph.cli.commands.judge_answers import Criteria, JudgeModel, Trials, judge_options
from hlgraph.cli.commands.search import Diversity
from hlgraph.cli.output import note, pick
from hlgraph.errors import InputError
from hlgraph.records import ANSWER_K

if TYPE_CHECKING:
    from hlgraph.answer.answering import AnswerStyle
    from hlgraph.evaluate.answering import ReaderOptions
    from hlgraph.evaluate.evaluation import EvaluationOptions
    from hlgraph.evaluate.judges.report import JudgeOptions
    from hlgraph.evaluate.report import Evaluation
    from hlgraph.index.hierarchy import HierarchyQuery
    from hlgraph.ingest.report import Report
    from hlgraph.retrieve.request import Unit

PLACE = 170  # position in the list of commands

app = typer.Typer()
_LIST = "list"

Folder = Annotated[str | None, argument("DIR", "Folder of the evaluation set.")]
RecipeName = Annotated[
    str | None,
    option(
        "--recipe NAME",
        "Run a table of a paper, such as proprag-table-2, as far as the available sets and models allow, beside the "
        "published figures. list: print the names.",
    ),
]
Data = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Folder that holds the folders of the sets, for --recipe (also HLGRAPH_DATA).",
        envvar="HLGRAPH_DATA",
        show_envvar=False,
        show_default=False,
    ),
]
Questions = Annotated[str | None, option("FILE", "Questions to use instead of those in the folder.")]
Qrels = Annotated[
    str | None,
    option("FILE", "TREC qrels file with the supporting passages, in place of those that the questions name."),
]
Runs = Annotated[
    list[str] | None,
    option("--run NAME=FILE", "TREC run file of another system, to stand beside the strategies (may be repeated)."),
]
Strategies = Annotated[
    str | None,
    option(
        "NAMES",
        "Strategies, separated by commas, or all: every strategy that needs no chat model.  [default: those of --set, "
        "otherwise all]",
    ),
]
Set = Annotated[
    list[str] | None,
    option(
        "--set STRATEGY.PARAMETER=VALUES",
        "Ask the strategy again with other values of a parameter, separated by commas (may be repeated).",
    ),
]
Subset = Annotated[list[str] | None, option("NAME", "Ask only the questions of this subset (may be repeated).")]
Limit = Annotated[int | None, option("N", "Ask only the first N questions.")]
Preset = Annotated[
    str,
    option(
        "NAME",
        "Parameters: paper (as in the papers), tuned (for small models), fast (strategy path in less time), plain "
        "(no reranker), literal (the printed numbers, without bounds of time).",
    ),
]
Against = Annotated[str | None, option("NAME", "Compare the others with this strategy (default: the best one).")]
Alone = Annotated[bool, option("--alone", "Leave out the plain baselines bm25, dense and rrf (searches over chunks).")]
Metrics = Annotated[
    str,
    option(
        "NAMES",
        "Further measures, separated by commas: nDCG, AP, RR, P, R, Success with @k; nDCG, AP, RR, Rprec without; such as "
        "nDCG@10,RR; with --answers also ROUGE-1, ROUGE-2, ROUGE-L, BLEU, BLEU-1, token_recall, accuracy (of questions with "
        "options).",
    ),
]
Answers = Annotated[
    bool,
    option(
        "--answers",
        "Also answer the questions that have gold answers: exact match and F1 of the chat model's answer, without one "
        "of the best span.",
    ),
]
K = Annotated[
    int | None, option("--k -k N", f"With --answers, pieces of evidence that the reader gets (default: {ANSWER_K}).")
]
UnitName = Annotated[
    Literal["statement", "chunk", "summary", "mixed"] | None,
    option("", "With --answers, what the reader gets: chunk for whole passages (default: as for the command answer)."),
]
Style = Annotated[
    Literal["plain", "reason", "aligned"] | None,
    option(
        "",
        "With --answers, ask for the answer alone, or for its reason first (default: reason with a chat model); aligned: by "
        "the prompt that hlgraph align trains models on.",
    ),
]
ContextTokens = Annotated[
    int | None, option("N", "With --answers, tokens of evidence that the reader gets (default: 8000).")
]
AnswerMode = Annotated[
    Literal["short", "report"] | None,
    option("", "With --answers, answer shortly or by a report from many pieces of evidence (default: short)."),
]
ClosedBook = Annotated[
    bool,
    option("--closed-book", "With --answers, also ask the chat model without any evidence: what it knows by itself."),
]
GoldSelect = Annotated[
    bool,
    option("--gold-select", "Also ask local and global with a perfect Select: what their own one loses."),
]
HierarchyOptions = Annotated[
    str | None,
    option(
        "--hierarchy VALUES",
        "Build the layers of the strategy hierarchy with these parameters first, such as layers=2,threshold=0.5 (see "
        "hierarchy build).",
    ),
]
Claims = Annotated[
    str,
    option(
        "WAY",
        "With --answers, RAGChecker's measures of their claims, split and checked by words or by chat, the chat model.",
    ),
]
Judges = Annotated[
    str | None,
    option(
        "--judge NAMES",
        "With --answers: judges to run, separated by commas: correctness, pairwise, assertions, as in the command judge.",
    ),
]
Save = Annotated[str | None, option("RUN.json", "Save every outcome to this file.")]
Baseline = Annotated[str | None, option("RUN.json", "Compare with this saved run.")]
Out = Annotated[
    str | None, option("DIR", "Write report.html, tables, results.json, a plot and TREC files to this folder.")
]


@command(app, "eval", "budget", "as_operator", "quiet")
def evaluate(
    cli: Invocation,
    folder: Folder = None,
    questions: Questions = None,
    qrels: Qrels = None,
    runs: Runs = None,
    strategies: Strategies = None,
    sets: Set = None,
    subset: Subset = None,
    limit: Limit = None,
    preset: Preset = "paper",
    against: Against = None,
    alone: Alone = False,
    metrics: Metrics = "",
    answers: Answers = False,
    k: K = None,
    unit: UnitName = None,
    diversity: Diversity = None,
    style: Style = None,
    context_tokens: ContextTokens = None,
    mode: AnswerMode = None,
    closed_book: ClosedBook = False,
    gold_select: GoldSelect = False,
    hierarchy: HierarchyOptions = None,
    claims: Claims = "",
    judges: Judges = None,
    judge_model: JudgeModel = None,
    trials: Trials = 2,
    criteria: Criteria = None,
    save: Save = None,
    baseline: Baseline = None,
    out: Out = None,
    recipe: RecipeName = None,
    data: Data = None,
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
    difference whose interval contains 0, or of fewer than six questions, is marked as noise. A permutation test with
    Holm's correction stands beside it. With --answers, the measures of answers are compared in the same way. Every
    table has the plain baselines bm25, dense (also called chunk) and rrf. Two runs are compared only if corpus,
    questions and gold answers are the same. A question on which a strategy fails counts as nothing found, and the exit
    code is 1.

    \b
    Examples:
      hlgraph eval data/musique --strategies chunk,statement --limit 100 --json
      hlgraph eval data/musique --save before.json --out tables/
      hlgraph eval data/musique --metrics nDCG@10,AP,RR --run colbert=colbert.trec
      hlgraph eval data/musique --strategies auto --answers --max-usd 2
      hlgraph eval data/musique --strategies auto --answers --claims words
      hlgraph eval data/musique --strategies chunk,path --answers --k 5 --unit chunk
      hlgraph eval data/musique --strategies auto,chunk --answers --judge pairwise --judge-model openai:gpt-4o
      hlgraph eval data/musique --preset tuned --baseline before.json
      hlgraph eval data/musique --set local.cycles=1,2,3
      hlgraph eval --recipe list
      hlgraph eval data/musique --recipe proprag-table-2 --limit 100
    """
    from hlgraph.evaluate.evaluation import EvaluationOptions

    options = EvaluationOptions(
        questions=questions,
        qrels=qrels,
        runs=tuple(runs or ()),
        strategies=strategies,
        sets=tuple(sets or ()),
        subsets=tuple(subset or ()),
        limit=limit,
        preset=preset,
        against=against,
        metrics=metrics,
        is_alone=alone,
        is_answered=answers,
        readers=_reader(k, unit, diversity, style, context_tokens, mode),
        closed_book=closed_book,
        gold_select=gold_select,
        hierarchy=_layers(hierarchy),
        claims=claims,
        judging=_judging(judges, judge_model, criteria, trials, against),
        budget=cli.budget,
        baseline=baseline,
    )
    _runner(recipe, data)(cli, options, folder=folder, save=save, out=out)


def _runner(recipe: str | None, data: str | None) -> Callable[..., None]:
    return _run_set if recipe is None else partial(_run_recipe, name=recipe, data=data)


def _layers(text: str | None) -> HierarchyQuery | None:
    """The parameters of layers from a text such as ``layers=2,threshold=0.5``."""
    from hlgraph.index.hierarchy import hierarchy_query

    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if wrong := [name for name, sign, value in pairs if not (name.strip() and sign and value.strip())]:
        raise InputError(f"--hierarchy {text!r}: {wrong[0]!r} has no value; write NAME=VALUE, separated by commas")
    return hierarchy_query({name.strip(): value.strip() for name, _, value in pairs})


def _reader(
    k: int | None,
    unit: Unit | None,
    diversity: float | None,
    style: AnswerStyle | None,
    context_tokens: int | None,
    mode: Literal["short", "report"] | None,
) -> ReaderOptions:
    from hlgraph.evaluate.answering import ReaderOptions

    return ReaderOptions(k=k, unit=unit, diversity=diversity, style=style, context_tokens=context_tokens, mode=mode)


def _judging(
    judges: str | None, model: str | None, criteria: str | None, trials: int, against: str | None
) -> JudgeOptions | None:
    if judges:
        return judge_options(judges, model, criteria, trials, against)
    needless = next((name for name, value in {"--judge-model": model, "--criteria": criteria}.items() if value), None)
    if needless is not None:
        raise InputError(f"{needless} applies only to judges, and none is named; name some with --judge")
    return None


def _run_set(
    cli: Invocation,
    options: EvaluationOptions,
    *,
    folder: str | None,
    save: str | None,
    out: str | None,
) -> None:
    """Evaluate one set, write the files, and print the results."""
    if folder is None:
        raise InputError("no evaluation set is given; give its folder DIR, or a table of a paper with --recipe")
    if save is not None and not Path(save).absolute().parent.is_dir():
        raise InputError(f"{save}: the folder {Path(save).parent} does not exist; create it, or give another path")
    evaluation = _measured(cli, Path(folder), options)
    if save is not None:
        evaluation.save(save)
    if out is not None:
        evaluation.write(out)
    cli.show(evaluation.to_json(), [str(evaluation)])
    _end(evaluation)


def _check_recipe(name: str, options: EvaluationOptions, *, save: str | None) -> None:
    """Refuse an unknown recipe, and options beside it that it decides."""
    from hlgraph.evaluate.recipes import load_recipe

    load_recipe(name)
    decided: dict[str, object] = {
        "--strategies": options.strategies,
        "--set": options.sets,
        "--questions": options.questions,
        "--qrels": options.qrels,
        "--run": options.runs,
        "--against": options.against,
        "--metrics": options.metrics,
        "--save": save,
        "--baseline": options.baseline,
        "--closed-book": options.closed_book,
        "--gold-select": options.gold_select,
        "--hierarchy": options.hierarchy,
    }
    if given := [option for option, value in decided.items() if value]:
        raise InputError(f"--recipe {name} decides the strategies and measures; leave out {', '.join(given)}")


def _run_recipe(
    cli: Invocation,
    options: EvaluationOptions,
    *,
    name: str,
    folder: str | None,
    data: str | None,
    save: str | None,
    out: str | None,
) -> None:
    """Run a recipe, write the files, and print the tables; or list the recipes."""
    if name == _LIST:
        _list_recipes(cli)
        return
    from hlgraph.evaluate.recipes import run_recipe

    _check_recipe(name, options, save=save)
    has_chat = bool(cli.settings().models.chat)
    measure = partial(_measured, cli)
    result = run_recipe(name, options, measure=measure, has_chat=has_chat, folder=folder, data=data)
    if out is not None:
        result.write(out)
    cli.show(result.to_json(), [str(result)])
    _end(*(run.results for run in result.runs))


def _measured(cli: Invocation, folder: Path, options: EvaluationOptions) -> Evaluation:
    """The evaluation of a set; all checks run before the store is opened."""
    from hlgraph.evaluate.evaluation import plan_evaluation

    plan = plan_evaluation(folder, options, settings=cli.settings())
    name = plan.dataset.name

    def on_ingested(report: Report) -> None:
        if not cli.json:
            seconds = ", ".join(f"{step} {value:.1f} s" for step, value in report.seconds.items())
            note(
                f"{name}: {report.sources_added} passages added, {report.sources_changed} changed, "
                f"{report.sources_unchanged} unchanged ({seconds})"
            )

    with cli.connect("evaluating", corpus=f"eval-{name}") as graph:
        return plan.run(graph, on_ingested=on_ingested)


def _end(*evaluations: Evaluation) -> None:
    """Exit with 6 if the budget ended before the judges did, or with 1 if anything else is missing."""
    if any(item.judged is not None and item.judged.is_out_of_budget for item in evaluations):
        raise typer.Exit(6)
    if not all(item.is_complete for item in evaluations):
        raise typer.Exit(1)


def _list_recipes(cli: Invocation) -> None:
    """Print the available recipes."""
    from hlgraph.evaluate.recipes import load_recipe, names

    recipes = {name: load_recipe(name) for name in names()}
    width = max(map(len, recipes))
    cli.show(
        {"recipes": [{"name": name, **pick(recipe, "paper table title metrics")} for name, recipe in recipes.items()]},
        (f"{name:<{width}}  {recipe.paper}, {recipe.table}: {recipe.title}" for name, recipe in recipes.items()),
    )
