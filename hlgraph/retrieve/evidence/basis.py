"""Turn summaries into evidence, with the chunks and statements that each of them rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from hlgraph.records import Evidence, Hit, Kind, Statement
from hlgraph.retrieve.session import Session, page_at
from hlgraph.stores.derived import Summarised, with_sources


class Resting(NamedTuple):
    """A summary and the chunks that it rests on.

    Attributes
    ----------
    item : the summary, with the statements and chunks that its words come from
    chunk_ids : all chunks below it, ascending
    is_stale : whether the corpus has changed since the build, so that the sources below must be looked at
    """

    item: Summarised
    chunk_ids: tuple[str, ...]
    is_stale: bool = False

    @property
    def quoted(self) -> tuple[str, ...]:
        """Ids of the statements that its words come from, ascending; empty if a model wrote it."""
        return tuple(sorted(set(self.item.parts) - set(self.chunk_ids)))


def of_summaries(
    session: Session,
    hits: Sequence[Hit],
    *,
    resting: Mapping[str, Resting],
    why: Mapping[str, Mapping[str, float | str]],
    chunks: Mapping[str, Evidence],
) -> list[Evidence]:
    """The summaries of a ranking as evidence, best first; summaries that rest on a removed or excluded record are left out.

    Parameters
    ----------
    session : reads the statements that are quoted, and their cosines
    hits : best first; nodes that are not summaries are skipped
    resting : the summaries, by id
    why : the parts of each score, by id
    chunks : the chunks below the summaries, by id, as far as they exist and the filter admits them

    Returns
    -------
    list
        Each with ``rests_on``.
    """
    wanted = [hit for hit in hits if hit.id in resting]
    names = sorted({name for hit in wanted for name in resting[hit.id].quoted})
    statements = session.records(Statement, names)
    cosines = session.similarities(Kind.STATEMENT, names)
    parts = dict(chunks)
    for name, statement in statements.items():
        if statement.chunk_id in chunks:
            chunk, score = chunks[statement.chunk_id], cosines.get(name, 0.0)
            start, page = statement.start, page_at(chunk, statement.start)
            parts[name] = replace(
                chunk, text=statement.text, score=score, start=start, end=statement.end, statement_id=name, page=page
            )
    summaries = (_summary(hit, resting[hit.id], parts) for hit in wanted)
    return [replace(summary, why=why.get(summary.id, {})) for summary in summaries if summary is not None]


def _summary(hit: Hit, resting: Resting, parts: Mapping[str, Evidence]) -> Evidence | None:
    """A summary; None if something that it rests on is missing."""
    wanted = [*resting.chunk_ids, *resting.quoted]
    if not wanted or not parts.keys() >= set(wanted):
        return None
    rests_on = sorted(
        (parts[name] for name in wanted), key=lambda part: (bool(part.statement_id), -part.score, part.id)
    )
    first = rests_on[0]
    hashed = resting.item.summary.input_hash
    versions = {source.id: source.version for source in (parts[name].source for name in resting.chunk_ids)}
    return Evidence(
        text=resting.item.summary.text,
        score=hit.score,
        chunk_id=first.chunk_id,
        start=first.start,
        end=first.end,
        source=first.source,
        page=first.page,
        summary_id=hit.id,
        is_stale=resting.is_stale and with_sources(hashed, versions) != hashed,
        rests_on=tuple(rests_on),
    )
