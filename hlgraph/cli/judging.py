"""The options of judges, for the commands ``eval`` and ``judge``, and the model that judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.output import note
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.evaluate.answering import AnswerReport
    from hlgraph.evaluate.judges.answer_rows import Candidate
    from hlgraph.evaluate.judges.report import JudgeOptions, JudgeReport
    from hlgraph.models.accounts.budget import Budget, ExpectedCost
    from hlgraph.models.accounts.ledger import Spent
    from hlgraph.models.executor import Executor
    from hlgraph.settings import Settings

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """The judge options as given; names are separated by commas."""

    judges: str
    model: str | None = None
    trials: int = 2
    criteria: str | None = None
    labels: str | None = None
    against: str | None = None

    def check(self, settings: Settings, budget: Budget | None, *, strategies: Sequence[str], is_answered: bool) -> None:
        """Check the options of ``eval`` before any call. Raises InputError."""
        from hlgraph.models.accounts.budget import Purse, price_of

        if not self.judges:
            given = {"--judge-model": self.model, "--criteria": self.criteria}
            needless = next((name for name, value in given.items() if value), None)
            if needless is not None:
                raise InputError(f"{needless} applies only to judges, and none is named; name some with --judge")
            return
        if not is_answered:
            raise InputError("--judge needs answers to judge; add --answers, or leave out --judge")
        if "pairwise" in self.options().judges and len(strategies) < 2:
            raise InputError(f"{strategies[0]} is the only strategy, and pairs need two; name two or more")
        name, _ = _model(settings, self.model)
        Purse(budget, price=price_of(name, settings.models.prices), model=name)  # refuses dollars without a price

    def options(self) -> JudgeOptions:
        """The checked options."""
        from hlgraph.evaluate.judges.report import CRITERIA, JudgeOptions

        return JudgeOptions(
            judges=_names(self.judges),
            criteria=tuple(CRITERIA) if self.criteria is None else _names(self.criteria),
            trials=self.trials,
            against=self.against or "",
        )


def judged_in_eval(
    settings: Settings, answered: AnswerReport | None, asked: Judging, *, budget: Budget | None
) -> JudgeReport | None:
    """The verdicts on the answers of an evaluation; None if no judge is named.

    Parameters
    ----------
    settings : all settings
    answered : the answers
    asked : the options
    budget : of the command; what the answers cost counts for it
    """
    from hlgraph.evaluate.judges.answer_rows import candidates_of
    from hlgraph.models.accounts.ledger import total

    if answered is None or not asked.judges:
        return None
    before = total([item.spent for item in answered.strategies.values()])
    return judged(settings, candidates_of(answered), asked, budget=budget, before=before)


def judged(
    settings: Settings,
    candidates: Sequence[Candidate],
    asked: Judging,
    *,
    budget: Budget | None,
    before: Spent | None = None,
) -> JudgeReport:
    """The verdicts on answers; first warns if the judge wrote the answers itself.

    Parameters
    ----------
    settings : all settings; the corpus is the one that the calls are entered for in the ledger
    candidates : the answers
    asked : the options
    budget : of the command; None: no limit
    before : what the command spent on answers; it counts for the budget
    """
    from hlgraph.evaluate.judges.judging import Judge, judge_all
    from hlgraph.evaluate.judges.report import load_labels, wrote_itself
    from hlgraph.models.accounts.open import executor_of
    from hlgraph.models.choose import chosen_chat

    options = asked.options()
    labels = load_labels(asked.labels, candidates) if asked.labels else []
    name, models = _model(settings, asked.model)
    executor = executor_of(chosen_chat(name, models.models), models, corpus=settings.corpus)
    try:
        if wrote_itself(executor.fingerprint, sorted({item.made_by for item in candidates})):
            note(
                f"hlgraph: warning: {executor.fingerprint} judges answers that it wrote; models prefer what they write: "
                "name another model with --judge-model"
            )
        calls = executor.begin(budget)
        if before is not None:
            calls.purse.carry(before.calls, before.input_tokens, output_tokens=before.output_tokens)
        return judge_all(candidates, Judge(calls), options=options, labels=labels)
    finally:
        executor.close()


def planned(settings: Settings, candidates: Sequence[Candidate], asked: Judging) -> ExpectedCost:
    """The cost of judging; calls no model, so no API key is needed.

    Parameters
    ----------
    settings : all settings
    candidates : the answers
    asked : the options
    """
    from hlgraph.evaluate.judges.judging import plan_judges

    options = asked.options()
    with _planning(settings, asked.model) as executor:
        return plan_judges(candidates, executor, options=options)


@contextmanager
def _planning(settings: Settings, model: str | None) -> Iterator[Executor]:
    from hlgraph.sdk.batches import planning_executor

    name, models = _model(settings, model)
    with planning_executor(name, models) as executor:
        yield executor


def _model(settings: Settings, given: str | None) -> tuple[str, Settings]:
    """The name of the judge, and the settings with its server in place of that of the chat model."""
    models = settings.models
    name = given or models.judge or models.chat
    if not name:
        raise InputError(
            "a judge is a chat model, and none is named; give --judge-model, or set models.judge or HLGRAPH_JUDGE (such as "
            "openai:gpt-4o)"
        )
    url = models.judge_url or (models.chat_url if name == models.chat else "")
    return name, replace(settings, models=replace(models, chat_url=url))


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
