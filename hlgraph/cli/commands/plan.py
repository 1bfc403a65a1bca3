"""The command ``hlgraph plan``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.commands.ingest import Adapt, Chunked, Encoding, Format, Map, Paths, pairs
from hlgraph.cli.commands.ledger import money
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Corpus, Json, State

if TYPE_CHECKING:
    from hlgraph.ingest.plan import Plan

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


def plan_lines(plan: Plan) -> list[str]:
    """A plan as lines for people."""
    hours, rest = divmod(round(plan.seconds), 3600)
    basis = (
        f"measured on {plan.measured_calls:,} calls of this model in the ledger"
        if plan.measured_calls
        else "rough estimate: the ledger holds too few calls of this model; ingest a part with --max-tokens, then plan again"
    )
    lines = [
        f"sources: {plan.sources:,} to extract, {plan.unchanged:,} unchanged, {len(plan.failed):,} failed",
        f"chunks: {plan.chunks:,}",
        f"calls: {plan.calls:,} of {plan.model}, {plan.kept_calls:,} more answered from stored replies",
        f"tokens: {plan.input_tokens:,} in, {plan.output_tokens:,} out",
        f"money: {money(plan.usd)}",
        f"time: {hours} h {rest // 60} min {rest % 60} s",
        basis,
    ]
    if plan.given_up:
        lines.insert(2, f"skipped: {plan.given_up:,} chunks that failed too often; next: hlgraph failures list")
    lines.extend(f"failed: {item.error}" for item in plan.failed)
    return lines


def plan(
    context: typer.Context,
    paths: Paths,
    corpus: Corpus = None,
    chat: ChatName = None,
    format_: Format = None,
    map_: Map = None,
    encoding: Encoding = None,
    chunked: Chunked = False,
    adapt: Adapt = False,
    json: Json = False,
) -> None:
    """Estimate the cost of an ingest with the chat model.

    Reads and chunks the sources, fills in the prompts, and consults the store, the stored replies and the ledger. No model
    is called, nothing is written, and no API key is needed. Embedding is not included.

    \b
    Examples:
      hlgraph plan docs/ --chat openai:gpt-4o-mini
      hlgraph plan docs/ --adapt
      hlgraph plan articles.jsonl.gz --map text=body --corpus news --json
    """
    from dataclasses import replace

    from hlgraph.ingest.options import IngestOptions
    from hlgraph.sdk.client import connect

    state: State = context.obj
    settings = state.settings(corpus)
    if chat is not None:
        settings = replace(settings, models=replace(settings.models, chat=chat))
    options = IngestOptions(
        format=format_,
        mapping=pairs(map_ or []),
        encoding=encoding,
        extract="chat",
        is_chunked=chunked,
        adapt=adapt,
    )
    with connect(settings) as graph:
        found = graph.plan(list(paths), options=options)
    if json:
        tree = asdict(found)
        tree["failed"] = [{"uri": item.uri, "error": item.error} for item in found.failed]
        print_json(tree)
    else:
        say(*plan_lines(found))
    if found.failed:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)
