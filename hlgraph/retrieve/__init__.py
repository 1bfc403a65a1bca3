"""From a question to evidence: seeds, pull, rank, fuse or rerank, evidence with provenance and an explanation."""

from hlgraph.retrieve.request import Explanation, SearchRequest, SearchResult, StepTrace
from hlgraph.retrieve.search import search
from hlgraph.retrieve.strategies import STRATEGIES

__all__ = ["STRATEGIES", "Explanation", "SearchRequest", "SearchResult", "StepTrace", "search"]
