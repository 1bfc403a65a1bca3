"""What speaks against a statement by its words alone: rules one by one, and how much of what is changed is seen."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import hlgraph
from hlgraph.extract import ChunkInput, LocalExtractor
from hlgraph.extract.wording import objection

SAMPLES = Path(hlgraph.__file__).parent / "samples"
TEXT = (
    "She designed the Aldane Bridge, which opened in 1931 and cost 3.5 million crowns. The U.S. lent a third of it. "
    "It was not painted, but the lamps were. Only the toll house, no. 5, did not burn in the flood.\n\n"
    "# What was not read\n\nThe letter lay there. Chicago Cubs fans paid 5 percent.",
    ("Mara Quill", "Cost (in millions)"),
)


def _faults(text: tuple[str, tuple[str, ...]], statement: str) -> str:
    """What speaks against a statement of a text with these titles and headings, by words."""
    return objection(statement, (text[0], *text[1]))


@pytest.mark.parametrize(
    "statement",
    [
        "Mara Quill designed the Aldane Bridge.",
        "The Aldane Bridge opened in 1931.",
        "The designer of the Aldane Bridge was Mara Quill.",
        "The Aldane Bridge cost 3,500,000 crowns.",
        "The bridge cost 3.5 million crowns.",
        "Fans of the Chicago Cubs paid 5%.",
        "The U.S. lent a third of it.",
        "The bridge was not painted.",
        "The toll house did not burn.",
        "Mara Quill, What was not read: The letter lay there.",
        "She designed not only the bridge.",
        "",
    ],
)
def test_paraphrase_is_accurate(statement: str) -> None:
    assert _faults(TEXT, statement) == ""


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("The Aldane Bridge opened in 1913.", "the evidence has no 1913"),
        ("The Aldane Bridge cost 35 crowns.", "the evidence has no 35"),
        ("The Aldane Bridge opened with twelve lamps.", "the evidence has no 12"),
        ("Ivo Brandt designed the Aldane Bridge.", "the evidence has no Ivo, Brandt"),
        ("She designed the Halfmoon Bridge.", "the evidence has no Halfmoon"),
        (
            "The bridge was praised by critics across several countries.",
            "the evidence has too few of its words: no praised",
        ),
        ("She did not design the Aldane Bridge.", "the sentence denies what the evidence says: design"),
        ("It was painted.", "the evidence denies it: painted"),
        ("The toll house did burn in the flood.", "the evidence denies it: burn"),
    ],
)
def test_unsupported_statement_is_inaccurate(statement: str, fault: str) -> None:
    assert _faults(TEXT, statement).startswith(fault)


def _samples() -> list[tuple[tuple[str, tuple[str, ...]], str]]:
    """Every sentence of the sample documents, with its text: what the rules propose is accurate by construction."""
    found = []
    for path in sorted(SAMPLES.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        title = text.partition("\n")[0].lstrip("# ")
        (extraction,) = LocalExtractor().extract([ChunkInput(text, title)])
        held = (text, (title,))
        found += [(held, item.text) for item in extraction.propositions]
    return found


def test_nothing_speaks_against_the_sentences_themselves() -> None:
    offenders = [(statement, faults) for text, statement in _samples() if (faults := _faults(text, statement))]
    assert offenders == []


def test_most_altered_statements_are_detected() -> None:
    chance = random.Random(0)
    seen: dict[str, list[bool]] = {"number": [], "name": [], "not": []}
    for text, statement in _samples():
        for kind, changed in (
            (
                "number",
                re.sub(r"\b\d{2,}\b", lambda at: str(int(at[0]) + chance.choice((1, 7, 30))), statement, count=1),
            ),
            ("name", re.sub(r"(?<=[a-z] )[A-Z][a-z]+ [A-Z][a-z]+", "Odile Farrow", statement, count=1)),
            ("not", re.sub(r"(: .*?)\b(was|were|is|has|had)\b(?! not)", r"\1\2 not", statement, count=1)),
        ):
            if changed != statement and not (kind == "not" and re.search(r"\b(no|not|never|nothing)\b", statement)):
                seen[kind].append(bool(_faults(text, changed)))
    shares = {kind: sum(found) / len(found) for kind, found in seen.items()}
    assert min(len(found) for found in seen.values()) > 50
    assert shares["number"] > 0.85
    assert shares["name"] > 0.95
    assert shares["not"] > 0.9
