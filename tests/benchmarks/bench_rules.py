"""What the extraction is worth: the same retrievers over plain rules and over those of hlgraph.

Plain rules are those with which PropRAG's own code was measured on sets without an extraction: each sentence is a
proposition, its entities are the title of the passage, runs of capitalised words, dates and numbers. Sets that bring an
extraction are left out: it would be used instead. Differences are those of the same questions (paired bootstrap, 95 %).

    HLGRAPH_DATA=FOLDER python tests/benchmarks/bench_rules.py [--sets NAMES] [--questions N] [--folder DIR]
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from evaluation_sets import open_set, origin_line
from ingest_keywords import keywords
from measure import say, table

import hlgraph
from hlgraph.evaluate.datasets import Dataset, Passage, read_passages
from hlgraph.evaluate.runner import PREFIX, Search, evaluate, searches
from hlgraph.evaluate.statistics import uncertainty
from hlgraph.records import Document
from hlgraph.retrieve.search import retriever
from hlgraph.sdk.client import HLGraph, IngestOptions

SETS = "2wikimultihopqa,hotpotqa"
RETRIEVERS = (("path", "paper"), ("path", "tuned"), ("statement", "paper"), ("topic_graph", "tuned"))
_SHOWN = ("recall@2", "recall@5", "recall@20", "all_gold@5")
_END = re.compile(r"(?<=[.!?])[\"”')\]]*\s+(?=[\"“'(\[]?[A-Z\d])")
_NAME = re.compile(r"[A-Z][\w'’.-]*(?:\s+(?:of|the|de|la|von|van|and)\s+(?=[A-Z])|\s+(?=[A-Z])|[A-Z][\w'’.-]*)*")
_DATE = re.compile(
    r"(?:\d{1,2}\s+)?(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?:\s+\d{1,2},?)?(?:\s+\d{4})?"
)
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a passage, verbatim."""
    start = 0
    for match in [*_END.finditer(text), None]:
        end = match.start() if match else len(text)
        sentence = text[start:end].strip()
        if sentence:
            yield sentence
        start = match.end() if match else end


def entities(sentence: str, title: str) -> list[str]:
    """The title of the passage, runs of capitalised words, dates and numbers, each once."""
    found = [title] if title else []
    for pattern in (_NAME, _DATE, _NUMBER):
        found += [match[0].strip(" .,'’-") for match in pattern.finditer(sentence)]
    return [name for name in dict.fromkeys(found) if name]


def propositions(passage: Passage) -> list[dict[str, object]]:
    """The propositions of a passage, as the precomputed extractor reads them."""
    return [{"text": text, "entities": entities(text, passage.title)} for text in sentences(passage.text)]


def write_rules(dataset: Dataset, file: Path) -> None:
    """The plain extraction of a whole set."""
    with gzip.open(file, "wt", encoding="utf-8") as out:
        for passage in read_passages(dataset.passages_path):
            out.write(json.dumps({"passage_id": passage.id, "propositions": propositions(passage)}) + "\n")


def ingest(graph: HLGraph, dataset: Dataset, *, options: IngestOptions) -> None:
    """One chunk a passage, as `hlgraph eval` does it."""
    documents = (
        Document(f"{PREFIX}{item.id}", item.text, item.title, key=item.id)
        for item in read_passages(dataset.passages_path)
    )
    report = graph.ingest(documents, **keywords(options))
    assert not report.failed, report.failed[:3]


def show(dataset: Dataset, folder: Path) -> None:
    """Measure one set and print it."""
    rules = folder / f"{dataset.name}-rules.jsonl.gz"
    write_rules(dataset, rules)
    extractions = {
        "plain rules": IngestOptions(extract="precomputed", extractions=(str(rules),), is_chunked=True),
        "hlgraph's rules": IngestOptions(is_chunked=True),
    }
    asked: dict[str, Search] = {}
    with ExitStack() as stack:
        for place, (name, options) in enumerate(extractions.items()):
            graph = stack.enter_context(hlgraph.connect(f"hlgraph://{folder}/{dataset.name}-{place}"))
            ingest(graph, dataset, options=options)
            made = {f"{strategy} {preset}": retriever(strategy, preset) for strategy, preset in RETRIEVERS}
            asked |= {f"{key}, {name}": search for key, search in searches(graph, made, k=20).items()}
        report = evaluate(dataset, asked)
    said = uncertainty(report)
    say(f"{dataset.name}: {len(dataset.questions)} questions, per cent")
    rows = []
    for name, result in report.strategies.items():
        scores = result.scores.by_name()
        rows.append([name, *(f"{100 * scores[measure]:.1f}" for measure in _SHOWN)])
    table(["", *_SHOWN], rows)
    say()
    for strategy, preset in RETRIEVERS:
        ours, plain = (f"{strategy} {preset}, {name}" for name in ("hlgraph's rules", "plain rules"))
        for measure in ("recall@5", "recall@20"):
            found = said.between(measure, ours, b=plain)
            assert found is not None
            low, mean, high = (f"{100 * value:+.1f}" for value in (found.low, found.mean, found.high))
            say(f"{strategy} {preset}, {measure}: hlgraph's rules minus plain rules {mean} [{low}, {high}]")
    say()


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=SETS, help=f"default: {SETS}")
    parser.add_argument("--questions", type=int, default=250, metavar="N", help="the first so many; default: 250")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the stores here, for the next run")
    given = parser.parse_args()
    made = None if given.folder else tempfile.mkdtemp(prefix="hlgraph-bench-")
    folder = given.folder or Path(made or ".")
    folder.mkdir(parents=True, exist_ok=True)
    say(origin_line())
    try:
        for name in given.sets.split(","):
            show(open_set(name, folder / "sets", questions=given.questions).dataset, folder)
    finally:
        if made:
            shutil.rmtree(made)


if __name__ == "__main__":
    main()
