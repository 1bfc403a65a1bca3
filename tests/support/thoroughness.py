"""How many cases a test tries: a dozen by default, hundreds where ``HLGRAPH_TEST_THOROUGH`` is set (`make test-thorough`)."""

from __future__ import annotations

import os
from typing import TypeVar

Cases = TypeVar("Cases")
IS_THOROUGH = os.environ.get("HLGRAPH_TEST_THOROUGH", "0") not in {"", "0"}


def cases(few: Cases, many: Cases) -> Cases:
    """``few`` by default, ``many`` in a thorough run."""
    return many if IS_THOROUGH else few
