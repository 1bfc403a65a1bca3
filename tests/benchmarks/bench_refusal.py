"""What is refused without a chat model: questions that a corpus answers, and questions that it cannot.

    PYTHONPATH=tests/support python tests/benchmarks/bench_refusal.py [--set NAME] [--other NAME] [--questions N]

Answerable are the questions of a set to its own passages. Two kinds are not: the same questions where the sources of their
supporting passages are hidden by a filter (``hidden``: the corpus still speaks of most of what they name), and the questions of
another set (``other``). The share of each that lies below a threshold of the rule is what it refuses; ``rule before`` is the
share without any piece that shares a word with the question or is close to it. The sets are real ones where HLGRAPH_DATA
names their folder.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation_sets import BenchmarkSet, open_set, origin_line
from measure import say, table

import hlgraph
from hlgraph.answer.extractive import is_about
from hlgraph.answer.verify import LEAST_SUPPORT, support
from hlgraph.records import Document, Evidence
from hlgraph.sdk.client import HLGraph
from hlgraph.text import content_words

K = 20
THRESHOLDS = (0.4, 0.45, LEAST_SUPPORT, 0.55, 0.6)


def asked(graph: HLGraph, item: BenchmarkSet, other: BenchmarkSet) -> Iterator[tuple[str, str, Sequence[Evidence]]]:
    """Kind, question and evidence of every question."""
    for question in item.dataset.questions:
        yield "answerable", question.text, graph.search(question.text, k=K, unit="statement").evidence
        hidden = " and ".join(f'uri != "{name}"' for name in sorted(question.gold))
        yield "hidden", question.text, graph.search(question.text, k=K, unit="statement", where=hidden).evidence
    for question in other.dataset.questions:
        yield "other", question.text, graph.search(question.text, k=K, unit="statement").evidence


def is_refused_before(question: str, evidence: Sequence[Evidence]) -> bool:
    """The rule of single pieces alone."""
    words = set(content_words(question))
    return not any(is_about(words, item) for item in evidence)


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="multihop_rag_70")
    parser.add_argument("--other", default="hotpotqa")
    parser.add_argument("--questions", type=int, default=200)
    chosen = parser.parse_args()
    say(origin_line())
    with tempfile.TemporaryDirectory() as scratch:
        item = open_set(chosen.set, Path(scratch), questions=chosen.questions)
        other = open_set(chosen.other, Path(scratch), questions=chosen.questions)
        found: dict[str, list[float]] = {}
        before: dict[str, list[bool]] = {}
        with hlgraph.connect(f"hlgraph://{scratch}/store", corpus=item.name) as graph:
            documents = [Document(passage.id, passage.text, passage.title) for passage in item.passages]
            graph.ingest(documents, is_chunked=True)
            for kind, question, evidence in asked(graph, item, other):
                found.setdefault(kind, []).append(support(question, evidence))
                before.setdefault(kind, []).append(is_refused_before(question, evidence))
        say(f"{item.name}: refused, {', '.join(f'{len(values)} {kind}' for kind, values in found.items())}")
        rows = [
            (
                f"{least:.2f}",
                *(f"{sum(value < least for value in values) / len(values):.1%}" for values in found.values()),
            )
            for least in THRESHOLDS
        ]
        rows.append(("rule before", *(f"{sum(values) / len(values):.1%}" for values in before.values())))
        table(("below", *found), rows)


if __name__ == "__main__":
    main()
