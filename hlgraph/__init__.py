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
    from hlgraph.evaluate.answering import ReaderOptions, Readers
    from hlgraph.evaluate.datasets import Question
    from hlgraph.evaluate.judges.report import JudgeOptions
    from hlgraph.evaluate.questions.record import MadeQuestion, QuestionSet
    from hlgraph.evaluate.recipes import RecipeReport
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
    from hlgraph.read.table_mapping import AnyTableMapping, TableColumn, TableMapping
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
    from hlgraph.stores.open import Finding
    from hlgraph.stores.protocols import Backup, CorpusStats, Decision, Stores
    from hlgraph.stores.queries import Limits, Table
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
    "AnyTableMapping",
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
    "ReaderOptions",
    "Readers",
    "RecipeReport",
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
    "TableColumn",
    "TableMapping",
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
    name: f"hlgraph.{module}"
    for module, names in {
        "answer.events": "AnswerEvent AnswerEvidence AnswerPiece",
        "answer.plan": "AnswerPlan",
        "answer.request": "AnswerMode AnswerRequest AnswerStyle",
        "answer.verify": "Unsupported Verify",
        "evaluate.answering": "ReaderOptions Readers",
        "evaluate.datasets": "Question",
        "evaluate.judges.report": "JudgeOptions",
        "evaluate.questions.record": "MadeQuestion QuestionSet",
        "evaluate.recipes": "RecipeReport",
        "evaluate.report": "Evaluation",
        "extract.quarantine": "Quarantined",
        "index.communities": "BuiltCommunities",
        "index.hierarchy": "BuiltHierarchy HierarchyQuery",
        "ingest.batches": "BatchReport",
        "ingest.options": "IngestOptions",
        "ingest.plan": "Plan",
        "ingest.report": "Failure Report",
        "ingest.run": "Ingestion",
        "models.accounts.budget": "Budget",
        "models.accounts.ledger": "GroupBy Spent",
        "models.choose": "AnyChat AnyEmbedder AnyReranker",
        "models.protocols": "ChatModel Embedder Reranker",
        "progress": "OnProgress Progress",
        "read.outcomes": "Files LeftOut",
        "read.table_mapping": "AnyTableMapping TableColumn TableMapping",
        "resolve.candidates": "CandidateQuery Candidates",
        "resolve.decide": "JudgedMerges",
        "retrieve.request": "Explanation Mode SearchRequest SearchResult Unit",
        "retrieve.retriever": "Retriever",
        "sdk.aio": "AsyncHLGraph",
        "sdk.align": "Alignment",
        "sdk.answers": "Answers",
        "sdk.backup": "restore",
        "sdk.batches": "Batches",
        "sdk.client": "HLGraph connect",
        "sdk.communities": "Communities FoundCommunities",
        "sdk.domain": "CorpusDomain InferredDomain",
        "sdk.facts": "Facts StoredFacts",
        "sdk.failures": "Failures Mending",
        "sdk.health": "Health ImageLag",
        "sdk.hierarchy": "FoundHierarchy Hierarchy",
        "sdk.merges": "FoundMerges Merges",
        "sdk.quality": "Coverage Faithfulness Quality",
        "sdk.questions": "Questions",
        "sdk.reconcile": "Drift",
        "settings": "Settings",
        "stores.queries": "Limits Table",
        "stores.open": "Finding",
        "stores.protocols": "Backup CorpusStats Decision Stores",
        "telemetry": "CorrelationFilter correlated",
        "where": "AnyWhere Where field",
    }.items()
    for name in names.split()
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
