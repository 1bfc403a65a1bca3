"""What groups cost: searches of a caller beside those with a filter that admits the same sources, and changes of groups.

``python tests/benchmarks/bench_access.py [SOURCES]``: by default 10,000 sources of 10 statements, 10,000 groups, and a caller in
100 groups who may see a tenth of the sources.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

from measure import say

import hlgraph
from hlgraph.records import Document
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.embedder import WordEmbedder

_NAMES = [
    f"{first} {last}"
    for first in ("Mara", "Ivo", "Jonas", "Petra", "Ada")
    for last in map("Quill{}".format, range(400))
]
_VERBS = ("designed", "visited", "sold", "paid", "left")
_GROUPS, _MINE, _QUESTIONS, _ROUNDS = 10_000, 100, 20, 5


def documents(sources: int) -> list[Document]:
    """Sources of ten statements; a tenth of them names a group of the caller."""
    chance = random.Random(0)

    def said() -> str:
        return (
            f"{chance.choice(_NAMES)} {chance.choice(_VERBS)} {chance.choice(_NAMES)} in {chance.randint(1000, 1999)}."
        )

    papers: list[Document] = []
    for number in range(sources):
        is_mine = number % 10 == 0
        group = f"group {number // 10 % _MINE if is_mine else _MINE + number % (_GROUPS - _MINE)}"
        text = " ".join(said() for _ in range(10))
        papers.append(Document(f"doc:{number}", text, metadata={"acl": (group,), "mine": is_mine}))
    return papers


def compared(ask: dict[str, Callable[[str], object]], questions: list[str]) -> dict[str, float]:
    """Processor milliseconds a question, the least of the rounds, alternating."""
    for run in ask.values():
        run(questions[0])
    best = dict.fromkeys(ask, float("inf"))
    for _ in range(_ROUNDS):
        for name, run in ask.items():
            start = time.process_time()
            for question in questions:
                run(question)
            best[name] = min(best[name], (time.process_time() - start) * 1000 / len(questions))
    return best


def searches(graph: HLGraph) -> None:
    chance = random.Random(1)
    questions = [
        f"Who {chance.choice(_VERBS)} {chance.choice(_NAMES)} and {chance.choice(_NAMES)}?" for _ in range(_QUESTIONS)
    ]
    caller, operator = graph.as_caller({f"group {number}" for number in range(_MINE)}), graph.as_operator()
    for strategy in ("auto", "path", "statement"):
        for mode in ("vector", "text"):
            best = compared(
                {
                    "filter": lambda text, s=strategy, m=mode: operator.search(
                        text, strategy=s, mode=m, where="mine = true"
                    ),
                    "caller": lambda text, s=strategy, m=mode: caller.search(text, strategy=s, mode=m),
                },
                questions,
            )
            ratio = best["caller"] / best["filter"]
            say(f"| {strategy} | {mode} | {best['filter']:.1f} | {best['caller']:.1f} | {ratio:.2f} |")


def main() -> None:
    sources = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with (
        tempfile.TemporaryDirectory() as folder,
        hlgraph.connect(f"hlgraph://{folder}/s", embedder=WordEmbedder()) as graph,
    ):
        graph.ingest(documents(sources))
        say("| strategy | mode | filter, ms | caller, ms | ratio |\n|---|---|---|---|---|")
        searches(graph)
        seconds = []
        for number in range(3):
            start = time.perf_counter()
            changed = graph.groups.set(f"new {number}", where='uri < "doc:19"')
            seconds.append((time.perf_counter() - start) * 1000 / max(changed, 1))
        say(f"change of groups: {statistics.median(seconds):.2f} ms a source ({changed} at once)")


if __name__ == "__main__":
    main()
