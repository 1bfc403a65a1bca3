"""Prints results: one JSON object for scripts, or plain lines for people."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from hlgraph.records import counted, plain

if TYPE_CHECKING:
    from hlgraph.ingest.bulk_load import BulkReport
    from hlgraph.ingest.report import Report
    from hlgraph.models.accounts.budget import Usage
    from hlgraph.records import Answer, Domain, Evidence, Scalar
    from hlgraph.retrieve import Explanation, SearchResult
    from hlgraph.retrieve.explain.parts import NodeTrace, PathTrace
    from hlgraph.stores.derived import Run
    from hlgraph.stores.trace import Call

LISTED = 25
"""Default number of rows of a command that lists."""

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
    result = next((result for result in explain.results if result.number == number), None)
    if result is None:
        return ""
    paths = f"on path {', '.join(map(str, result.paths))}" if result.paths else ""
    return "; ".join(filter(None, (explain.seed_words(result.node), paths)))


def _seeds(explain: Explanation) -> Iterator[str]:
    if explain.seeds:
        yield "seeds:"
    for seeds in explain.seeds:
        yield f"  {_part(seeds.part)}{seeds.count} x {seeds.kind.value} ({seeds.origin})"
        yield from (f"    {_scored(node)}" for node in seeds.best[:_MOST_SEEDS])
        if seeds.count > _MOST_SEEDS:
            yield f"    ... and {seeds.count - _MOST_SEEDS} more"


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


# Control characters in a document must not reach the terminal.
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)))
_KINDS = {"chunks": "chunk", "statements": "statement", "topics": "topic", "facts": "fact", "entities": "entity"}
_MOST_BASIS = 5  # chunks that are printed below a summary


def print_json(tree: object) -> None:
    """Print one JSON object on one line of standard output. Records print their fields, paths their text."""
    text = json.dumps(tree, ensure_ascii=False, default=plain)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(tree, default=plain)
    print(text)


def pick(record: object, names: str, /, **others: object) -> dict[str, object]:
    """The named attributes of a record, and others.

    Examples
    --------
    >>> pick(3 + 4j, "real imag", sign="+")
    {'real': 3.0, 'imag': 4.0, 'sign': '+'}
    """
    return {name: getattr(record, name) for name in names.split()} | others


def run_tree(run: Run | None) -> dict[str, object] | None:
    """A run of communities or of a hierarchy as printed by --json."""
    return None if run is None else pick(run, "name version parameters levels by is_stale")


def say(*lines: str) -> None:
    """Print lines on standard output, without control characters."""
    for line in lines:
        print(line.translate(_CONTROLS))


def piece(text: str) -> None:
    """Print a part of a text on standard output at once, without adding a line break."""
    print(text.translate(_CONTROLS), end="", flush=True)


def note(text: str) -> None:
    """Print a line on standard error; one that is closed, or on a full disk, is ignored."""
    with contextlib.suppress(OSError, ValueError):
        print(text.translate(_CONTROLS), file=sys.stderr)


def complain(kind: str, message: str, *, is_json: bool, is_retryable: bool = False) -> None:
    """Print an error on standard error, as a line or as a JSON object."""
    tree = {"error": {"type": kind, "message": message, "retryable": is_retryable}}
    note(json.dumps(tree) if is_json else f"hlgraph: {message}")


def evidence_tree(evidence: Evidence) -> dict[str, object]:
    """A piece of evidence as printed by --json."""
    ids = {"summary_id": evidence.summary_id or None, "statement_id": evidence.statement_id or None}
    source = pick(evidence.source, "id uri title metadata")
    rests_on = [
        pick(part, "kind id chunk_id text score start end page", source=pick(part.source, "id uri title"))
        for part in evidence.rests_on
    ]
    return {
        **pick(evidence, "text score kind id"),
        **ids,
        **pick(evidence, "chunk_id start end page headings", source=source),
        **pick(evidence, "why labels is_stale", rests_on=rests_on),
    }


def search_tree(result: SearchResult) -> dict[str, object]:
    """A search result as printed by --json."""
    return {"evidence": [evidence_tree(evidence) for evidence in result.evidence], "explain": result.explain}


def answer_tree(answer: Answer) -> dict[str, object]:
    """An answer as printed by --json."""
    citations = [{"number": citation.number, **evidence_tree(citation.evidence)} for citation in answer.citations]
    return {
        "question": answer.question,
        "answer": answer.text,
        **pick(answer, "is_supported is_truncated uncovered reason", made_by=answer.made_by or None),
        **pick(answer, "uncited dropped_citations", citations=citations),
        **pick(answer, "sentences dropped", checked_by=answer.checked_by or None),
        **pick(answer, "left_out cut choice search report"),
    }


def report_tree(report: Report) -> dict[str, object]:
    """The report of an ingest or delete as printed by --json."""
    files = pick(
        report.files,
        "found read unchanged failed",
        left_out=[file._asdict() for file in report.files.left_out],
    )
    sources = {
        name: getattr(report, f"sources_{name}") for name in ("added", "changed", "unchanged", "removed", "gone")
    }
    records = {
        name: {part: getattr(report, part).get(kind, 0) for part in ("added", "removed", "kept")}
        for name, kind in _KINDS.items()
    }
    return {
        **({"files": files} if report.files.found else {}),
        "sources": {**sources, "failed": [pick(failure, "uri error") for failure in report.failed]},
        **records,
        "problems": [pick(problem, "uri error") for problem in report.problems],
        "warnings": [{"uri": warning.uri, "warning": warning.error} for warning in report.warnings],
        "resumed": report.resumed,
        **({"history": {"sources_kept": report.kept_in_history}} if report.kept_in_history else {}),
        **({"history": {"versions_removed": report.versions_removed}} if report.versions_removed else {}),
        **usage_tree(report.usage),
        **(pick(report, "dropped ungrounded") if report.usage else {}),
        **({"domain": domain_tree(report.domain)} if report.domain else {}),
        **({"receipt": report.receipt.content} if report.receipt else {}),
        "seconds": {step: round(seconds, 3) for step, seconds in report.seconds.items()},
    }


def domain_tree(domain: Domain | None) -> dict[str, object] | None:
    """A domain as printed by --json."""
    return None if domain is None else pick(domain, "kinds topics", made_by=domain.made_by or None)


def usage_tree(usage: Usage | None) -> dict[str, object]:
    """The usage of a chat model as an entry of what --json prints; empty without one."""
    return {} if usage is None else {"usage": pick(usage, "calls input_tokens output_tokens left_out kept")}


def basis_lines(evidence: Evidence) -> list[str]:
    """The locations of the chunks below a summary, the closest to the question first; empty for a part of a source."""
    if not evidence.summary_id:
        return []
    lines = [f"rests on: {part.place}" for part in evidence.opened[:_MOST_BASIS]]
    rest = len(evidence.opened) - len(lines)
    return [*lines, f"... and {counted(rest, 'more chunk')} (--json lists all)"] if rest else lines


def why(evidence: Evidence) -> str:
    """The scores by which a piece of evidence was chosen."""
    return ", ".join(f"{name} {short(value)}" for name, value in evidence.why.items())


def bulk_tree(report: BulkReport) -> dict[str, object]:
    """The report of a bulk load as printed by --json; ``run`` is the next command, empty once the corpus is on the servers."""
    manifest = report.manifest
    load = {
        "is_done": report.is_done,
        **pick(manifest, "id corpus database", folder=str(report.folder), run=list(report.command)),
        **pick(manifest, "records relationships", bytes=sum(file.size for file in manifest.files)),
        "seconds": {phase: round(seconds, 3) for phase, seconds in report.seconds.items()},
    }
    return {"load": load, "ingest": None if report.ingest is None else report_tree(report.ingest)}


def bulk_lines(report: BulkReport) -> list[str]:
    """The report of a bulk load as readable lines."""
    manifest = report.manifest
    lines = [] if report.ingest is None else str(report.ingest).splitlines()
    records, relationships = (sum(part.values()) for part in (manifest.records, manifest.relationships))
    if report.is_done:
        lines.append(
            f"loaded: corpus {manifest.corpus} with {records:,} records and {relationships:,} relationships; verified"
        )
        lines.append(f"{report.folder.parent}: it is not needed any more; remove it")
    else:
        size = sum(file.size for file in manifest.files) / 1e6
        lines += [
            f"written: {records:,} records and {relationships:,} relationships, {size:,.1f} MB, in {report.folder}",
            f"next: stop Neo4j, run on its machine: cd {shlex.quote(str(report.folder))} && {shlex.join(report.command)}",
            "then: start Neo4j, and run this command again",
        ]
    seconds = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in report.seconds.items())
    return [*lines, f"time of the load: {seconds}"] if seconds else lines


# Messages of the SDK name its parameters; here they become options: ``by is 'x'`` is ``--by is 'x'``.

# Parameters of the SDK that have an option of the same name, with - for _.
_SAME = """
adapt against answers by claims closed_book context_tokens delete_missing diversity encoding explain extract extractions format
gold_select held_out k least_support level max_bytes max_levels max_size missing mode resolution resume search_mode
seed spacy_model strategy style summaries tabular trials unit unsupported verify where workers
"""
SAME = frozenset(_SAME.split())
OTHER = {
    "mapping": "--map",
    "is_chunked": "--chunked",
    "choices": "--choice",
    "chats": "--chat",
    "model": "--judge-model",
    "budget": "--max-tokens or --max-usd",
    "judging": "--judge",
    "question": "QUESTION",
    "sources": "PATH",
    "uris": "URI",
}
_NAME = "|".join(sorted(SAME | OTHER.keys(), key=lambda name: (-len(name), name)))
_FIRST = re.compile(rf"^({_NAME})(?=(\[\d+\])? is |: | \w[\w.]*=)")
_WITH_VALUE = re.compile(rf"\b({_NAME})=(?:'([^']*)'|(True))")
_WITH_LIST = re.compile(rf"\b({_NAME})=\['([^']*)'\]")
_LEFT = re.compile(rf"\bleave (?:the )?({_NAME}) (out|at)\b")
_RAISED = re.compile(rf"\b(raise|lower) ({_NAME}|max_length)\b")
_OBJECTS = re.compile(r", or give it to connect\(chat=\.\.\.\)|, or a retriever, such as \S+")


def option(name: str) -> str:
    """The option of a parameter of the SDK.

    Examples
    --------
    >>> option("mapping"), option("max_bytes")
    ('--map', '--max-bytes')
    """
    return OTHER.get(name) or f"--{name.replace('_', '-')}"


def in_options(message: str) -> str:
    """The message of an error, with options in place of parameters of the SDK.

    Examples
    --------
    >>> in_options("by is 'chat', and no chat model is configured; name one, or give it to connect(chat=...)")
    "--by is 'chat', and no chat model is configured; name one"
    >>> in_options("extraction by 'local' costs nothing; add extract='chat', or leave budget out")
    "extraction by 'local' costs nothing; add --extract chat, or leave --max-tokens or --max-usd out"
    """
    message = _FIRST.sub(lambda match: option(match[1]), _OBJECTS.sub("", message))
    message = _WITH_LIST.sub(lambda match: f"{option(match[1])} {match[2]}", message)
    message = _RAISED.sub(lambda match: f"{match[1]} {option(match[2])}", message)
    message = _WITH_VALUE.sub(lambda match: f"{option(match[1])} {match[2] or ''}".rstrip(), message)
    return _LEFT.sub(lambda match: f"leave {option(match[1])} {match[2]}", message)
