"""The commands ``hlgraph merges``: propose, judge, list, apply and undo merges of entities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

from hlgraph.cli.command import Invocation, argument, command, group, option
from hlgraph.cli.output import LISTED, pick

if TYPE_CHECKING:
    from hlgraph.resolve.candidates import Candidate, CandidateQuery
    from hlgraph.resolve.decide import JudgedMerges
    from hlgraph.sdk.merges import FoundMerges
    from hlgraph.stores.protocols import Decision

PLACE = 60  # position in the list of commands

app = group("merges", "Merge entities that are the same, and undo merges.")
Lower = Annotated[
    float | None,
    option(
        "COSINE", "Minimum similarity that alone makes two names a candidate. By default 0.8, adapted to the corpus."
    ),
]
Upper = Annotated[
    float, option("COSINE", "Minimum similarity at which names with the same words are merged without asking.")
]
Most = Annotated[int, option("N", "Maximum number of pairs, the most certain first.")]


def _query(lower: float | None, upper: float, most: int) -> CandidateQuery:
    from hlgraph.resolve.candidates import CandidateQuery

    return CandidateQuery(lower=lower, upper=upper, most=most)


@command(app, "propose", "corpus", "quiet")
def propose(cli: Invocation, lower: Lower = None, upper: Upper = 0.95, most: Most = 100) -> None:
    """List pairs of entities that may be the same. Nothing is changed.

    Names are compared by vector and by spelling: the same words, initials, a name within a longer one, one letter apart.

    \b
    Examples:
      hlgraph merges propose
      hlgraph merges propose --lower 0.9 --json
    """
    with cli.connect("finding candidates") as graph:
        result = graph.merges.propose(_query(lower, upper, most))
    more = f"; {result.left_out} more with a higher --most" if result.left_out else ""
    lines = [
        *(
            f"{'certain  ' if pair.is_certain else 'uncertain'}  {pair.alias.name}  ->  {pair.canonical.name}  ({pair.why})"
            for pair in result.found
        ),
        f"{len(result.found)} pairs{more}",
        "next: hlgraph merges judge, or hlgraph merges apply ALIAS CANONICAL",
    ]
    cli.show({"candidates": [_candidate(pair) for pair in result.found], "left_out": result.left_out}, lines)


@command(app, "judge", "corpus", "budget", "wait", "quiet")
def judge(
    cli: Invocation,
    by: Annotated[
        str, option("HOW", "chat (the chat model), rules, or auto: chat if a chat model is configured.")
    ] = "auto",
    write: Annotated[bool, option("--write", "Make the changes; without it, only show what would be done.")] = False,
    lower: Lower = None,
    upper: Upper = 0.95,
    most: Most = 1_000,
) -> None:
    """Merge certain pairs, and let the chat model decide the others.

    Without --write no model is called and nothing is changed. Verdicts, same or different, are stored, so that no pair is
    paid for twice. A merge that would join two entities kept apart is reported and not made (exit code 1).

    \b
    Examples:
      hlgraph merges judge
      hlgraph merges judge --by rules --write
      hlgraph merges judge --write --max-usd 1
    """
    with cli.connect("judging candidates") as graph:
        report = graph.merges.judge(_query(lower, upper, most), by=by, budget=cli.budget, dry_run=not write)
    tree = {
        **{name: _trees(getattr(report, name), report.names) for name in ("merged", "apart", "held")},
        "conflicts": [pick(conflict, "pair apart") for conflict in report.conflicts],
        "undecided": [{**_candidate(pair), "reason": reason} for pair, reason in report.undecided],
        **pick(report, "calls left_out is_dry_run"),
    }
    cli.show(tree, _judged_lines(report), fails=report.conflicts)


def _judged_lines(report: JudgedMerges) -> Iterator[str]:
    would = "would be " if report.is_dry_run else ""
    for word, decisions in (("merged", report.merged), ("kept apart", report.apart), ("held back", report.held)):
        yield from (f"{would}{word}: {_line(decision, report.names)}" for decision in decisions)
    for pair, reason in report.undecided:
        yield f"undecided: {pair.alias.name} and {pair.canonical.name} ({pair.why}); {reason}"
    yield (
        f"{len(report.merged)} {would}merged, {len(report.apart)} kept apart, {len(report.held)} held back, "
        f"{len(report.undecided)} undecided; {report.calls} calls of the chat model"
    )
    if report.is_dry_run:
        yield "no model was called and nothing was changed; next: hlgraph merges judge --write"


@command(app, "list", "corpus")
def list_merges(
    cli: Invocation,
    verdict: Annotated[str | None, option("VERDICT", "Only same, different or open (default: all).")] = None,
    k: Annotated[int, option("--k N", "Maximum number of decisions.")] = LISTED,
) -> None:
    """List the decisions, newest first, and the resulting groups. Contradictions make the exit code 1.

    \b
    Examples:
      hlgraph merges list
      hlgraph merges list --verdict open --json
    """
    with cli.connect() as graph:
        listing = graph.merges.list(verdict, k=k)
    tree = {name: _trees(getattr(listing, name), listing.names) for name in ("decisions", "contradictions")}
    groups = [
        {"canonical": merged.canonical.name, "aliases": [alias.name for alias in merged.aliases]}
        for merged in listing.groups
    ]
    cli.show({**tree, "groups": groups}, _list_lines(listing), fails=listing.contradictions)


def _list_lines(listing: FoundMerges) -> Iterator[str]:
    for decision in listing.decisions:
        yield f"{decision.verdict}: {_line(decision, listing.names)}  ({decision.id})"
    for merged in listing.groups:
        yield f"merged: {merged.canonical.name}, also called {', '.join(alias.name for alias in merged.aliases)}"
    for decision in listing.contradictions:
        where = f"{_line(decision, listing.names)}  ({decision.id})"
        yield f"CONTRADICTION: kept apart, but joined by other merges: {where}"
    if not listing.decisions:
        yield "no decisions yet; next: hlgraph merges propose"


@command(app, "apply", "corpus", "wait")
def apply(
    cli: Invocation,
    alias: Annotated[str, argument("ALIAS", "An entity, by name or id.")],
    canonical: Annotated[str, argument("CANONICAL", "The entity to merge it into.")],
    different: Annotated[bool, option("--different", "Decide that the two are different instead.")] = False,
    made_by: Annotated[str, option("--by NAME", "Who decided.")] = "",
    why: Annotated[str, option("TEXT", "The reason, stored with the decision.")] = "",
) -> None:
    """Merge an entity into another one. The extracted data stays as it is, and undo reverts the merge.

    \b
    Examples:
      hlgraph merges apply "M. Quill" "Mara Quill" --by Ada
      hlgraph merges apply "Orne" "Ivo Brandt" --different
    """
    with cli.connect() as graph:
        decisions = graph.merges.apply([(alias, canonical)], keep_apart=different, made_by=made_by, why=why)
        names = graph.merges.list().names
    lines = [f"{decision.verdict}: {_line(decision, names)}  ({decision.id})" for decision in decisions]
    cli.show(
        {"decisions": _trees(decisions, names), "is_unchanged": not decisions},
        lines or ["unchanged: the decision already exists"],
    )


@command(app, "undo", "corpus", "wait")
def undo(
    cli: Invocation, ids: Annotated[list[str], argument("ID...", "Ids of decisions, as merges list shows them.")]
) -> None:
    """Remove decisions and restore the graph to its state without them.

    \b
    Example:
      hlgraph merges undo 5d0c0f2f1f1b4a53a1a5ad2a6ac7c7b0
    """
    with cli.connect() as graph:
        names = graph.merges.list().names
        gone = graph.merges.undo(ids)
    before = [name for name in dict.fromkeys(ids) if name not in {decision.id for decision in gone}]
    lines = [f"undone: {_line(decision, names)}" for decision in gone]
    cli.show(
        {"undone": _trees(gone, names), "undone_before": before}, [*lines, *(f"undone before: {id_}" for id_ in before)]
    )


def _candidate(pair: Candidate) -> dict[str, object]:
    ends = {"alias": pair.alias.name, "canonical": pair.canonical.name}
    ids = {"alias_id": pair.alias.id, "canonical_id": pair.canonical.id}
    return {**ends, **ids, **pick(pair, "score evidence is_certain")}


def _trees(decisions: Iterable[Decision], names: Mapping[str, str]) -> list[dict[str, object]]:
    return [
        {
            "id": decision.id,
            "alias": names.get(decision.alias, ""),
            "canonical": names.get(decision.canonical, ""),
            "alias_id": decision.alias,
            "canonical_id": decision.canonical,
            **pick(decision, "verdict by made_by why score at"),
        }
        for decision in decisions
    ]


def _line(decision: Decision, names: Mapping[str, str]) -> str:
    alias, canonical = (names.get(id_, id_) for id_ in (decision.alias, decision.canonical))
    who = ", ".join(part for part in (f"by {decision.by}", decision.made_by, decision.why, decision.at) if part)
    return f"{alias}  ->  {canonical}  ({who})"
