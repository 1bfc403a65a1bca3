"""The global options, options shared by commands, and opening the SDK from them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.output import note

if TYPE_CHECKING:
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress on standard error.")]
Corpus = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The corpus (also HLGRAPH_CORPUS; default: default).", show_default=False),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="EXPR",
        help="Only sources whose metadata match this filter: field = value, !=, <, <=, >, >=, in (...), exists field, "
        "and, or, not.",
        show_default=False,
    ),
]

Wait = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Maximum time to wait while another process writes; 0: do not wait (default: the setting wait, otherwise no limit).",
        show_default=False,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        help="Spend at most N tokens on the chat model, then stop with exit code 6.",
        show_default=False,
    ),
]
MaxUsd = Annotated[
    float | None,
    typer.Option(
        "--max-usd",
        metavar="X",
        help="Spend at most X US dollars on the chat model, then stop with exit code 6.",
        show_default=False,
    ),
]


def budget_of(max_tokens: int | None, max_usd: float | None) -> Budget | None:
    """The budget that --max-tokens and --max-usd set; None without them."""
    from hlgraph.models.accounts.budget import Budget

    return None if max_tokens is None and max_usd is None else Budget(max_tokens=max_tokens, max_usd=max_usd)


@dataclass(frozen=True, slots=True)
class State:
    """The global options of one run."""

    store: str | None
    vectors: str | None
    config: str | None
    trace: str | None = None
    correlation_id: str | None = None
    command: str = ""
    observed: ExitStack = field(default_factory=ExitStack, compare=False)

    def settings(self, corpus: str | None = None, *, wait: float | None = None) -> Settings:
        """The settings from file and environment, overridden by the options."""
        from hlgraph.cli.logs import set_up_warnings
        from hlgraph.settings import at_store, load

        set_up_warnings(
            is_marked=self.correlation_id is not None
        )  # here, because every command calls this, and --help does not
        found = load(self.config)
        if self.store is not None:
            found = at_store(found, self.store)
        if self.vectors is not None:
            found = replace(found, vectors=self.vectors)
        if wait is not None:
            found = replace(found, wait=wait)
        found = found if corpus is None else replace(found, corpus=corpus)
        self._observe(found)
        return found

    def _observe(self, settings: Settings) -> None:
        """Send spans, and give every log record of the command one id, from here to its end."""
        from hlgraph import telemetry
        from hlgraph.cli.exporter import exporting

        if telemetry.correlation_id():
            return  # a command may ask for its settings twice
        told = settings.telemetry if self.trace is None else replace(settings.telemetry, exporter=self.trace)
        self.observed.enter_context(exporting(told.exporter))
        if self.correlation_id is not None:
            self.observed.enter_context(telemetry.correlated(self.correlation_id))
        self.observed.enter_context(telemetry.operation(self.command, told))

    def open(self, corpus: str | None = None, *, wait: float | None = None) -> HLGraph:
        """The SDK, connected to the store of the options."""
        from hlgraph.sdk.client import connect

        return connect(self.settings(corpus, wait=wait))


def show_help(context: typer.Context) -> None:
    """Print the help, which lists the subcommands, and exit with code 2 if no subcommand was given."""
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(2)
