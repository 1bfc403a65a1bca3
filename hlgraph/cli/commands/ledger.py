"""The command ``hlgraph ledger``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, command, option
from hlgraph.cli.output import pick

if TYPE_CHECKING:
    from hlgraph.models.accounts.ledger import Spent

PLACE = 150  # position in the list of commands

app = typer.Typer()

By = Annotated[Literal["source", "stage", "strategy", "corpus", "model"], option("--by", "How calls are grouped.")]


def money(usd: float | None) -> str:
    """An amount in US dollars as text; "price unknown" for None."""
    return "price unknown" if usd is None else f"{usd:,.4f} USD"


def _line(row: Spent) -> str:
    # A line without paid calls costs 0, whether or not the price is known.
    cost = money(row.usd if row.calls else 0.0)
    more = [
        f"{count} {what}"
        for count, what in (
            (row.unpriced_calls if row.usd is not None else 0, "of them without a known price"),
            (row.estimated_calls, "with estimated tokens"),
            (row.kept_calls, "answered from stored replies"),
            (row.unfinished_calls, "never ended, so possibly paid"),
        )
        if count
    ]
    text = f"{row.name or '-'}: {row.calls:,} calls, {row.input_tokens:,} tokens in, {row.output_tokens:,} out, {cost}"
    return f"{text}; {', '.join(more)}" if more else text


@command(app, "ledger", "corpus")
def ledger(
    cli: Invocation,
    by: By = "stage",
) -> None:
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

    with cli.connect() as graph:
        rows = graph.ledger(by)
    known = price_list()
    whole = total(rows)
    lines = [_line(row) for row in ([*rows, whole] if len(rows) > 1 else rows)]
    lines.append(f"prices: your own, else {known.source} ({known.date})")
    tree = {"by": by, "lines": rows, "all": whole, "prices": pick(known, "date source")}
    cli.show(tree, lines if rows else ["no chat model has been called"])
