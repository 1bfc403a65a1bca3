"""Explains a search in plain words: why each piece of evidence, where the search began, its hops, and the paths it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hlgraph.records import Kind
from hlgraph.retrieve.explain.page import check_is_explained, use_lines
from hlgraph.retrieve.explain.parts import HopTrace, PathTrace, ResultTrace, SeedTrace

if TYPE_CHECKING:
    from hlgraph.retrieve.request import Explanation

_MOST_GROUPS = 8
_MOST_SEEDS = 3  # named of one group of seeds
_MOST_HOPS = 8
_MOST_PATHS = 3
_MOST_NUMBERS = 3
_WIDTH = 100
_NOUNS = {
    Kind.CHUNK: "chunks",
    Kind.ENTITY: "entities",
    Kind.FACT: "facts",
    Kind.SOURCE: "sources",
    Kind.STATEMENT: "statements",
    Kind.SUMMARY: "summaries",
    Kind.TOPIC: "topics",
}
_ORIGINS = {
    "hybrid": "found by meaning and by words",
    "keywords": "that name the keywords of the question",
    "seeds of the beam": "at which paths begin",
    "statements": "named in the best statements",
    "text": "found by words",
    "vector": "found by meaning",
}


def as_words(explanation: Explanation) -> str:
    """Why each piece of evidence was chosen, and how it was found, as readable text.

    Raises InputError when the search ran without ``explain=True``.
    """
    check_is_explained(explanation)
    lines: list[str] = []
    for item in explanation.results:
        lines += [
            f"[{item.number}] {_cut(item.node.name or item.node.id)}",
            f"    why: {result_words(explanation, item)}",
        ]
    return "\n".join([*lines, *how_lines(explanation)])


def result_words(explanation: Explanation, item: ResultTrace) -> str:
    """Why one piece of evidence was chosen: how it was found, and which paths lead to it.

    Parameters
    ----------
    explanation : of the search
    item : the piece, one of ``explanation.results``
    """
    rank = item.node.seed_rank
    if rank is not None:
        found = "the search found it first" if rank == 1 else f"the search found it in place {rank}"
    elif any(group.kind is item.node.kind for group in explanation.seeds):
        found = "the search did not find it, the graph led to it"
    else:
        found = "the graph led to it from what the search found"
    return f"{found}; {_numbers(item.paths)} to it" if item.paths else found


def _numbers(paths: Sequence[int]) -> str:
    shown = ", ".join(map(str, paths[:_MOST_NUMBERS]))
    more = len(paths) - _MOST_NUMBERS
    return f"path{'s' if len(paths) > 1 else ''} {shown}{f' and {more} more' if more > 0 else ''} lead{'s' * (len(paths) == 1)}"


def how_lines(explanation: Explanation) -> Iterator[str]:
    """How the evidence was found: the strategy, the seeds, the hops, and the paths that lead to the evidence."""
    yield f"strategy: {explanation.strategy}{_choice(explanation)}"
    if explanation.chat.calls or explanation.chat.fallbacks:
        yield from use_lines(explanation.chat)
    if explanation.seeds:
        yield "seeds, where the search began:"
        yield from _limited([list(_seeds(item)) for item in explanation.seeds], _MOST_GROUPS, "more groups of seeds")
    hops = [item for item in explanation.hops if item.name != "rerank" or item.kept < item.expanded]
    if hops:
        yield "hops, from the seeds to the evidence:"
        yield from _limited([[f"  {_part(item.part)}{_hop(item)}"] for item in hops[:-1]], _MOST_HOPS, "more hops")
        yield f"  {_part(hops[-1].part)}{_hop(hops[-1])}"
    leading = {number for item in explanation.results for number in item.paths}
    paths = [(number, path) for number, path in enumerate(explanation.paths, 1) if number in leading]
    if paths:
        yield "paths, from one text to the next:"
        lines = [list(_path(number, path, explanation.results)) for number, path in paths]
        yield from _limited(lines, _MOST_PATHS, "more paths to this evidence")


def _limited(items: Sequence[Sequence[str]], most: int, rest: str) -> Iterator[str]:
    """The lines of the first items, and how many items follow."""
    for item in items[:most]:
        yield from item
    if len(items) > most:
        yield f"  ... and {len(items) - most} {rest}"


def _choice(explanation: Explanation) -> str:
    """What a router chose, and why."""
    made = next((step.details for step in explanation.steps if step.name == "choose"), {})
    return f", which chose {made['strategy']}: {made['because']}" if {"strategy", "because"} <= made.keys() else ""


def _seeds(item: SeedTrace) -> Iterator[str]:
    noun = _NOUNS.get(item.kind, item.kind.value)
    yield f"  {_part(item.part)}{item.count} {noun} {_ORIGINS.get(item.origin, f'found by {item.origin}')}; the best:"
    yield from (f"    {_cut(node.name or node.id)}" for node in item.best[:_MOST_SEEDS])


def _hop(hop: HopTrace) -> str:
    noun = _NOUNS.get(hop.best[0].kind, "pieces") if hop.best else "pieces"
    if hop.name == "rerank":
        return f"{hop.expanded} {noun} were compared with the question once more, {hop.kept} stayed"
    if hop.name == "returned":
        return f"{hop.expanded} {noun} were ranked, and the best {hop.kept} returned"
    if hop.name == "beam":
        ways = hop.kept + sum(hop.pruned.values())
        begin = f"{hop.expanded} paths were made longer" if hop.expanded else "paths began"
        return f"{begin}: of {ways} the best {hop.kept} stayed"
    return f"{hop.name or 'a step'}: {hop.expanded} were looked at, {hop.kept} {noun} stayed"


def _path(number: int, path: PathTrace, results: Sequence[ResultTrace]) -> Iterator[str]:
    to = ", ".join(f"[{item.number}]" for item in results if number in item.paths)
    yield f"  {_part(path.part)}path {number}, to {to}:"
    for at, node in enumerate(path.nodes):
        if at in path.jumps:
            yield "      then, without a link, what fits the question"
        elif at:
            joints = path.joined_by[at - 1]
            yield f"      by {', '.join(_joint(joint) for joint in joints)}" if joints else "      linked with"
        yield f"    {_cut(node.name or node.id)}"


def _joint(name: str) -> str:
    """What joins two texts; two entities of similar names are both given."""
    one, _, other = name.partition(" ~ ")
    return f"{one}, which is like {other}" if other else one


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _part(name: str) -> str:
    return f"{name}: " if name else ""
