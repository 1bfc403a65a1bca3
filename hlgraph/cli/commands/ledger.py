"""The command ``hlgraph ledger``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Corpus, Json, State

if TYPE_CHECKING:
    from hlgraph.models.accounts.ledger import Spent

PLACE = 150  # position in the list of commands

By = Annotated[
    Literal["source", "stage", "strategy", "corpus", "model"], typer.Option("--by", help="How calls are grouped.")
]


def money(usd: float | None) -> str:
    """An amount in US dollars as text; "price unknown" for None."""
    return "price unknown" if usd is None else f"{usd:,.4f} USD"


def _line(item: Spent) -> str:
    # A line without paid calls costs 0, whether or not the price is known.
    cost = money(item.usd if item.calls else 0.0)
    more = [
        f"{count} {what}"
        for count, what in (
            (item.unpriced_calls if item.usd is not None else 0, "of them without a known price"),
            (item.estimated_calls, "with estimated tokens"),
            (item.kept_calls, "answered from stored replies"),
            (item.unfinished_calls, "never ended, so possibly paid"),
        )
        if count
    ]
    text = (
        f"{item.name or '-'}: {item.calls:,} calls, {item.input_tokens:,} tokens in, {item.output_tokens:,} out, {cost}"
    )
    return f"{text}; {', '.join(more)}" if more else text


def ledger(context: typer.Context, corpus: Corpus = None, by: By = "stage", json: Json = False) -> None:
    """Show the tokens and the money spent on chat models.

    A call is entered in the ledger before it is made, and its tokens and price when it ends. Prices come from models.prices in
    the settings, otherwise from the list shipped with hlgraph; calls without a known price are counted.

    \b
    Examples:
      hlgraph ledger
      hlgraph ledger --by source --corpus news
      hlgraph ledger --by corpus --json
    """
    from hlgraph.models.accounts.budget import price_list
    from hlgraph.models.accounts.ledger import total

    state: State = context.obj
    with state.open(corpus) as graph:
        lines = graph.ledger(by)
    known = price_list()
    if json:
        prices = {"date": known.date, "source": known.source}
        print_json({"by": by, "lines": lines, "all": total(lines), "prices": prices})
        return
    if not lines:
        say("no chat model has been called")
        return
    say(*(_line(item) for item in lines))
    if len(lines) > 1:
        say(_line(total(lines)))
    say(f"prices: your own, else {known.source} ({known.date})")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ledger")(ledger)
