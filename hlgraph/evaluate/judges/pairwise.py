"""Asks a judge which of two answers is better, by criterion.

Neither ToPG nor HLG gives its prompt (see :mod:`hlgraph.evaluate.judges.wins`). Ours hides who wrote the answers, and is asked in
both positions, which takes the place of HLG's random order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, create_model

from hlgraph.evaluate.judges.answer_rows import Candidate
from hlgraph.evaluate.judges.verdict_calls import Judge, Missing
from hlgraph.evaluate.judges.wins import CRITERIA
from hlgraph.models.prompts import delimited

_PLACES = {"1": 1.0, "2": 0.0, "tie": 0.5}


class _Winners(BaseModel):
    """Which answer is better, by criterion."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    reason: str = ""


def read_pair(
    judge: Judge, first: Candidate, *, second: Candidate, criteria: Sequence[str], reading: int = 1
) -> dict[str, float] | Missing:
    """The scores of the answer that is shown first, by criterion: 1, 0.5 or 0.

    Parameters
    ----------
    judge : makes the call
    first, second : two answers to one question; the judge does not see whose they are
    criteria : names
    reading : number of the reading in these positions; each is asked anew
    """
    form = _form(tuple(criteria))
    shown: dict[str, str] = {"reason": "...", **dict.fromkeys(criteria, "1, 2 or tie")}
    values = {
        "criteria": "\n".join(f"- {name}: {CRITERIA[name]}" for name in criteria),
        "form": json.dumps(shown),
        "question": delimited("question", first.question),
        "first": delimited("answer", first.text),
        "second": delimited("answer", second.text),
        "reading": str(reading),
    }
    found = judge.ask("pairwise", values, form=form)
    if isinstance(found, Missing):
        return found
    return {name: _PLACES[str(getattr(found, name))] for name in criteria}


@cache
def _form(criteria: tuple[str, ...]) -> type[_Winners]:
    """The schema of the reply; a field for each criterion, so that a server with a grammar can offer no other."""
    fields = dict.fromkeys(criteria, (Literal["1", "2", "tie"], ...))
    return create_model("Winners", __base__=_Winners, __doc__=_Winners.__doc__, **fields)  # type: ignore[call-overload,no-any-return]
