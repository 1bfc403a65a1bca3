"""hlgraph in LangChain: the retriever passes LangChain's own suite; documents go in and out; an agent has a tool."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

import hlgraph
from hlgraph.errors import InputError, ModelMismatchError, UnknownNameError, WhereError
from hlgraph.integrations.langchain import HLGraphRetriever, from_langchain, search_tool, to_langchain
from hlgraph.records import Evidence, Source
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.retrieve.strategies.statement import TUNED_STATEMENT
from hlgraph.sdk.client import HLGraph
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder

_QUESTION = "Who designed the Aldane Bridge?"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HLGraph]:
    folder = tmp_path_factory.mktemp("langchain")
    with hlgraph.connect(f"hlgraph://{folder}/s", embedder=WordEmbedder()) as graph:
        graph.ingest(DOCUMENTS)
        yield graph


class TestHLGraphRetriever(RetrieversIntegrationTests):
    """LangChain's suite for retrievers."""

    @pytest.fixture(autouse=True)
    def _graph(self, opened: HLGraph) -> None:
        self.graph = opened

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HLGraphRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"graph": self.graph}

    @property
    def retriever_query_example(self) -> str:
        return _QUESTION


def test_a_document_says_where_it_is_from(opened: HLGraph) -> None:
    (found,) = HLGraphRetriever(graph=opened, k=1).invoke(_QUESTION)
    evidence = opened.search(_QUESTION, k=1).evidence[0]
    assert found.page_content == evidence.text == "The Aldane Bridge was designed by Mara Quill."
    assert found.id == evidence.statement_id
    assert found.metadata["source"] == "doc:bridge"
    assert (found.metadata["title"], found.metadata["year"], found.metadata["is_open"]) == ("Aldane Bridge", 1931, True)
    assert found.metadata["score"] == evidence.score
    assert DOCUMENTS[0].text[found.metadata["start"] : found.metadata["end"]] == found.page_content


def test_fields_and_options_of_one_call(opened: HLGraph) -> None:
    retriever = HLGraphRetriever(graph=opened, k=3, where='category = "person"')
    assert {item.metadata["source"] for item in retriever.invoke(_QUESTION)} == {"doc:engineer", "doc:poet"}
    found = retriever.invoke(
        _QUESTION, where=hlgraph.field("category") == "place", unit="chunk", mode="hybrid", strategy="chunk"
    )
    assert [item.metadata["statement_id"] for item in found] == [None]
    named = HLGraphRetriever(graph=opened, strategy="chunk", mode="text", k=2).invoke(_QUESTION)
    own = HLGraphRetriever(graph=opened, strategy=ChunkRetriever(mode="text"), k=2)
    assert [item.page_content for item in own.invoke(_QUESTION)] == [item.page_content for item in named]
    with pytest.raises(InputError, match="a search has no option 'top'; there are: k, mode"):
        retriever.invoke(_QUESTION, top=3)
    with pytest.raises(InputError, match="k is 0"):
        retriever.invoke(_QUESTION, k=0)
    with pytest.raises(WhereError, match="nowhere"):
        retriever.invoke(_QUESTION, where="nowhere = 1")
    with pytest.raises(UnknownNameError, match="did you mean 'statement'"):
        HLGraphRetriever(graph=opened, strategy="statment")
    with pytest.raises(ValueError, match=r"Extra inputs"):
        HLGraphRetriever(graph=opened, top=1)


async def test_many_questions_at_once(opened: HLGraph) -> None:
    retriever = HLGraphRetriever(graph=opened, k=2)
    questions = [_QUESTION, "Where was Mara Quill born?", "Who wrote about the Orne?"] * 4
    found = await asyncio.gather(*(retriever.ainvoke(question) for question in questions))
    assert [[item.id for item in items] for items in found] == [
        [item.id for item in retriever.invoke(question)] for question in questions
    ]


# Documents in


def test_ids_and_types_of_metadata_are_kept() -> None:
    given = LangChainDocument(
        "A text.\r\nIt goes on.",
        id="a b#1",
        metadata={
            "title": " A \n title ",
            "year": 1931,
            "height": 1.75,
            "is_open": True,
            "tags": ["a", "b"],
            "at": {"place": "Orne", "day": dt.date(2024, 3, 5)},
            "nothing": None,
        },
    )
    (found,) = from_langchain([given])
    assert (found.uri, found.key, found.title) == ("langchain:a%20b%231", "a b#1", "A title")
    assert found.text == "A text.\nIt goes on."
    assert found.metadata == {
        "year": 1931,
        "height": 1.75,
        "is_open": True,
        "tags": ("a", "b"),
        "at.place": "Orne",
        "at.day": "2024-03-05",
    }


def test_uris_come_from_sources_pages_or_texts() -> None:
    given = [
        LangChainDocument("one", metadata={"source": "a.pdf", "page": 1}),
        LangChainDocument("two", metadata={"source": "a.pdf", "page": 2}),
        LangChainDocument("three", metadata={"source": "b.txt"}),
        LangChainDocument("four", metadata={"source": "c.txt"}),
        LangChainDocument("five", metadata={"source": "c.txt"}),
        LangChainDocument("six"),
        LangChainDocument("seven", metadata={"source": 7}),
    ]
    uris = [item.uri for item in from_langchain(given)]
    assert uris[:3] == ["a.pdf#page=1", "a.pdf#page=2", "b.txt"]
    assert [uri.partition("#")[0] for uri in uris[3:5]] == ["c.txt", "c.txt"]
    assert len(set(uris)) == 7
    assert all(uri.startswith("langchain:") for uri in uris[5:])
    assert [item.uri for item in from_langchain(given)] == uris


def test_documents_are_ingested_once(tmp_path: Path) -> None:
    given = [
        LangChainDocument("The Aldane Bridge was designed by Mara Quill.", id="1", metadata={"year": 1931}),
        LangChainDocument("Mara Quill was born in Tessing.", metadata={"source": "quill.txt"}),
    ]
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        assert graph.ingest(from_langchain(given)).sources_added == 2
        assert graph.ingest(from_langchain(given)).sources_unchanged == 2
        found = HLGraphRetriever(graph=graph, k=5, where="year = 1931").invoke("bridge")
        assert [item.metadata["source"] for item in found] == ["langchain:1"]


def test_names_of_a_source_do_not_hide_ours() -> None:
    source = Source("s" * 32, "c", "doc:1", "Title", "sum", {"score": 7, "page": "x", "own": 1})
    found = to_langchain(Evidence("Text.", 0.5, "c" * 32, 0, 5, source, page=3, labels=("Row: 1",)))
    assert (found.page_content, found.metadata["labels"]) == ("Text.", ["Row: 1"])
    assert (found.metadata["score"], found.metadata["page"], found.metadata["own"]) == (0.5, 3, 1)
    assert found.metadata["source_metadata"] == {"score": 7, "page": "x", "own": 1}


# A tool


def test_a_tool_gives_numbered_evidence_and_the_evidence_itself(opened: HLGraph) -> None:
    tool = search_tool(opened, strategy=TUNED_STATEMENT)
    assert tool.name == "search_corpus"
    assert "'default'" in tool.description
    assert set(tool.args) == {"question", "k", "where"}
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": _QUESTION, "k": 2}}
    message = tool.invoke(call)
    assert message.content.splitlines()[0] == "[1] The Aldane Bridge was designed by Mara Quill. (Aldane Bridge)"
    assert len(message.artifact) == 2
    assert message.artifact[0].source.uri == "doc:bridge"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"where": "nowhere = 1"}, "nowhere"), ({"where": "year >"}, "year"), ({"question": "  "}, "empty")],
)
def test_what_an_agent_asks_wrongly_comes_back_to_it(opened: HLGraph, arguments: dict[str, str], says: str) -> None:
    tool = search_tool(opened)
    call = {"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": _QUESTION, **arguments}}
    message = tool.invoke(call)
    assert message.status == "error"
    assert says in message.content


def test_errors_that_an_agent_cannot_mend_are_raised(opened: HLGraph) -> None:
    with hlgraph.connect(opened.settings, embedder=WordEmbedder(8)) as graph, pytest.raises(ModelMismatchError):
        search_tool(graph).invoke({"question": _QUESTION})


async def test_a_tool_in_a_loop(opened: HLGraph) -> None:
    assert "Mara Quill" in await search_tool(opened).ainvoke({"question": _QUESTION})
