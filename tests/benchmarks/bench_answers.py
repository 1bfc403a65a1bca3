"""Answers without a chat model: where the known answer stands, what is supported, and what is refused.

    HLGRAPH_DATA=... PYTHONPATH=tests/support python tests/benchmarks/bench_answers.py [--stores FOLDER] [--own 150]

Asked are the questions of ``questions.jsonl`` beside this file, written by hand for the documents of the seven sets: answerable
ones, near misses (the subject is in the documents, what is asked is not), foreign ones, and questions of yes or no, counts and
comparisons. The rules were tuned on one half (by a hash of the id); of the other, those of popqa, 2wikimultihopqa
and hotpotqa had been read.
``--own`` asks so many questions of each set besides, those with answers other than yes and no.

A first sentence is right if it has one of the known answers, folded; if it begins with the right "Yes" or "No"; or, for a
comparison, if it names the right thing within its first 60 characters. ``--stores`` is a folder with a store for each set, in the
corpus ``eval-NAME``, as ``hlgraph eval`` leaves it; without it the passages are ingested first.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evaluation_sets import data_folder, open_set, origin_line
from measure import say, table

import hlgraph
from hlgraph.answer import extractive_answer
from hlgraph.answer.extractive import NOT_FOUND
from hlgraph.answer.verify import is_missing, verified
from hlgraph.records import Answer, Document
from hlgraph.sdk.client import HLGraph
from hlgraph.text import fold

K = 20
QUESTIONS = Path(__file__).with_name("questions.jsonl")
_START = 60


class Asked(NamedTuple):
    """A question with its known answers; none where the documents hold none."""

    id: str
    kind: str
    text: str
    answers: tuple[str, ...]

    @property
    def half(self) -> str:
        """``seen`` if the rules were written with it in view, else ``unseen``."""
        return "seen" if hashlib.sha256(self.id.encode()).digest()[0] % 2 else "unseen"


def written(name: str) -> list[Asked]:
    """The questions that were written for a set."""
    rows = map(json.loads, QUESTIONS.read_text("utf-8").splitlines())
    return [Asked(row["id"], row["kind"], row["question"], tuple(row["answers"])) for row in rows if row["set"] == name]


def own(name: str, count: int) -> list[Asked]:
    """Questions of a set with their known answers, without those answered by yes or no; the same ones each time."""
    folder = data_folder()
    if folder is None or not count:
        return []
    with gzip.open(folder / name / "questions.dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    random.Random(name).shuffle(rows)
    plain = [row for row in rows[:count] if not {fold(each).strip(".") for each in row["answers"]} & {"yes", "no"}]
    return [Asked(str(row["id"]), "own", row["question"], tuple(row["answers"])) for row in plain]


def plain_words(text: str) -> str:
    """The words of a text, folded, with one space between them."""
    return " ".join(re.findall(r"\w+", fold(text)))


def is_right(asked: Asked, answer: Answer) -> bool:
    """Whether the first sentence of an answer is right."""
    if not answer.sentences or not asked.answers:
        return False
    first = re.sub(r"\[\d+\]", "", answer.sentences[0].text)
    if not answer.text.startswith(answer.sentences[0].text):
        first = answer.text.partition(".")[0]  # "No statement names ..." stands first
    known, said = [plain_words(each) for each in asked.answers], plain_words(first)
    if asked.kind == "yes_no":
        return said.split(" ", 1)[0] == known[0] and ":" in first
    if asked.kind == "compare":
        return any(each in said[:_START] for each in known)
    return any(each and re.search(rf"\b{re.escape(each)}\b", said) for each in known)


def answers(graph: HLGraph, asked: list[Asked]) -> Iterator[tuple[Asked, Answer]]:
    """Each question with its answer, as ``HLGraph.answer`` makes it without a chat model."""
    for question in asked:
        result = graph.search(question.text, k=K, unit="statement")
        if is_missing(question.text, result.evidence, calibration=result.calibration):
            yield question, Answer(question.text, NOT_FOUND, (), is_supported=False)
        else:
            embedder = graph._resources.models.embedder
            answer = extractive_answer(
                question.text, result.evidence, calibration=result.calibration, embedder=embedder
            )
            yield question, verified(answer)


def main() -> None:
    """Print a row for each kind of question and half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", type=Path)
    parser.add_argument("--own", type=int, default=0)
    chosen = parser.parse_args()
    say(origin_line())
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    names = dict.fromkeys(json.loads(line)["set"] for line in QUESTIONS.read_text("utf-8").splitlines())
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            url = f"hlgraph://{chosen.stores / name if chosen.stores else Path(scratch, 'store')}"
            with hlgraph.connect(url, corpus=f"eval-{name}") as graph:
                if chosen.stores is None:
                    passages = open_set(name, Path(scratch)).passages
                    graph.ingest([Document(each.id, each.text, each.title) for each in passages], is_chunked=True)
                for asked, answer in answers(graph, [*written(name), *own(name, chosen.own)]):
                    kind = f"{asked.kind} {name}" if asked.kind == "own" else asked.kind
                    counts[kind, asked.half].update(
                        asked=1,
                        right=is_right(asked, answer),
                        supported=answer.is_supported,
                        sure=is_right(asked, answer) and answer.is_supported,
                        refused=not answer.citations,
                        sentences=len(answer.sentences),
                    )
    head = ("asked", "right", "supported", "sure", "refused", "sentences")
    rows = [(*key, *(str(count[name]) for name in head)) for key, count in sorted(counts.items())]
    table(
        ("kind", "half", "questions", "right first", "supported", "right and supported", "refused", "sentences"), rows
    )


if __name__ == "__main__":
    main()
