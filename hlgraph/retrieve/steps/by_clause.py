"""Runs a strategy on each clause of a long question, and fuses the rankings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from hlgraph.algorithms import check
from hlgraph.algorithms.fusion import reciprocal_rank
from hlgraph.records import Hit
from hlgraph.retrieve.question.clauses import clauses
from hlgraph.retrieve.question.subqueries import ChatSplitter
from hlgraph.retrieve.request import SearchRequest, Unit
from hlgraph.retrieve.retriever import By, Ranked, Retriever, Why, chat_of, check_by, search_ahead, searches_of
from hlgraph.retrieve.session import Search, Session
from hlgraph.retrieve.steps.sub_questions import sub_questions


@dataclass(frozen=True, slots=True)
class ByClause:
    """A retriever that searches every clause of a long question by itself; a short question is searched as it is (ours).

    By rules a clause ends at a word that joins (:func:`hlgraph.retrieve.question.clauses.clauses`). A chat model writes
    sub-queries in place of clauses, in one call, whatever the length of the question.

    One vector of a long question lies between its clauses, and close to none of them.

    Attributes
    ----------
    part : ranks the nodes of each clause
    rank_constant : of the reciprocal rank fusion of the clauses; default 6: the first nodes of each clause come first
    by : who takes the question apart: ``rules`` (default) or ``chat``, the chat model; ``part`` has a ``by`` of its own
    """

    unit: ClassVar[Unit] = "chunk"
    part: Retriever
    rank_constant: float = 6
    by: By = "rules"

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check.positive("rank_constant", self.rank_constant)
        check_by(self.by)

    def searches(self, request: SearchRequest, k: int) -> list[Search]:
        """See :class:`Foretold`; none where the chat model is to take the question apart."""
        asked = clauses(request.question) if self.by == "rules" else ()
        return [item for one in asked for item in searches_of(self.part, replace(request, question=one), k=k)]

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        if self.by == "chat":
            asked = sub_questions(session, ChatSplitter(chat_of(session), session.fall_back))
        else:
            asked = clauses(session.request.question)
        if len(asked) == 1:
            return self.part.rank(session, k)
        search_ahead(
            session,
            [item for one in asked for item in searches_of(self.part, replace(session.request, question=one), k=k)],
        )
        found: list[Ranked] = []
        for number, clause in enumerate(asked, 1):
            with session.asking(clause) as other, session.part(f"clause {number}"):
                found.append(self.part.rank(other, k))
        kind = found[0].kind
        rankings = [[hit.id for hit in ranked.hits] for ranked in found if ranked.kind is kind]
        with session.step("fuse clauses") as step:
            fused = reciprocal_rank(rankings, self.rank_constant)
            step.count = len(fused)
            step.details = {"clauses": len(asked)}
        why: Why = {}
        for number, ranking in enumerate(rankings, 1):
            for place, item in enumerate(ranking, 1):
                why.setdefault(item, {})[f"rank in clause {number}"] = float(place)
        return Ranked(kind, [Hit(item, score) for item, score in fused], why)
