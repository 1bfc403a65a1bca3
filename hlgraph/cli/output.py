"""Prints results: one JSON object for scripts, or plain lines for people."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from hlgraph.cli.explained import short

if TYPE_CHECKING:
    from hlgraph.ingest.pipeline import Report
    from hlgraph.ingest.report import Failure
    from hlgraph.models.accounts.usage import Usage
    from hlgraph.read.found import Files
    from hlgraph.records import Answer, Domain, Evidence
    from hlgraph.retrieve import SearchResult

Tree = Mapping[str, object]

# Control characters in a document must not reach the terminal.
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)))
_MOST_PROBLEMS = 20
_MOST_REASONS = 8
_MOST_NAMED = 3  # sources that failed for one reason
_MOST_BASIS = 5  # chunks that are printed below a summary


def print_json(tree: Tree) -> None:
    """Print one JSON object on one line of standard output."""
    text = json.dumps(tree, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(tree)
    print(text)


def say(*lines: str) -> None:
    """Print lines on standard output, without control characters."""
    for line in lines:
        print(line.translate(_CONTROLS))


def piece(text: str) -> None:
    """Print a part of a text on standard output at once, without adding a line break."""
    print(text.translate(_CONTROLS), end="", flush=True)


def note(text: str) -> None:
    """Print a line on standard error; a closed standard error is ignored."""
    with contextlib.suppress(BrokenPipeError):
        print(text.translate(_CONTROLS), file=sys.stderr)


def complain(kind: str, message: str, *, is_json: bool, is_retryable: bool = False) -> None:
    """Print an error on standard error, as a line or as a JSON object."""
    if is_json:
        tree = {"error": {"type": kind, "message": message, "retryable": is_retryable}}
        print(json.dumps(tree), file=sys.stderr)
    else:
        note(f"hlgraph: {message}")


def evidence_tree(item: Evidence) -> dict[str, object]:
    """A piece of evidence as printed by --json."""
    source = item.source
    return {
        "text": item.text,
        "score": item.score,
        "kind": item.kind.value,
        "id": item.id,
        "summary_id": item.summary_id or None,
        "statement_id": item.statement_id or None,
        "chunk_id": item.chunk_id,
        "start": item.start,
        "end": item.end,
        "page": item.page,
        "headings": list(item.headings),
        "source": {"id": source.id, "uri": source.uri, "title": source.title, "metadata": dict(source.metadata)},
        "why": dict(item.why),
        "labels": list(item.labels),
        "is_stale": item.is_stale,
        "rests_on": [_basis_tree(part) for part in item.rests_on],
    }


def _basis_tree(part: Evidence) -> dict[str, object]:
    """A chunk or statement that a summary rests on: where it stands, and its text."""
    source = {"id": part.source.id, "uri": part.source.uri, "title": part.source.title}
    names = {"kind": part.kind.value, "id": part.id, "chunk_id": part.chunk_id}
    place = {"start": part.start, "end": part.end, "page": part.page, "source": source}
    return {**names, "text": part.text, "score": part.score, **place}


def search_tree(result: SearchResult) -> dict[str, object]:
    """A search result as printed by --json."""
    return {"evidence": [evidence_tree(item) for item in result.evidence], "explain": asdict(result.explain)}


def answer_tree(answer: Answer) -> dict[str, object]:
    """An answer as printed by --json."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "is_supported": answer.is_supported,
        "is_truncated": answer.is_truncated,
        "uncovered": list(answer.uncovered),
        "made_by": answer.made_by or None,
        "uncited": list(answer.uncited),
        "dropped_citations": answer.dropped_citations,
        "citations": [{"number": item.number, **evidence_tree(item.evidence)} for item in answer.citations],
        "sentences": [asdict(item) for item in answer.sentences],
        "dropped": [asdict(item) for item in answer.dropped],
        "checked_by": answer.checked_by or None,
        "left_out": answer.left_out,
        "cut": answer.cut,
        "choice": None if answer.choice is None else asdict(answer.choice),
        "search": asdict(answer.search),
        "report": None if answer.report is None else asdict(answer.report),
    }


def report_tree(report: Report) -> dict[str, object]:
    """The report of an ingest or delete as printed by --json."""
    return {
        **({"files": _files_tree(report.files)} if report.files.found else {}),
        "sources": {
            "added": report.sources_added,
            "changed": report.sources_changed,
            "unchanged": report.sources_unchanged,
            "removed": report.sources_removed,
            "gone": report.sources_gone,
            "failed": [{"uri": item.uri, "error": item.error} for item in report.failed],
        },
        **{
            f"{kind}s" if kind != "entity" else "entities": {
                "added": report.added.get(kind, 0),
                "removed": report.removed.get(kind, 0),
                "kept": report.kept.get(kind, 0),
            }
            for kind in ("chunk", "statement", "topic", "fact", "entity")
        },
        "problems": [{"uri": item.uri, "error": item.error} for item in report.problems],
        "warnings": [{"uri": item.uri, "warning": item.error} for item in report.warnings],
        "resumed": report.resumed,
        **({"usage": usage_tree(report.usage)} if report.usage else {}),
        **({"domain": domain_tree(report.domain)} if report.domain else {}),
        "seconds": {step: round(seconds, 3) for step, seconds in report.seconds.items()},
    }


def _files_tree(files: Files) -> dict[str, object]:
    """The files of an ingest as printed by --json: ``found`` is the sum of the others."""
    return {
        "found": files.found,
        "read": files.read,
        "unchanged": files.unchanged,
        "failed": files.failed,
        "left_out": [item._asdict() for item in files.left_out],
    }


def _failed_lines(failed: Sequence[Failure]) -> list[str]:
    """What failed for people: a reason that several sources share is printed once."""
    uris: dict[str, list[str]] = {}
    for item in failed:
        uris.setdefault(item.error.removeprefix(f"{item.uri}: "), []).append(item.uri)
    lines: list[str] = []
    for item in failed:
        reason = item.error.removeprefix(f"{item.uri}: ")
        same = uris.pop(reason, [])
        more = len(same) - _MOST_NAMED
        if len(same) == 1:
            lines.append(f"failed: {item.error}")
        elif same:
            named = f"{', '.join(same[:_MOST_NAMED])}{f' and {more} more' if more > 0 else ''}"
            lines.append(f"failed: {reason} ({len(same)} sources: {named})")
    if len(lines) > _MOST_PROBLEMS:
        lines[_MOST_PROBLEMS:] = [f"... and {len(lines) - _MOST_PROBLEMS} more reasons of failures (--json lists all)"]
    return lines


def _files_lines(files: Files) -> Iterator[str]:
    """The files of an ingest for people, with the reasons of those that were left out."""
    if not files.found:
        return
    left_out = len(files.left_out)
    yield (
        f"files: {files.found} found = {files.read} read + {files.unchanged} unchanged + {left_out} left out + "
        f"{files.failed} failed"
    )
    reasons = files.reasons
    if reasons:
        said = ", ".join(f"{reason} ({count})" for reason, count in reasons[:_MOST_REASONS])
        more = len(reasons) - _MOST_REASONS
        yield f"left out: {said}{f', and {more} more reasons' if more > 0 else ''} (--json lists them)"


def domain_tree(domain: Domain) -> dict[str, object]:
    """A domain as printed by --json."""
    return {"kinds": list(domain.kinds), "topics": list(domain.topics), "made_by": domain.made_by or None}


def usage_tree(usage: Usage) -> dict[str, int]:
    """The usage of a chat model as printed by --json."""
    names = ("calls", "input_tokens", "output_tokens", "left_out", "kept")
    return {name: getattr(usage, name) for name in names}


def report_lines(report: Report) -> list[str]:
    """The report of an ingest or delete as readable lines."""
    lines = [
        *_files_lines(report.files),
        f"sources: {report.sources_added} added, {report.sources_changed} changed, "
        f"{report.sources_unchanged} unchanged, {report.sources_removed} removed, {len(report.failed)} failed",
    ]
    if report.sources_gone:
        lines.append(f"removed before: {report.sources_gone} sources, by this command when it was interrupted")
    for kind, name in (("chunk", "chunks"), ("statement", "statements"), ("entity", "entities")):
        added, removed, kept = (part.get(kind, 0) for part in (report.added, report.removed, report.kept))
        lines.append(f"{name}: {added} added, {removed} removed, {kept} kept")
    if report.resumed:
        lines.insert(0, f"finished {report.resumed} changes of an interrupted run first")
    if report.domain:
        kinds, topics = len(report.domain.kinds), len(report.domain.topics)
        lines.append(f"domain: inferred {kinds} kinds and {topics} topics; to see them: hlgraph domain show")
    lines.extend(_failed_lines(report.failed))
    for word, items in (("problem", report.problems), ("warning", report.warnings)):
        lines.extend(f"{word}: {item.uri}: {item.error}" for item in items[:_MOST_PROBLEMS])
        if len(items) > _MOST_PROBLEMS:
            lines.append(f"... and {len(items) - _MOST_PROBLEMS} more {word}s (--json lists all)")
    if report.usage:
        usage = report.usage
        lines.append(f"chat model: {usage.calls} calls, {usage.input_tokens} tokens in, {usage.output_tokens} out")
        if usage.kept:
            lines.append(f"stored replies reused: {usage.kept}, at no cost")
        if usage.left_out:
            lines.append(f"dropped: {usage.left_out} names found neither in the entity list nor in their sentence")
    seconds = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in report.seconds.items())
    lines.append(f"time: {seconds or 'none'}")
    return lines


def place(item: Evidence) -> str:
    """The location of a piece of evidence: title, page, nearest heading, characters; of a summary what it rests on."""
    if item.summary_id:
        chunks = item.opened
        sources = len({part.source.id for part in chunks})
        stale = " (STALE: the corpus has changed since; next: hlgraph hierarchy build)" if item.is_stale else ""
        return f"summary of {_counted(len(chunks), 'chunk')} of {_counted(sources, 'source')}{stale}"
    parts = [item.source.title or item.source.uri]
    if item.page is not None:
        parts.append(f"page {item.page}")
    parts.extend(heading for heading in item.headings[-1:] if heading != item.source.title)
    return f"{', '.join(parts)}; characters {item.start}-{item.end} of {item.source.uri}"


def basis_lines(item: Evidence) -> list[str]:
    """The locations of the chunks below a summary, the closest to the question first; empty for a part of a source."""
    if not item.summary_id:
        return []
    lines = [f"rests on: {place(part)}" for part in item.opened[:_MOST_BASIS]]
    rest = len(item.opened) - len(lines)
    return [*lines, f"... and {_counted(rest, 'more chunk')} (--json lists all)"] if rest else lines


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def why(item: Evidence) -> str:
    """The scores by which a piece of evidence was chosen."""
    return ", ".join(f"{name} {short(value)}" for name, value in item.why.items())
