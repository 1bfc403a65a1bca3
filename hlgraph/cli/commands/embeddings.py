"""The commands ``hlgraph embeddings``: change the embedding model of a corpus while searches go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from hlgraph.cli.command import Invocation, argument, command, group, option
from hlgraph.cli.output import pick

if TYPE_CHECKING:
    from hlgraph.sdk.embeddings import SwitchedSet, VerifiedSet

PLACE = 65  # position in the list of commands

app = group("embeddings", "Change the embedding model of a corpus while searches go on.")
Model = Annotated[
    str,
    argument(
        "MODEL", "An embedder: provider:model, the name of an installed model (hlgraph models list), or its folder."
    ),
]


@command(app, "plan", "corpus", "quiet")
def plan(cli: Invocation, model: Model) -> None:
    """Print what a build would embed and write, and what it would cost. Embeds 32 texts to measure the time; writes nothing.

    \b
    Example:
      hlgraph embeddings plan openai:text-embedding-3-small
    """
    from hlgraph.cli.commands.ledger import money
    from hlgraph.cli.commands.plan import duration

    with cli.connect("counting") as graph:
        planned = graph.embeddings.plan(model)
    lines = [
        f"model: {planned.embedding}, {planned.dimensions} dimensions",
        f"rows: {planned.rows:,} to write, {planned.bytes / 1e6:,.1f} MB of vectors",
        f"texts: {planned.texts:,} to embed, {planned.tokens:,} tokens",
        f"money: {money(planned.usd)}",
        f"time: {duration(planned.seconds or 0.0)}",
    ]
    cli.show(planned, lines)


@command(app, "build", "corpus", "budget", "wait", "quiet")
def build(cli: Invocation, model: Model) -> None:
    """Embed everything by another model into a second set of vectors. Searches go on, and do not see it.

    After a kill, or when sources were added, the same command writes what is missing.

    \b
    Examples:
      hlgraph embeddings build openai:text-embedding-3-small
      hlgraph embeddings build ./models/our-model --corpus news
    """
    with cli.connect("embedding") as graph:
        built = graph.embeddings.build(model, budget=cli.budget)
    more = f"; {built.missing:,} are missing, since others write: run it again" if built.missing else ""
    strays = f", {built.removed:,} without a record removed" if built.removed else ""
    cli.show(
        built,
        [
            f"{built.embedding}: {built.written:,} rows written{strays}{more}",
            f"{built.texts:,} texts embedded, {built.tokens:,} tokens",
            "next: hlgraph embeddings verify",
        ],
    )


@command(app, "verify", "corpus", "quiet")
def verify(
    cli: Invocation,
    question: Annotated[
        list[str] | None,
        option("--question TEXT", "Compare what both models find for this question (may be repeated)."),
    ] = None,
    sample: Annotated[int, option("--sample N", "Number of vectors of each kind to compute again.")] = 100,
) -> None:
    """Check the second set: no row is missing, none is damaged, and a sample is what the model computes (exit code 1 otherwise).

    \b
    Examples:
      hlgraph embeddings verify
      hlgraph embeddings verify --question 'Who leads the works?'
    """
    with cli.connect("verifying") as graph:
        verified = graph.embeddings.verify(questions=question or (), sample=sample)
    cli.show(
        pick(verified, "embedding rows missing strays damaged compared differing overlap is_fine"),
        _verified(verified),
        fails=not verified.is_fine,
    )


def _verified(verified: VerifiedSet) -> Iterator[str]:
    yield f"{verified.embedding}: {verified.rows:,} rows, {verified.missing:,} missing, {verified.strays:,} without a record"
    yield f"{verified.damaged:,} damaged; of {verified.compared:,} computed again {verified.differing:,} differ"
    if verified.overlap is not None:
        yield f"both models find {verified.overlap:.0%} of the same 10 statements"
    yield "next: hlgraph embeddings switch" if verified.is_fine else "NOT fine; next: hlgraph embeddings build MODEL"


@command(app, "switch", "corpus", "wait", "quiet")
def switch(cli: Invocation) -> None:
    """Make the second set the current one, in one transaction. No search fails; those under way end by the model before.

    The set before stays for "rollback" until "drop". Set models.embedder to the new model then.

    \b
    Example:
      hlgraph embeddings switch
    """
    with cli.connect("switching") as graph:
        switched = graph.embeddings.switch()
    cli.show(switched, _switched(switched, "hlgraph embeddings rollback, or drop"))


@command(app, "rollback", "corpus", "wait", "quiet")
def rollback(cli: Invocation) -> None:
    """Return to the set of vectors that was current before the last switch.

    \b
    Example:
      hlgraph embeddings rollback
    """
    with cli.connect("switching") as graph:
        switched = graph.embeddings.rollback()
    cli.show(switched, _switched(switched, "hlgraph embeddings switch, or drop"))


def _switched(switched: SwitchedSet, then: str) -> Iterator[str]:
    if switched.is_unchanged:
        yield f"unchanged: {switched.embedding} is current already"
        return
    yield f"from {switched.previous} to {switched.embedding}: {switched.synonyms:,} synonyms, {switched.summaries:,} summaries"
    if switched.outdated:
        yield f"outdated: {', '.join(switched.outdated)}; build them again: hlgraph hierarchy build, hlgraph communities build"
    yield f"next: set models.embedder to {switched.model or 'this model'}; then {then}"


@command(app, "drop", "corpus", "wait", "quiet")
def drop(cli: Invocation) -> None:
    """Remove the set that no search uses, with all its bytes.

    \b
    Example:
      hlgraph embeddings drop
    """
    with cli.connect("removing") as graph:
        dropped = graph.embeddings.drop()
    removed = f"removed {dropped.rows:,} rows of {dropped.embedding}" if dropped.embedding else "there is no other set"
    cli.show(dropped._asdict(), [removed])


@command(app, "list", "corpus")
def list_sets(cli: Invocation) -> None:
    """List the sets of vectors of the corpus, the current one first.

    \b
    Example:
      hlgraph embeddings list
    """
    with cli.connect() as graph:
        sets = graph.embeddings.list()
    lines = [
        f"{one.state}: {one.embedding}, {one.dimensions} dimensions, {one.rows:,} rows, {one.missing:,} missing"
        for one in sets
    ]
    cli.show(
        {"sets": [pick(one, "embedding dimensions model state rows missing bytes at") for one in sets]},
        lines or ["no vectors"],
    )
