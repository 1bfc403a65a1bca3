"""A call enters few files, and the page on the architecture lists them as they are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
SCRIPT = REPOSITORY / "tests" / "support" / "trips.py"
PAGE = REPOSITORY / "docs" / "explanation" / "architecture.md"
# One file of each is hlgraph/telemetry, which every call passes through; one of a search is stores/cache.py, the cache of records
# of every kind of store, and one is stores/protocols.py, the defaults that a store keeps; one of a deletion is change.py, whose
# changes give their pieces, and one is stores/embedded/derived.py, which has the holds. One of an ingest and a deletion is
# ingest/history.py, which asks whether the corpus keeps a history.
MOST = {"ingest": 57, "delete": 40, "search": 42}
MOST_BESIDE = {("answer", "search"): 13, ("evaluation", "ingest", "search"): 10}


@pytest.fixture(scope="module")
def trips() -> dict[str, list[str]]:
    """Measured in a process of its own, whose caches no other test has filled."""
    run = subprocess.run([sys.executable, str(SCRIPT), "--json"], capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("name", MOST)
def test_a_trip_enters_few_files(trips: dict[str, list[str]], name: str) -> None:
    assert len(trips[name]) <= MOST[name], trips[name]


@pytest.mark.parametrize("names", MOST_BESIDE, ids="-".join)
def test_a_trip_enters_few_files_beside_others(trips: dict[str, list[str]], names: tuple[str, ...]) -> None:
    first, *others = names
    more = {*trips[first]}.difference(*(trips[other] for other in others))
    assert len(more) <= MOST_BESIDE[names], sorted(more)


@pytest.mark.parametrize("name", MOST)
def test_the_page_lists_the_files_of_a_trip_in_order(trips: dict[str, list[str]], name: str) -> None:
    """After a change: python tests/support/trips.py prints the tables."""
    part = PAGE.read_text(encoding="utf-8").split(f"(trip-{name})=")[1].split("\n(trip-")[0]
    assert re.findall(r"^\| \d+ \| `([\w/]+\.py)` \|", part, flags=re.MULTILINE) == trips[name]
