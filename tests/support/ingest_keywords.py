"""IngestOptions as the keyword arguments of ``HLGraph.ingest``."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hlgraph import IngestOptions


def keywords(options: IngestOptions) -> dict[str, Any]:
    """Each option by its name."""
    return {item.name: getattr(options, item.name) for item in fields(options)}
