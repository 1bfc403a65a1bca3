"""A LangChain retriever over a corpus."""

from __future__ import annotations

from typing import Annotated, Self

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field, SkipValidation, model_validator

from hlgraph.errors import InputError
from hlgraph.integrations.langchain.documents import to_langchain
from hlgraph.retrieve.request import MAX_K, Mode, Unit
from hlgraph.retrieve.retriever import Retriever
from hlgraph.sdk.client import HLGraph
from hlgraph.where import AnyWhere

_PER_CALL = frozenset({"k", "strategy", "unit", "where", "mode"})


class HLGraphRetriever(BaseRetriever):
    """Retrieves evidence for a question as documents, best first; ``invoke`` accepts every field but ``graph`` as an option.

    Asynchronous calls run in a thread, since stores and local models block.

    Parameters
    ----------
    graph : an open corpus; whoever opened it closes it
    strategy, k, unit, where, mode : as in :meth:`hlgraph.HLGraph.search`

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            retriever = HLGraphRetriever(graph=graph, k=5, where='category = "person"')
            documents = retriever.invoke("Who designed the bridge?")
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    graph: HLGraph
    strategy: Annotated[str | Retriever, SkipValidation] = "auto"
    k: int = Field(default=10, ge=1, le=MAX_K)
    unit: Unit | None = None
    where: AnyWhere | None = None
    mode: Mode = "vector"

    @model_validator(mode="after")
    def _check_strategy(self) -> Self:
        """Raise for an unknown strategy when the retriever is created."""
        from hlgraph.retrieve.search import retriever_named

        if isinstance(self.strategy, str):
            retriever_named(self.strategy)
        return self

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - required by the interface
        **options: object,
    ) -> list[LangChainDocument]:
        unknown = sorted(set(options) - _PER_CALL)
        if unknown:
            raise InputError(f"a search has no option {unknown[0]!r}; there are: {', '.join(sorted(_PER_CALL))}")
        asked = self.model_copy(update=options)
        found = self.graph.search(
            query, strategy=asked.strategy, k=asked.k, unit=asked.unit, where=asked.where, mode=asked.mode
        )
        return [to_langchain(item) for item in found.evidence]
