"""Claim-based measures for ``hlgraph eval``: checks the option, computes the measures, formats their section of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlgraph.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from hlgraph.evaluate.answering import AnswerReport
    from hlgraph.evaluate.claims import ClaimReport
    from hlgraph.evaluate.judges.report import JudgeReport
    from hlgraph.evaluate.statistics import Section
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.settings import Settings

WORDS, CHAT = "words", "chat"


def check_claims(way: str, settings: Settings, *, is_answered: bool) -> None:
    """Check the option before any question is run.

    Parameters
    ----------
    way : the value of the option; empty: it was not given
    settings : all settings
    is_answered : whether the questions are answered
    """
    if not way:
        return
    if way not in (WORDS, CHAT):
        raise UnknownNameError(f"--claims {way!r}: claims are checked by {WORDS} or by {CHAT}; choose one of them")
    if not is_answered:
        raise InputError("--claims checks the claims of answers; give --answers, too")
    if way == CHAT and not settings.models.chat:
        raise InputError(
            "--claims chat needs a chat model; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), or "
            "choose --claims words"
        )


def claims_of(
    answered: AnswerReport, way: str, *, settings: Settings, budget: Budget | None, judged: JudgeReport | None = None
) -> Section:
    """The eleven measures of RAGChecker for each answer.

    Parameters
    ----------
    answered : the answers
    way : ``words`` or ``chat``
    settings : all settings; the corpus is the one that calls are entered for in the ledger
    budget : of the command; what the answers and the judges cost counts for it
    judged : the verdicts of judges; None if none were asked for
    """
    from hlgraph.evaluate.claims import ChatClaims, WordClaims, check_answers
    from hlgraph.models.accounts.ledger import total
    from hlgraph.models.accounts.open import executor_of
    from hlgraph.models.choose import chosen_chat

    if way == WORDS:
        return _section(check_answers(answered, WordClaims()))
    executor = executor_of(chosen_chat(settings.models.chat, settings.models), settings, corpus=settings.corpus)
    try:
        calls = executor.begin(budget)
        before = total([item.spent for item in (*answered.strategies.values(), *((judged,) if judged else ()))])
        calls.purse.carry(before.calls, before.input_tokens, output_tokens=before.output_tokens)
        found = check_answers(answered, ChatClaims(calls, max_tokens=settings.models.max_tokens))
        purse = calls.purse
        cost = (
            f"{purse.calls - before.calls:,} calls, {purse.input_tokens - before.input_tokens:,} tokens in, "
            f"{purse.output_tokens - before.output_tokens:,} out"
        )
        return _section(found, cost)
    finally:
        executor.close()


def _section(found: ClaimReport, *notes: str) -> Section:
    from dataclasses import astuple, fields

    from hlgraph.evaluate.claims.claims import ClaimScores
    from hlgraph.evaluate.statistics import Section

    measures = tuple(item.name for item in fields(ClaimScores))
    return Section(
        title=f"claims, split and checked by {found.by}",
        questions=found.questions,
        measures=measures,
        values={
            name: tuple(astuple(item) if isinstance(item, ClaimScores) else (None,) * len(measures) for item in items)
            for name, items in found.scores.items()
        },
        notes=(*notes, *found.notes()),
    )
