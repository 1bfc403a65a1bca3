"""The command ``hlgraph plan``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, argument, command, option
from hlgraph.cli.commands.ingest import Adapt, existing
from hlgraph.cli.commands.ledger import money
from hlgraph.cli.commands.search import chosen
from hlgraph.cli.output import pick
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.answer.plan import AnswerPlan
    from hlgraph.ingest.plan import Plan
    from hlgraph.models.accounts.budget import ExpectedCost

PLACE = 100  # position in the list of commands

app = typer.Typer()

_Paths = Annotated[
    list[str] | None,
    argument(
        "PATH",
        "Sources of an ingest: files, folders, globs, s3://bucket/key or s3://bucket/folder/, or - for standard input.",
        callback=existing,
    ),
]
_Rows = Annotated[
    bool,
    option(
        "--rows",
        "Print the inferred mapping of a table, as YAML for the option of hlgraph ingest with this name. Of a SQL query: give a "
        "YAML file with sql: {connection, query}.",
    ),
]
_QuestionText = Annotated[
    str | None, option("--question TEXT", "Plan an answer to this question, in place of an ingest.")
]
_Strategy = Annotated[str | None, option("--strategy -s NAME", "With --question: the strategy (default: auto).")]
_Preset = Annotated[
    Literal["paper", "tuned", "fast", "plain", "literal"] | None,
    option("--preset", "With --question: parameters of the strategy (default: paper)."),
]
_Mode = Annotated[
    Literal["short", "report"] | None, option("--mode", "With --question: the kind of answer (default: short).")
]
_By = Annotated[
    Literal["rules", "chat"] | None, option("--by", "With --question: who decides in the search (default: rules).")
]
_Set = Annotated[
    list[str] | None, option("--set STRATEGY.PARAMETER=VALUE", "With --question: set a parameter of the strategy.")
]
_ContextTokens = Annotated[
    int | None, option("N", "With --question: maximum tokens of evidence in one call (default: 8000).")
]


def answer_plan_lines(plan: AnswerPlan) -> list[str]:
    """The plan of an answer as readable lines."""
    evidence = f"evidence: {plan.statements:,} statements, {plan.passages:,} passages"
    if plan.communities:
        evidence += f" of {plan.communities:,} communities around {plan.anchors:,} anchors"
    decided = f", decided by {plan.by}" if plan.by else ""
    return [
        f"{plan.mode} answer by the strategy {plan.strategy}{decided}",
        evidence,
        f"calls: {plan.calls:,} of {plan.model} ({plan.retrieve_calls:,} of the search, {plan.answer_calls:,} of the "
        f"answer), {plan.kept_calls:,} more answered from stored replies",
        f"tokens: {plan.input_tokens:,} in, {plan.output_tokens:,} out",
        f"money: {money(plan.usd)}",
        f"time: {duration(plan.seconds)}, and the search itself",
        basis(plan),
    ]


def duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds."""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours} h {rest // 60} min {rest % 60} s"


def cost_lines(cost: ExpectedCost, *, time_note: str = "") -> list[str]:
    """Calls, tokens, money and time as readable lines."""
    return [
        f"calls: {cost.calls:,} of {cost.model}, {cost.kept_calls:,} more answered from stored replies",
        f"tokens: {cost.input_tokens:,} in, {cost.output_tokens:,} out",
        f"money: {money(cost.usd)}",
        f"time: {duration(cost.seconds)}{time_note}",
    ]


def basis(cost: ExpectedCost) -> str:
    """What the lengths of the replies rest on."""
    if not cost.measured_calls:
        return "lengths of replies are guessed: the ledger holds too few calls of this model"
    return f"lengths of replies measured on {cost.measured_calls:,} calls of this model in the ledger"


def plan_lines(plan: Plan) -> list[str]:
    """A plan as readable lines."""
    basis = (
        f"measured on {plan.measured_calls:,} calls of this model in the ledger"
        if plan.measured_calls
        else "rough estimate: the ledger holds too few calls of this model; ingest a part with --max-tokens, then plan again"
    )
    lines = [
        f"sources: {plan.sources:,} to extract, {plan.unchanged:,} unchanged, {len(plan.failed):,} failed",
        f"chunks: {plan.chunks:,}",
        *cost_lines(plan),
        basis,
    ]
    if plan.given_up:
        lines.insert(2, f"skipped: {plan.given_up:,} chunks that failed too often; next: hlgraph failures list")
    lines.extend(f"failed: {failure.error}" for failure in plan.failed)
    return lines


@command(app, "plan", "corpus", "chat", "reading", "quiet")
def plan(
    cli: Invocation,
    paths: _Paths = None,
    adapt: Adapt = False,
    question: _QuestionText = None,
    strategy: _Strategy = None,
    mode: _Mode = None,
    preset: _Preset = None,
    by: _By = None,
    sets: _Set = None,
    context_tokens: _ContextTokens = None,
    rows: _Rows = False,
) -> None:
    """Estimate the cost of the chat model for an ingest or an answer, or infer a mapping of rows.

    For an ingest: reads and chunks the sources, fills in the prompts, and consults the store, the stored replies and the
    ledger. For an answer: runs the search, and fills in the prompts of the answer. No model is called, nothing is written,
    and no API key is needed. Embedding is not included. With --rows: reads a table and infers which column is its key, its name,
    a number with a unit, a date, a boolean or a reference. Check the mapping before you give it to the ingest.

    \b
    Examples:
      hlgraph plan docs/ --chat openai:gpt-4o-mini
      hlgraph plan docs/ --adapt
      hlgraph plan articles.jsonl.gz --map text=body --corpus news --json
      hlgraph plan parts.csv --rows > parts.yaml
      hlgraph plan query.yaml --rows > orders.yaml
      hlgraph plan --question "How did the floods change the towns?" --strategy global --mode report
    """
    of_ingest: dict[str, object] = {"PATH": paths, "--format": cli.format_, "--map": cli.map_}
    of_ingest |= {"--encoding": cli.encoding, "--follow-links": cli.follow_links, "--comments": cli.comments}
    of_ingest |= {"--chunked": cli.chunked, "--adapt": adapt}
    of_answer: dict[str, object] = {"--strategy": strategy, "--preset": preset, "--mode": mode, "--by": by}
    of_answer |= {"--set": sets, "--context-tokens": context_tokens}
    of_ingest["--rows"] = rows
    if rows and question is None:
        _check_none(
            of_answer | {"--map": cli.map_, "--chunked": cli.chunked, "--adapt": adapt}, "has no effect with --rows"
        )
        _show_mapping(cli, paths or [])
        return
    if question is None:
        _check_none(of_answer, "is about an answer; give its question with --question, or leave it out")
        if not paths:
            raise InputError("there is nothing to plan; give the sources of an ingest, or --question")
        options = cli.ingest_options(extract="chat", adapt=adapt)
        with cli.connect("planning") as graph:
            estimate = graph.plan(list(paths), options=options)
        failed = [pick(failure, "uri error") for failure in estimate.failed]
        cli.show({**asdict(estimate), "failed": failed}, plan_lines(estimate), fails=failed)
        return
    _check_none(of_ingest, "is about an ingest, and --question about an answer; give only one of them")
    from hlgraph.answer.answering import AnswerRequest
    from hlgraph.answer.citations import CONTEXT_TOKENS

    tokens = CONTEXT_TOKENS if context_tokens is None else context_tokens
    request = AnswerRequest(question=question, mode=mode or "short", context_tokens=tokens)
    retriever = chosen(strategy or "auto", preset or "paper", by=by or "rules", sets=sets)
    with cli.connect() as graph:
        answer_plan = graph.answers.plan(request, strategy=retriever)
    cli.show(answer_plan, answer_plan_lines(answer_plan))


def _show_mapping(cli: Invocation, paths: list[str]) -> None:
    """Print the mapping that fits a table."""
    import msgspec

    from hlgraph.read import ReadOptions
    from hlgraph.read.stream import preview
    from hlgraph.read.table_mapping import as_yaml

    options = ReadOptions(cli.format_, encoding=cli.encoding, follow_links=cli.follow_links)
    mapping = preview(paths, options)
    cli.show(msgspec.to_builtins(mapping), as_yaml(mapping).splitlines())


def _check_none(options: Mapping[str, object], why: str) -> None:
    """Refuse options that belong to the other kind of plan."""
    for name, value in options.items():
        if value:
            raise InputError(f"{name} {why}")
