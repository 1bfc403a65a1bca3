"""GraphMPA's retrieval: the chunks and the summaries above them, by their closeness to the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hlgraph.algorithms.topk import top_k
from hlgraph.errors import InputError
from hlgraph.index.hierarchy import RUN
from hlgraph.records import Hit, Kind
from hlgraph.retrieve.explain.notes import Hop
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import Needs, Ranked, Why, check_counts
from hlgraph.retrieve.session import Session
from hlgraph.stores.derived import Summarised
from hlgraph.stores.protocols import PullShape


@dataclass(frozen=True, slots=True)
class HierarchyRetriever:
    """The nodes closest to the question over all layers; a summary stands for its chunks, which are the evidence.

    The score of a chunk is the highest cosine to the question that it has on any layer: its own, or that of a summary above it
    which is among the best ``k`` of all layers. Of each summary the ``chunks_per_summary`` chunks closest to the question count.
    The summary of a long source is on layer 0, as chunks are, and stands for the chunks of its source. The paper gives the
    summaries themselves to the model; here evidence is always a part of a source.

    A summary is used only when the filter admits every source that it rests on. Sources that were ingested after the hierarchy
    was built are found as chunks alone, and the explanation says ``is_stale``.

    Attributes
    ----------
    summaries : minimum number of summaries that are looked at; the best of them compete with the chunks
    chunks_per_summary : maximum number of chunks that one summary brings

    References
    ----------
    GraphMPA, section 3.2, Eq. 5 and 6.
    """

    name: ClassVar[str] = "hierarchy"
    unit: ClassVar[Unit] = "chunk"
    needs: ClassVar[Needs] = ("hierarchy",)
    summaries: int = 20
    chunks_per_summary: int = 3

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`. Raises InputError, naming the command, when no hierarchy was built."""
        run, found = session.derived(RUN)
        if run is None:
            corpus = session.request.corpus
            raise InputError(
                f"corpus {corpus!r} has no hierarchy of summaries, which the strategy hierarchy needs; "
                f"run: hlgraph hierarchy build --corpus {corpus}"
            )
        own = {hit.id: hit.score for hit in session.seeds(Kind.CHUNK, k, mode="vector")}
        best: list[Hit] = []
        if found.items:
            cosines = np.asarray(found.matrix @ session.vector(), dtype=np.float32)
            best = [Hit(str(at), float(cosines[at])) for at in top_k(cosines, max(self.summaries, k)).tolist()]
        chosen = [(found.items[int(hit.id)], hit.score) for hit in best]
        members = self._members(session, found.items, chosen=chosen)
        admitted = self._admitted(session, chosen, members=members)
        # The k best of all layers: a summary below the k-th chunk brings nothing.
        least = sorted(own.values(), reverse=True)[k - 1] if len(own) >= k else -1.0
        used = [(item, score) for item, score in admitted if score >= least]
        pruned = {"rests on sources outside the filter": len(chosen) - len(admitted)}
        pruned["further away than k chunks"] = len(admitted) - len(used)
        session.note_hop(Hop(1, len(chosen), len(used), pruned, [], Kind.SUMMARY, "summaries"))
        return self._ranked(session, own, used=used, members=members)

    def _members(
        self, session: Session, items: Sequence[Summarised], *, chosen: Sequence[tuple[Summarised, float]]
    ) -> dict[str, tuple[str, ...]]:
        """The chunks that each of the chosen summaries rests on, by its id.

        A community may hold summaries of sources, which stand for the chunks of these. A summary that is gone by now is among the
        chunks by its own id, so that no filter admits what rests on it.
        """
        of_source = {item.summary.id: item.chunk_ids for item in items if item.source_id}
        held = session.members([item.community_id for item, _ in chosen if not item.source_id])
        found: dict[str, tuple[str, ...]] = {}
        for item, _ in chosen:
            inside = held.get(item.community_id, ("",)) if not item.source_id else (item.summary.id,)
            found[item.summary.id] = tuple(sorted({chunk for name in inside for chunk in of_source.get(name, (name,))}))
        return found

    def _admitted(
        self,
        session: Session,
        chosen: Sequence[tuple[Summarised, float]],
        *,
        members: dict[str, tuple[str, ...]],
    ) -> list[tuple[Summarised, float]]:
        """The summaries that rest on nothing outside the filter."""
        if session.request.where is None or not chosen:
            return list(chosen)
        wanted = sorted({name for some in members.values() for name in some})
        shape = PullShape(frozenset(), frozenset({Kind.CHUNK}), hops=0, node_cap=max(len(wanted), 1))
        inside = set(session.pull(wanted, shape).ids.tolist())
        return [(item, score) for item, score in chosen if inside.issuperset(members[item.summary.id])]

    def _ranked(
        self,
        session: Session,
        own: dict[str, float],
        *,
        used: Sequence[tuple[Summarised, float]],
        members: dict[str, tuple[str, ...]],
    ) -> Ranked:
        """The chunks of all layers with their highest cosine, ties by id."""
        names = sorted({name for item, _ in used for name in members[item.summary.id]})
        cosines = {**session.similarities(Kind.CHUNK, names), **own}
        scores = dict(own)
        why: Why = {name: {"cosine": score} for name, score in own.items()}
        for item, score in used:
            inside = [name for name in members[item.summary.id] if name in cosines]
            inside.sort(key=lambda name: (-cosines[name], name))
            for name in inside[: self.chunks_per_summary]:
                if score > scores.get(name, -2.0):
                    scores[name] = score
                    why[name] = {"cosine": cosines[name], "summary": score, "layer": float(item.summary.level + 1)}
        order = sorted(scores, key=lambda name: (-scores[name], name))
        hits = [Hit(name, scores[name]) for name in order]
        session.note_hop(Hop(2, len(used), len(hits), {}, hits, Kind.CHUNK, "chunks below the summaries"))
        return Ranked(Kind.CHUNK, hits, why)
