"""The report of an ingest or a deletion, and the counts in it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from hlgraph.models.accounts.budget import Usage
from hlgraph.read.outcomes import Files
from hlgraph.records import Domain, counted, group_by
from hlgraph.stores.protocols import Stores

if TYPE_CHECKING:
    from hlgraph.ingest.receipts import Receipt

N = TypeVar("N", int, float)


class Failure(NamedTuple):
    """A source that was not ingested, or not completely.

    Attributes
    ----------
    uri : the source
    error : the reason and the remedy
    extra : name of a missing extra, if that is the reason; otherwise empty
    """

    uri: str
    error: str
    extra: str = ""


@dataclass(slots=True)
class Report:
    """The result of an ingest or a deletion.

    Attributes
    ----------
    sources_added, sources_changed, sources_unchanged, sources_removed : counts of sources
    sources_gone : sources that a deletion names but that an interrupted run of the same deletion had already removed
    failed : sources that were not ingested
    problems : parts of sources that could not be used, such as chunks without an extraction
    warnings : unexpected ways in which sources were read, such as a guessed encoding; no text is missing
    added, removed, kept : counts of records by kind; ``kept`` existed before and remain
    seconds : time by step
    files : the files of an ingest by outcome, with a list of those that were left out
    resumed : changes of interrupted runs that were completed first
    dropped : items, and parts of items, of a chat model's replies that could not be read; each is in the quarantine
    ungrounded : propositions of a chat model that were not stored since their chunk does not say them; each is in the quarantine
    usage : calls and tokens of the chat model; None without one
    domain : the domain that was inferred for the corpus first; None if none was inferred
    kept_in_history : removed sources whose versions the history of the corpus keeps
    versions_removed : versions of sources that were removed from the history of the corpus
    receipt : the receipt of what was deleted; None if none was requested
    """

    sources_added: int = 0
    sources_changed: int = 0
    sources_unchanged: int = 0
    sources_removed: int = 0
    sources_gone: int = 0
    failed: list[Failure] = field(default_factory=list)
    problems: list[Failure] = field(default_factory=list)
    warnings: list[Failure] = field(default_factory=list)
    added: dict[str, int] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)
    kept: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    files: Files = field(default_factory=Files)
    resumed: int = 0
    dropped: int = 0
    ungrounded: int = 0
    usage: Usage | None = None
    domain: Domain | None = None
    kept_in_history: int = 0
    versions_removed: int = 0
    receipt: Receipt | None = None

    def __str__(self) -> str:
        """What was done, one fact a line."""
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def timed(self, step: str) -> AbstractContextManager[None]:
        """Add the time of a block to a step."""
        return timed(self.seconds, step)

    def count(self, added: dict[str, int], vanished: dict[str, tuple[str, ...]]) -> None:
        """Add the outcome of one change.

        Parameters
        ----------
        added : counts of new records by kind
        vanished : ids of removed records by kind
        """
        add_counts(self.added, added)
        add_counts(self.removed, {kind: len(ids) for kind, ids in vanished.items()})

    def include(self, other: Report) -> None:
        """Add the counts, failures, problems, warnings and seconds of another report, and mark its failed files."""
        counts = "sources_added sources_changed sources_unchanged sources_removed resumed dropped ungrounded"
        for name in counts.split():
            setattr(self, name, getattr(self, name) + getattr(other, name))
        add_counts(self.added, other.added)
        add_counts(self.removed, other.removed)
        add_counts(self.seconds, other.seconds)
        self.failed.extend(other.failed)
        for failure in other.failed:
            self.files.fail(failure.uri)
        self.problems.extend(other.problems)
        self.warnings.extend(other.warnings)


@contextmanager
def timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the time of a block to a step.

    Parameters
    ----------
    seconds : time by step; receives the time
    step : name of the step
    """
    start = time.perf_counter()
    try:
        yield
    finally:
        add_counts(seconds, {step: time.perf_counter() - start})


def add_counts(totals: dict[str, N], counts: Mapping[str, N]) -> None:
    """Add counts to totals with the same keys.

    Parameters
    ----------
    totals : receives the counts
    counts : numbers by key
    """
    for key, number in counts.items():
        totals[key] = totals.get(key, 0) + number


def record_counts(corpus: str, stores: Stores) -> dict[str, int]:
    """Counts of the records of a corpus.

    Parameters
    ----------
    corpus : the corpus
    stores : the open stores

    Returns
    -------
    dict
        Counts by kind; empty for a corpus that does not exist.
    """
    stats = stores.graph.stats(corpus, has_relationships=False)
    return {kind.value: count for kind, count in stats[0].records.items()} if stats else {}


def note_kept(report: Report, before: dict[str, int]) -> None:
    """Set ``kept``: the records that were there before and were not removed.

    Parameters
    ----------
    report : the report of the run
    before : counts by kind before it, see :func:`record_counts`
    """
    # Records that another writer added meanwhile may be among the removed ones.
    report.kept = {kind: max(0, count - report.removed.get(kind, 0)) for kind, count in before.items()}


# A report as people read it.

_MOST_PROBLEMS = 20
_MOST_REASONS = 8
_MOST_NAMED = 3  # sources that failed for one reason


def _lines(report: Report) -> list[str]:
    lines = [
        *_files_lines(report.files),
        f"sources: {report.sources_added} added, {report.sources_changed} changed, "
        f"{report.sources_unchanged} unchanged, {report.sources_removed} removed, {len(report.failed)} failed",
    ]
    if report.sources_gone:
        lines.append(f"removed before: {report.sources_gone} sources, by an earlier run of this command")
    if report.kept_in_history:
        lines.append(
            f"history: the text of {report.kept_in_history} removed sources is kept; to erase it: hlgraph delete URI --history"
        )
    if report.versions_removed:
        lines.append(f"history: {report.versions_removed} versions removed")
    for kind, name in (("chunk", "chunks"), ("statement", "statements"), ("entity", "entities")):
        added, removed, kept = (part.get(kind, 0) for part in (report.added, report.removed, report.kept))
        lines.append(f"{name}: {added} added, {removed} removed, {kept} kept")
    if report.resumed:
        lines.insert(0, f"finished {report.resumed} changes of an interrupted run first")
    if report.domain:
        kinds, topics = len(report.domain.kinds), len(report.domain.topics)
        lines.append(f"domain: inferred {kinds} kinds and {topics} topics; to see them: hlgraph domain show")
    lines.extend(_failed_lines(report.failed))
    for word, failures in (("problem", report.problems), ("warning", report.warnings)):
        lines.extend(f"{word}: {failure.uri}: {failure.error}" for failure in failures[:_MOST_PROBLEMS])
        if len(failures) > _MOST_PROBLEMS:
            lines.append(f"... and {len(failures) - _MOST_PROBLEMS} more {word}s (--json lists all)")
    if report.usage:
        lines.append(usage_line(report.usage))
        if report.usage.kept:
            lines.append(f"stored replies reused: {report.usage.kept}, at no cost")
        if report.usage.left_out:
            lines.append(
                f"dropped: {report.usage.left_out} names found neither in the entity list nor in their sentence"
            )
    if report.receipt:
        lines.append(
            f"receipt: number {report.receipt.number} of corpus {report.receipt.corpus}, {report.receipt.hash}"
        )
    lines.extend(lost_lines(report))
    seconds = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in report.seconds.items())
    lines.append(f"time: {seconds or 'none'}")
    return lines


def _failed_lines(failed: Sequence[Failure]) -> list[str]:
    """The failures; a reason that several sources share is printed once."""
    by_reason = group_by(failed, lambda failure: failure.error.removeprefix(f"{failure.uri}: "))
    lines: list[str] = []
    for reason, group in by_reason.items():
        if len(group) == 1:
            lines.append(f"failed: {group[0].error}")
        else:
            uris = ", ".join(failure.uri for failure in group[:_MOST_NAMED])
            more = f" and {len(group) - _MOST_NAMED} more" if len(group) > _MOST_NAMED else ""
            lines.append(f"failed: {reason} ({len(group)} sources: {uris}{more})")
    if len(lines) > _MOST_PROBLEMS:
        lines[_MOST_PROBLEMS:] = [f"... and {len(lines) - _MOST_PROBLEMS} more reasons of failures (--json lists all)"]
    return lines


def _files_lines(files: Files) -> Iterator[str]:
    """The files of an ingest by outcome, with the reasons why some were left out."""
    if not files.found:
        return
    left_out = len(files.left_out)
    yield (
        f"files: {files.found} found = {files.read} read + {files.unchanged} unchanged + {left_out} left out + "
        f"{files.failed} failed"
    )
    reasons = files.reasons
    if reasons:
        shown = ", ".join(f"{reason} ({count})" for reason, count in reasons[:_MOST_REASONS])
        more = len(reasons) - _MOST_REASONS
        yield f"left out: {shown}{f', and {more} more reasons' if more > 0 else ''} (--json lists them)"


def usage_line(usage: Usage) -> str:
    """The usage of a chat model as a line."""
    return f"chat model: {usage.calls} calls, {usage.input_tokens} tokens in, {usage.output_tokens} out"


def lost_lines(report: Report) -> list[str]:
    """What was left out of a chat model's replies."""
    parts = (
        (report.dropped, "dropped", "part", "of replies that could not be read"),
        (report.ungrounded, "not grounded", "proposition", "left out, since their chunk does not say them"),
    )
    return [
        f"{name}: {counted(count, noun)} {what}; to see: hlgraph failures list"
        for count, name, noun, what in parts
        if count
    ]
