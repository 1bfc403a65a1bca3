"""The command ``hlgraph judge``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.command import Corpus, Invocation, MaxTokens, MaxUsd, argument, budget_of, command, option, split
from hlgraph.cli.commands.plan import basis, cost_lines

if TYPE_CHECKING:
    from hlgraph.evaluate.judges.report import JudgeOptions

PLACE = 172  # position in the list of commands

app = typer.Typer()

JudgeModel = Annotated[
    str | None,
    option(
        "NAME",
        "The chat model that judges, such as openai:gpt-4o (default: models.judge or HLGRAPH_JUDGE, otherwise the chat "
        "model).",
    ),
]
Trials = Annotated[int, option("N", "Readings of each pair of answers, half of them in each position; even.")]
Criteria = Annotated[
    str | None,
    option(
        "NAMES",
        "Criteria for pairs of answers, separated by commas: comprehensiveness, diversity, empowerment, relevance "
        "(default: all); overall is always included.",
    ),
]
Labels = Annotated[
    str | None,
    option("FILE", "Human labels of these answers, as JSON lines; prints Cohen's kappa between them and the judge."),
]
Answers = Annotated[str, argument("FILE", "Saved answers: answers.jsonl of hlgraph eval --answers --out.")]
Judges = Annotated[
    str, option("--judge NAMES", "Judges to run, separated by commas: correctness, pairwise, assertions.")
]
Against = Annotated[str | None, option("NAME", "Compare the others with this strategy (default: all pairs).")]
Plan = Annotated[bool, option("--plan", "Print what judging would cost, without calling a model.")]
Out = Annotated[
    str | None, option("DIR", "Write judged.json, judged.csv, pairs.csv and to_label.jsonl to this folder.")
]


@command(app, "judge", "quiet")
def judge(
    cli: Invocation,
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
    from hlgraph.evaluate.judges.judging import judge_answers, planned
    from hlgraph.evaluate.judges.report import judge_files, load_candidates
    from hlgraph.evaluate.report import write_files

    options = judge_options(judges, judge_model, criteria, trials, against)
    settings, candidates = cli.settings(corpus), load_candidates(answers)
    if plan:
        cost = planned(candidates, options, settings=settings)
        cli.show(cost, [*cost_lines(cost), basis(cost)])
        return
    with cli.progress("judging"):
        report = judge_answers(
            candidates, options, settings=settings, labels=labels, budget=budget_of(max_tokens, max_usd)
        )
    if out is not None:
        write_files(Path(out), judge_files(report, candidates))
    cli.show(report.to_json(), [str(report)])
    if report.missing:
        raise typer.Exit(6 if report.is_out_of_budget else 1)


def judge_options(
    judges: str, model: str | None, criteria: str | None, trials: int, against: str | None
) -> JudgeOptions:
    """The checked options of judges; names are separated by commas."""
    from hlgraph.evaluate.judges.report import CRITERIA, JudgeOptions

    return JudgeOptions(
        judges=tuple(dict.fromkeys(split(judges))),
        criteria=tuple(CRITERIA if criteria is None else dict.fromkeys(split(criteria))),
        trials=trials,
        against=against or "",
        model=model or "",
    )
