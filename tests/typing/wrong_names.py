"""A name that hlgraph does not have is an error for a type checker; mypy reads this file in ``make check``."""

from __future__ import annotations

from hlgraph import conect  # type: ignore[attr-defined]

WRONG = conect
