"""What the extractors without a chat model find: facts a statement, agreement with a large model's triples, kinds, speed.

The triples are those that musique_oie publishes for each passage, so precision and recall are agreement with that model, not
truth: it leaves out much that a passage says, and a right fact that it left out counts as wrong. Names are compared as words
in lower case without articles. Facts and triples of a passage are paired one to one (maximum matching):

- soft: the words of the two subjects have F1 of at least 0.5, and those of the two objects too; predicates are ignored.
- strict: besides, the two predicates share a word other than forms of "be" and "have", articles and prepositions, or both
  have no other word.

    HLGRAPH_DATA=FOLDER python tests/benchmarks/bench_facts.py [--passages N] [--show N]
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from evaluation_sets import open_set, origin_line
from measure import say, table
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from hlgraph.chunk import ContentDefinedChunker
from hlgraph.extract import ChunkInput, Extractor, LocalExtractor
from hlgraph.extract.spacy import SpacyExtractor
from hlgraph.read import ReadFailure, ReadOptions, read
from hlgraph.records import Extraction, Proposition, Triple
from hlgraph.settings import ChunkSettings

PUBLISHED, NEWS = "musique_oie", "multihop_rag_70"
SAMPLES = Path(__file__).parents[2] / "hlgraph" / "samples"
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset(("a", "an", "the"))
# Words of a predicate that say nothing by themselves.
_BLANK = frozenset(
    (
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "has",
        "have",
        "had",
        "a",
        "an",
        "the",
        "of",
        "in",
        "on",
        "at",
        "to",
        "by",
        "for",
        "from",
        "with",
        "as",
        "and",
    )
)
_LEAST = 0.5
_SEED = 7


class Agreement(NamedTuple):
    """Facts that were paired with a published triple, facts, and published triples."""

    paired: int
    facts: int
    published: int

    @property
    def precision(self) -> float:
        """Share of facts that were paired."""
        return self.paired / max(self.facts, 1)

    @property
    def recall(self) -> float:
        """Share of published triples that were paired."""
        return self.paired / max(self.published, 1)


class Texts(NamedTuple):
    """What is extracted: chunks, and for each its published triples, if there are any."""

    name: str
    chunks: list[ChunkInput]
    triples: list[list[Triple]]


def samples() -> Texts:
    """The sample documents, chunked by default."""
    settings = ChunkSettings()
    chunker = ContentDefinedChunker(settings.max_tokens, settings.overlap)
    chunks = []
    for document in read([str(SAMPLES)], ReadOptions()):
        if not isinstance(document, ReadFailure):
            for at, span in enumerate(chunker.chunk(document)):
                text = document.text[span.start : span.end]
                chunks.append(ChunkInput(text, document.title, span.headings, document.uri, position=at))
    return Texts("samples", chunks, [])


def passages(name: str, scratch: Path, limit: int | None) -> Texts:
    """The passages of a set, one chunk each, and the triples that its first file of extractions holds for them."""
    item = open_set(name, scratch, passages=limit)
    published = {}
    for file in item.dataset.extractions[:1]:
        with gzip.open(file, "rt", encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                published[row["passage_id"]] = [
                    Triple(*map(str, triple)) for triple in row.get("triples", ()) if len(triple) == 3
                ]
    chunks = [ChunkInput(one.text, one.title, key=one.id) for one in item.passages]
    return Texts(name, chunks, [published.get(one.id, []) for one in item.passages] if published else [])


@cache
def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, without articles unless there is nothing else."""
    found = _WORD.findall(name.lower())
    return tuple(sorted(set(found) - _ARTICLES)) or tuple(found)


@cache
def overlap(a: str, b: str) -> float:
    """F1 of the words of two names."""
    left, right = words(a), words(b)
    return 2 * len(set(left).intersection(right)) / max(len(left) + len(right), 1)


def is_soft(ours: Triple, theirs: Triple) -> bool:
    """Whether two triples are about the same subject and object."""
    return overlap(ours.subject, theirs.subject) >= _LEAST and overlap(ours.object, theirs.object) >= _LEAST


def is_strict(ours: Triple, theirs: Triple) -> bool:
    """Whether they say the same, too."""
    a, b = set(_WORD.findall(ours.predicate.lower())), set(_WORD.findall(theirs.predicate.lower()))
    return is_soft(ours, theirs) and (a == b or bool((a & b) - _BLANK) or not (a | b) - _BLANK)


def agreement(found: Sequence[Extraction], published: Sequence[Sequence[Triple]], *, strict: bool) -> Agreement:
    """Facts and published triples of each passage, paired one to one."""
    same = is_strict if strict else is_soft
    paired = facts = triples = 0
    for extraction, theirs in zip(found, published, strict=True):
        if not theirs:
            continue
        ours = list(dict.fromkeys(triple for item in extraction.propositions for triple in item.triples))
        facts, triples = facts + len(ours), triples + len(theirs)
        if ours:
            pairs = csr_array(np.array([[same(a, b) for b in theirs] for a in ours], dtype=np.int8))
            paired += int(np.count_nonzero(maximum_bipartite_matching(pairs, perm_type="column") >= 0))
    return Agreement(paired, facts, triples)


def kinds_filled(found: Sequence[Extraction]) -> float:
    """Share of distinct names that have a kind in a mention."""
    kinds: dict[str, bool] = {}
    for proposition in propositions(found):
        for mention in proposition.mentions:
            kinds[mention.name.lower()] = kinds.get(mention.name.lower(), False) or bool(mention.kind)
    return sum(kinds.values()) / max(len(kinds), 1)


def propositions(found: Sequence[Extraction]) -> Iterator[Proposition]:
    """All of them, in order."""
    return (proposition for extraction in found for proposition in extraction.propositions)


def measure(name: str, extractor: Extractor, texts: Texts, *, show: int) -> list[str]:
    """One row of the table."""
    start = time.perf_counter()
    found = extractor.extract(texts.chunks)
    seconds = time.perf_counter() - start
    distinct = {
        (chunk.uri or at, item.text): item
        for at, (chunk, one) in enumerate(zip(texts.chunks, found, strict=True))
        for item in one.propositions
    }  # a sentence in the overlap of two chunks is one statement
    statements = list(distinct.values())
    facts = [triple for item in statements for triple in item.triples]
    entities = {mention.name.lower() for item in statements for mention in item.mentions}
    links = sum(not triple.is_literal for triple in facts)
    row = [
        f"{texts.name}, {name}",
        f"{len(statements):,}",
        f"{len(facts):,}",
        f"{len(facts) / len(statements):.2f}",
        f"{100 * sum(bool(item.triples) for item in statements) / len(statements):.0f}",
        f"{links:,}",
        f"{len(entities):,}",
        f"{100 * kinds_filled(found):.0f}",
    ]
    for strict in (False, True):
        said = agreement(found, texts.triples, strict=strict) if texts.triples else None
        row += [f"{100 * said.precision:.1f}", f"{100 * said.recall:.1f}"] if said else ["", ""]
    if show:
        say(f"{texts.name}, {name}")
        for item in random.Random(_SEED).sample(statements, min(show, len(statements))):
            say(f"  {item.text}")
            for triple in item.triples:
                say(f"      {triple.subject} | {triple.predicate} | {triple.object}{' (literal)' * triple.is_literal}")
        counts = Counter(triple.predicate for triple in facts)
        say(f"  most frequent predicates: {counts.most_common(40)}")
    return [*row, f"{len(statements) / seconds:,.0f}"]


def extractors() -> dict[str, Extractor]:
    """By name: those that need no chat model."""
    return {"rules": LocalExtractor(), "spacy": SpacyExtractor()}


_HEAD = (
    "texts, extractor",
    "statements",
    "facts",
    "a statement",
    "% with facts",
    "entity-entity",
    "entities",
    "% with kind",
    "P soft",
    "R soft",
    "P strict",
    "R strict",
    "statements/s",
)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, metavar="N", help="only the first N passages of each set")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="print the facts of N statements drawn by chance"
    )
    parser.add_argument("--only", metavar="NAMES", help="extractors, with commas; default: all")
    chosen = parser.parse_args()
    say(origin_line())
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as folder:
        sets = [samples(), *(passages(name, Path(folder), chosen.passages) for name in (PUBLISHED, NEWS))]
    known = {name: one for name, one in extractors().items() if not chosen.only or name in chosen.only.split(",")}
    rows = [measure(name, one, texts, show=chosen.show) for texts in sets for name, one in known.items()]
    table(_HEAD, rows)


if __name__ == "__main__":
    main()
