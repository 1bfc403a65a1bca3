"""Strategy `chunk` against the plain dense baseline: the same recall to the digit, the same passages a question.

The baseline is one product of vectors, computed without a store; the strategy goes through the SDK as `hlgraph eval` does.
Passages of exactly one score (nearly the same text, say) are ordered by the id of their chunk on both sides: the rule of
the store, told to the baseline too, since their order is nobody's merit.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dense_baseline import dense_baseline
from evaluation_sets import BenchmarkSet, open_set, origin_line
from ingest_keywords import keywords
from measure import TimedEmbedder, say, seconds_of, table

import hlgraph
from hlgraph.evaluate.datasets import Passage
from hlgraph.evaluate.metrics import CUTOFFS, score
from hlgraph.ids import chunk_id, source_id
from hlgraph.ingest.options import IngestOptions
from hlgraph.models.choose import cached_embedder
from hlgraph.settings import load

SETS = ("musique_oie", "2wikimultihopqa", "hotpotqa")
DEPTH = max(CUTOFFS)
Rankings = Sequence[tuple[str, ...]]


def through_the_store(item: BenchmarkSet, embedder: TimedEmbedder, scratch: Path) -> Rankings:
    """The passages that strategy `chunk` gives each question."""
    files = tuple(str(path) for path in item.dataset.extractions)
    options = IngestOptions(extract="precomputed" if files else "local", extractions=files, is_chunked=True)
    prefix = f"{item.name}/"
    documents = (
        hlgraph.Document(f"{prefix}{passage.id}", passage.text, passage.title, key=passage.id)
        for passage in item.passages
    )
    with hlgraph.connect(f"hlgraph://{scratch}/{item.name}", corpus=item.name, embedder=embedder) as graph:
        report = graph.ingest(documents, **keywords(options))
        say(f"{item.name}: {report.sources_added:,} passages, {len(report.failed)} failed")
        found = [graph.search(question.text, strategy="chunk", k=DEPTH) for question in item.dataset.questions]
    return [tuple(each.source.uri.removeprefix(prefix) for each in result.evidence) for result in found]


def without_a_store(item: BenchmarkSet, embedder: TimedEmbedder) -> Rankings:
    """The passages that one product of vectors gives each question."""
    names = {
        chunk_id(source_id(item.name, f"{item.name}/{passage.id}"), passage.text.strip(), 0): passage
        for passage in item.passages
    }
    passages = [Passage(name, passage.title, passage.text) for name, passage in names.items()]
    found = dense_baseline(passages, item.dataset.questions, embedder=embedder, k=DEPTH)
    return [tuple(names[name].id for name in ranked) for ranked in found]


def recalls(item: BenchmarkSet, rankings: Rankings) -> list[str]:
    """Recall in per cent at each cutoff, two decimals."""
    golds = (question.gold for question in item.dataset.questions)
    scores = score(list(zip(rankings, golds, strict=True)))
    return [f"{100 * scores.recall[k]:.2f}" for k in CUTOFFS]


def compare(item: BenchmarkSet, embedder: TimedEmbedder, scratch: Path) -> bool:
    """Show both, and in how many questions they differ; returns whether the recalls are equal."""
    before = embedder.seconds
    mine: Rankings = ()
    plain: Rankings = ()

    def run() -> None:
        nonlocal mine, plain
        mine = through_the_store(item, embedder, scratch)
        plain = without_a_store(item, embedder)

    seconds = seconds_of(run)
    left, right = recalls(item, mine), recalls(item, plain)
    same = ["yes" if a == b else "NO" for a, b in zip(left, right, strict=True)]
    head = (f"{item.name}, {len(item.dataset.questions)} questions", *(f"recall@{k}" for k in CUTOFFS))
    table(head, (("chunk", *left), ("dense baseline", *right), ("equal", *same)))
    orders = sum(a != b for a, b in zip(mine, plain, strict=True))
    members = sum(set(a) != set(b) for a, b in zip(mine, plain, strict=True))
    say(f"first {DEPTH} ids: {orders} questions with another order, {members} of them with other ids")
    say(f"{seconds:.0f} s, {embedder.seconds - before:.0f} s of them in the embedder\n")
    return left == right


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="names with commas")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions of each set")
    chosen = parser.parse_args()
    say(origin_line())
    cache = cached_embedder(load().models)
    embedder = TimedEmbedder(cache)
    with tempfile.TemporaryDirectory(prefix="hlgraph-bench-") as name:
        scratch = Path(name)
        sets = [open_set(item, scratch / "data", questions=chosen.limit) for item in chosen.sets.split(",")]
        equal = [compare(item, embedder, scratch) for item in sets]
    cache.close()
    say(f"recall is equal to the digit in {sum(equal)} of {len(equal)} sets")


if __name__ == "__main__":
    main()
