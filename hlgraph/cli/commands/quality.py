"""The commands ``hlgraph quality``: how well the statements represent the text they were extracted from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import print_json, say, usage_tree
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, Quiet, State, budget_of, show_help

if TYPE_CHECKING:
    from hlgraph.sdk.quality import Coverage, Faithfulness, SourceCoverage

PLACE = 140  # position in the list of commands

app = typer.Typer(
    help="Measure how well the statements represent the text.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
_SHOWN = 20


@app.callback()
def _quality(context: typer.Context) -> None:
    show_help(context)


@app.command("coverage")
def coverage(
    context: typer.Context,
    corpus: Corpus = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="URI", help="Only this source, by URI or path (may be repeated).", show_default=False),
    ] = None,
    share: Annotated[
        float, typer.Option(metavar="X", help="Share of its words from which a sentence counts as covered.")
    ] = 0.5,
    show: Annotated[bool, typer.Option("--show", help="Print the sentences that are not covered.")] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show the share of each source's sentences that its statements cover, the least covered sources first.

    A sentence is covered if half of its words (without function words) occur in the statements extracted from it, or three
    quarters in another statement of its chunk, or all in one of its source.

    \b
    Examples:
      hlgraph quality coverage
      hlgraph quality coverage --source docs/plan.md --show
      hlgraph quality coverage --json
    """
    state: State = context.obj
    with state.open(corpus) as graph, progress("measuring coverage", quiet=quiet, is_json=json):
        report = graph.quality.coverage(source or (), share=share)
    if json:
        totals = {"sentences": report.sentences, "covered": report.covered, "share": report.share}
        sources = [_coverage_tree(item, is_shown=show) for item in report.sources]
        print_json({**totals, "threshold": report.threshold, "sources": sources})
    else:
        _say_coverage(report, is_shown=show, is_chosen=bool(source))


@app.command("faithfulness")
def faithfulness(
    context: typer.Context,
    corpus: Corpus = None,
    sample: Annotated[int, typer.Option(metavar="N", help="Statements in the sample.")] = 200,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same sample.")] = 0,
    by: Annotated[
        str,
        typer.Option(metavar="JUDGE", help="model (the chat model), words, or auto: the model if one is configured."),
    ] = "auto",
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Estimate the share of statements that their chunks support, from a random sample, and list the others.

    The estimate has a 95 % interval. The judge words looks for numbers, names and words that the chunk, its title and its
    headings lack, and for negations that were added or lost: it points to suspects, and does not judge meaning. Calls of
    the model are entered in the ledger.

    \b
    Examples:
      hlgraph quality faithfulness
      hlgraph quality faithfulness --sample 1000 --by words --json
      hlgraph quality faithfulness --by model --max-usd 0.5
    """
    state: State = context.obj
    with state.open(corpus) as graph, progress("judging statements", quiet=quiet, is_json=json):
        report = graph.quality.faithfulness(sample=sample, seed=seed, by=by, budget=budget_of(max_tokens, max_usd))
    if json:
        print_json(_faithfulness_tree(report))
    else:
        _say_faithfulness(report)


def _coverage_tree(item: SourceCoverage, *, is_shown: bool) -> dict[str, object]:
    counts = {"sentences": item.sentences, "covered": item.covered, "share": item.share}
    tree = {"uri": item.uri, "title": item.title, **counts, "failed_chunks": item.failed_chunks}
    if is_shown:
        tree["uncovered"] = item.uncovered
    return tree


def _say_coverage(report: Coverage, *, is_shown: bool, is_chosen: bool) -> None:
    say(f"{report.covered:,} of {report.sentences:,} sentences are covered ({100 * report.share:.1f} %)")
    lacking = [item for item in report.sources if item.covered < item.sentences or item.failed_chunks]
    named = report.sources if is_chosen else lacking if is_shown else lacking[:_SHOWN]
    for item in named:
        failed = f"; {item.failed_chunks} chunks were not extracted" if item.failed_chunks else ""
        say(f"{100 * item.share:5.1f} %  {item.covered} of {item.sentences}  {item.uri}{failed}")
        if is_shown:
            say(*(f"    {one.start}-{one.end}: {' '.join(one.text.split())}" for one in item.uncovered))
    if len(lacking) > len(named):
        say(f"... and {len(lacking) - len(named)} more incompletely covered sources (--show or --json lists all)")


def _faithfulness_tree(report: Faithfulness) -> dict[str, object]:
    return {
        "by": report.by,
        "seed": report.seed,
        "statements": report.statements,
        "sampled": report.sampled,
        "accurate": report.accurate._asdict(),
        "offenders": report.offenders,
        "unjudged": report.unjudged,
        **({"usage": usage_tree(report.usage)} if report.usage else {}),
    }


def _say_faithfulness(report: Faithfulness) -> None:
    share, low, high = (100 * each for each in report.accurate)
    say(
        f"{report.sampled - len(report.offenders)} of {report.sampled} sampled statements are accurate: {share:.1f} % "
        f"(95 %: {low:.1f} to {high:.1f}), by {report.by}; the corpus has {report.statements:,}"
    )
    for item in report.offenders:
        say(f"{item.uri}, characters {item.start}-{item.end}: {' '.join(item.text.split())}")
        say(*(f"    {' '.join(reason.split())}" for reason in item.reasons))
    for item in report.unjudged:
        say(f"not judged: {' '.join(item.text.split())} ({'; '.join(item.reasons)})")
    if report.usage:
        usage = report.usage
        say(f"chat model: {usage.calls} calls, {usage.input_tokens} tokens in, {usage.output_tokens} out")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="quality")
