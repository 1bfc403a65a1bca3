"""What a search is asked and what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hlgraph.errors import InputError
from hlgraph.records import Evidence, Scalar
from hlgraph.where import Where

Unit = Literal["statement", "chunk"]
Mode = Literal["vector", "text", "hybrid"]
MAX_K = 10_000


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One question to one corpus.

    Attributes
    ----------
    k : how many pieces of evidence (1 to 10,000; default 10)
    unit : what is returned; None leaves it to the strategy
    mode : how seeds are searched: by vector (default), by full text, or hybrid (rank fusion of both)
    where : filter over the metadata of sources; it holds on every hop
    explain : note down seeds, hops, paths and every query (default False); costs up to six more round trips at the end
    """

    question: str
    corpus: str
    k: int = 10
    unit: Unit | None = None
    mode: Mode = "vector"
    where: Where | None = None
    explain: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be searched, once, before anything is done."""
        if not self.question.strip():
            raise InputError("the question is empty; ask something")
        if not 1 <= self.k <= MAX_K:
            raise InputError(f"k is {self.k}; choose a number from 1 to {MAX_K}")
        if self.unit not in (None, "statement", "chunk"):
            raise InputError(f"unit is {self.unit!r}; choose 'statement' or 'chunk'")
        if self.mode not in ("vector", "text", "hybrid"):
            raise InputError(f"mode is {self.mode!r}; choose 'vector', 'text' or 'hybrid'")


@dataclass(frozen=True, slots=True)
class StepTrace:
    """One step of a retrieval: what it did, how many nodes came out, how long it took."""

    name: str
    count: int
    milliseconds: float
    details: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """How the evidence was found. ``round_trips`` counts calls to a store."""

    strategy: str
    unit: str
    mode: str
    parameters: Mapping[str, Scalar]
    steps: tuple[StepTrace, ...]
    round_trips: int
    milliseconds: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Evidence, best first, and how it was found."""

    evidence: tuple[Evidence, ...]
    explain: Explanation
