"""Written by tests/unit/test_async_surface.py (HLGRAPH_UPDATE_SNAPSHOTS=1); not by hand."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from typing import Self, Unpack, type_check_only

from hlgraph.answer.events import AnswerEvent
from hlgraph.answer.request import AnswerMode, AnswerOptions
from hlgraph.awaited import Awaited
from hlgraph.batches import BatchReport
from hlgraph.client import HLGraph
from hlgraph.communities import FoundCommunities
from hlgraph.domain import InferredDomain
from hlgraph.extract.quarantine import Quarantined
from hlgraph.failures import Mending
from hlgraph.hierarchy import FoundHierarchy
from hlgraph.index.candidates import CandidateQuery, Candidates
from hlgraph.index.communities import Built
from hlgraph.index.hierarchy import BuiltHierarchy, HierarchyQuery
from hlgraph.index.judging import JudgedMerges
from hlgraph.ingestion import Run
from hlgraph.merges import FoundMerges
from hlgraph.models.budget import Budget
from hlgraph.models.choose import AnyChat, ChosenModels
from hlgraph.models.executor import Executor
from hlgraph.models.ledger import GroupBy, Spent
from hlgraph.pipeline import Progress, Report
from hlgraph.planning import Plan
from hlgraph.quality.tier import Coverage, Faithfulness
from hlgraph.reconcile import Drift
from hlgraph.records import Answer, Document, Domain
from hlgraph.retrieve import SearchResult
from hlgraph.retrieve.request import Mode, SearchOptions, Unit
from hlgraph.retrieve.retriever import Retriever
from hlgraph.settings import Settings
from hlgraph.stores.cypher import Limits, Table
from hlgraph.stores.merges import Decision
from hlgraph.stores.open import Finding, Opened
from hlgraph.stores.protocols import CorpusStats, Stores
from hlgraph.where import Where
from hlgraph.wiring import IngestOptions

@type_check_only
class _AsyncForecast(Awaited):
    async def export(
        self, sources: str | Path | Iterable[str | Path | Document], options: IngestOptions, *, path: Path
    ) -> BatchReport: ...
    async def plan(self, sources: str | Path | Iterable[str | Path | Document], options: IngestOptions) -> Plan: ...
    async def take(
        self, sources: str | Path | Iterable[str | Path | Document], options: IngestOptions, *, results: Sequence[Path]
    ) -> BatchReport: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def stores(self) -> Stores: ...
    @property
    def chat(self) -> AnyChat | None: ...

@type_check_only
class _AsyncCommunityTier(Awaited):
    async def build(
        self, shape: str = ..., *, resolution: float = ..., max_size: int = ..., max_levels: int = ..., seed: int = ...
    ) -> Built: ...
    async def find(
        self, shape: str = ..., *, level: int | None = ..., k: int | None = ..., names: int = ...
    ) -> FoundCommunities: ...

@type_check_only
class _AsyncDomainTier(Awaited):
    async def clear(self) -> Domain | None: ...
    async def find(self) -> Domain | None: ...
    async def infer(
        self,
        sources: str | Path | Iterable[str | Path | Document] = ...,
        *,
        options: IngestOptions | None = ...,
        budget: Budget | None = ...,
    ) -> InferredDomain: ...
    async def set(self, domain: Domain) -> Domain: ...

@type_check_only
class _AsyncFailures(Awaited):
    async def accept(self, name: str, reply: str) -> Mending: ...
    async def drop(self, name: str) -> Mending: ...
    async def find(self, ids: Sequence[str] | None = ...) -> list[Quarantined]: ...
    async def retry(self, ids: Sequence[str] | None = ..., *, budget: Budget | None = ...) -> Mending: ...

@type_check_only
class _AsyncHierarchyTier(Awaited):
    async def build(
        self,
        query: HierarchyQuery | None = ...,
        *,
        summaries: str = ...,
        is_whole: bool = ...,
        budget: Budget | None = ...,
    ) -> BuiltHierarchy: ...
    async def find(self, *, level: int | None = ..., k: int | None = ...) -> FoundHierarchy: ...

@type_check_only
class _AsyncIngestion(Awaited):
    async def bring(
        self,
        sources: str | Path | Iterable[str | Path | Document],
        options: IngestOptions,
        *,
        run: Run = ...,
        on_progress: Callable[[Progress], None] | None = ...,
    ) -> Report: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def corpus(self) -> str: ...
    @property
    def opened(self) -> Opened: ...
    @property
    def models(self) -> ChosenModels: ...
    @property
    def calls(self) -> Callable[[Budget | None], Executor | None]: ...

@type_check_only
class _AsyncMergeTier(Awaited):
    async def apply(
        self, pairs: Iterable[tuple[str, str]], *, is_different: bool = ..., made_by: str = ..., why: str = ...
    ) -> tuple[Decision, ...]: ...
    async def judge(
        self, query: CandidateQuery | None = ..., *, by: str = ..., budget: Budget | None = ..., is_dry_run: bool = ...
    ) -> JudgedMerges: ...
    async def list(self, verdict: str | None = ..., *, k: int | None = ...) -> FoundMerges: ...
    async def propose(self, query: CandidateQuery | None = ...) -> Candidates: ...
    async def undo(self, ids: str | Sequence[str]) -> tuple[Decision, ...]: ...

@type_check_only
class _AsyncQuality(Awaited):
    async def coverage(self, uris: Sequence[str] = ..., *, share: float = ...) -> Coverage: ...
    async def faithfulness(
        self, *, sample: int = ..., seed: int = ..., by: str = ..., budget: Budget | None = ...
    ) -> Faithfulness: ...

class AsyncSurface(Awaited):
    _inner: HLGraph
    async def answer(
        self,
        question: str,
        *,
        strategy: str | Retriever = ...,
        k: int | None = ...,
        where: Where | str | None = ...,
        mode: AnswerMode = ...,
        budget: Budget | None = ...,
        **options: Unpack[AnswerOptions],
    ) -> Answer: ...
    def answer_stream(
        self,
        question: str,
        *,
        strategy: str | Retriever = ...,
        k: int | None = ...,
        where: Where | str | None = ...,
        mode: AnswerMode = ...,
        budget: Budget | None = ...,
        **options: Unpack[AnswerOptions],
    ) -> AsyncGenerator[AnswerEvent]: ...
    @property
    def batches(self) -> _AsyncForecast: ...
    async def check(self) -> list[Finding]: ...
    async def close(self) -> None: ...
    @property
    def communities(self) -> _AsyncCommunityTier: ...
    async def cypher(
        self, query: str, /, *, folder: str | Path | None = ..., limits: Limits | None = ..., **params: object
    ) -> Table: ...
    async def delete(
        self, uris: str | Sequence[str] = ..., *, where: Where | str | None = ..., is_all: bool = ...
    ) -> Report: ...
    @property
    def domain(self) -> _AsyncDomainTier: ...
    @property
    def failures(self) -> _AsyncFailures: ...
    @property
    def hierarchy(self) -> _AsyncHierarchyTier: ...
    def in_corpus(self, name: str) -> Self: ...
    async def ingest(
        self,
        sources: str | Path | Iterable[str | Path | Document],
        *,
        options: IngestOptions | None = ...,
        on_progress: Callable[[Progress], None] | None = ...,
    ) -> Report: ...
    @property
    def ingestion(self) -> _AsyncIngestion: ...
    async def ledger(self, by: GroupBy = ...) -> list[Spent]: ...
    @property
    def merges(self) -> _AsyncMergeTier: ...
    async def plan(
        self, sources: str | Path | Iterable[str | Path | Document], *, options: IngestOptions | None = ...
    ) -> Plan: ...
    @property
    def quality(self) -> _AsyncQuality: ...
    async def reconcile(self, *, is_repair: bool = ...) -> tuple[Drift, Drift]: ...
    async def search(
        self,
        question: str,
        *,
        strategy: str | Retriever = ...,
        k: int = ...,
        unit: Unit | None = ...,
        where: Where | str | None = ...,
        mode: Mode = ...,
        **options: Unpack[SearchOptions],
    ) -> SearchResult: ...
    async def stats(self) -> tuple[CorpusStats, ...]: ...
    def watched(self, watch: Callable[[Stores], Stores]) -> Self: ...
