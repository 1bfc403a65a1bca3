"""Judges of single answers: correctness, and the share of assertions that an answer makes.

References
----------
Hierarchical Lexical Graph for Enhanced Multi-Hop Retrieval (HLG), section 6.5. *Correctness*: the answer holds, in any words,
all necessary information of the gold answer; it has two values and no scale between them. *Answer recall*: the share of the
facts of the gold answer that the answer holds; four of five steps are not correct, and 80 % of recall. The paper gives no
prompts; these are our own. A fact is an assertion here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from hlgraph.evaluate.judges.answer_rows import Candidate
from hlgraph.evaluate.judges.verdict_calls import Judge, Missing
from hlgraph.extract.chat.reply_schema import ReplyError, Words
from hlgraph.models.prompts import delimited

_MOST = 50


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class CorrectnessVerdict(_Part):
    """Whether the answer is correct."""

    reason: str = ""
    verdict: Literal["correct", "incorrect"]


class Assertions(_Part):
    """What an answer has to say."""

    assertions: list[Words]


class _Supported(_Part):
    number: int
    is_supported: Literal["yes", "no"]


class SupportVerdicts(_Part):
    """One verdict for each assertion."""

    verdicts: list[_Supported]


def judge_correctness(judge: Judge, item: Candidate) -> float | Missing:
    """1 for a correct answer, 0 for another one (HLG, section 6.5).

    Parameters
    ----------
    judge : makes the calls
    item : the answer
    """
    values = {**_asked(item), "answer": delimited("answer", item.text)}
    found = judge.ask("correctness", values, form=CorrectnessVerdict, strategy=item.strategy)
    return found if isinstance(found, Missing) else float(found.verdict == "correct")


def make_assertions(judge: Judge, item: Candidate) -> tuple[str, ...] | Missing:
    """What an answer to the question has to say: the assertions of its author, else those that the model finds in the gold.

    Parameters
    ----------
    judge : makes the calls
    item : any answer to the question
    """
    if item.assertions:
        return item.assertions
    found = judge.ask("assertions", _asked(item), form=Assertions, check=_check_some)
    return found if isinstance(found, Missing) else tuple(dict.fromkeys(found.assertions))


def judge_assertions(judge: Judge, item: Candidate, *, assertions: Sequence[str]) -> float | Missing:
    """The share of assertions that the answer makes (HLG, answer recall, section 6.5).

    Parameters
    ----------
    judge : makes the calls
    item : the answer
    assertions : at least one
    """
    count = len(assertions)

    def check(found: SupportVerdicts) -> None:
        numbers = sorted(verdict.number for verdict in found.verdicts)
        if numbers != list(range(1, count + 1)):
            raise ReplyError(
                f"there must be one verdict for each assertion from 1 to {count}; there are some for {numbers}"
            )

    listed = "\n".join(f"[{number}] {' '.join(text.split())}" for number, text in enumerate(assertions, 1))
    values = {
        "count": str(count),
        "question": delimited("question", item.question),
        "answer": delimited("answer", item.text),
        "assertions": delimited("assertions", listed),
    }
    found = judge.ask("supported", values, form=SupportVerdicts, strategy=item.strategy, check=check)
    if isinstance(found, Missing):
        return found
    return sum(verdict.is_supported == "yes" for verdict in found.verdicts) / count


def _asked(item: Candidate) -> dict[str, str]:
    golds = "\n".join(f"- {' '.join(gold.split())}" for gold in item.golds)
    return {"question": delimited("question", item.question), "golds": delimited("accepted", golds)}


def _check_some(found: Assertions) -> None:
    if not 0 < len(found.assertions) <= _MOST:
        raise ReplyError(f"there must be from 1 to {_MOST} assertions; there are {len(found.assertions)}")
