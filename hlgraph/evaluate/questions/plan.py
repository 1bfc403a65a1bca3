"""Plan questions by a chat model: run the pipeline with made-up replies, and count the calls that it would make."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from hlgraph.answer.plan import Rehearsal
from hlgraph.ids import checksum
from hlgraph.models.executor import Request

KEPT = 0.57
"""Share of drafts that are kept: 674 of 1,173 in HLG, section 5.3."""
_WORDS = "word " * 20
_COUNT = re.compile(r"(?:Number of users|Number of questions): (\d+)")
_SNIPPET = re.compile(r"^\[(\d+)\]$", re.MULTILINE)


class ForecastExecutor(Rehearsal):
    """An executor for dry runs of the pipeline: asks no model, writes nothing, and counts the calls that would be paid.

    Of the made-up critiques 57 % keep the question, as in HLG.
    """

    def made_up(self, request: Request, *, length: int | None) -> str:  # noqa: ARG002 - the forms have fixed lengths
        """A reply in the form that the prompt asks for, different for different requests.

        Parameters
        ----------
        request : the request
        length : not used
        """
        name = request.purpose.prompt.partition("/")[0]
        mark = checksum(request.key("forecast"))
        shown = len(_SNIPPET.findall(request.user))
        count = int(match[1]) if (match := _COUNT.search(request.user)) else 1
        different = [_distinct(mark, at) for at in range(count)]
        draft: Mapping[str, object] = {
            "question": f"Who {different[0]}?",
            "answer": f"{_WORDS}{_WORDS}",
            "snippets": [*range(1, shown + 1)],
        }
        users = [{"user": f"user {at}", "tasks": [f"task {at} {n}" for n in range(count)]} for at in range(count)]
        replies: dict[str, object] = {
            "synthesis": draft,
            "critique": {**draft, "is_usable": int(mark[:4], 16) < KEPT * 16**4, "reason": ""},
            "question_answer": {"answer": _WORDS if shown > 1 else None},
            "agree": {"agrees": True},
            "unanswerable": {"question": f"Who {different[0]}?"},
            "users": {"users": users},
            "abstract": {"questions": [f"Why {each}?" for each in different]},
        }
        return json.dumps(replies[name])


def _distinct(mark: str, number: int) -> str:
    """Words that no other reply has, so that no made-up question is taken for a duplicate."""
    digest = checksum(mark, str(number))
    return " ".join(digest[at : at + 8] for at in range(0, len(digest), 8))
