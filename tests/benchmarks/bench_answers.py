"""Answers without a chat model: where the known answer stands, how many sentences are told, and what is refused.

    HLGRAPH_DATA=... PYTHONPATH=tests/support python tests/benchmarks/bench_answers.py [--set NAME] [--other NAME] [--store URL]

Asked are questions of a set whose answers are texts other than yes and no (``answerable``), and questions of another set, which
the corpus cannot answer (``other``). A sentence is right where it has one of the known answers, folded. ``five best`` is the rule
before: the five best pieces of the search, without near-duplicates. ``--store`` is a store that holds the set in the corpus
``eval-NAME`` already, as ``hlgraph eval`` leaves it; without it the passages are ingested first.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation_sets import data_folder, open_set, origin_line
from measure import say, table

import hlgraph
from hlgraph.answer import extractive_answer
from hlgraph.answer.extractive import is_missing
from hlgraph.records import Document, Evidence
from hlgraph.retrieve import SearchResult
from hlgraph.sdk.client import HLGraph
from hlgraph.text import content_words, fold

K = 20
BEFORE = 5
SAME = 0.8


class Told(NamedTuple):
    """The sentences of an answer, none where it is refused, and whether it is supported."""

    sentences: Sequence[Evidence]
    is_supported: bool


def five_best(question: str, found: SearchResult) -> Told:
    """The rule before."""
    chosen: list[Evidence] = []
    if not is_missing(question, found.evidence, calibration=found.calibration):
        for item in found.evidence:
            held = set(content_words(item.text))
            others = (set(content_words(other.text)) for other in chosen)
            if held and not any(len(held & other) >= SAME * min(len(held), len(other)) for other in others):
                chosen.append(item)
    return Told(chosen[:BEFORE], bool(chosen))


def fewest(question: str, found: SearchResult) -> Told:
    """The rule of the package."""
    if is_missing(question, found.evidence, calibration=found.calibration):
        return Told([], is_supported=False)
    answer = extractive_answer(question, found.evidence, calibration=found.calibration)
    return Told([item.evidence for item in answer.citations], answer.is_supported)


def questions(name: str, count: int) -> list[tuple[str, list[str]]]:
    """Questions of a set with their known answers, without those answered by yes or no; the same ones each time."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("the known answers are in the real sets; name their folder in HLGRAPH_DATA")
    with gzip.open(folder / name / "questions.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if not {fold(each).strip(".") for each in row["answers"]} & {"yes", "no"}]
    random.Random(name).shuffle(rows)
    return [(row["question"], row["answers"]) for row in rows[:count]]


def is_right(texts: Iterable[Evidence], answers: Sequence[str]) -> bool:
    """Whether one of the texts has one of the answers."""
    known = [" ".join(fold(each).split()).strip(" .") for each in answers]
    return any(each in " ".join(fold(item.text).split()) for item in texts for each in known)


def figures(
    rule: Callable[[str, SearchResult], Told],
    answerable: Sequence[tuple[str, list[str], SearchResult]],
    other: Sequence[tuple[str, list[str], SearchResult]],
) -> tuple[str, ...]:
    """One row of the table."""
    told = [(rule(question, found), answers) for question, answers, found in answerable]
    shown = [each for each, _ in told if each.sentences]
    foreign = [rule(question, found) for question, _, found in other]
    return (
        str(sum(is_right(each.sentences[:1], answers) for each, answers in told)),
        str(sum(is_right(each.sentences, answers) for each, answers in told)),
        f"{sum(len(each.sentences) for each in shown) / max(1, len(shown)):.2f}",
        str(len(told) - len(shown)),
        str(sum(each.is_supported for each, _ in told)),
        f"{sum(not each.sentences for each in foreign)} of {len(foreign)}",
        str(sum(each.is_supported for each in foreign)),
    )


def search(graph: HLGraph, asked: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str], SearchResult]]:
    """The evidence of each question."""
    return [(text, answers, graph.search(text, k=K, unit="statement")) for text, answers in asked]


def main() -> None:
    """Print the table of one set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="popqa")
    parser.add_argument("--other", default="hotpotqa")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--others", type=int, default=60)
    parser.add_argument("--store")
    chosen = parser.parse_args()
    say(origin_line())
    asked, foreign = questions(chosen.set, chosen.questions), questions(chosen.other, chosen.others)
    with tempfile.TemporaryDirectory() as scratch:
        url = chosen.store or f"hlgraph://{scratch}/store"
        with hlgraph.connect(url, corpus=f"eval-{chosen.set}") as graph:
            if chosen.store is None:
                passages = open_set(chosen.set, Path(scratch)).passages
                graph.ingest([Document(each.id, each.text, each.title) for each in passages], is_chunked=True)
            answerable, other = search(graph, asked), search(graph, foreign)
    reachable = sum(is_right(found.evidence, answers) for _, answers, found in answerable)
    say(
        f"{chosen.set}: {len(asked)} questions, {reachable} with the answer among {K} statements; others from {chosen.other}"
    )
    rows = [(name, *figures(rule, answerable, other)) for name, rule in (("five best", five_best), ("fewest", fewest))]
    head = ("rule", "first", "any", "sentences", "refused", "supported", "others refused", "others supported")
    table(head, rows)


if __name__ == "__main__":
    main()
