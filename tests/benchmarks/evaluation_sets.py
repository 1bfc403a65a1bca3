"""Evaluation sets for the benchmarks: those of the folder that HLGRAPH_DATA names, else made up here.

A made-up set is a folder of the same layout: passages with a title about invented people, towns, works and bodies, which
name each other, and questions over two passages. It has the shape of encyclopaedic passages (four or five sentences, some
500 characters, many names and years), not their difficulty: its times mean something, its recall does not.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path

from hlgraph.evaluate.datasets import Dataset, Passage, load, read_passages

VARIABLE = "HLGRAPH_DATA"
MADE_UP_PASSAGES = 500
_MADE_UP_QUESTIONS = 100
_ONSETS = ("b", "br", "c", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w")
_NUCLEI = ("a", "e", "i", "o", "u", "ae", "ei", "ou")
_CODAS = ("", "l", "n", "r", "s", "nd", "th", "lm", "ck")
_SENTENCES = (
    "{title} is a {noun} in the {region} region, known since {year} for its {goods}.",
    "It was founded in {year} by {other}, who had come from {place} with {number} companions.",
    "{other} described {title} as the most important {noun} of its time and gave it a {goods} collection.",
    "Between {year} and {later}, the {noun} was rebuilt after a fire that destroyed {number} houses near {place}.",
    "The composer {other} wrote a {noun} about {title}, first performed in {place} on 12 May {year}.",
    "According to the register of {later}, {title} belonged to {place} and paid {number} marks a year.",
    "Its name goes back to {other}, whose daughter married the governor of {place} in {later}.",
    "Today {title} is best known for the annual {goods} festival, which {number} people attended in {later}.",
)
_NOUNS = ("town", "bridge", "novel", "monastery", "ensemble", "university", "railway", "treaty", "film", "observatory")
_GOODS = ("glass", "paper", "wool", "organ", "map", "salt", "clock", "lace", "timber", "silver")


@dataclass(frozen=True, slots=True)
class BenchmarkSet:
    """A set with its passages in memory; ``folder`` is where it lies."""

    folder: Path
    dataset: Dataset
    passages: tuple[Passage, ...]

    @property
    def name(self) -> str:
        """That of the set."""
        return self.dataset.name


def data_folder() -> Path | None:
    """The folder that holds the real sets; None when the environment names none."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else None


def open_set(name: str, scratch: Path, *, passages: int | None = None, questions: int | None = None) -> BenchmarkSet:
    """A real set of this name, or a made-up one that is written below ``scratch``.

    ``passages`` and ``questions``: only the first so many.
    """
    root = data_folder()
    folder = scratch / name if root is None else root / name
    if root is None and not folder.exists():
        write_made_up(folder, passages or MADE_UP_PASSAGES, questions=_MADE_UP_QUESTIONS)
    dataset = load(folder, limit=questions)
    held = tuple(read_passages(dataset.passages_path))
    return BenchmarkSet(folder, dataset, held[:passages])


def origin_line() -> str:
    """Where the sets come from, for the head of a report."""
    root = data_folder()
    return (
        f"data: {root}" if root else f"data: made up by this script ({VARIABLE} is not set), small and without meaning"
    )


def write_made_up(folder: Path, passages: int, *, questions: int) -> None:
    """Write a made-up set; the same name and size give the same set."""
    rng = random.Random(f"{folder.name}/{passages}")
    titles = list(dict.fromkeys(_name(rng) for _ in range(4 * passages)))[:passages]
    places = [_word(rng) for _ in range(passages // 5 + 5)]
    rows: list[dict[str, object]] = []
    named: list[int] = []
    for at, title in enumerate(titles):
        named.append(rng.randrange(len(titles)))
        text = " ".join(
            pattern.format(
                title=title,
                other=titles[named[at]],
                place=rng.choice(places),
                region=rng.choice(places),
                noun=rng.choice(_NOUNS),
                goods=rng.choice(_GOODS),
                year=rng.randrange(1400, 1900),
                later=rng.randrange(1900, 2020),
                number=rng.randrange(20, 9000),
            )
            for pattern in rng.sample(_SENTENCES, rng.randrange(4, 7))
        )
        rows.append({"id": f"{folder.name}-{at:06d}", "title": title, "text": text})
    asked: list[dict[str, object]] = []
    for number in range(min(questions, len(rows))):
        first = rng.randrange(len(rows))
        question = f"When was the one who founded or described {titles[first]} rebuilt or performed?"
        gold = sorted({str(rows[first]["id"]), str(rows[named[first]]["id"])})
        asked.append({"id": f"q{number}", "question": question, "supporting_passage_ids": gold, "hops": len(gold)})
    folder.mkdir(parents=True)
    for stem, items in (("corpus", rows), ("questions", asked)):
        with gzip.open(folder / f"{stem}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(f"{json.dumps(item)}\n" for item in items)


def _word(rng: random.Random) -> str:
    parts = (f"{rng.choice(_ONSETS)}{rng.choice(_NUCLEI)}{rng.choice(_CODAS)}" for _ in range(rng.randrange(2, 4)))
    return "".join(parts).capitalize()


def _name(rng: random.Random) -> str:
    return " ".join(_word(rng) for _ in range(rng.randrange(1, 4)))
