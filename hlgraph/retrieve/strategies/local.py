"""ToPG Local: cycles of suggestion and selection, each starting from the statements that the previous one kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from hlgraph.algorithms import check
from hlgraph.algorithms.query_walk import QueryWalk
from hlgraph.records import Hit, Kind
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import (
    By,
    Presets,
    Ranked,
    Why,
    by_score,
    check_choice,
    check_counts,
    check_deciders,
    rerank,
)
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.feedback import Asker, Collection, Feedback, Judge, Selector, feedback
from hlgraph.retrieve.steps.suggest import (
    Extraction,
    Horizon,
    Suggestion,
    best_of,
    check_synonyms,
    horizons,
    suggest_naive,
    texts_of,
)


@dataclass(frozen=True, slots=True)
class LocalRetriever:
    """Statements collected in cycles of suggestion and selection (ToPG Local, Alg. 1).

    1. SuggestNaive: the best ``suggestions`` statements of the search, as ``statement`` finds them, or with ``candidates`` 0 by
       cosine alone, as in the paper; Select keeps some. They are the pool.
    2. A cycle: the part of the graph around the pool (GExtract), and on it, for each question, the walk that follows the question
       from the pool (Eq. 4-8). Its best ``suggestions`` statements, without the collected ones, are suggested; Select keeps some.
       The statements kept for all questions are the next pool; in the first cycle the first pool stays in it.
    3. Eval: the cycles end when the collected statements are enough, or after ``cycles`` of them. Else NextQ gives the questions
       of the next cycle.

    Where the paper is silent: a question without a pool uses SuggestNaive; a cycle that keeps nothing does not change the pool;
    the cycles end when there is nothing more to ask. The paper hands the collected statements to a model as they are, which is
    ``returns="kept"``. Otherwise they are ranked, with all suggestions, by ``rerank(question, s) + graph_weight sqrt(share(s))``,
    where ``share`` is the highest share that a walk gave over the highest that it gave any statement. Statements that a chat model
    kept come first. Without a chat model, the statements at which a later walk begins were chosen only by score: the walk gives no
    statement a higher share than the best of these had, so that later cycles do not displace the results of the first. The best
    results of the search that no walk reached fill the rest.

    Attributes
    ----------
    suggestions : k, of each step (paper: 20)
    cycles : max-iter (paper: 1 or 3)
    extraction : GExtract; l is its ``size`` (paper: 500)
    walk : lambda .5, damping .85; tau and theta are .1 and .4 fitted to the corpus, unless they are given
    synonyms : entities that SYNONYM edges of at least this similarity join count as one in the walk; ``fitted`` (default): the
        paper's 0.9, fitted to the corpus; None: none do
    candidates : statements of the search that SuggestNaive reranks (default 100, as in ``statement``; paper: 0, by cosine alone)
    ranked : statements of each walk that are reranked (default 200; k of the request if that is more)
    graph_weight : weight of the share of the walks beside the reranker (default 0.5)
    returns : ``ranked`` (default): all that was suggested; ``kept``: only what Select kept, in the order of the cycles, which is
        all that the paper answers from (Alg. 1, s_loc)
    by : who selects, judges and asks: ``rules`` (default) or ``chat``, the chat model
    selector, judge, asker : replacements of your own; with ``chat`` at most two of them

    References
    ----------
    ToPG, sections 2.2 and 2.3.2, Algorithm 1, Table 5.
    """

    name: ClassVar[str] = "local"
    unit: ClassVar[Unit] = "statement"
    presets: ClassVar[Presets] = {
        "literal": {
            "candidates": 0,
            "returns": "kept",
            "walk": QueryWalk(temperature=0.1, threshold=0.4),
            "synonyms": 0.9,
        },
    }
    suggestions: int = 20
    cycles: int = 3
    extraction: Extraction = field(default_factory=Extraction)
    walk: QueryWalk = field(default_factory=QueryWalk)
    synonyms: float | Literal["fitted"] | None = "fitted"
    candidates: int = 100
    ranked: int = 200
    graph_weight: float = 0.5
    returns: Literal["ranked", "kept"] = "ranked"
    by: By = "rules"
    selector: Selector | None = None
    judge: Judge | None = None
    asker: Asker | None = None

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_counts(self, zero=("candidates",))
        check_choice("returns", self.returns, choices=("ranked", "kept"))
        check.not_negative("graph_weight", self.graph_weight)
        check_synonyms(self.synonyms)
        check_deciders(self.by, self.selector, self.judge, self.asker)

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        steps = feedback(session, self.by, selector=self.selector, judge=self.judge, asker=self.asker)
        collection = self._cycles(session, steps, k)
        if self.returns == "kept":
            cosines = session.similarities(Kind.STATEMENT, list(collection.kept))
            kept: Why = {
                one: {"cosine": cosines.get(one, 0.0), "cycle": float(at)} for one, at in collection.kept.items()
            }
            return Ranked(Kind.STATEMENT, [Hit(one, 1 / place) for place, one in enumerate(kept, 1)], kept)
        seen = sorted({*collection.shares, *collection.kept, *collection.naive})
        ranked = rerank(session, Kind.STATEMENT, ids=seen)
        scores: dict[str, float] = {}
        why: Why = {}
        for hit in ranked.hits:
            share = collection.shares.get(hit.id, 0.0)
            is_first = steps.selector.is_trusted and hit.id in collection.kept
            scores[hit.id] = hit.score + self.graph_weight * float(np.sqrt(share)) + (_FIRST if is_first else 0.0)
            why[hit.id] = {**ranked.why[hit.id], "walk": share}
            if hit.id in collection.kept:
                why[hit.id]["cycle"] = float(collection.kept[hit.id])
        return Ranked(Kind.STATEMENT, by_score(scores), why)

    def _cycles(self, session: Session, steps: Feedback, k: int) -> _Collected:
        """Algorithm 1."""
        question = session.request.question
        collection = _Collected(session, steps.selector)
        naive = suggest_naive(session, question, k=max(self.candidates, k), candidates=self.candidates)
        collection.naive = [item.id for item in naive]
        pool = list(collection.select(question, naive[: self.suggestions], cycle=0, name="the seeds"))
        collection.keep(pool, cycle=0)
        questions: tuple[str, ...] = (question,)
        for cycle in range(1, self.cycles + 1):
            kept = dict.fromkeys(pool if cycle == 1 else ())
            around: Horizon | None = None
            if pool:
                [around] = horizons(session, [pool], extraction=self.extraction, synonyms=self.synonyms)
            walks = self._walks(session, questions, pool, around=around, collection=collection, k=k)
            for asked in questions:
                suggested = self._suggest(session, asked, walks, collection=collection)
                kept |= collection.select(asked, suggested, cycle=cycle, name="a question")
            if around is not None and session.notes.is_kept:
                for item in (item for item in kept if item not in collection.kept):
                    ids, kinds = around.link(item, pool)
                    if ids:
                        session.note_path(ids, collection.shares.get(item, 0.0), kinds=kinds)
            collection.keep(kept, cycle=cycle)
            pool = list(kept) or pool
            if cycle == self.cycles:
                break
            texts = collection.texts()
            with session.step("judge") as step:
                is_enough = steps.judge.is_enough(question, texts)
                step.count = len(texts)
                step.details = {"judge": steps.judge.fingerprint, "is_enough": is_enough}
            if is_enough:
                break
            with session.step("next questions") as step:
                questions = steps.asker.ask(question, texts)
                step.count = len(questions)
                step.details = {"asker": steps.asker.fingerprint, "questions": " | ".join(questions)}
            if not questions:
                break
        return collection

    def _walks(
        self,
        session: Session,
        questions: Sequence[str],
        pool: Sequence[str],
        *,
        around: Horizon | None,
        collection: _Collected,
        k: int,
    ) -> dict[str, list[tuple[str, float]]]:
        """The statements that the walk of each question reaches, best first; empty without a pool. One read for all texts."""
        if around is None or not len(around.ids):
            return {}
        walks: dict[str, list[tuple[str, float]]] = {}
        for question in questions:
            with session.asking(question) as asked:
                vector = asked.vector()
            with session.step("walk") as step:
                [shares] = around.shares([pool], vector[np.newaxis], walk=self.walk)
                step.count = len(around.ids)
                step.details = {"question": question, "seeds": len(pool), "extraction": self.extraction.fingerprint}
                step.details |= around.drawn_by(self.walk)
            walks[question] = best_of(around.ids, shares, k=max(self.ranked, k))
            collection.reach(walks[question], pool)
        texts_of(session, list(dict.fromkeys(item for best in walks.values() for item, _ in best)))
        return walks

    def _suggest(
        self,
        session: Session,
        question: str,
        walks: Mapping[str, Sequence[tuple[str, float]]],
        *,
        collection: _Collected,
    ) -> list[Suggestion]:
        """SuggestLocal, Eq. 8; SuggestNaive without a walk."""
        if question not in walks:
            return suggest_naive(session, question, k=self.suggestions, candidates=self.candidates)
        new = [item for item in walks[question] if item[0] not in collection.kept][: self.suggestions]
        texts = texts_of(session, [item for item, _ in new])
        return [Suggestion(item, texts[item], share) for item, share in new if item in texts]


_FIRST = 10.0  # more than a reranker and a walk can give together


class _Collected(Collection):
    """The collected statements of one search.

    Attributes
    ----------
    shares : of each statement that a walk reached, the highest share over the highest that the walk gave any
    """

    def __init__(self, session: Session, selector: Selector) -> None:
        super().__init__(session, selector)
        self.shares: dict[str, float] = {}

    def reach(self, best: Sequence[tuple[str, float]], pool: Sequence[str]) -> None:
        """Add the statements that a walk reached; the best gets 1, or by rules the highest share of the pool.

        Parameters
        ----------
        best : ids with shares, best first
        pool : ids of the statements at which the walk began
        """
        led = [] if self.selector.is_trusted else [self.shares[item] for item in pool if item in self.shares]
        most = max(led, default=1.0)
        for item, share in best:
            self.shares[item] = max(self.shares.get(item, 0.0), most * share / best[0][1])
