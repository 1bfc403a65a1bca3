"""The command ``hlgraph plan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.commands.ingest import Adapt, Chunked, Encoding, FollowLinks, Format, Map, existing, pairs
from hlgraph.cli.commands.ledger import money
from hlgraph.cli.commands.search import chosen
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Corpus, Json, Quiet, State
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.answer.plan import AnswerPlan
    from hlgraph.answer.request import AnswerRequest
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.ingest.plan import Plan
    from hlgraph.models.accounts.budget import ExpectedCost
    from hlgraph.retrieve import Retriever
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings

PLACE = 100  # position in the list of commands

ChatName = Annotated[
    str | None,
    typer.Option(
        "--chat",
        metavar="NAME",
        help="The chat model to plan for, such as openai:gpt-4o-mini (also HLGRAPH_CHAT).",
        show_default=False,
    ),
]


_Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH",
        help="Sources of an ingest: files, folders, globs, s3://bucket/key or s3://bucket/folder/, or - for standard "
        "input.",
        show_default=False,
        callback=existing,
    ),
]
_QuestionText = Annotated[
    str | None,
    typer.Option(
        "--question",
        metavar="TEXT",
        help="Plan an answer to this question, in place of an ingest.",
        show_default=False,
    ),
]
_Strategy = Annotated[
    str | None,
    typer.Option(
        "--strategy", "-s", metavar="NAME", help="With --question: the strategy (default: auto).", show_default=False
    ),
]
_Preset = Annotated[
    Literal["paper", "tuned", "fast", "plain"] | None,
    typer.Option("--preset", help="With --question: parameters of the strategy (default: paper).", show_default=False),
]
_Mode = Annotated[
    Literal["short", "report"] | None,
    typer.Option("--mode", help="With --question: the kind of answer (default: short).", show_default=False),
]
_By = Annotated[
    Literal["rules", "chat"] | None,
    typer.Option("--by", help="With --question: who decides in the search (default: rules).", show_default=False),
]
_Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="STRATEGY.PARAMETER=VALUE",
        help="With --question: set a parameter of the strategy.",
        show_default=False,
    ),
]
_ContextTokens = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="With --question: maximum tokens of evidence in one call (default: 8000).", show_default=False
    ),
]


def answer_plan_lines(plan: AnswerPlan) -> list[str]:
    """The plan of an answer as readable lines."""
    basis = (
        f"lengths of replies measured on {plan.measured_calls:,} calls of this model in the ledger"
        if plan.measured_calls
        else "lengths of replies are guessed: the ledger holds too few calls of this model"
    )
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
        basis,
    ]


def duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds."""
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours} h {rest // 60} min {rest % 60} s"


def cost_lines(cost: ExpectedCost) -> list[str]:
    """Calls, tokens, money and time as readable lines."""
    return [
        f"calls: {cost.calls:,} of {cost.model}, {cost.kept_calls:,} more answered from stored replies",
        f"tokens: {cost.input_tokens:,} in, {cost.output_tokens:,} out",
        f"money: {money(cost.usd)}",
        f"time: {duration(cost.seconds)}",
    ]


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
    lines.extend(f"failed: {item.error}" for item in plan.failed)
    return lines


def plan(
    context: typer.Context,
    paths: _Paths = None,
    corpus: Corpus = None,
    chat: ChatName = None,
    format_: Format = None,
    map_: Map = None,
    encoding: Encoding = None,
    follow_links: FollowLinks = False,
    chunked: Chunked = False,
    adapt: Adapt = False,
    question: _QuestionText = None,
    strategy: _Strategy = None,
    mode: _Mode = None,
    preset: _Preset = None,
    by: _By = None,
    sets: _Set = None,
    context_tokens: _ContextTokens = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Estimate the cost of the chat model for an ingest or an answer.

    For an ingest: reads and chunks the sources, fills in the prompts, and consults the store, the stored replies and the
    ledger. For an answer: runs the search, and fills in the prompts of the answer. No model is called, nothing is written,
    and no API key is needed. Embedding is not included.

    \b
    Examples:
      hlgraph plan docs/ --chat openai:gpt-4o-mini
      hlgraph plan docs/ --adapt
      hlgraph plan articles.jsonl.gz --map text=body --corpus news --json
      hlgraph plan --question "How did the floods change the towns?" --strategy global --mode report
    """
    from dataclasses import replace

    state: State = context.obj
    settings = state.settings(corpus)
    if chat is not None:
        settings = replace(settings, models=replace(settings.models, chat=chat))
    of_ingest: dict[str, object] = {"PATH": paths, "--format": format_, "--map": map_, "--encoding": encoding}
    of_ingest |= {"--follow-links": follow_links, "--chunked": chunked, "--adapt": adapt}
    of_answer: dict[str, object] = {"--strategy": strategy, "--preset": preset, "--mode": mode, "--by": by}
    of_answer |= {"--set": sets, "--context-tokens": context_tokens}
    if question is None:
        _check_none(of_answer, "is about an answer; give its question with --question, or leave it out")
        if not paths:
            raise InputError("there is nothing to plan; give the sources of an ingest, or --question")
        from hlgraph.ingest.options import IngestOptions

        options = IngestOptions(
            format=format_,
            mapping=pairs(map_ or []),
            encoding=encoding,
            extract="chat",
            follow_links=follow_links,
            is_chunked=chunked,
            adapt=adapt,
        )
        _plan_ingest(settings, paths, options, quiet=quiet, is_json=json)
        return
    _check_none(of_ingest, "is about an ingest, and --question about an answer; give only one of them")
    from hlgraph.answer.context import CONTEXT_TOKENS
    from hlgraph.answer.request import AnswerRequest

    tokens = CONTEXT_TOKENS if context_tokens is None else context_tokens
    request = AnswerRequest(question=question, mode=mode or "short", context_tokens=tokens)
    retriever = chosen(strategy or "auto", preset or "paper", by=by or "rules", sets=sets)
    _plan_answer(settings, request, retriever, is_json=json)


def _plan_answer(settings: Settings, request: AnswerRequest, strategy: Retriever, *, is_json: bool) -> None:
    with _connected(settings) as graph:
        estimate = graph.answers.plan(request, strategy=strategy)
    if is_json:
        print_json(estimate)
    else:
        say(*answer_plan_lines(estimate))


def _plan_ingest(
    settings: Settings, paths: Sequence[str], options: IngestOptions, *, quiet: bool, is_json: bool
) -> None:
    with _connected(settings) as graph, progress("planning", quiet=quiet, is_json=is_json):
        estimate = graph.plan(list(paths), options=options)
    if is_json:
        tree = asdict(estimate)
        tree["failed"] = [{"uri": item.uri, "error": item.error} for item in estimate.failed]
        print_json(tree)
    else:
        say(*plan_lines(estimate))
    if estimate.failed:
        raise typer.Exit(1)


def _connected(settings: Settings) -> HLGraph:
    """The SDK, imported when it is needed."""
    from hlgraph.sdk.client import connect

    return connect(settings)


def _check_none(options: Mapping[str, object], why: str) -> None:
    """Refuse options that belong to the other kind of plan."""
    given = next((name for name, value in options.items() if value), None)
    if given is not None:
        raise InputError(f"{given} {why}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)
