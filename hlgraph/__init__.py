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

if TYPE_CHECKING:
    from hlgraph.answer.answering import AnswerEvent as AnswerEvent
    from hlgraph.answer.answering import AnswerEvidence as AnswerEvidence
    from hlgraph.answer.answering import AnswerMode as AnswerMode
    from hlgraph.answer.answering import AnswerPiece as AnswerPiece
    from hlgraph.answer.answering import AnswerRequest as AnswerRequest
    from hlgraph.answer.answering import AnswerStyle as AnswerStyle
    from hlgraph.answer.contradictions import AssertedObject as AssertedObject
    from hlgraph.answer.contradictions import Assertion as Assertion
    from hlgraph.answer.contradictions import Contradiction as Contradiction
    from hlgraph.answer.plan import AnswerPlan as AnswerPlan
    from hlgraph.answer.verify import Unsupported as Unsupported
    from hlgraph.answer.verify import Verify as Verify
    from hlgraph.errors import HLGraphError as HLGraphError
    from hlgraph.evaluate.answering import ReaderOptions as ReaderOptions
    from hlgraph.evaluate.answering import Readers as Readers
    from hlgraph.evaluate.datasets import Question as Question
    from hlgraph.evaluate.evaluation import Layers as Layers
    from hlgraph.evaluate.judges.report import JudgeOptions as JudgeOptions
    from hlgraph.evaluate.judges.report import JudgeReport as JudgeReport
    from hlgraph.evaluate.questions.record import MadeQuestion as MadeQuestion
    from hlgraph.evaluate.questions.record import QuestionSet as QuestionSet
    from hlgraph.evaluate.recipes import RecipeReport as RecipeReport
    from hlgraph.evaluate.report import Evaluation as Evaluation
    from hlgraph.extract.quarantine import Quarantined as Quarantined
    from hlgraph.index.communities import BuiltCommunities as BuiltCommunities
    from hlgraph.index.hierarchy import BuiltHierarchy as BuiltHierarchy
    from hlgraph.index.hierarchy import HierarchyQuery as HierarchyQuery
    from hlgraph.ingest.batches import BatchReport as BatchReport
    from hlgraph.ingest.exports import CorpusCopy as CorpusCopy
    from hlgraph.ingest.history import AsOf as AsOf
    from hlgraph.ingest.options import IngestOptions as IngestOptions
    from hlgraph.ingest.plan import Plan as Plan
    from hlgraph.ingest.report import Failure as Failure
    from hlgraph.ingest.report import Report as Report
    from hlgraph.ingest.run import AnySources as AnySources
    from hlgraph.ingest.run import Ingestion as Ingestion
    from hlgraph.models.accounts.budget import Budget as Budget
    from hlgraph.models.accounts.budget import ExpectedCost as ExpectedCost
    from hlgraph.models.accounts.ledger import GroupBy as GroupBy
    from hlgraph.models.accounts.ledger import Spent as Spent
    from hlgraph.models.choose import AnyChat as AnyChat
    from hlgraph.models.choose import AnyEmbedder as AnyEmbedder
    from hlgraph.models.choose import AnyReranker as AnyReranker
    from hlgraph.models.protocols import ChatModel as ChatModel
    from hlgraph.models.protocols import Embedder as Embedder
    from hlgraph.models.protocols import Reranker as Reranker
    from hlgraph.progress import OnProgress as OnProgress
    from hlgraph.progress import Progress as Progress
    from hlgraph.read.outcomes import Files as Files
    from hlgraph.read.outcomes import LeftOut as LeftOut
    from hlgraph.read.table_mapping import AnyTableMapping as AnyTableMapping
    from hlgraph.read.table_mapping import TableColumn as TableColumn
    from hlgraph.read.table_mapping import TableMapping as TableMapping
    from hlgraph.records import Answer as Answer
    from hlgraph.records import AnswerSentence as AnswerSentence
    from hlgraph.records import Choice as Choice
    from hlgraph.records import Chunk as Chunk
    from hlgraph.records import Citation as Citation
    from hlgraph.records import Community as Community
    from hlgraph.records import Document as Document
    from hlgraph.records import Domain as Domain
    from hlgraph.records import Entity as Entity
    from hlgraph.records import Evidence as Evidence
    from hlgraph.records import Fact as Fact
    from hlgraph.records import Hit as Hit
    from hlgraph.records import Kind as Kind
    from hlgraph.records import Relationship as Relationship
    from hlgraph.records import Source as Source
    from hlgraph.records import Statement as Statement
    from hlgraph.records import Summary as Summary
    from hlgraph.records import Topic as Topic
    from hlgraph.resolve.candidates import CandidateQuery as CandidateQuery
    from hlgraph.resolve.candidates import Candidates as Candidates
    from hlgraph.resolve.decide import JudgedMerges as JudgedMerges
    from hlgraph.retrieve.request import Explanation as Explanation
    from hlgraph.retrieve.request import Mode as Mode
    from hlgraph.retrieve.request import SearchRequest as SearchRequest
    from hlgraph.retrieve.request import SearchResult as SearchResult
    from hlgraph.retrieve.request import Unit as Unit
    from hlgraph.retrieve.retriever import Retriever as Retriever
    from hlgraph.sdk.aio import AsyncHLGraph as AsyncHLGraph
    from hlgraph.sdk.align import Alignment as Alignment
    from hlgraph.sdk.answers import Answers as Answers
    from hlgraph.sdk.backup import restore as restore
    from hlgraph.sdk.batches import Batches as Batches
    from hlgraph.sdk.client import HLGraph as HLGraph
    from hlgraph.sdk.client import connect as connect
    from hlgraph.sdk.communities import Communities as Communities
    from hlgraph.sdk.communities import CommunityMap as CommunityMap
    from hlgraph.sdk.communities import FoundCommunities as FoundCommunities
    from hlgraph.sdk.contents import Entities as Entities
    from hlgraph.sdk.contents import EntityDetails as EntityDetails
    from hlgraph.sdk.contents import FactRow as FactRow
    from hlgraph.sdk.contents import Neighbour as Neighbour
    from hlgraph.sdk.contents import Page as Page
    from hlgraph.sdk.contents import SourceDetails as SourceDetails
    from hlgraph.sdk.contents import Sources as Sources
    from hlgraph.sdk.contents import SupportedFact as SupportedFact
    from hlgraph.sdk.domain import CorpusDomain as CorpusDomain
    from hlgraph.sdk.domain import InferredDomain as InferredDomain
    from hlgraph.sdk.embeddings import Embeddings as Embeddings
    from hlgraph.sdk.facts import Facts as Facts
    from hlgraph.sdk.facts import StoredFacts as StoredFacts
    from hlgraph.sdk.failures import Failures as Failures
    from hlgraph.sdk.failures import Mending as Mending
    from hlgraph.sdk.graph_formats import GraphFile as GraphFile
    from hlgraph.sdk.graph_formats import GraphFormat as GraphFormat
    from hlgraph.sdk.groups import Groups as Groups
    from hlgraph.sdk.health import Health as Health
    from hlgraph.sdk.health import ImageLag as ImageLag
    from hlgraph.sdk.hierarchy import FoundHierarchy as FoundHierarchy
    from hlgraph.sdk.hierarchy import Hierarchy as Hierarchy
    from hlgraph.sdk.history import ChangeSet as ChangeSet
    from hlgraph.sdk.history import CorpusDiff as CorpusDiff
    from hlgraph.sdk.history import History as History
    from hlgraph.sdk.history import SourceVersion as SourceVersion
    from hlgraph.sdk.merges import DecisionPage as DecisionPage
    from hlgraph.sdk.merges import FoundMerges as FoundMerges
    from hlgraph.sdk.merges import Merges as Merges
    from hlgraph.sdk.quality import Coverage as Coverage
    from hlgraph.sdk.quality import Faithfulness as Faithfulness
    from hlgraph.sdk.quality import Quality as Quality
    from hlgraph.sdk.questions import Questions as Questions
    from hlgraph.sdk.reconcile import Drift as Drift
    from hlgraph.sdk.retention import Hold as Hold
    from hlgraph.sdk.retention import Holds as Holds
    from hlgraph.sdk.retention import Receipt as Receipt
    from hlgraph.sdk.retention import Receipts as Receipts
    from hlgraph.sdk.retention import VerifiedReceipts as VerifiedReceipts
    from hlgraph.sdk.retention import verify_receipts as verify_receipts
    from hlgraph.settings import Settings as Settings
    from hlgraph.stores.protocols import Backup as Backup
    from hlgraph.stores.protocols import CorpusStats as CorpusStats
    from hlgraph.stores.protocols import Decision as Decision
    from hlgraph.stores.protocols import Finding as Finding
    from hlgraph.stores.protocols import Stores as Stores
    from hlgraph.stores.queries import Limits as Limits
    from hlgraph.stores.queries import Table as Table
    from hlgraph.telemetry import CorrelationFilter as CorrelationFilter
    from hlgraph.telemetry import correlated as correlated
    from hlgraph.where import AnyWhere as AnyWhere
    from hlgraph.where import Where as Where
    from hlgraph.where import field as field

__version__ = "0.2.0"

_LATER = {
    name: f"hlgraph.{module}"
    for module, names in {
        "answer.answering": "AnswerEvent AnswerEvidence AnswerMode AnswerPiece AnswerRequest AnswerStyle",
        "answer.contradictions": "AssertedObject Assertion Contradiction",
        "answer.plan": "AnswerPlan",
        "answer.verify": "Unsupported Verify",
        "errors": "HLGraphError",
        "evaluate.answering": "ReaderOptions Readers",
        "evaluate.datasets": "Question",
        "evaluate.evaluation": "Layers",
        "evaluate.judges.report": "JudgeOptions JudgeReport",
        "evaluate.questions.record": "MadeQuestion QuestionSet",
        "evaluate.recipes": "RecipeReport",
        "evaluate.report": "Evaluation",
        "extract.quarantine": "Quarantined",
        "index.communities": "BuiltCommunities",
        "index.hierarchy": "BuiltHierarchy HierarchyQuery",
        "ingest.batches": "BatchReport",
        "ingest.history": "AsOf",
        "ingest.options": "IngestOptions",
        "ingest.exports": "CorpusCopy",
        "ingest.plan": "Plan",
        "ingest.report": "Failure Report",
        "ingest.run": "AnySources Ingestion",
        "models.accounts.budget": "Budget ExpectedCost",
        "models.accounts.ledger": "GroupBy Spent",
        "models.choose": "AnyChat AnyEmbedder AnyReranker",
        "models.protocols": "ChatModel Embedder Reranker",
        "progress": "OnProgress Progress",
        "read.outcomes": "Files LeftOut",
        "read.table_mapping": "AnyTableMapping TableColumn TableMapping",
        "records": "Answer AnswerSentence Choice Chunk Citation Community Document Domain Entity "
        "Evidence Fact Hit Kind Relationship Source Statement Summary Topic",
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
        "sdk.communities": "Communities CommunityMap FoundCommunities",
        "sdk.contents": "Entities EntityDetails FactRow Neighbour Page SourceDetails Sources SupportedFact",
        "sdk.domain": "CorpusDomain InferredDomain",
        "sdk.embeddings": "Embeddings",
        "sdk.facts": "Facts StoredFacts",
        "sdk.graph_formats": "GraphFile GraphFormat",
        "sdk.groups": "Groups",
        "sdk.failures": "Failures Mending",
        "sdk.health": "Health ImageLag",
        "sdk.hierarchy": "FoundHierarchy Hierarchy",
        "sdk.history": "ChangeSet CorpusDiff History SourceVersion",
        "sdk.merges": "DecisionPage FoundMerges Merges",
        "sdk.quality": "Coverage Faithfulness Quality",
        "sdk.questions": "Questions",
        "sdk.reconcile": "Drift",
        "sdk.retention": "Hold Holds Receipt Receipts VerifiedReceipts verify_receipts",
        "settings": "Settings",
        "stores.protocols": "Backup CorpusStats Decision Finding Stores",
        "stores.queries": "Limits Table",
        "telemetry": "CorrelationFilter correlated",
        "where": "AnyWhere Where field",
    }.items()
    for name in names.split()
}

if not TYPE_CHECKING:  # a type checker sees the imports above, and reports unknown names
    __all__ = sorted(("__version__", "errors", *_LATER))  # noqa: PLE0605 - read at run time only

    def __getattr__(name: str) -> object:
        """Import modules at first use."""
        if name not in _LATER:
            raise AttributeError(f"module 'hlgraph' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)

    def __dir__() -> list[str]:
        return __all__
