"""A piece of evidence stands under the headings of its own place, also if its chunk has several."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hlgraph
from hlgraph.records import Chunk
from hlgraph.retrieve.session import headings_at

_LOG = """# Changes

## 2.1

### Added

- A map of Sarn.

### Removed

- The offline mode.

## 2.0

The first release of Tarn.
"""


def test_evidence_has_the_headings_of_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "log.md").write_text(_LOG)
    with hlgraph.connect(f"hlgraph://{tmp_path / 'store'}") as graph:
        graph.ingest(tmp_path / "log.md")
        evidence = graph.search("map mode release", k=9, unit="statement").evidence
    assert {piece.text.rpartition(": ")[2]: piece.headings for piece in evidence} == {
        "A map of Sarn.": ("Changes", "2.1", "Added"),
        "The offline mode.": ("Changes", "2.1", "Removed"),
        "The first release of Tarn.": ("Changes", "2.0"),
    }


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_the_path_is_that_of_the_whole_document(depths: list[int], data: st.DataObject) -> None:
    levels = [1]
    for depth in depths:
        levels.append(min(depth, levels[-1] + 1))  # no level is left out
    lines = [f"{'#' * level} H{number}\n\nText {number}.\n\n" for number, level in enumerate(levels)]
    paths: list[tuple[str, ...]] = []
    for number, level in enumerate(levels):
        paths.append((*(paths[-1] if paths else ())[: level - 1], f"H{number}"))
    first = data.draw(st.integers(0, len(lines) - 1))
    begin, text = len("".join(lines[:first])), "".join(lines[first:])
    chunk = Chunk("c", "s", text, begin, begin + len(text), 0, 9, headings=paths[first])
    for number in range(first, len(lines)):
        assert headings_at(chunk, begin + text.index(f"Text {number}.")) == paths[number]


@pytest.mark.parametrize(
    ("headings", "text", "path"),
    [
        (("Tarn", "Pumps"), "### Tarn\n\nText.", ("Tarn", "Pumps", "Tarn")),  # a part has the name of the whole
        (("Tarn", "Pumps"), "## Pumps\n\nText.", ("Tarn", "Pumps")),
        (("Tarn", "Pumps"), "### Pumps\n\nText.", ("Tarn", "Pumps")),  # the outermost level is the second
        (("Tarn", "Pumps"), "## Pumps\n\n## Pipes\n\nText.", ("Tarn", "Pipes")),
    ],
)
def test_a_heading_that_opens_a_chunk_stands_once(headings: tuple[str, ...], text: str, path: tuple[str, ...]) -> None:
    chunk = Chunk("c", "s", text, 5, 5 + len(text), 0, 9, headings=headings)
    assert headings_at(chunk, 5 + text.index("Text")) == path


@pytest.mark.parametrize(
    "text", ["One sentence. Another one.", "", "Line\nline\nline", "| a | b |\n|---|---|\n| 1 | 2 |"]
)
def test_a_chunk_without_headings_has_those_above_it_everywhere(text: str) -> None:
    chunk = Chunk("c", "s", text, 5, 5 + len(text), 0, 9, headings=("A", "B"))
    assert {headings_at(chunk, 5 + at) for at in range(len(text) + 1)} == {("A", "B")}
