"""hlgraph: a hierarchical lexical graph of your documents, and cited answers from it.

::

    import hlgraph

    with hlgraph.connect("hlgraph://./my-graph") as graph:
        graph.ingest(["docs/"])
        print(graph.answer("Who built the bridge?").text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlgraph import errors as errors
from hlgraph.errors import HLGraphError
from hlgraph.records import (
    Answer,
    AnswerSentence,
    Choice,
    Chunk,
    Citation,
    Community,
    Document,
    Domain,
    Entity,
    Evidence,
    Fact,
    Hit,
    Kind,
    Relationship,
    Source,
    Statement,
    Summary,
    Topic,
)

if TYPE_CHECKING:
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.sdk.aio import AsyncHLGraph
    from hlgraph.sdk.client import HLGraph, connect
    from hlgraph.settings import Settings
    from hlgraph.where import field

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "AnswerSentence",
    "AsyncHLGraph",
    "Budget",
    "Choice",
    "Chunk",
    "Citation",
    "Community",
    "Document",
    "Domain",
    "Entity",
    "Evidence",
    "Fact",
    "HLGraph",
    "HLGraphError",
    "Hit",
    "IngestOptions",
    "Kind",
    "Relationship",
    "Settings",
    "Source",
    "Statement",
    "Summary",
    "Topic",
    "__version__",
    "connect",
    "errors",
    "field",
]

_LATER = {
    "AsyncHLGraph": "hlgraph.sdk.aio",
    "Budget": "hlgraph.models.accounts.budget",
    "HLGraph": "hlgraph.sdk.client",
    "IngestOptions": "hlgraph.ingest.options",
    "Settings": "hlgraph.settings",
    "connect": "hlgraph.sdk.client",
    "field": "hlgraph.where",
}


def __getattr__(name: str) -> object:
    """Import what is not light when it is first used."""
    if name not in _LATER:
        raise AttributeError(f"module 'hlgraph' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATER[name]), name)
