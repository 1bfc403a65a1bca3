"""The commands ``hlgraph merges``: propose, judge, list, apply and undo merges of entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import LISTED, print_json, say
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, Quiet, State, Wait, budget_of, show_help

if TYPE_CHECKING:
    from hlgraph.sdk.merges import Candidate, CandidateQuery
    from hlgraph.stores.protocols import Decision

PLACE = 60  # position in the list of commands

app = typer.Typer(
    help="Merge entities that are the same, and undo merges.", invoke_without_command=True, rich_markup_mode=None
)
Lower = Annotated[
    float | None,
    typer.Option(
        metavar="COSINE",
        help="Minimum similarity that alone makes two names a candidate. By default 0.8, adapted to the corpus.",
        show_default=False,
    ),
]
Upper = Annotated[
    float,
    typer.Option(
        metavar="COSINE", help="Minimum similarity at which names with the same words are merged without asking."
    ),
]
Most = Annotated[int, typer.Option(metavar="N", help="Maximum number of pairs, the most certain first.")]


@app.callback()
def _merges(context: typer.Context) -> None:
    show_help(context)


def _query(lower: float | None, upper: float, most: int) -> CandidateQuery:
    from hlgraph.sdk.merges import CandidateQuery

    return CandidateQuery(lower=lower, upper=upper, most=most)


@app.command("propose")
def propose(
    context: typer.Context,
    corpus: Corpus = None,
    lower: Lower = None,
    upper: Upper = 0.95,
    most: Most = 100,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """List pairs of entities that may be the same. Nothing is changed.

    Names are compared by vector and by spelling: the same words, initials, a name within a longer one, one letter apart.

    \b
    Examples:
      hlgraph merges propose
      hlgraph merges propose --lower 0.9 --json
    """
    state: State = context.obj
    with state.open(corpus) as graph, progress("finding candidates", quiet=quiet, is_json=json):
        result = graph.merges.propose(_query(lower, upper, most))
    if json:
        print_json({"candidates": [_candidate(item) for item in result.found], "left_out": result.left_out})
        return
    for item in result.found:
        say(f"{_sure(item)}  {item.alias.name}  ->  {item.canonical.name}  ({item.why})")
    more = f"; {result.left_out} more with a higher --most" if result.left_out else ""
    say(f"{len(result.found)} pairs{more}")
    say("next: hlgraph merges judge, or hlgraph merges apply ALIAS CANONICAL")


@app.command("judge")
def judge(
    context: typer.Context,
    corpus: Corpus = None,
    by: Annotated[
        str,
        typer.Option(metavar="HOW", help="chat (the chat model), rules, or auto: chat if a chat model is configured."),
    ] = "auto",
    write: Annotated[
        bool, typer.Option("--write", help="Make the changes; without it, only show what would be done.")
    ] = False,
    lower: Lower = None,
    upper: Upper = 0.95,
    most: Most = 1_000,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
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
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph, progress("judging candidates", quiet=quiet, is_json=json):
        report = graph.merges.judge(
            _query(lower, upper, most), by=by, budget=budget_of(max_tokens, max_usd), dry_run=not write
        )
    if json:
        conflicts = [{"pair": list(item.pair), "apart": list(item.apart)} for item in report.conflicts]
        undecided = [{**_candidate(item), "reason": reason} for item, reason in report.undecided]
        decided = {
            name: [_tree(item, report.names) for item in getattr(report, name)] for name in ("merged", "apart", "held")
        }
        counts = {"calls": report.calls, "left_out": report.left_out, "is_dry_run": report.is_dry_run}
        print_json({**decided, "conflicts": conflicts, "undecided": undecided, **counts})
    else:
        would = "would be " if report.is_dry_run else ""
        for word, some in (("merged", report.merged), ("kept apart", report.apart), ("held back", report.held)):
            for item in some:
                say(f"{would}{word}: {_line(item, report.names)}")
        for pair, reason in report.undecided:
            say(f"undecided: {pair.alias.name} and {pair.canonical.name} ({pair.why}); {reason}")
        say(
            f"{len(report.merged)} {would}merged, {len(report.apart)} kept apart, {len(report.held)} held back, "
            f"{len(report.undecided)} undecided; {report.calls} calls of the chat model"
        )
        if report.is_dry_run:
            say("no model was called and nothing was changed; next: hlgraph merges judge --write")
    if report.conflicts:
        raise typer.Exit(1)


@app.command("list")
def list_merges(
    context: typer.Context,
    corpus: Corpus = None,
    verdict: Annotated[
        str | None,
        typer.Option(metavar="VERDICT", help="Only same, different or open (default: all).", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("--k", metavar="N", help="Maximum number of decisions.")] = LISTED,
    json: Json = False,
) -> None:
    """List the decisions, newest first, and the resulting groups. Contradictions make the exit code 1.

    \b
    Examples:
      hlgraph merges list
      hlgraph merges list --verdict open --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        listing = graph.merges.list(verdict, k=k)
    if json:
        groups = [
            {"canonical": item.canonical.name, "aliases": [each.name for each in item.aliases]}
            for item in listing.groups
        ]
        tree = {
            name: [_tree(item, listing.names) for item in getattr(listing, name)]
            for name in ("decisions", "contradictions")
        }
        print_json({**tree, "groups": groups})
    else:
        for item in listing.decisions:
            say(f"{item.verdict}: {_line(item, listing.names)}  ({item.id})")
        for group in listing.groups:
            say(f"merged: {group.canonical.name}, also called {', '.join(each.name for each in group.aliases)}")
        for item in listing.contradictions:
            say(f"CONTRADICTION: kept apart, but joined by other merges: {_line(item, listing.names)}  ({item.id})")
        if not listing.decisions:
            say("no decisions yet; next: hlgraph merges propose")
    if listing.contradictions:
        raise typer.Exit(1)


@app.command("apply")
def apply(
    context: typer.Context,
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="An entity, by name or id.")],
    canonical: Annotated[str, typer.Argument(metavar="CANONICAL", help="The entity to merge it into.")],
    corpus: Corpus = None,
    different: Annotated[bool, typer.Option("--different", help="Decide that the two are different instead.")] = False,
    made_by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who decided.", show_default=False)] = "",
    why: Annotated[
        str, typer.Option(metavar="TEXT", help="The reason, stored with the decision.", show_default=False)
    ] = "",
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Merge an entity into another one. The extracted data stays as it is, and undo reverts the merge.

    \b
    Examples:
      hlgraph merges apply "M. Quill" "Mara Quill" --by Ada
      hlgraph merges apply "Orne" "Ivo Brandt" --different
    """
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph:
        decisions = graph.merges.apply([(alias, canonical)], keep_apart=different, made_by=made_by, why=why)
        names = graph.merges.list().names
    if json:
        print_json({"decisions": [_tree(item, names) for item in decisions], "is_unchanged": not decisions})
        return
    say(*(f"{item.verdict}: {_line(item, names)}  ({item.id})" for item in decisions))
    if not decisions:
        say("unchanged: the decision already exists")


@app.command("undo")
def undo(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of decisions, as merges list shows them.")],
    corpus: Corpus = None,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Remove decisions and restore the graph to its state without them.

    \b
    Example:
      hlgraph merges undo 5d0c0f2f1f1b4a53a1a5ad2a6ac7c7b0
    """
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph:
        names = graph.merges.list().names
        gone = graph.merges.undo(ids)
    before = [name for name in dict.fromkeys(ids) if name not in {item.id for item in gone}]
    if json:
        print_json({"undone": [_tree(item, names) for item in gone], "undone_before": before})
        return
    say(*(f"undone: {_line(item, names)}" for item in gone), *(f"undone before: {name}" for name in before))


def _sure(item: Candidate) -> str:
    return "certain  " if item.is_certain else "uncertain"


def _candidate(item: Candidate) -> dict[str, object]:
    return {
        "alias": item.alias.name,
        "canonical": item.canonical.name,
        "alias_id": item.alias.id,
        "canonical_id": item.canonical.id,
        "score": item.score,
        "evidence": list(item.evidence),
        "is_certain": item.is_certain,
    }


def _tree(item: Decision, names: Mapping[str, str]) -> dict[str, object]:
    ends = {"alias": names.get(item.alias, ""), "canonical": names.get(item.canonical, "")}
    ids = {"alias_id": item.alias, "canonical_id": item.canonical}
    rest = {name: getattr(item, name) for name in ("made_by", "why", "score", "at")}
    return {"id": item.id, **ends, **ids, "verdict": item.verdict.value, "by": item.by.value, **rest}


def _line(item: Decision, names: Mapping[str, str]) -> str:
    alias, canonical = names.get(item.alias, item.alias), names.get(item.canonical, item.canonical)
    who = ", ".join(part for part in (f"by {item.by}", item.made_by, item.why, item.at) if part)
    return f"{alias}  ->  {canonical}  ({who})"


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="merges")
