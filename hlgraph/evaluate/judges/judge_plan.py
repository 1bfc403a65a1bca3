"""Plans a judgement: its calls, their tokens and their price, by a run in which no model is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import cast

from hlgraph.answer.rehearsal import Rehearsal
from hlgraph.evaluate.judges.answer_rows import Candidate
from hlgraph.evaluate.judges.judge_all import judge_all
from hlgraph.evaluate.judges.judge_report import JudgeOptions
from hlgraph.evaluate.judges.verdict_calls import Judge
from hlgraph.models.accounts.expected import ExpectedCost
from hlgraph.models.executor import Executor, Request

# Guesses: words of a reason, assertions of a gold answer. The ledger replaces the lengths after ten calls.
_WORDS, _ASSERTIONS = 16, 2
_COUNT = re.compile(r"\AThere are (\d+) assertions")


class _JudgeRehearsal(Rehearsal):
    """Makes up verdicts in place of answers."""

    def made_up(self, request: Request, *, length: int | None) -> str:
        """A verdict in the form of the prompt; its length is that of the ledger, or guessed."""
        name, words = request.purpose.prompt.partition("/")[0], "word " * (length or _WORDS)
        if name == "judge_assertions":
            tree: dict[str, object] = {"assertions": [f"{words}{number}" for number in range(_ASSERTIONS)]}
        elif name == "judge_supported":
            found = _COUNT.match(request.user)
            count = int(found[1]) if found else 1
            tree = {"verdicts": [{"number": number, "is_supported": "yes"} for number in range(1, count + 1)]}
        elif name == "judge_pairwise":
            form = cast("Mapping[str, Mapping[str, object]]", request.form)
            tree = {**dict.fromkeys(form["properties"], "tie"), "reason": words}
        else:
            tree = {"reason": words, "verdict": "correct"}
        return json.dumps(tree)


def plan_judges(candidates: Sequence[Candidate], executor: Executor, *, options: JudgeOptions) -> ExpectedCost:
    """What judging would cost; nothing is asked or written.

    The calls are exact but for gold answers whose assertions are not made yet: two assertions each are supposed. Second calls
    after a reply that cannot be read are not in it.

    Parameters
    ----------
    candidates : the answers
    executor : of the judge, with its ledger and stored replies
    options : what is judged

    Raises
    ------
    InputError
        As :func:`hlgraph.evaluate.judges.judge_all.judge_all`.
    """
    rehearsal = _JudgeRehearsal(executor)
    judge_all(candidates, Judge(rehearsal), options=options)
    return rehearsal.expected()
