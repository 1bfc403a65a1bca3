"""Reports of `global`: what the number of collected statements changes in what a chat model reads, and what a plan says of it.

    PYTHONPATH=tests/support python tests/benchmarks/bench_reports.py [--store hlgraph://folder] [--set musique_oie] [--questions N]

For each number of anchors: the anchors that were collected and those that a call read, communities, statements and passages,
calls, tokens by the ledger, and the calls and tokens that the plan said before. The means over broad questions. A script
stands for the chat model: six points for each community, a report of the points that it is given; it counts tokens as the plan
does, so what differs is the length of replies. ``--store`` names a store that `hlgraph eval` has filled; else the set is
ingested, a real one where HLGRAPH_DATA names it.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from pathlib import Path

from evaluation_sets import open_set, origin_line
from measure import say, table

import hlgraph
from hlgraph.answer.answering import AnswerRequest
from hlgraph.evaluate.runner import PREFIX
from hlgraph.models.accounts.ledger import total
from hlgraph.models.prompts import estimated_tokens, request_tokens
from hlgraph.models.protocols import Completion
from hlgraph.records import Document
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.chat import ScriptedChat

ANCHORS = (200, 600, 1_000)
QUESTIONS = (
    "How did wars change the borders of countries?",
    "What did kings and queens build in their cities?",
    "How do rivers shape the regions that they flow through?",
    "What made musicians and their albums known?",
    "How are governments and elections organised?",
)
PLANNED = 0.25  # the plan may be off by this share of the tokens
_POINT = "The piece says so in a sentence of about this length, with a name, a place and the year 1931."


def reply(system: str, user: str) -> Completion:
    """Six points for each community of a part, and a report that says each point again."""
    if system.startswith("You write a report"):
        numbers = dict.fromkeys(re.findall(r"\[(\d+)\]", user))
        text = " ".join(f"{_POINT[:-1]} [{number}]." for number in list(numbers)[:30])
    else:
        shown = re.findall(r"^\[(\d+)\]", user, re.MULTILINE)
        most = 6 * max(1, user.count("\nEntities: "))
        text = "\n".join(f"{90 - at % 90} | {_POINT} [{number}]" for at, number in enumerate(shown[:most]))
    return Completion(text, request_tokens(system, user), estimated_tokens(text))


def row(graph: HLGraph, anchors: int, questions: tuple[str, ...]) -> tuple[list[str], bool]:
    """The means of a number of anchors, and whether every statement that was collected reached the report as planned."""
    made = GlobalRetriever(anchors=anchors)
    seen: list[tuple[int, ...]] = []
    is_kept = True
    for question in questions:
        before = total(graph.ledger())
        plan = graph.answers.plan(AnswerRequest(question=question, mode="report"), strategy=made)
        figures = graph.answer(question, strategy=made, mode="report").report
        spent = total(graph.ledger())
        if figures is None:
            raise SystemExit("the report has no figures; the script was not asked")
        sent, replied = spent.input_tokens - before.input_tokens, spent.output_tokens - before.output_tokens
        off = abs(plan.input_tokens + plan.output_tokens - sent - replied) / (sent + replied)
        is_kept &= plan.calls == figures.calls == spent.calls - before.calls and off < PLANNED
        is_kept &= (
            figures.shown_anchors >= 0.98 * figures.anchors
        )  # one sentence of two overlapping chunks is shown once
        seen.append((
            *(figures.anchors, figures.shown_anchors, figures.communities, figures.statements, figures.passages),
            *(figures.calls, sent, replied, plan.calls, plan.input_tokens, plan.output_tokens),
        ))  # fmt: skip
    means = [f"{statistics.mean(column):,.0f}" for column in zip(*seen, strict=True)]
    return [f"{anchors:,}", *means], is_kept


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store")
    parser.add_argument("--set", default="musique_oie")
    parser.add_argument("--questions", type=int, default=len(QUESTIONS))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        item = open_set(chosen.set, Path(scratch) / "data", questions=1)
        say(origin_line())
        settings = chosen.store or f"hlgraph://{scratch}/store"
        with hlgraph.connect(settings, corpus=f"eval-{item.name}", chat=ScriptedChat(reply, name="script")) as graph:
            if not chosen.store:
                documents = (Document(f"{PREFIX}{each.id}", each.text, each.title) for each in item.passages)
                graph.ingest(documents, is_chunked=True)
            found = [row(graph, anchors, QUESTIONS[: chosen.questions]) for anchors in ANCHORS]
    head = ("anchors", "collected", "read", "communities", "statements", "passages", "calls", "tokens in", "tokens out")
    table((*head, "planned calls", "in", "out"), [cells for cells, _ in found])
    say("as planned" if all(is_kept for _, is_kept in found) else "NOT AS PLANNED")
    raise SystemExit(not all(is_kept for _, is_kept in found))


if __name__ == "__main__":
    main()
