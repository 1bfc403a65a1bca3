"""A LangChain tool with which an agent searches a corpus."""

from __future__ import annotations

from langchain_core.tools import StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field

from hlgraph.errors import InputError
from hlgraph.records import Evidence
from hlgraph.retrieve.retriever import Retriever
from hlgraph.sdk.client import HLGraph

_MOST = 50


class SearchArguments(BaseModel):
    """What an agent may say."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, description="What to find, as a whole question or sentence.")
    k: int = Field(default=8, ge=1, le=_MOST, description="How many pieces of evidence.")
    where: str | None = Field(
        default=None,
        description='Only sources whose metadata meet this filter, such as: year >= 1950 and category in ("event", "place")',
    )


def search_tool(
    graph: HLGraph,
    *,
    strategy: str | Retriever = "auto",
    name: str = "search_corpus",
    description: str = "",
) -> StructuredTool:
    """A tool that returns numbered evidence with its sources as text, and the evidence objects as the artifact.

    An invalid request of the agent (an unknown field in a filter, an empty question) returns the error message as text, so
    that the agent can correct it; errors of stores and models are raised.

    Parameters
    ----------
    graph : an open corpus, the only one that the agent can see
    strategy : as in :meth:`hlgraph.HLGraph.search`, default ``auto``
    name : name of the tool, default ``search_corpus``
    description : description of the tool for the agent; by default it names the corpus
    """

    def search(question: str, k: int = 8, where: str | None = None) -> tuple[str, list[Evidence]]:
        try:
            found = graph.search(question, strategy=strategy, k=k, where=where)
        except InputError as error:
            raise ToolException(str(error)) from error
        return _text(found.evidence), list(found.evidence)

    text = description or (
        f"Finds evidence in the corpus {graph.corpus!r}: short statements with the source that each one is from. "
        "Cite them by their number."
    )
    return StructuredTool.from_function(
        func=search,
        name=name,
        description=text,
        args_schema=SearchArguments,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _text(evidence: tuple[Evidence, ...]) -> str:
    if not evidence:
        return "No evidence was found."
    lines = []
    for number, item in enumerate(evidence, 1):
        lines.append(f"[{number}] {' '.join(item.text.split())} ({_place(item)})")
    return "\n".join(lines)


def _place(item: Evidence) -> str:
    if item.summary_id:
        titles = dict.fromkeys(part.source.title or part.source.uri for part in item.opened)
        return f"{'an older' if item.is_stale else 'a'} summary of {', '.join(titles)}"
    page = f", page {item.page}" if item.page is not None else ""
    return f"{item.source.title or item.source.uri}{page}"
