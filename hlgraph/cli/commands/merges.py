"""hlgraph merges: entities that are one: propose, judge, list, apply, undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, State, budget_of, show_help

if TYPE_CHECKING:
    from hlgraph.sdk.merges import Candidate, CandidateQuery
    from hlgraph.stores.merges import Decision

PLACE = 60  # in the list of commands

app = typer.Typer(help="Merge entities that are one, and undo it.", invoke_without_command=True, rich_markup_mode=None)
Lower = Annotated[float, typer.Option(metavar="COSINE", help="The least similarity of two names by itself.")]
Upper = Annotated[
    float, typer.Option(metavar="COSINE", help="From here on names of the same words are merged without a question.")
]
Most = Annotated[int, typer.Option(metavar="N", help="So many pairs at most, the surest first.")]


@app.callback()
def _merges(context: typer.Context) -> None:
    show_help(context)


def _query(lower: float, upper: float, most: int) -> CandidateQuery:
    from hlgraph.sdk.merges import CandidateQuery

    return CandidateQuery(lower=lower, upper=upper, most=most)


@app.command("propose")
def propose(
    context: typer.Context,
    corpus: Corpus = None,
    lower: Lower = 0.8,
    upper: Upper = 0.95,
    most: Most = 100,
    json: Json = False,
) -> None:
    """List pairs of entities that may be one. Nothing is changed.

    Names are compared by their vectors and by their letters: the same words, initials, a name in a longer one, one letter.

    \b
    Examples:
      hlgraph merges propose
      hlgraph merges propose --lower 0.9 --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        found = graph.merges.propose(_query(lower, upper, most))
    if json:
        print_json({"candidates": [_candidate(item) for item in found.found], "left_out": found.left_out})
        return
    for item in found.found:
        say(f"{_sure(item)}  {item.alias.name}  ->  {item.canonical.name}  ({item.why})")
    say(f"{len(found.found)} pairs" + (f", {found.left_out} more with a higher --most" if found.left_out else ""))
    say("next: hlgraph merges judge, or hlgraph merges apply ALIAS CANONICAL")


@app.command("judge")
def judge(
    context: typer.Context,
    corpus: Corpus = None,
    by: Annotated[
        str, typer.Option(metavar="HOW", help="chat (the chat model), rules, or auto: chat where there is one.")
    ] = "auto",
    write: Annotated[bool, typer.Option("--write", help="Do it; without this, say only what would be done.")] = False,
    lower: Lower = 0.8,
    upper: Upper = 0.95,
    most: Most = 1_000,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    json: Json = False,
) -> None:
    """Merge what is certain, and have the chat model decide the rest.

    Without --write nothing is asked or changed. Verdicts of both kinds are kept, so that no pair is paid twice; what would
    join two that are kept apart is reported and not merged (exit code 1).

    \b
    Examples:
      hlgraph merges judge
      hlgraph merges judge --by rules --write
      hlgraph merges judge --write --max-usd 1
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        found = graph.merges.judge(
            _query(lower, upper, most), by=by, budget=budget_of(max_tokens, max_usd), dry_run=not write
        )
    if json:
        conflicts = [{"pair": list(item.pair), "apart": list(item.apart)} for item in found.conflicts]
        undecided = [{**_candidate(item), "reason": reason} for item, reason in found.undecided]
        decided = {
            name: [_tree(item, found.names) for item in getattr(found, name)] for name in ("merged", "apart", "held")
        }
        counts = {"calls": found.calls, "left_out": found.left_out, "is_dry_run": found.is_dry_run}
        print_json({**decided, "conflicts": conflicts, "undecided": undecided, **counts})
    else:
        would = "would be " if found.is_dry_run else ""
        for word, some in (("merged", found.merged), ("kept apart", found.apart), ("held back", found.held)):
            for item in some:
                say(f"{would}{word}: {_line(item, found.names)}")
        for pair, reason in found.undecided:
            say(f"undecided: {pair.alias.name} and {pair.canonical.name} ({pair.why}); {reason}")
        say(
            f"{len(found.merged)} {would}merged, {len(found.apart)} kept apart, {len(found.held)} held back, "
            f"{len(found.undecided)} undecided; {found.calls} calls of the chat model"
        )
        if found.is_dry_run:
            say("nothing was asked or changed; next: hlgraph merges judge --write")
    if found.conflicts:
        raise typer.Exit(1)


@app.command("list")
def list_merges(
    context: typer.Context,
    corpus: Corpus = None,
    verdict: Annotated[
        str | None,
        typer.Option(metavar="VERDICT", help="same, different or open alone; default: all.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("--k", metavar="N", help="Decisions at most.")] = 25,
    json: Json = False,
) -> None:
    """List what was decided, the newest first, and the groups that it makes. Contradictions give exit code 1.

    \b
    Examples:
      hlgraph merges list
      hlgraph merges list --verdict open --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        found = graph.merges.list(verdict, k=k)
    if json:
        groups = [
            {"canonical": item.canonical.name, "aliases": [each.name for each in item.aliases]} for item in found.groups
        ]
        tree = {
            name: [_tree(item, found.names) for item in getattr(found, name)]
            for name in ("decisions", "contradictions")
        }
        print_json({**tree, "groups": groups})
    else:
        for item in found.decisions:
            say(f"{item.verdict}: {_line(item, found.names)}  ({item.id})")
        for group in found.groups:
            say(f"one: {group.canonical.name}, also called {', '.join(each.name for each in group.aliases)}")
        for item in found.contradictions:
            say(f"CONTRADICTION: kept apart, but one by other merges: {_line(item, found.names)}  ({item.id})")
        if not found.decisions:
            say("nothing was decided; next: hlgraph merges propose")
    if found.contradictions:
        raise typer.Exit(1)


@app.command("apply")
def apply(
    context: typer.Context,
    alias: Annotated[str, typer.Argument(metavar="ALIAS", help="An entity by its name or id.")],
    canonical: Annotated[str, typer.Argument(metavar="CANONICAL", help="The entity that it is.")],
    corpus: Corpus = None,
    different: Annotated[bool, typer.Option("--different", help="Say that the two are not one.")] = False,
    made_by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who says so.", show_default=False)] = "",
    why: Annotated[str, typer.Option(metavar="TEXT", help="Why; kept with the decision.", show_default=False)] = "",
    json: Json = False,
) -> None:
    """Say that an entity is another one. What was extracted stays as it is: undo takes it back.

    \b
    Examples:
      hlgraph merges apply "M. Quill" "Mara Quill" --by Ada
      hlgraph merges apply "Orne" "Ivo Brandt" --different
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        made = graph.merges.apply([(alias, canonical)], keep_apart=different, made_by=made_by, why=why)
        names = graph.merges.list().names
    if json:
        print_json({"decisions": [_tree(item, names) for item in made], "is_unchanged": not made})
        return
    say(*(f"{item.verdict}: {_line(item, names)}  ({item.id})" for item in made))
    if not made:
        say("unchanged: it was decided so before")


@app.command("undo")
def undo(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of decisions, as merges list shows them.")],
    corpus: Corpus = None,
    json: Json = False,
) -> None:
    """Remove decisions: the graph is then as if they had never been made.

    \b
    Example:
      hlgraph merges undo 5d0c0f2f1f1b4a53a1a5ad2a6ac7c7b0
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        names = graph.merges.list().names
        gone = graph.merges.undo(ids)
    if json:
        print_json({"undone": [_tree(item, names) for item in gone]})
        return
    say(*(f"undone: {_line(item, names)}" for item in gone))


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
