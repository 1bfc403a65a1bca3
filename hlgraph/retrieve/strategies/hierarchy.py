"""GraphMPA's retrieval: ranks chunks and the summaries above them by their similarity to the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hlgraph.algorithms.fusion import top_k
from hlgraph.errors import InputError
from hlgraph.index.hierarchy import RUN
from hlgraph.records import Hit, Kind
from hlgraph.retrieve.evidence.basis import Resting
from hlgraph.retrieve.explain.parts import Hop
from hlgraph.retrieve.request import UNITS, Unit
from hlgraph.retrieve.retriever import Needs, Ranked, Why, by_score, check_choice, check_counts
from hlgraph.retrieve.session import Session
from hlgraph.stores.derived import Run, Summaries, Summarised
from hlgraph.stores.protocols import PullShape


@dataclass(frozen=True, slots=True)
class HierarchyRetriever:
    """The nodes closest to the question over all layers: chunks and summaries in one ranking (``unit="mixed"``, the default).

    The score of a node is its cosine to the question, whatever its layer; ties by id. ``unit="summary"`` returns only summaries.
    With ``unit="chunk"`` or ``"statement"`` a summary stands for its chunks: the score of a chunk is its own, or that of a summary
    above it if that is higher and among the best ``k`` of all layers. Of each summary the ``chunks_per_summary`` chunks closest to
    the question count.

    A summary is used only when the filter admits every source that it rests on. After a change of the corpus, summaries of changed
    parts are missing until the next build, and those of other parts of the same sources are marked as stale; all others are as
    before, and new sources are found only as chunks.

    ``why`` gives the layer of a summary, from 0 for that of a source, and a number of the group that chunks and summaries of one
    community share, which a report reads together.

    Attributes
    ----------
    layers : ``all`` (default), or ``summaries``: chunks are found only through the summaries above them
    summaries : minimum number of summaries that are considered; the best of them compete with the chunks
    chunks_per_summary : maximum number of chunks that one summary adds, if it stands for its chunks

    References
    ----------
    GraphMPA, section 3.2, Eq. 5 and 6.
    """

    name: ClassVar[str] = "hierarchy"
    unit: ClassVar[Unit] = "chunk"
    returned: ClassVar[Unit] = "mixed"
    units: ClassVar[tuple[Unit, ...]] = UNITS
    needs: ClassVar[Needs] = ("hierarchy",)
    layers: Literal["all", "summaries"] = "all"
    summaries: int = 20
    chunks_per_summary: int = 3

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self)
        check_choice("layers", self.layers, choices=("all", "summaries"))

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`. Raises InputError, naming the command, when no hierarchy was built."""
        before = len(session.steps)
        run, summaries = session.derived(RUN)
        if run is None:
            corpus = session.request.corpus
            raise InputError(
                f"corpus {corpus!r} has no hierarchy of summaries, which the strategy hierarchy needs; "
                f"run: hlgraph hierarchy build --corpus {corpus}"
            )
        if session.request.is_alone:
            summaries = _in_sight(session, run, summaries)
            session.steps[before:] = []  # they count the summaries of the whole corpus
        unit = session.request.unit or self.returned
        has_chunks = unit != "summary" and self.layers == "all"
        hits = session.seeds(Kind.CHUNK, k, mode="vector") if has_chunks else []
        own = {hit.id: hit.score for hit in hits}
        # The k best of all layers: a summary that scores below the k-th chunk adds nothing.
        least = sorted(own.values(), reverse=True)[k - 1] if len(own) >= k else -1.0
        used, scores = self._nodes(session, run, summaries, k=k, least=least)
        ranked = self._layers if unit in ("summary", "mixed") else self._chunks
        return ranked(session, own, used, scores)

    def _nodes(
        self, session: Session, run: Run, summaries: Summaries, *, k: int, least: float
    ) -> tuple[dict[str, Resting], dict[str, float]]:
        """The admitted summaries with a cosine of at least ``least``, best first, ``k`` or more if there are that many; cosines."""
        wanted = max(self.summaries, k)
        scores = np.empty(0, np.float32)
        if summaries.items:
            scores = np.asarray(summaries.matrix @ session.vector(), dtype=np.float32)
        order = [int(at) for at in top_k(scores, len(scores)) if scores[at] >= least]
        score_of = {summaries.items[at].summary.id: float(scores[at]) for at in order}
        kept: dict[str, Resting] = {}
        looked, step = 0, wanted
        while looked < len(order) and len(kept) < wanted:
            some = [summaries.items[at] for at in order[looked : looked + step]]
            below = _below(session, summaries.items, chosen=some)
            kept |= _admitted(
                session, {item.summary.id: Resting(item, below[item.summary.id], run.is_stale) for item in some}
            )
            looked, step = looked + len(some), 4 * step
        pruned = {
            "rests on sources outside the filter": looked - len(kept),
            "further away than k chunks": len(scores) - len(order),
        }
        best = [Hit(name, score_of[name]) for name in kept]
        session.note_hop(Hop(1, looked + len(scores) - len(order), len(kept), pruned, best, Kind.SUMMARY, "summaries"))
        return kept, {name: score_of[name] for name in kept}

    def _layers(
        self, session: Session, own: Mapping[str, float], used: Mapping[str, Resting], scores: Mapping[str, float]
    ) -> Ranked:
        """Eq. 6: chunks and summaries by their cosine, ties by id."""
        every = {**own, **scores}
        why: Why = {name: {"cosine": score} for name, score in every.items()}
        groups = list(enumerate(used.items(), 1))
        for number, (name, node) in groups:
            why[name] |= {"layer": float(_layer(node.item)), "group": float(number)}
        # A chunk belongs to its lowest community, whose summary and chunks are read together.
        for number, (_, node) in sorted(groups, key=lambda group: (_layer(group[1][1].item) or 9, group[0])):
            for name in node.chunk_ids:
                if name in own:
                    why[name].setdefault("group", float(number))
        hits = by_score(every)
        kinds = [Kind.CHUNK if hit.id in own else Kind.SUMMARY for hit in hits]
        session.note_hop(Hop(2, len(every), len(hits), {}, hits, Kind.CHUNK, "all layers", kinds))
        return Ranked(Kind.CHUNK, hits, why, summaries=used)

    def _chunks(
        self, session: Session, own: Mapping[str, float], used: Mapping[str, Resting], scores: Mapping[str, float]
    ) -> Ranked:
        """The chunks with their highest cosine on any layer, ties by id."""
        names = sorted({name for node in used.values() for name in node.chunk_ids})
        cosines = {**session.similarities(Kind.CHUNK, names), **own}
        highest = dict(own)
        why: Why = {name: {"cosine": score} for name, score in own.items()}
        for summary, node in used.items():
            inside = by_score({name: cosines[name] for name in node.chunk_ids if name in cosines})
            for hit in inside[: self.chunks_per_summary]:
                if scores[summary] > highest.get(hit.id, -2.0):
                    highest[hit.id] = scores[summary]
                    why[hit.id] = {"cosine": hit.score, "summary": scores[summary], "layer": float(_layer(node.item))}
        hits = by_score(highest)
        session.note_hop(Hop(2, len(used), len(hits), {}, hits, Kind.CHUNK, "chunks below the summaries"))
        return Ranked(Kind.CHUNK, hits, why)


def _in_sight(session: Session, run: Run, summaries: Summaries) -> Summaries:
    """The summaries that rest on nothing outside the filter; a caller is not told how many others there are."""
    below = _below(session, summaries.items, chosen=summaries.items)
    resting = {node.summary.id: Resting(node, below[node.summary.id], run.is_stale) for node in summaries.items}
    kept = _admitted(session, resting)
    at = [number for number, node in enumerate(summaries.items) if node.summary.id in kept]
    return Summaries(tuple(summaries.items[number] for number in at), summaries.matrix[at])


def _admitted(session: Session, nodes: dict[str, Resting]) -> dict[str, Resting]:
    """The summaries without those that rest on anything outside the filter."""
    if session.request.where is None:
        return nodes
    wanted = sorted({name for node in nodes.values() for name in node.chunk_ids})
    shape = PullShape(frozenset(), frozenset({Kind.CHUNK}), hops=0, node_cap=max(len(wanted), 1))
    inside = set(session.pull(wanted, shape).ids.tolist())
    return {name: node for name, node in nodes.items() if inside.issuperset(node.chunk_ids)}


def _layer(item: Summarised) -> int:
    return 0 if item.source_id else item.summary.level + 1


def _below(
    session: Session, items: Sequence[Summarised], *, chosen: Sequence[Summarised]
) -> dict[str, tuple[str, ...]]:
    """The chunks that each of the chosen summaries rests on, by its id.

    A community may contain summaries of sources, which stand for the chunks of these sources. A summary that was removed is listed
    among the chunks by its own id, so that nothing that rests on it is admitted.
    """
    of_source = {item.summary.id: item.chunk_ids for item in items if item.source_id}
    members = session.members([item.community_id for item in chosen if not item.source_id])
    chunks: dict[str, tuple[str, ...]] = {}
    for item in chosen:
        named = [member.id for member in members.get(item.community_id, ())] or [""]
        inside = named if not item.source_id else [item.summary.id]
        chunks[item.summary.id] = tuple(sorted({chunk for name in inside for chunk in of_source.get(name, (name,))}))
    return chunks
