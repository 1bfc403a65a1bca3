"""What an extractor says of 320 judged sentences: statement or debris, denied, who says it, mode, what a pronoun refers to.

`judged_statements.jsonl` has ids and offsets only; the texts are in HLGRAPH_DATA. The rules were tuned on 200 sentences of news:
120 are a plain sample, 40 have a word of negation or condition, 40 begin with a pronoun. One reader labelled them before the rules
were written; a second pass over 70 of them agreed on 70 (statement), 68 (denied), 70 (says), 69 (mode) and 70 (referent).
The other 120, of four other sets, are held back (48 plain, 36 with a word of negation, condition or saying, 36 that begin with a
pronoun or "the"); nothing is tuned on them. They were labelled before the rules ran on them; a second pass over all of
them agreed on 120 (statement), 119 (denied), 119 (says), 118 (mode) and 118 (referent).
Sentences of news of more than 260 characters are judged as statements only. Modes: n none, p past, f future, c conditional or
possible; a referent "?" is not certain from the two sentences before.

    HLGRAPH_DATA=FOLDER python tests/benchmarks/bench_statements.py [--half "held back"] [--extract spacy] [--show]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import say, table

from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.extract.spacy import SpacyExtractor
from hlgraph.records import Proposition

JUDGED = Path(__file__).with_name("judged_statements.jsonl")


def read_lines(path: Path) -> Iterator[Any]:
    """The objects of a file of JSON lines."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return map(json.loads, raw.decode().splitlines())


def labels(found: Proposition | None) -> dict[str, str]:
    """The labels that the extractor gives to a sentence."""
    if found is None:
        return {"not a statement": "yes"}
    details = dict(detail.partition(" by ")[::2] for detail in found.details)
    bracket = found.text.partition("[")[2].partition("]")[0].removesuffix("’s")
    return {
        "not a statement": "",
        "denied": "yes" if "denied" in details else "",
        "says": details.get("said", ""),
        "future": "yes" if "future" in details else "",
        "conditional": "yes" if "conditional" in details else "",
        "past": "yes" if "past" in details else "",
        "referent": bracket if any(bracket.startswith(mention.name) for mention in found.mentions) else "",
    }


def expected(row: dict[str, Any]) -> dict[str, str]:
    """The judged labels of a sentence."""
    wanted = {"not a statement": "" if row["statement"] else "yes"}
    if "mode" in row:
        wanted |= {
            "denied": "yes" if row["denied"] else "",
            "says": f"{row['says']} {row['referent']}"
            if row["says"].lower() in ("he", "she", "they", "it")
            else row["says"],
            "future": "yes" if "f" in row["mode"] else "",
            "conditional": "yes" if "c" in row["mode"] else "",
            "past": "yes" if "p" in row["mode"] else "",
            "referent": row["referent"].strip("?"),
        }
    return wanted


def agrees(label: str, found: str, wanted: str) -> bool:
    """Whether a found label is the judged one; names agree if they share a word."""
    if label not in ("says", "referent"):
        return found == wanted
    return bool((set(found.lower().split()) & set(wanted.lower().split())) - {"the", "of", "a"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print each disagreement")
    parser.add_argument("--half", default="tuned", choices=("tuned", "held back"))
    parser.add_argument("--extract", default="local", choices=("local", "spacy"))
    options = parser.parse_args()
    extractor = LocalExtractor() if options.extract == "local" else SpacyExtractor()
    folder = Path(os.environ["HLGRAPH_DATA"])
    rows = [row for row in read_lines(JUDGED) if row.get("half", "tuned") == options.half]
    passages = {
        passage["id"]: passage
        for name in {row["set"] for row in rows}
        for passage in read_lines(folder / name / "corpus.jsonl.gz")
    }
    counts: dict[str, list[int]] = {}
    for row in rows:
        passage = passages[row["passage"]]
        [extraction] = extractor.extract([ChunkInput(passage["text"], passage.get("title", ""))])
        spans = {(found.start, found.end): found for found in extraction.propositions}
        found = labels(spans.get((row["start"], row["end"])))
        for label, wanted in expected(row).items():
            given = found.get(label, "")
            right, given_count, wanted_count = counts.setdefault(label, [0, 0, 0])
            is_right = bool(wanted) and agrees(label, given, wanted)
            counts[label] = [right + is_right, given_count + bool(given), wanted_count + bool(wanted)]
            if options.show and (bool(given) != bool(wanted) or (wanted and not is_right)):
                say(f"{label}: {given!r}, judged {wanted!r}: {passage['text'][row['start'] : row['end']][:250]!r}")
    lines = [
        (label, str(wanted), str(given), f"{100 * right / max(given, 1):.0f}", f"{100 * right / max(wanted, 1):.0f}")
        for label, (right, given, wanted) in counts.items()
    ]
    table(("label", "judged", "found", "precision %", "recall %"), lines)


if __name__ == "__main__":
    main()
