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
    from hlgraph.answer.events import AnswerEvent, AnswerEvidence, AnswerPiece
    from hlgraph.answer.plan import AnswerPlan
    from hlgraph.answer.request import AnswerMode, AnswerRequest, AnswerStyle
    from hlgraph.answer.verify import Unsupported, Verify
    from hlgraph.evaluate.datasets import Question
    from hlgraph.evaluate.judges.report import JudgeOptions
    from hlgraph.evaluate.questions.record import MadeQuestion, QuestionSet
    from hlgraph.evaluate.report import Evaluation
    from hlgraph.extract.quarantine import Quarantined
    from hlgraph.index.communities import BuiltCommunities
    from hlgraph.index.hierarchy import BuiltHierarchy, HierarchyQuery
    from hlgraph.ingest.batches import BatchReport
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.ingest.plan import Plan
    from hlgraph.ingest.report import Failure, Report
    from hlgraph.ingest.run import Ingestion
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.accounts.ledger import GroupBy, Spent
    from hlgraph.models.choose import AnyChat, AnyEmbedder, AnyReranker
    from hlgraph.models.protocols import ChatModel, Embedder, Reranker
    from hlgraph.progress import OnProgress, Progress
    from hlgraph.read.outcomes import Files, LeftOut
    from hlgraph.resolve.candidates import CandidateQuery, Candidates
    from hlgraph.resolve.decide import JudgedMerges
    from hlgraph.retrieve.request import Explanation, Mode, SearchRequest, SearchResult, Unit
    from hlgraph.retrieve.retriever import Retriever
    from hlgraph.sdk.aio import AsyncHLGraph
    from hlgraph.sdk.align import Alignment
    from hlgraph.sdk.answers import Answers
    from hlgraph.sdk.backup import restore
    from hlgraph.sdk.batches import Batches
    from hlgraph.sdk.client import HLGraph, connect
    from hlgraph.sdk.communities import Communities, FoundCommunities
    from hlgraph.sdk.domain import CorpusDomain, InferredDomain
    from hlgraph.sdk.facts import Facts, StoredFacts
    from hlgraph.sdk.failures import Failures, Mending
    from hlgraph.sdk.health import Health, ImageLag
    from hlgraph.sdk.hierarchy import FoundHierarchy, Hierarchy
    from hlgraph.sdk.merges import FoundMerges, Merges
    from hlgraph.sdk.quality import Coverage, Faithfulness, Quality
    from hlgraph.sdk.questions import Questions
    from hlgraph.sdk.reconcile import Drift
    from hlgraph.settings import Settings
    from hlgraph.stores.cypher import Limits, Table
    from hlgraph.stores.open import Finding
    from hlgraph.stores.protocols import Backup, CorpusStats, Decision, Stores
    from hlgraph.telemetry import CorrelationFilter, correlated
    from hlgraph.where import AnyWhere, Where, field

__version__ = "0.2.0"
__all__ = [
    "Alignment",
    "Answer",
    "AnswerEvent",
    "AnswerEvidence",
    "AnswerMode",
    "AnswerPiece",
    "AnswerPlan",
    "AnswerRequest",
    "AnswerSentence",
    "AnswerStyle",
    "Answers",
    "AnyChat",
    "AnyEmbedder",
    "AnyReranker",
    "AnyWhere",
    "AsyncHLGraph",
    "Backup",
    "BatchReport",
    "Batches",
    "Budget",
    "BuiltCommunities",
    "BuiltHierarchy",
    "CandidateQuery",
    "Candidates",
    "ChatModel",
    "Choice",
    "Chunk",
    "Citation",
    "Communities",
    "Community",
    "CorpusDomain",
    "CorpusStats",
    "CorrelationFilter",
    "Coverage",
    "Decision",
    "Document",
    "Domain",
    "Drift",
    "Embedder",
    "Entity",
    "Evaluation",
    "Evidence",
    "Explanation",
    "Fact",
    "Facts",
    "Failure",
    "Failures",
    "Faithfulness",
    "Files",
    "Finding",
    "FoundCommunities",
    "FoundHierarchy",
    "FoundMerges",
    "GroupBy",
    "HLGraph",
    "HLGraphError",
    "Health",
    "Hierarchy",
    "HierarchyQuery",
    "Hit",
    "ImageLag",
    "InferredDomain",
    "IngestOptions",
    "Ingestion",
    "JudgeOptions",
    "JudgedMerges",
    "Kind",
    "LeftOut",
    "Limits",
    "MadeQuestion",
    "Mending",
    "Merges",
    "Mode",
    "OnProgress",
    "Plan",
    "Progress",
    "Quality",
    "Quarantined",
    "Question",
    "QuestionSet",
    "Questions",
    "Relationship",
    "Report",
    "Reranker",
    "Retriever",
    "SearchRequest",
    "SearchResult",
    "Settings",
    "Source",
    "Spent",
    "Statement",
    "StoredFacts",
    "Stores",
    "Summary",
    "Table",
    "Topic",
    "Unit",
    "Unsupported",
    "Verify",
    "Where",
    "__version__",
    "connect",
    "correlated",
    "errors",
    "field",
    "restore",
]

_LATER = {
    "Alignment": "hlgraph.sdk.align",
    "AnswerEvent": "hlgraph.answer.events",
    "AnswerEvidence": "hlgraph.answer.events",
    "AnswerMode": "hlgraph.answer.request",
    "AnswerPiece": "hlgraph.answer.events",
    "AnswerPlan": "hlgraph.answer.plan",
    "AnswerRequest": "hlgraph.answer.request",
    "AnswerStyle": "hlgraph.answer.request",
    "Answers": "hlgraph.sdk.answers",
    "AnyChat": "hlgraph.models.choose",
    "AnyEmbedder": "hlgraph.models.choose",
    "AnyReranker": "hlgraph.models.choose",
    "AnyWhere": "hlgraph.where",
    "AsyncHLGraph": "hlgraph.sdk.aio",
    "Backup": "hlgraph.stores.protocols",
    "BatchReport": "hlgraph.ingest.batches",
    "Batches": "hlgraph.sdk.batches",
    "Budget": "hlgraph.models.accounts.budget",
    "BuiltCommunities": "hlgraph.index.communities",
    "BuiltHierarchy": "hlgraph.index.hierarchy",
    "CandidateQuery": "hlgraph.resolve.candidates",
    "Candidates": "hlgraph.resolve.candidates",
    "ChatModel": "hlgraph.models.protocols",
    "Communities": "hlgraph.sdk.communities",
    "CorpusDomain": "hlgraph.sdk.domain",
    "CorpusStats": "hlgraph.stores.protocols",
    "CorrelationFilter": "hlgraph.telemetry",
    "Coverage": "hlgraph.sdk.quality",
    "Decision": "hlgraph.stores.protocols",
    "Drift": "hlgraph.sdk.reconcile",
    "Embedder": "hlgraph.models.protocols",
    "Evaluation": "hlgraph.evaluate.report",
    "Explanation": "hlgraph.retrieve.request",
    "Failure": "hlgraph.ingest.report",
    "Facts": "hlgraph.sdk.facts",
    "Failures": "hlgraph.sdk.failures",
    "Faithfulness": "hlgraph.sdk.quality",
    "Files": "hlgraph.read.outcomes",
    "Finding": "hlgraph.stores.open",
    "FoundCommunities": "hlgraph.sdk.communities",
    "FoundHierarchy": "hlgraph.sdk.hierarchy",
    "FoundMerges": "hlgraph.sdk.merges",
    "GroupBy": "hlgraph.models.accounts.ledger",
    "HLGraph": "hlgraph.sdk.client",
    "Health": "hlgraph.sdk.health",
    "Hierarchy": "hlgraph.sdk.hierarchy",
    "HierarchyQuery": "hlgraph.index.hierarchy",
    "ImageLag": "hlgraph.sdk.health",
    "InferredDomain": "hlgraph.sdk.domain",
    "IngestOptions": "hlgraph.ingest.options",
    "Ingestion": "hlgraph.ingest.run",
    "JudgeOptions": "hlgraph.evaluate.judges.report",
    "JudgedMerges": "hlgraph.resolve.decide",
    "LeftOut": "hlgraph.read.outcomes",
    "Limits": "hlgraph.stores.cypher",
    "MadeQuestion": "hlgraph.evaluate.questions.record",
    "Mending": "hlgraph.sdk.failures",
    "Merges": "hlgraph.sdk.merges",
    "Mode": "hlgraph.retrieve.request",
    "OnProgress": "hlgraph.progress",
    "Plan": "hlgraph.ingest.plan",
    "Progress": "hlgraph.progress",
    "Quality": "hlgraph.sdk.quality",
    "Quarantined": "hlgraph.extract.quarantine",
    "Question": "hlgraph.evaluate.datasets",
    "QuestionSet": "hlgraph.evaluate.questions.record",
    "Questions": "hlgraph.sdk.questions",
    "Report": "hlgraph.ingest.report",
    "Reranker": "hlgraph.models.protocols",
    "Retriever": "hlgraph.retrieve.retriever",
    "SearchRequest": "hlgraph.retrieve.request",
    "SearchResult": "hlgraph.retrieve.request",
    "Settings": "hlgraph.settings",
    "Spent": "hlgraph.models.accounts.ledger",
    "StoredFacts": "hlgraph.sdk.facts",
    "Stores": "hlgraph.stores.protocols",
    "Table": "hlgraph.stores.cypher",
    "Unit": "hlgraph.retrieve.request",
    "Unsupported": "hlgraph.answer.verify",
    "Verify": "hlgraph.answer.verify",
    "Where": "hlgraph.where",
    "connect": "hlgraph.sdk.client",
    "correlated": "hlgraph.telemetry",
    "field": "hlgraph.where",
    "restore": "hlgraph.sdk.backup",
}

if not TYPE_CHECKING:  # a type checker sees the imports above, and reports unknown names

    def __getattr__(name: str) -> object:
        """Import heavy modules at first use."""
        if name not in _LATER:
            raise AttributeError(f"module 'hlgraph' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
