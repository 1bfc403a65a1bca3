"""From a question to evidence: seeds, pull, rank, fuse or rerank, evidence with provenance and an explanation."""

from hlgraph.retrieve.request import Explanation, Mode, SearchRequest, SearchResult, StepTrace, Unit
from hlgraph.retrieve.retriever import Retriever
from hlgraph.retrieve.search import search
from hlgraph.retrieve.strategies import STRATEGIES

__all__ = [
    "STRATEGIES",
    "Explanation",
    "Mode",
    "Retriever",
    "SearchRequest",
    "SearchResult",
    "StepTrace",
    "Unit",
    "search",
]
