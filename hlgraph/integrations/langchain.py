"""Integration with LangChain: a retriever, a tool for agents, and conversion of documents in both directions.

::

    from hlgraph.integrations.langchain import HLGraphRetriever, from_langchain, search_tool

    graph.ingest(from_langchain(loader.load()))
    retriever = HLGraphRetriever(graph=graph, k=5)
    agent_tools = [search_tool(graph)]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Self
from urllib.parse import quote

from hlgraph.errors import InputError, needs_extra
from hlgraph.ids import checksum
from hlgraph.read.content import clean
from hlgraph.read.rows import metadata_of
from hlgraph.records import SEARCH_K, TOOL_K, Document, Evidence
from hlgraph.retrieve.request import MAX_K, Mode, Unit
from hlgraph.retrieve.retriever import Retriever
from hlgraph.sdk.client import HLGraph
from hlgraph.where import AnyWhere

with needs_extra("langchain", "hlgraph in LangChain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import StructuredTool, ToolException
    from pydantic import BaseModel, ConfigDict, Field, SkipValidation, model_validator


_SOURCE = "source"  # metadata key under which LangChain's loaders store the origin of a document
# metadata keys that distinguish the documents of one source
_PARTS = ("page", "row", "seq_num", "start_index")
_SHORT = 16


def from_langchain(documents: Iterable[LangChainDocument]) -> list[Document]:
    """Documents for :meth:`hlgraph.HLGraph.ingest`, made from LangChain documents.

    A document is recognised in a later ingest by its URI. The URI is made from the document's ``id``; without an id, from
    ``source`` in its metadata (with ``page``, ``row``, ``seq_num`` and ``start_index``); without a source, or if several
    documents would get the same URI, with a hash of the text. An edited text without an id may therefore become a new
    source, so give ids. Metadata keep their types; nested mappings get dotted names; values other than texts, numbers,
    booleans, dates and lists of these are left out. The title is ``title`` in the metadata.

    Examples
    --------
    >>> document = LangChainDocument("A bridge.", id="b-1", metadata={"title": "Bridge", "year": 1931, "at": {"km": 2.5}})
    >>> from_langchain([document])
    [Document(uri='langchain:b-1', text='A bridge.', title='Bridge', metadata={'year': 1931, 'at.km': 2.5}, key='b-1', \
page_starts=(), warnings=())]
    """
    originals = list(documents)
    names = [_name(document) for document in originals]
    times = Counter(names)
    return [
        _document(document, name if times[name] == 1 and name else _hashed(name, document))
        for document, name in zip(originals, names, strict=True)
    ]


def _name(document: LangChainDocument) -> str:
    if document.id:
        return f"langchain:{quote(document.id)}"
    source = document.metadata.get(_SOURCE)
    if not isinstance(source, str) or not source.strip():
        return ""
    parts = [
        f"{part}={document.metadata[part]}" for part in _PARTS if isinstance(document.metadata.get(part), int | str)
    ]
    return clean(f"{source}#{quote('&'.join(parts), safe='=&')}" if parts else source)


def _hashed(name: str, document: LangChainDocument) -> str:
    mark = checksum("langchain", document.page_content)[:_SHORT]
    return f"{name}{'&' if '#' in name else '#'}{mark}" if name else f"langchain:{mark}"


def _document(document: LangChainDocument, uri: str) -> Document:
    metadata = {str(key): value for key, value in document.metadata.items()}
    title = metadata.pop("title", "")
    if not isinstance(title, str):
        metadata["title"], title = title, ""
    return Document(
        uri, clean(document.page_content), " ".join(clean(title).split()), metadata_of(metadata), key=document.id
    )


def to_langchain(evidence: Evidence) -> LangChainDocument:
    """A LangChain document with the text of a piece of evidence, and its provenance in the metadata.

    hlgraph sets ``source`` (the URI), ``title``, ``score``, ``kind`` (``chunk``, ``statement`` or ``summary``), ``start``,
    ``end``, ``page``, ``headings``, ``chunk_id``, ``statement_id``, ``summary_id``, ``labels``, ``is_stale`` and ``rests_on``
    (of a summary: kind, id, source, start and end of all that it rests on); they override equal names in the metadata of the
    source. The other metadata of the source are kept under their names, and all of them under ``source_metadata``.
    """
    source = evidence.source
    metadata: Mapping[str, object] = {
        **source.metadata,
        "source": source.uri,
        "title": source.title,
        "score": evidence.score,
        "kind": evidence.kind.value,
        "start": evidence.start,
        "end": evidence.end,
        "page": evidence.page,
        "headings": list(evidence.headings),
        "chunk_id": evidence.chunk_id,
        "statement_id": evidence.statement_id or None,
        "summary_id": evidence.summary_id or None,
        "labels": list(evidence.labels),
        "is_stale": evidence.is_stale,
        "rests_on": [
            {"kind": part.kind.value, "id": part.id, "source": part.source.uri, "start": part.start, "end": part.end}
            for part in evidence.rests_on
        ],
        "source_metadata": dict(source.metadata),
    }
    return LangChainDocument(evidence.text, id=evidence.id, metadata=dict(metadata))


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
    k: int = Field(default=SEARCH_K, ge=1, le=MAX_K)
    unit: Unit | None = None
    where: AnyWhere | None = None
    mode: Mode = "vector"

    @model_validator(mode="after")
    def _check_strategy(self) -> Self:
        """Raise for an unknown strategy when the retriever is created."""
        from hlgraph.retrieve.search import retriever

        if isinstance(self.strategy, str):
            retriever(self.strategy)
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
        retriever = self.model_copy(update=options)
        result = self.graph.search(
            query,
            strategy=retriever.strategy,
            k=retriever.k,
            unit=retriever.unit,
            where=retriever.where,
            mode=retriever.mode,
        )
        return [to_langchain(piece) for piece in result.evidence]


_MOST = 50


class SearchArguments(BaseModel):
    """The arguments that an agent can pass."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, description="What to find, as a whole question or sentence.")
    k: int = Field(default=TOOL_K, ge=1, le=_MOST, description="How many pieces of evidence.")
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

    def search(question: str, k: int = TOOL_K, where: str | None = None) -> tuple[str, list[Evidence]]:
        try:
            result = graph.search(question, strategy=strategy, k=k, where=where)
        except InputError as error:
            raise ToolException(str(error)) from error
        return _text(result.evidence), list(result.evidence)

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
    for number, piece in enumerate(evidence, 1):
        lines.append(f"[{number}] {' '.join(piece.text.split())} ({_place(piece)})")
    return "\n".join(lines)


def _place(piece: Evidence) -> str:
    if piece.summary_id:
        titles = dict.fromkeys(part.source.title or part.source.uri for part in piece.opened)
        return f"{'an older' if piece.is_stale else 'a'} summary of {', '.join(titles)}"
    page = f", page {piece.page}" if piece.page is not None else ""
    return f"{piece.source.title or piece.source.uri}{page}"
