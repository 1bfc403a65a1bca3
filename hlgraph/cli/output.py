"""How results are printed: one JSON object, or plain lines for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlgraph.pipeline import Report
    from hlgraph.records import Answer, Evidence
    from hlgraph.retrieve import SearchResult

Tree = Mapping[str, object]


def print_json(tree: Tree) -> None:
    """One JSON object on one line of standard output."""
    print(json.dumps(tree, ensure_ascii=False))


def note(text: str) -> None:
    """A line for people beside the result."""
    print(text, file=sys.stderr)


def evidence_tree(item: Evidence) -> dict[str, object]:
    """Evidence as the contract for scripts has it."""
    source = item.source
    return {
        "text": item.text,
        "score": item.score,
        "statement_id": item.statement_id or None,
        "chunk_id": item.chunk_id,
        "start": item.start,
        "end": item.end,
        "page": item.page,
        "headings": list(item.headings),
        "source": {"id": source.id, "uri": source.uri, "title": source.title, "metadata": dict(source.metadata)},
        "why": dict(item.why),
    }


def search_tree(result: SearchResult) -> dict[str, object]:
    """A search result as the contract for scripts has it."""
    return {"evidence": [evidence_tree(item) for item in result.evidence], "explain": asdict(result.explain)}


def answer_tree(answer: Answer) -> dict[str, object]:
    """An answer as the contract for scripts has it."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "is_supported": answer.is_supported,
        "citations": [{"number": item.number, **evidence_tree(item.evidence)} for item in answer.citations],
    }


def report_tree(report: Report) -> dict[str, object]:
    """What an ingest or delete did, as the contract for scripts has it."""
    return {
        "sources": {
            "added": report.sources_added,
            "changed": report.sources_changed,
            "unchanged": report.sources_unchanged,
            "removed": report.sources_removed,
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
        "resumed": report.resumed,
        "seconds": {step: round(seconds, 3) for step, seconds in report.seconds.items()},
    }


def report_lines(report: Report) -> list[str]:
    """The same for people."""
    sources = (
        f"sources: {report.sources_added} added, {report.sources_changed} changed, "
        f"{report.sources_unchanged} unchanged, {report.sources_removed} removed, {len(report.failed)} failed"
    )
    counts = "; ".join(
        f"+{report.added.get(kind, 0)} -{report.removed.get(kind, 0)} ={report.kept.get(kind, 0)} {name}"
        for kind, name in (("chunk", "chunks"), ("statement", "statements"), ("entity", "entities"))
    )
    lines = [sources, counts]
    if report.resumed:
        lines.insert(0, f"finished {report.resumed} changes of an interrupted run first")
    lines.extend(f"failed: {item.error}" for item in report.failed)
    lines.extend(f"problem: {item.uri}: {item.error}" for item in report.problems[:20])
    if len(report.problems) > 20:
        lines.append(f"... and {len(report.problems) - 20} more problems (--json lists all)")
    seconds = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in report.seconds.items())
    lines.append(f"time: {seconds or 'none'}")
    return lines


def place(item: Evidence) -> str:
    """Where a piece of evidence stands: title, page, headings, characters."""
    parts = [item.source.title or item.source.uri]
    if item.page is not None:
        parts.append(f"page {item.page}")
    parts.extend(item.headings[-1:])
    return f"{', '.join(parts)}; characters {item.start}-{item.end} of {item.source.uri}"


def explain_lines(result: SearchResult) -> list[str]:
    """The explanation for people."""
    explain = result.explain
    parameters = ", ".join(f"{name}={value}" for name, value in explain.parameters.items())
    lines = [
        f"strategy {explain.strategy} ({parameters or 'no parameters'}), unit {explain.unit}, mode {explain.mode}: "
        f"{explain.milliseconds:.1f} ms, {explain.round_trips} round trips"
    ]
    for step in explain.steps:
        details = ", ".join(f"{name}={value}" for name, value in step.details.items())
        lines.append(f"  {step.name}: {step.count} in {step.milliseconds:.1f} ms{f' ({details})' if details else ''}")
    return lines
