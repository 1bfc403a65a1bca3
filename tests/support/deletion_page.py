"""The queries that docs/explanation/consistency.md lists for the deletion of a source, in order."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "explanation" / "consistency.md"


def deletion_queries() -> list[str]:
    """The names of the queries on the page, as it lists them."""
    section = PAGE.read_text(encoding="utf-8").partition("### What deleting a source runs")[2]
    return re.findall(r"`((?:admin|index|persist|retrieve)/\w+)`", section)
