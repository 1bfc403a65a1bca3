"""The page of measured figures: every section says when and by what it was measured, and none tells how it came to be."""

from __future__ import annotations

import re

from pages import DOCS, REPOSITORY

PAGE = (DOCS / "figures.md").read_text(encoding="utf-8")
# A section is what stands under a heading, until the next heading of any level.
SECTIONS = dict(re.findall(r"^##+ (.+)\n((?:(?!#).*\n)*)", PAGE, flags=re.MULTILINE))
DAY = re.compile(
    r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d\b"
)
HISTORY = re.compile(
    r"an earlier version|the version before|earlier versions|were measured when|was measured when|since version|it was \d|no longer"
    r"|did before|\bused to\b",
    flags=re.IGNORECASE,
)


def test_every_section_with_figures_says_the_day() -> None:
    undated = [name for name, text in SECTIONS.items() if re.search(r"\d", text) and not DAY.search(text)]
    assert undated in ([], ["Recall"])  # the introduction to the sets


def test_every_section_with_a_table_says_what_prints_it() -> None:
    for name, text in SECTIONS.items():
        if "\n|---" in text:
            assert re.search(r"bench_\w+\.py|hlgraph (?:eval|bench)|the same command", text), name


def test_the_benchmarks_named_exist() -> None:
    names = set(re.findall(r"\bbench_\w+\.py\b", PAGE))
    assert len(names) > 15
    assert [name for name in sorted(names) if not (REPOSITORY / "tests" / "benchmarks" / name).is_file()] == []


def test_the_page_says_what_is_and_stays_short() -> None:
    assert HISTORY.findall(PAGE) == []
    assert PAGE.count("\n") <= 620


def test_the_readme_shows_the_figures_of_the_page() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    row = re.compile(r"^\| (\w+ \(\d+\)) \| (.+) \|$", flags=re.MULTILINE)
    shown = {name: cells.split(" | ")[:6] for name, cells in row.findall(readme)}
    by_set = {
        name: [cell.split(" / ")[0] for cell in cells.split(" | ")]
        for name, cells in row.findall(SECTIONS["Every kind of corpus"])
    }
    assert len(shown) == 7
    assert shown == by_set
