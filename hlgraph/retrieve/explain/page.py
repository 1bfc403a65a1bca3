"""Render an explanation: as one HTML page with a drawing of the evidence subgraph, or in plain words (:func:`as_words`).

The page needs no network. Its few lines of JavaScript only highlight the neighbours of a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from hlgraph.errors import InputError
from hlgraph.records import ChatUse, Kind
from hlgraph.retrieve.explain.parts import (
    BasisTrace,
    EvidenceGraph,
    HopTrace,
    NodeTrace,
    PathTrace,
    ResultTrace,
    SeedTrace,
)
from hlgraph.retrieve.explain.svg import drawing, escaped, framed, resource
from hlgraph.stores.trace import Call, pretty

if TYPE_CHECKING:
    from hlgraph.retrieve.request import Explanation


_MOST_PATHS = 20
_LEGEND = (
    ("k-question", "question"),
    ("k-entity", "entity"),
    ("k-topic", "topic"),
    ("k-statement", "statement"),
    ("k-summary", "summary"),
    ("k-chunk", "chunk"),
    ("k-source", "source"),
    ("k-seed", "seed: a search found it"),
    ("k-walk", "on a path to the evidence"),
    ("k-jump", "a jump of a path: nothing joins its ends"),
    ("k-number", "number of the evidence"),
)


def page(explanation: Explanation) -> str:
    """A complete HTML page that shows an explanation.

    Raises InputError when the search ran without ``explain=True``.
    """
    check_is_explained(explanation)
    return framed(explanation.question, _body(explanation), script=resource("page.js"))


def picture(explanation: Explanation) -> str:
    """The drawing of the page as a standalone SVG document, in the light colours.

    Raises InputError when the search ran without ``explain=True``.
    """
    check_is_explained(explanation)
    graph = explanation.graph
    return drawing(graph, explanation.question, seeds=_seed_ids(graph), style=resource("picture.css"))


def check_is_explained(explanation: Explanation) -> None:
    """Raise InputError when a search ran without ``explain=True``."""
    if not explanation.hops:
        raise InputError(
            "the search ran without explain=True, so there is nothing to show; search again with explain=True"
        )


def _seed_ids(graph: EvidenceGraph) -> set[str]:
    return {node.node.id for node in graph.nodes if node.node.seed_rank is not None}


def _body(explanation: Explanation) -> Iterator[str]:
    yield f"<h1><bdi>{escaped(explanation.question)}</bdi></h1>"
    yield (
        f'<p class="soft">strategy {escaped(explanation.strategy)}, '
        f"unit {escaped(explanation.unit)}, mode {escaped(explanation.mode)}: {explanation.milliseconds:.1f} ms, "
        f"{explanation.round_trips} round trips</p>"
    )
    yield from (f'<p class="soft">{escaped(line.strip())}</p>' for line in use_lines(explanation.chat))
    graph = explanation.graph
    seeds = _seed_ids(graph)
    left = ", ".join(f"{count} x {name}" for name, count in graph.left_out.items())
    yield f"<figure>{drawing(graph, explanation.question, seeds=seeds)}"
    yield f"<figcaption>{escaped(f'Not shown: {left}.') if left else 'Everything is shown.'}</figcaption></figure>"
    marks = (f'<li><i class="{name}"></i>{text}</li>' for name, text in _LEGEND)
    yield f'<ul class="legend">{"".join(marks)}</ul>'
    yield from _results(explanation)
    yield from _paths(explanation.paths)
    yield from _seeds(explanation)
    yield from _hops(explanation)
    yield from _cost(explanation)
    yield from _calls(explanation.calls)


def use_lines(used: ChatUse) -> Iterator[str]:
    """Who decided in the steps that a chat model can take, the cost, and replies that could not be used."""
    if used.by:
        kept = f", {used.kept_calls} more answered from stored replies" if used.kept_calls else ""
        yield (
            f"decided by {used.by}: {used.calls} calls, {used.input_tokens:,} tokens in, {used.output_tokens:,} out{kept}"
        )
    yield from (f"  instead: {what} ({count} x)" for what, count in used.fallbacks.items())


def _results(explanation: Explanation) -> Iterator[str]:
    yield "<h2>Evidence</h2>"
    if not explanation.results:
        yield "<p>There is none.</p>"
        return
    yield "<ol>"
    for result in explanation.results:
        paths = f"on {_numbers(result.paths)}" if result.paths else ""
        words = ", ".join(filter(None, (f"{result.node.score or 0.0:.4g}", explanation.seed_words(result.node), paths)))
        stale = " STALE: a source below has changed since." if result.is_stale else ""
        yield f'<li>{_named(result.node)} <span class="soft">{words}{stale}</span>{_basis(result.rests_on)}</li>'
    yield "</ol>"


def _basis(rests_on: Sequence[BasisTrace]) -> str:
    if not rests_on:
        return ""
    parts = (
        f'<li>{_named(part.node)} <span class="soft">characters {part.start}-{part.end} of '
        f"<bdi>{escaped(part.uri)}</bdi></span></li>"
        for part in rests_on
    )
    return f"<details><summary>rests on {len(rests_on)}</summary><ul>{''.join(parts)}</ul></details>"


def _numbers(paths: Sequence[int]) -> str:
    return f"path{'s' if len(paths) > 1 else ''} {', '.join(map(str, paths))}"


def _named(node: NodeTrace) -> str:
    return f'<bdi title="{escaped(f"{node.kind.value} {node.id}")}">{escaped(node.name or node.id)}</bdi>'


def _paths(paths: Sequence[PathTrace]) -> Iterator[str]:
    if not paths:
        return
    yield "<h2>Paths</h2>\n<ol>"
    for path in paths[:_MOST_PATHS]:
        parts = [_named(path.nodes[0])] if path.nodes else []
        for at, (node, joint) in enumerate(zip(path.nodes[1:], path.joined_by, strict=True), 1):
            names = "a jump" if at in path.jumps else ", ".join(joint)
            parts.append(f'<span class="soft">&mdash; <bdi>{escaped(names)}</bdi> &rarr;</span> {_named(node)}')
        part = f" ({path.part})" if path.part else ""
        yield f'<li>{" ".join(parts)} <span class="soft">{path.score:.4g}{escaped(part)}</span></li>'
    yield "</ol>"
    if len(paths) > _MOST_PATHS:
        yield f'<p class="soft">... and {len(paths) - _MOST_PATHS} more</p>'


def _seeds(explanation: Explanation) -> Iterator[str]:
    yield "<h2>Seeds</h2>"
    for seeds in explanation.seeds:
        part = f"{seeds.part}: " if seeds.part else ""
        shown = f", the best {len(seeds.best)}" if seeds.count > len(seeds.best) else ""
        yield f"<details><summary>{escaped(f'{part}{seeds.count} x {seeds.kind.value}, {seeds.origin}{shown}')}</summary><ol>"
        yield from (f'<li>{_named(node)} <span class="soft">{node.score or 0.0:.4g}</span></li>' for node in seeds.best)
        yield "</ol></details>"


def _hops(explanation: Explanation) -> Iterator[str]:
    yield "<h2>Hops</h2>"
    rows = []
    for hop in explanation.hops:
        pruned = ", ".join(f"{reason}: {count}" for reason, count in hop.pruned.items())
        best = " · ".join(f"{node.score or 0.0:.3g}" for node in hop.best[:5])
        name = f"{hop.part}: {hop.name}" if hop.part else hop.name
        rows.append((hop.depth, name, hop.expanded, hop.kept, pruned, best))
    yield from _table(("depth", "what", "expanded", "kept", "pruned", "best scores"), rows)


def _cost(explanation: Explanation) -> Iterator[str]:
    if explanation.parameters:
        yield "<h2>Parameters</h2>"
        yield from _table(("name", "value"), [(name, str(value)) for name, value in explanation.parameters.items()])
    yield "<h2>Time</h2>"
    rows = [(step.name, step.count, f"{step.milliseconds:.1f}") for step in explanation.steps]
    yield from _table(("step", "count", "ms"), rows)
    yield "<h2>Stores</h2>"
    stores = [
        (store.store, store.calls, store.round_trips, f"{store.milliseconds:.1f}", store.rows, store.bytes or "")
        for store in explanation.stores
    ]
    yield from _table(("store", "calls", "round trips", "ms", "rows", "bytes"), stores)


def _table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"<table><thead><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead><tbody>"
    for row in rows:
        yield f"<tr>{''.join(_cell(value) for value in row)}</tr>"
    yield "</tbody></table>"


def _cell(value: object) -> str:
    return f'<td class="figure">{value:,}</td>' if isinstance(value, int) else f"<td>{escaped(str(value))}</td>"


def _calls(calls: Sequence[Call]) -> Iterator[str]:
    yield "<h2>Queries</h2>"
    for number, call in enumerate(calls, 1):
        rows = "" if call.rows is None else f", {call.rows:,} rows"
        title = f"{number}. {call.store} {call.name} ({call.step}): {call.milliseconds:.1f} ms{rows}"
        yield f"<details><summary>{escaped(title)}</summary><pre>{escaped(call_text(call))}</pre></details>"


def call_text(call: Call, *, most: int = 1_000) -> str:
    """A call in a form that people can read and run: Cypher, a request for the console of OpenSearch, SQL, or words.

    Parameters
    ----------
    call : the call of a store
    most : limit that :func:`hlgraph.stores.trace.pretty` gets for the parameters (default 1,000)

    Returns
    -------
    str
        With one line per parameter that was cut.
    """
    if call.language == "cypher":
        return call.copyable
    lines = [call.text]
    if call.params:
        lines.append(pretty(call.params, most=most))
    return "\n".join([*lines, *(f"{place} is cut: it had {length:,}" for place, length in call.cut.items())])


# The explanation in plain words.

_MOST_GROUPS = 8
_MOST_SEEDS = 3  # named of one group of seeds
_MOST_HOPS = 8
_MOST_PATH_LINES = 3
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
    for result in explanation.results:
        lines += [
            f"[{result.number}] {_cut(result.node.name or result.node.id)}",
            f"    why: {result_words(explanation, result)}",
        ]
    return "\n".join([*lines, *how_lines(explanation)])


def result_words(explanation: Explanation, result: ResultTrace) -> str:
    """Why one piece of evidence was chosen: how it was found, and which paths lead to it.

    Parameters
    ----------
    explanation : of the search
    result : the piece, one of ``explanation.results``
    """
    rank = result.node.seed_rank
    if rank is not None:
        origin = "the search found it first" if rank == 1 else f"the search found it in place {rank}"
    elif any(group.kind is result.node.kind for group in explanation.seeds):
        origin = "the search did not find it, the graph led to it"
    else:
        origin = "the graph led to it from what the search found"
    return f"{origin}; {_numbers_in_words(result.paths)} to it" if result.paths else origin


def _numbers_in_words(paths: Sequence[int]) -> str:
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
        yield from _limited(
            [list(_seeds_in_words(item)) for item in explanation.seeds], _MOST_GROUPS, "more groups of seeds"
        )
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
        yield from _limited(lines, _MOST_PATH_LINES, "more paths to this evidence")


def _limited(items: Sequence[Sequence[str]], most: int, rest: str) -> Iterator[str]:
    """The lines of the first items, and how many items follow."""
    for item in items[:most]:
        yield from item
    if len(items) > most:
        yield f"  ... and {len(items) - most} {rest}"


def _choice(explanation: Explanation) -> str:
    """The strategy that a router chose, and the reason."""
    details = next((step.details for step in explanation.steps if step.name == "choose"), {})
    return (
        f", which chose {details['strategy']}: {details['because']}"
        if {"strategy", "because"} <= details.keys()
        else ""
    )


def _seeds_in_words(seeds: SeedTrace) -> Iterator[str]:
    noun = _NOUNS.get(seeds.kind, seeds.kind.value)
    yield f"  {_part(seeds.part)}{seeds.count} {noun} {_ORIGINS.get(seeds.origin, f'found by {seeds.origin}')}; the best:"
    yield from (f"    {_cut(node.name or node.id)}" for node in seeds.best[:_MOST_SEEDS])


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
    to = ", ".join(f"[{result.number}]" for result in results if number in result.paths)
    yield f"  {_part(path.part)}path {number}, to {to}:"
    for at, node in enumerate(path.nodes):
        if at in path.jumps:
            yield "      then, without a link, what fits the question"
        elif at:
            joints = path.joined_by[at - 1]
            yield f"      by {', '.join(_joint(joint) for joint in joints)}" if joints else "      linked with"
        yield f"    {_cut(node.name or node.id)}"


def _joint(name: str) -> str:
    """The joint of two texts in words; two entities with similar names are both given."""
    one, _, other = name.partition(" ~ ")
    return f"{one}, which is like {other}" if other else one


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def _part(name: str) -> str:
    return f"{name}: " if name else ""
