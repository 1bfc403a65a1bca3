"""Whatever callers give to the SDK, the awaited one too: it is used, or it is one error of hlgraph that says what to give."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hlgraph
from hlgraph import AsyncHLGraph, Document, HLGraph, IngestOptions, connect
from hlgraph.errors import InputError, SettingsError, StoreClosedError
from hlgraph.sdk import arguments
from hlgraph.testing.embedder import WordEmbedder

DOCUMENTS = [
    Document("doc:a", "The Aldane Bridge was designed by Mara Quill.", metadata={"year": 1931, "kind": "bridge"}),
    Document("doc:b", "Tessing lies on the Orne.", metadata={"year": 1940, "kind": "town"}),
]
HALF = "a\ud800"
PARTS = (hlgraph.Answers, hlgraph.Batches, hlgraph.Communities, hlgraph.CorpusDomain, hlgraph.Failures)
PARTS += (hlgraph.Hierarchy, hlgraph.Merges, hlgraph.Quality)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HLGraph]:
    with connect(f"hlgraph://{tmp_path_factory.mktemp('s')}", embedder=WordEmbedder()) as opened:
        opened.ingest(DOCUMENTS)
        yield opened


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"question": None}, "question is None; give a text"),
    ("search", {"question": b"x"}, r"question is b'x' \(a bytes\); give a text"),
    ("search", {"question": HALF}, "half of a surrogate pair; remove that character"),
    ("search", {"question": "a\0b"}, "NUL"),
    ("search", {"question": "x", "k": "3"}, r"k is '3' \(a str\); give a whole number"),
    ("search", {"question": "x", "k": 3.5}, "give a whole number"),
    ("search", {"question": "x", "k": True}, "give a whole number"),
    ("search", {"question": "x", "where": 5}, "where is 5 .*give a filter of hlgraph.field, a text, a mapping or None"),
    ("search", {"question": "x", "where": {}}, "empty mapping"),
    ("search", {"question": "x", "where": {"year": "1931"}}, "'year' holds numbers"),
    ("search", {"question": "x", "where": {"year": []}}, "'year' holds numbers"),
    ("search", {"question": "x", "where": "kind = 5"}, "'kind' holds texts"),
    ("search", {"question": "x", "diversity": "0.1"}, "give a number or None"),
    ("search", {"question": "x", "unit": ["chunk"]}, "give 'statement' or 'chunk'"),
    ("search", {"question": "x", "strategy": None}, "strategy is None; give the name of one"),
    ("search", {"question": "x", "strategy": dict}, "or a retriever"),
    ("answer", {"question": None}, "question is None"),
    ("answer", {"question": "x", "k": "3"}, "give a whole number or None"),
    ("answer", {"question": "x", "choices": ["a", 2]}, r"choices\[1\] is 2 .*give a text"),
    ("answer", {"question": "x", "budget": 5}, "give a Budget or None"),
    ("ingest", {"sources": None}, "sources is None; give a text, a Path, a Document, a mapping, a DataFrame or a list"),
    ("ingest", {"sources": 5}, "sources is 5"),
    ("ingest", {"sources": b"x"}, "sources is b'x'"),
    ("ingest", {"sources": [DOCUMENTS[0], None]}, r"sources\[1\] is None"),
    ("ingest", {"sources": "a\0b"}, "NUL"),
    ("ingest", {"sources": [], "mapping": {"text": 5}}, r"mapping\['text'\] is 5"),
    ("ingest", {"sources": [], "max_bytes": "1"}, "max_bytes is '1'"),
    ("ingest", {"sources": [], "on_progress": 5}, "give a function or None"),
    ("ingest", {"sources": [], "extractions": "file.jsonl"}, "give a list, each a text"),
    ("plan", {"sources": [], "options": IngestOptions(max_bytes="1")}, "options.max_bytes is '1'"),  # type: ignore[arg-type]
    ("delete", {"uris": None}, "uris is None; give a text or a list"),
    ("delete", {"uris": ["doc:a", 5]}, r"uris\[1\] is 5"),
    ("delete", {"uris": HALF}, "surrogate"),
    ("delete", {"everything": "no"}, "everything is 'no' .*give True or False"),
    ("cypher", {"query": None}, "query is None"),
    ("cypher", {"query": "find_hubs", "name": HALF}, "name is .*surrogate"),
    ("ledger", {"by": 5}, "by is 5"),
    ("in_corpus", {"name": None}, "name is None; give a text"),
    ("in_corpus", {"name": ""}, "the name of the corpus is ''"),
    ("watched", {"watch": 5}, "give a function"),
]


@pytest.mark.parametrize("is_awaited", [False, True], ids=["", "awaited"])
@pytest.mark.parametrize(("method", "arguments", "says"), WRONG)
def test_what_cannot_be_used_is_one_error_that_says_what_to_give(
    graph: HLGraph, method: str, arguments: dict[str, Any], says: str, is_awaited: bool
) -> None:
    positional = [arguments["query"]] if method == "cypher" else []
    named = {name: value for name, value in arguments.items() if name != "query"}
    with pytest.raises(InputError, match=says):
        _called(AsyncHLGraph(graph) if is_awaited else graph, method, positional, named)


def _called(target: object, method: str, positional: list[Any], named: dict[str, Any]) -> None:
    found = getattr(target, method)(*positional, **named)
    if inspect.isawaitable(found):
        asyncio.run(_result(found))


async def _result(found: Any) -> object:
    return await found


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda graph: graph.communities.build(resolution="1"), "resolution is '1'"),
        (lambda graph: graph.merges.propose("x"), "give a CandidateQuery or None"),
        (lambda graph: graph.merges.apply(5), "pairs is 5"),
        (lambda graph: graph.merges.apply([("a", 5)]), r"pairs\[0\]\[1\] is 5"),
        (lambda graph: graph.domain.set(5), "give a Domain"),
        (lambda graph: graph.failures.find("x"), "give a list, each a text or None"),
        (lambda graph: graph.hierarchy.find(k="3"), "k is '3'"),
        (lambda graph: graph.quality.coverage("x"), "uris is 'x'"),
    ],
)
def test_the_parts_check_too(graph: HLGraph, call: Callable[[HLGraph], object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        call(graph)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"target": 5}, "target is 5 .*give a text, a Path, a Settings or None"),
        ({"target": []}, "target is"),
        ({"target": ""}, "target is an empty text"),
        ({"target": "hlgraph:///tmp/a\0b"}, "NUL"),
        ({"vectors": 5}, "vectors is 5"),
        ({"corpus": ""}, "the name of the corpus is ''"),
        ({"corpus": HALF}, "surrogate"),
    ],
)
def test_a_graph_that_cannot_be_opened_says_why(tmp_path: Path, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        connect(**{"target": f"hlgraph://{tmp_path}", **arguments}).ingest(DOCUMENTS)
    assert not list(tmp_path.iterdir())


def test_valid_arguments_are_accepted(graph: HLGraph) -> None:
    import numpy as np

    assert graph.ingest(DOCUMENTS[0]).sources_unchanged == 1
    assert graph.ingest(iter(DOCUMENTS)).sources_unchanged == 2
    for where in (
        {"year": 1931},
        {"kind": ["bridge", "tower"], "year": 1931},
        hlgraph.field("year") < 1940,
        "year < 1940",
    ):
        assert {item.source.uri for item in graph.search("Orne", k=np.int64(5), where=where).evidence} == {"doc:a"}
    with pytest.raises(TypeError, match=r"search\(\) got an unexpected keyword"):
        graph.search("x", limit=5)  # type: ignore[call-arg]


def test_scalars_of_libraries_are_accepted_wherever_a_scalar_is(tmp_path: Path) -> None:
    """Numbers, flags and texts that a data frame or an array returns."""
    import numpy as np
    import pandas as pd

    one, text, yes = np.int64(1), np.str_, np.bool_(True)
    with connect(f"hlgraph://{tmp_path}", corpus=text("default"), embedder=WordEmbedder()) as graph:
        assert graph.ingest(DOCUMENTS, keep_history=yes, max_bytes=np.int32(10_000)).sources_added == 2
        (change,) = graph.history.changes(one)
        for as_of in (np.int64(change.id), pd.Timestamp.now("UTC").to_datetime64(), pd.Timestamp.now("UTC")):
            assert len(graph.sources.list(as_of=as_of, limit=one)) == 1  # type: ignore[arg-type]
        with pytest.raises(InputError, match="as_of is NaT; give a date"):
            graph.sources.list(as_of=pd.NaT)
        assert graph.history.diff_of(np.int64(change.id)).sources_added == graph.history.diff(np.int64(0)).sources_added  # type: ignore[arg-type]
        assert graph.groups.set([text("staff")], uris=[text("doc:a")]) == 1
        assert [source.uri for source in graph.as_caller({text("staff")}).sources.list()] == ["doc:a"]
        assert graph.delete(everything=yes).sources_removed == 2


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (Document(None, "a"), "the uri is None"),  # type: ignore[arg-type]
        (Document("u", None), "the text is None"),  # type: ignore[arg-type]
        (Document("u", "a", title=5), "the title is 5"),  # type: ignore[arg-type]
        (Document("u", "a", metadata=5), "the metadata is 5"),  # type: ignore[arg-type]
    ],
)
def test_a_document_that_is_none_fails_alone(graph: HLGraph, document: Document, says: str) -> None:
    report = graph.ingest([document, *DOCUMENTS])
    assert report.sources_unchanged == 2
    assert [says in item.error for item in report.failed] == [True]


CLOSED: list[Callable[[HLGraph], object]] = [
    lambda graph: graph.search("bridge"),
    lambda graph: graph.answer("bridge"),
    lambda graph: graph.answer_stream("bridge"),
    lambda graph: graph.ingest(DOCUMENTS),
    lambda graph: graph.delete("doc:a"),
    lambda graph: graph.stats(),
    lambda graph: graph.check(),
    lambda graph: graph.ledger(),
    lambda graph: graph.communities,
    lambda graph: graph.in_corpus("other").stats(),
    lambda graph: graph.cypher("find_hubs"),
    lambda graph: asyncio.run(_result(AsyncHLGraph(graph).search("bridge"))),
]


def test_use_after_close_is_an_error(tmp_path: Path) -> None:
    with connect(f"hlgraph://{tmp_path}", embedder=WordEmbedder()) as graph:
        graph.ingest(DOCUMENTS)
        communities, stores = graph.communities, graph._opened.stores
    graph.close()
    for call in (*CLOSED, lambda _: communities.find(), lambda _: stores.graph.stats()):
        with pytest.raises(StoreClosedError, match="open it again"):
            call(graph)


def test_every_annotation_of_the_sdk_is_understood() -> None:
    """One that is not would let everything through."""
    for kind in (HLGraph, *PARTS):
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                given = inspect.unwrap(method)
                names = inspect.get_annotations(given).keys() - {"return", "params"}
                unknown = {item for item in names if arguments._wanted(given, item) is object}
                assert not unknown, (kind, name)


def test_the_name_of_a_corpus_in_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLGRAPH_CORPUS", " ")
    with pytest.raises(SettingsError, match="the name of the corpus"):
        connect()
