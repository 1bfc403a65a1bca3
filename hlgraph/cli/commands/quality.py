"""The commands ``hlgraph quality``: how well the statements represent the text they were extracted from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from hlgraph.cli.command import Invocation, command, group, option
from hlgraph.cli.output import pick, usage_tree

if TYPE_CHECKING:
    from hlgraph.sdk.quality import Coverage, Faithfulness

PLACE = 140  # position in the list of commands

app = group("quality", "Measure how well the statements represent the text.")
_SHOWN = 20


@command(app, "coverage", "corpus", "quiet")
def coverage(
    cli: Invocation,
    source: Annotated[list[str] | None, option("URI", "Only this source, by URI or path (may be repeated).")] = None,
    share: Annotated[float, option("X", "Share of its words from which a sentence counts as covered.")] = 0.5,
    show: Annotated[bool, option("--show", "Print the sentences that are not covered.")] = False,
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
    with cli.connect("measuring coverage") as graph:
        report = graph.quality.coverage(source or (), share=share)
    fields = f"uri title sentences covered share failed_chunks {'uncovered' if show else ''}"
    tree = pick(report, "sentences covered share threshold", sources=[pick(each, fields) for each in report.sources])
    cli.show(tree, _coverage_lines(report, is_shown=show, is_chosen=bool(source)))


@command(app, "faithfulness", "corpus", "budget", "quiet")
def faithfulness(
    cli: Invocation,
    sample: Annotated[int, option("N", "Statements in the sample.")] = 200,
    seed: Annotated[int, option("N", "The same seed gives the same sample.")] = 0,
    by: Annotated[
        str, option("JUDGE", "model (the chat model), words, or auto: the model if one is configured.")
    ] = "auto",
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
    with cli.connect("judging statements") as graph:
        report = graph.quality.faithfulness(sample=sample, seed=seed, by=by, budget=cli.budget)
    tree = pick(report, "by seed statements sampled", accurate=report.accurate._asdict())
    cli.show({**tree, **pick(report, "offenders unjudged"), **usage_tree(report.usage)}, _faithfulness_lines(report))


def _coverage_lines(report: Coverage, *, is_shown: bool, is_chosen: bool) -> Iterator[str]:
    yield f"{report.covered:,} of {report.sentences:,} sentences are covered ({100 * report.share:.1f} %)"
    lacking = [source for source in report.sources if source.covered < source.sentences or source.failed_chunks]
    named = report.sources if is_chosen else lacking if is_shown else lacking[:_SHOWN]
    for source in named:
        failed = f"; {source.failed_chunks} chunks were not extracted" if source.failed_chunks else ""
        yield f"{100 * source.share:5.1f} %  {source.covered} of {source.sentences}  {source.uri}{failed}"
        if is_shown:
            for sentence in source.uncovered:
                yield f"    {sentence.start}-{sentence.end}: {' '.join(sentence.text.split())}"
    if len(lacking) > len(named):
        yield f"... and {len(lacking) - len(named)} more incompletely covered sources (--show or --json lists all)"


def _faithfulness_lines(report: Faithfulness) -> Iterator[str]:
    share, low, high = (100 * each for each in report.accurate)
    yield (
        f"{report.sampled - len(report.offenders)} of {report.sampled} sampled statements are accurate: {share:.1f} % "
        f"(95 %: {low:.1f} to {high:.1f}), by {report.by}; the corpus has {report.statements:,}"
    )
    for offender in report.offenders:
        yield f"{offender.uri}, characters {offender.start}-{offender.end}: {' '.join(offender.text.split())}"
        yield from (f"    {' '.join(reason.split())}" for reason in offender.reasons)
    for unjudged in report.unjudged:
        yield f"not judged: {' '.join(unjudged.text.split())} ({'; '.join(unjudged.reasons)})"
    if report.usage:
        from hlgraph.ingest.report import usage_line

        yield usage_line(report.usage)
