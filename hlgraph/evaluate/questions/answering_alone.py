"""Looks for leakage with a chat model: whether it answers a question from one gold source alone (HLG, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlgraph import progress
from hlgraph.errors import HLGraphError, ModelError
from hlgraph.evaluate.questions.checking import Finding, check_corpus, holds
from hlgraph.evaluate.questions.question_calls import DropError, QuestionCalls
from hlgraph.evaluate.questions.record import MadeQuestion
from hlgraph.records import Chunk, Kind

if TYPE_CHECKING:
    from hlgraph.models.executor import Executor
    from hlgraph.sdk.client import HLGraph


@dataclass(frozen=True, slots=True)
class AloneReport:
    """What a chat model answered from single sources.

    Attributes
    ----------
    findings : questions that one source alone answers
    asked : number of questions that were looked at; those that were not, because a reply could not be read, are missing
    unreadable : number of replies that could not be read
    stopped : the error that ended the run, such as a BudgetError; None if it is complete
    """

    findings: tuple[Finding, ...]
    asked: int
    unreadable: int
    stopped: HLGraphError | None = None


def answer_alone(graph: HLGraph, questions: Sequence[MadeQuestion], *, model: Executor) -> AloneReport:
    """The questions that a chat model answers from the gold chunks of one source: one or two calls for each source.

    Parameters
    ----------
    graph : the corpus of the questions
    questions : the questions; null and abstract ones have no gold source and are passed over
    model : executor of the chat model

    Raises
    ------
    InputError
        The questions are of another corpus.
    """
    check_corpus(questions, graph.corpus)
    asked = [item for item in questions if item.chunk_ids]
    calls = QuestionCalls(model, max_tokens=graph.settings.models.max_tokens)
    held = graph.facts.records(Kind.CHUNK, [name for item in asked for name in item.chunk_ids])
    found: dict[int, Finding | None] = {}

    def one(numbered: tuple[int, MadeQuestion]) -> None:
        place, item = numbered
        try:
            found[place] = _leak(
                calls, item, [each for name in item.chunk_ids if isinstance(each := held.get(name), Chunk)]
            )
        except DropError:
            return  # counted as unreadable

    stopped: HLGraphError | None = None
    try:
        with progress.step("answer alone", len(asked), unit="questions"):
            model.run(one, list(enumerate(asked)), step="answer alone")
    except ModelError as error:
        stopped = error
    findings = tuple(item for _, item in sorted(found.items()) if item is not None)
    return AloneReport(findings, len(found), sum(calls.unreadable.values()), stopped)


def _leak(calls: QuestionCalls, item: MadeQuestion, chunks: Sequence[Chunk]) -> Finding | None:
    for source in dict.fromkeys(chunk.source_id for chunk in chunks):
        answer = calls.answered(item.question, [chunk.text for chunk in chunks if chunk.source_id == source])
        is_gold = bool(answer) and any(holds(gold, answer) for gold in item.answers)
        if is_gold or calls.agrees(item.question, "; ".join(item.answers), found=answer):
            return Finding(item.id, "leak", f"{calls.model.fingerprint} answers it from source {source} alone")
    return None
