"""The command ``hlgraph judge``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, Quiet, State, budget_of

if TYPE_CHECKING:
    from hlgraph.evaluate.judges.report import JudgeOptions
    from hlgraph.models.accounts.budget import ExpectedCost

PLACE = 172  # position in the list of commands

JudgeModel = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The chat model that judges, such as openai:gpt-4o (default: models.judge or HLGRAPH_JUDGE, otherwise the chat "
        "model).",
        show_default=False,
    ),
]
Trials = Annotated[
    int, typer.Option(metavar="N", help="Readings of each pair of answers, half of them in each position; even.")
]
Criteria = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Criteria for pairs of answers, separated by commas: comprehensiveness, diversity, empowerment, relevance "
        "(default: all); overall is always included.",
        show_default=False,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Human labels of these answers, as JSON lines; prints Cohen's kappa between them and the judge.",
        show_default=False,
    ),
]
Answers = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="Saved answers: answers.jsonl of hlgraph eval --answers --out.", show_default=False
    ),
]
Judges = Annotated[
    str,
    typer.Option(
        "--judge", metavar="NAMES", help="Judges to run, separated by commas: correctness, pairwise, assertions."
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Compare the others with this strategy (default: all pairs).", show_default=False
    ),
]
Plan = Annotated[bool, typer.Option("--plan", help="Print what judging would cost, without calling a model.")]
Out = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Write judged.json, judged.csv, pairs.csv and to_label.jsonl to this folder.",
        show_default=False,
    ),
]


def judge(
    context: typer.Context,
    answers: Answers,
    judges: Judges = "correctness,pairwise,assertions",
    judge_model: JudgeModel = None,
    trials: Trials = 2,
    criteria: Criteria = None,
    against: Against = None,
    labels: Labels = None,
    plan: Plan = False,
    corpus: Corpus = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    out: Out = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Judge saved answers by a chat model, without asking the questions again.

    correctness: whether an answer says all of an accepted answer. assertions: the share of assertions that an answer
    makes; they come from the questions file, otherwise the model derives them from the accepted answers. pairwise: which of two
    answers is better, by criterion, read in both positions without names.

    The judge of pairs is tested, too: the first place must win 50 % within the 95 % interval, both when an answer is read
    against itself and in all pairs; else no winner is named. A reply that cannot be read is missing: it is counted, and is
    neither a loss nor wrong. With missing verdicts the exit code is 1, at the end of the budget 6. The same command
    continues; stored replies are not paid for again.

    \b
    Examples:
      hlgraph judge measured/answers.jsonl --judge-model openai:gpt-4o --plan
      hlgraph judge measured/answers.jsonl --judge pairwise --against chunk --max-usd 2
      hlgraph judge measured/answers.jsonl --judge correctness --labels people.jsonl --json
    """
    from hlgraph.evaluate.figures import as_lines
    from hlgraph.evaluate.judges.answer_rows import load_candidates
    from hlgraph.evaluate.judges.judging import judge_answers, planned
    from hlgraph.evaluate.judges.report import judge_files, judge_notes, judge_tables
    from hlgraph.evaluate.report import write_files

    state: State = context.obj
    options = judge_options(judges, judge_model, criteria, trials, against)
    settings, candidates = state.settings(corpus), load_candidates(answers)
    if plan:
        _say_plan(planned(candidates, options, settings=settings), is_json=json)
        return
    with progress("judging", quiet=quiet, is_json=json):
        report = judge_answers(
            candidates, options, settings=settings, labels=labels, budget=budget_of(max_tokens, max_usd)
        )
    if out is not None:
        write_files(Path(out), judge_files(report, candidates))
    if json:
        print_json(report.to_json())
    else:
        for table in judge_tables(report):
            say(*as_lines(table), "")
        say(*judge_notes(report))
    if report.missing:
        raise typer.Exit(6 if report.is_out_of_budget else 1)


def judge_options(
    judges: str, model: str | None, criteria: str | None, trials: int, against: str | None
) -> JudgeOptions:
    """The checked options of judges; names are separated by commas."""
    from hlgraph.evaluate.judges.report import CRITERIA, JudgeOptions

    return JudgeOptions(
        judges=_names(judges),
        criteria=tuple(CRITERIA) if criteria is None else _names(criteria),
        trials=trials,
        against=against or "",
        model=model or "",
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _say_plan(cost: ExpectedCost, *, is_json: bool) -> None:
    from hlgraph.cli.commands.plan import cost_lines

    if is_json:
        print_json(asdict(cost))
    else:
        say(*cost_lines(cost))
        if not cost.measured_calls:
            say("lengths of replies are guessed: the ledger holds too few calls of this model")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("judge")(judge)
