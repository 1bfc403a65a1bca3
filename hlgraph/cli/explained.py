"""Formats the explanation of a search as readable lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlgraph.records import Scalar
    from hlgraph.retrieve import Explanation
    from hlgraph.retrieve.explain.parts import NodeTrace, PathTrace
    from hlgraph.stores.trace import Call

_MOST_SEEDS = 5
_MOST_PATHS = 5
_MOST_VALUES = 8
_WIDTH = 100


def explain_lines(explain: Explanation) -> Iterator[str]:
    """The lines of an explanation: strategy and cost, seeds, hops, paths, steps, stores, and every query, ready to rerun."""
    yield (
        f"strategy {explain.strategy} ({named(explain.parameters) or 'no parameters'}), unit {explain.unit}, "
        f"mode {explain.mode}: {explain.milliseconds:.1f} ms, {explain.round_trips} round trips"
    )
    from hlgraph.retrieve.explain.page import use_lines

    yield from use_lines(explain.chat)
    yield from _seeds(explain)
    yield from _hops(explain)
    if explain.paths:
        yield "paths:"
    for number, path in enumerate(explain.paths[:_MOST_PATHS], 1):
        yield from _path(number, path, explain)
    if len(explain.paths) > _MOST_PATHS:
        yield f"  ... and {len(explain.paths) - _MOST_PATHS} more (--json lists all)"
    yield "steps:"
    for step in explain.steps:
        details = f" ({named(step.details)})" if step.details else ""
        yield f"  {step.name}: {step.count} in {step.milliseconds:.1f} ms{details}"
    yield "stores:"
    for store in explain.stores:
        size = f", {store.bytes:,} bytes" if store.bytes else ""
        yield (
            f"  {store.store}: {store.calls} calls, {store.round_trips} round trips, {store.milliseconds:.1f} ms, "
            f"{store.rows:,} rows{size}"
        )
    yield "queries:"
    for number, call in enumerate(explain.calls, 1):
        yield from _call(number, call)


def result_line(explain: Explanation, number: int) -> str:
    """How one piece of evidence was found: as which seed, and on which paths; empty if unknown."""
    found = next((item for item in explain.results if item.number == number), None)
    if found is None:
        return ""
    paths = f"on path {', '.join(map(str, found.paths))}" if found.paths else ""
    return "; ".join(filter(None, (explain.seed_words(found.node), paths)))


def _seeds(explain: Explanation) -> Iterator[str]:
    if explain.seeds:
        yield "seeds:"
    for item in explain.seeds:
        yield f"  {_part(item.part)}{item.count} x {item.kind.value} ({item.origin})"
        yield from (f"    {_scored(node)}" for node in item.best[:_MOST_SEEDS])
        if item.count > _MOST_SEEDS:
            yield f"    ... and {item.count - _MOST_SEEDS} more"


def _hops(explain: Explanation) -> Iterator[str]:
    if explain.hops:
        yield "hops:"
    for hop in explain.hops:
        pruned = ", ".join(f"{reason} {count}" for reason, count in hop.pruned.items())
        best = ", ".join(f"{node.score:.3g}" for node in hop.best[:5] if node.score is not None)
        name = f" {hop.name}" if hop.name else ""
        yield (
            f"  {_part(hop.part)}{hop.depth}{name}: {hop.expanded} expanded, {hop.kept} kept"
            f"{f', pruned: {pruned}' if pruned else ''}{f'; best {best}' if best else ''}"
        )


def _path(number: int, path: PathTrace, explain: Explanation) -> Iterator[str]:
    yield f"  {_part(path.part)}path {number}, {path.score:.3g}"
    for at, node in enumerate(path.nodes):
        if at in path.jumps:
            yield "    : a jump (no edge)"
        elif at:
            yield f"    | {', '.join(path.joined_by[at - 1])}".rstrip()
        words = explain.seed_words(node)
        yield f"    {node.kind.value}: {_cut(node.name or node.id)}{f' ({words})' if words else ''}"


def _call(number: int, call: Call) -> Iterator[str]:
    from hlgraph.retrieve.explain.page import call_text

    rows = "" if call.rows is None else f", {call.rows:,} rows"
    size = "" if call.bytes is None else f", {call.bytes:,} bytes"
    failed = ", failed" if call.is_failed else ""
    trips = f", {call.round_trips} round trips" if call.round_trips > 1 else ""
    yield f"  {number}. {call.store} {call.name} [{call.step}]: {call.milliseconds:.1f} ms{rows}{size}{trips}{failed}"
    yield from (f"    {line}" for line in call_text(call, most=_MOST_VALUES).splitlines())


def named(values: Mapping[str, Scalar]) -> str:
    """Named values on one line, as ``name=value`` separated by commas."""
    return ", ".join(f"{name}={short(value)}" for name, value in values.items())


def short(value: Scalar) -> str:
    """A value as short text: floats with 3 significant digits, texts on one line."""
    return f"{value:.3g}" if isinstance(value, float) else " ".join(str(value).split())


def _scored(node: NodeTrace) -> str:
    score = "" if node.score is None else f"{node.score:.3f}  "
    return f"{score}{_cut(node.name or node.id)}"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _part(name: str) -> str:
    return f"{name}: " if name else ""
