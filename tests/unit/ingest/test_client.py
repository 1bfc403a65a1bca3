"""HLGraph, the SDK: opening, ingesting, deleting, as a caller of the package does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_keywords import keywords

from hlgraph import HLGraph, IngestOptions, Settings, connect, field
from hlgraph.errors import (
    ExtractionError,
    InputError,
    ModelMismatchError,
    SettingsError,
    StoreLockedError,
    UnknownNameError,
    WhereError,
)
from hlgraph.ingest.delete import Remover, delete_missing
from hlgraph.ingest.pipeline import batches
from hlgraph.ingest.report import Report
from hlgraph.progress import Progress
from hlgraph.records import Document, Kind
from hlgraph.settings import DEFAULT_STORE, ChunkSettings
from hlgraph.stores.open import open_stores
from hlgraph.testing.corpus import DOCUMENTS
from hlgraph.testing.embedder import WordEmbedder

_ALL_SOURCES = "a b c d e f g h i Orne Tessing Quill bridge report"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine says about hlgraph is not for the tests."""
    for name in ("STORE", "CORPUS", "CONFIG", "MODELS", "CACHE"):
        monkeypatch.delenv(f"HLGRAPH_{name}", raising=False)


def _files(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


def _uris(graph: HLGraph) -> set[str]:
    """The sources that a search for anything finds."""
    found = graph.search(_ALL_SOURCES, strategy="chunk", k=500).evidence
    return {item.source.uri for item in found}


def _records(graph: HLGraph) -> dict[Kind, int]:
    found = [item for item in graph.stats() if item.corpus == graph.corpus]
    return dict(found[0].records) if found else {}


def _check_clean(graph: HLGraph) -> None:
    assert [item for item in graph.check() if not item.is_fine] == []


# Opening


def test_a_target_is_a_url_a_settings_file_settings_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.yaml"
    path.write_text("store: hlgraph://./of-file\ncorpus: filed\nchunk: {max_tokens: 50}\n")
    made = Settings(store="hlgraph://./made", corpus="own")
    targets: list[tuple[str | Path | Settings | None, str, str]] = [
        ("hlgraph://./given", "hlgraph://./given", "default"),
        (str(path), "hlgraph://./of-file", "filed"),
        (path, "hlgraph://./of-file", "filed"),
        (made, "hlgraph://./made", "own"),
        (None, DEFAULT_STORE, "default"),
    ]
    for target, store, corpus in targets:
        with connect(target) as graph:
            assert (graph.settings.store, graph.corpus, graph.settings.corpus) == (store, corpus, corpus)
        with connect(target, corpus="other") as graph:
            assert (graph.settings.store, graph.corpus, graph.settings.corpus) == (store, "other", "other")
    monkeypatch.setenv("HLGRAPH_STORE", "hlgraph://./of-environment")
    monkeypatch.setenv("HLGRAPH_CORPUS", "environed")
    monkeypatch.setenv("HLGRAPH_CONFIG", str(path))
    with connect() as graph:
        assert (graph.settings.store, graph.corpus) == ("hlgraph://./of-environment", "environed")
        assert graph.settings.chunk.max_tokens == 50
    with connect("hlgraph://./given") as graph:  # what the caller says wins
        assert (graph.settings.store, graph.corpus) == ("hlgraph://./given", "environed")
    with connect(made) as graph:
        assert graph.settings is made


@pytest.mark.parametrize(
    ("target", "kind", "message"),
    [
        ("neo5j://localhost", UnknownNameError, "'neo5j://localhost' is not the URL of a store"),
        ("hlgraph://", UnknownNameError, "names no folder"),
        ("missing.yaml", SettingsError, r"missing\.yaml: the settings file cannot be read"),
        (Settings(store="folder"), UnknownNameError, "'folder' is not the URL of a store"),
    ],
)
def test_a_target_that_cannot_be_used_is_refused(
    target: str | Path | Settings, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        connect(target)


def test_opening_looking_and_asking_make_nothing_and_need_no_model(tmp_path: Path) -> None:
    with connect(f"hlgraph://{tmp_path}/s") as graph:
        assert graph.stats() == ()
        assert all(item.is_fine for item in graph.check())
        with pytest.raises(UnknownNameError, match="there is no corpus 'default'; nothing to delete"):
            graph.delete(everything=True)
    with (
        connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph,
        pytest.raises(UnknownNameError, match="ingest something into it first"),
    ):
        graph.search("anything")
    assert list(tmp_path.iterdir()) == []


def test_corpora_of_one_store_are_apart(graph: HLGraph) -> None:
    other = graph.in_corpus("other")
    graph.ingest(DOCUMENTS[:2])
    other.ingest(DOCUMENTS[2:])
    assert (graph.corpus, other.corpus) == ("default", "other")
    assert _uris(graph) == {"doc:bridge", "doc:engineer"}
    assert _uris(other) == {"doc:town", "doc:poet"}
    assert [[item.corpus for item in each.stats()] for each in (graph, other)] == [["default"], ["other"]]
    assert [item.corpus for item in graph.stats(everything=True)] == ["default", "other"]
    other.delete(everything=True)
    assert _uris(graph) == {"doc:bridge", "doc:engineer"}
    with pytest.raises(UnknownNameError, match=r"no corpus 'third'; .*or name another$"):
        graph.in_corpus("third").search("x")
    with pytest.raises(UnknownNameError, match="doc:town"):
        graph.delete(["doc:town"])


def test_what_one_session_wrote_another_reads(tmp_path: Path) -> None:
    url = f"hlgraph://{tmp_path}/s"
    with connect(url, embedder=WordEmbedder()) as reader:
        with connect(url, embedder=WordEmbedder()) as writer:
            writer.ingest(DOCUMENTS[:2])
            assert _uris(reader) == {"doc:bridge", "doc:engineer"}
            writer.ingest(DOCUMENTS)
        assert len(_uris(reader)) == 4


# Ingesting


def test_documents_given_directly_and_ingested_again(graph: HLGraph) -> None:
    seen: list[Progress] = []
    first = graph.ingest(DOCUMENTS, on_progress=seen.append)
    assert (first.sources_added, first.failed, first.problems) == (4, [], [])
    assert list(dict.fromkeys(at.step for at in seen)) == [
        "migrate",
        "read",
        "compare",
        "extract",
        "embed",
        "persist",
    ]
    assert (seen[-1].found, seen[-1].sources, seen[-1].chunks) == (4, 4, 4)
    assert {at.done for at in seen if at.step == "embed"} >= {
        0,
        max(at.total or 0 for at in seen if at.step == "embed"),
    }
    again = graph.ingest(list(reversed(DOCUMENTS)))
    assert (again.sources_unchanged, again.sources_added, again.sources_changed, again.added) == (4, 0, 0, {})
    edited = replace(DOCUMENTS[3], text="Ivo Brandt wrote about the winter.", metadata={"category": "poet"})
    report = graph.ingest([edited])
    assert (report.sources_changed, report.sources_unchanged, report.removed["chunk"]) == (1, 0, 1)
    assert report.kept["chunk"] == 3
    [found] = graph.search("winter", strategy="chunk", where='category = "poet"').evidence
    assert (found.text, found.source.version) == (edited.text, 2)
    _check_clean(graph)


def test_paths_and_documents_together(graph: HLGraph, tmp_path: Path) -> None:
    folder = _files(tmp_path / "docs", a="Tessing lies on the Orne.", b="The bridge is old.")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 7, "text": "A report.", "year": 1931}\n', encoding="utf-8")
    assert graph.ingest([folder, str(rows), DOCUMENTS[0]]).sources_added == 4
    assert graph.ingest(folder / "a.txt").sources_unchanged == 1
    assert graph.ingest(str(folder / "*.txt")).sources_unchanged == 2
    assert _uris(graph) == {
        (folder / "a.txt").as_uri(), (folder / "b.txt").as_uri(), f"{rows.as_uri()}#7", "doc:bridge",
    }  # fmt: skip


def test_one_that_fails_does_not_stop_the_rest(graph: HLGraph, tmp_path: Path) -> None:
    report = graph.ingest(
        [
            DOCUMENTS[0],
            DOCUMENTS[0],
            Document(" ", "text"),
            Document("doc:empty", " \n"),
            Document("doc:nan", "text", metadata={"x": float("nan")}),
            tmp_path / "missing.txt",
            DOCUMENTS[1],
        ]
    )
    assert report.sources_added == 2
    assert [item.uri for item in report.failed] == [
        "doc:bridge", " ", "doc:empty", "doc:nan", (tmp_path / "missing.txt").as_uri(),
    ]  # fmt: skip
    assert "read before in this run" in report.failed[0].error
    assert _uris(graph) == {"doc:bridge", "doc:engineer"}


def test_metadata_given_as_a_list_is_the_same_the_next_time(graph: HLGraph) -> None:
    document = Document("doc:1", "The bridge.", metadata={"tags": ["a", "b"]})  # type: ignore[dict-item]
    graph.ingest([document])
    assert graph.ingest([document]).sources_unchanged == 1
    assert len(graph.search("bridge", where='tags = "b"').evidence) == 1


def test_a_document_that_is_chunked_already_stays_whole(tmp_path: Path) -> None:
    long = Document("doc:long", " ".join(f"Tessing has a bridge with the number {at} in it." for at in range(60)))
    settings = Settings(store=f"hlgraph://{tmp_path}/s", chunk=ChunkSettings(max_tokens=60, overlap=0.0))
    with connect(settings, embedder=WordEmbedder()) as graph:
        graph.ingest([long], is_chunked=True)
        assert _records(graph)[Kind.CHUNK] == 1
        assert graph.search("bridge", strategy="chunk").evidence[0].text == long.text
        report = graph.ingest([long])  # cut differently, it counts as changed
        assert (report.sources_changed, report.removed["chunk"]) == (1, 1)
        by_60 = _records(graph)[Kind.CHUNK]
        assert by_60 > 5
    with connect(replace(settings, chunk=ChunkSettings(max_tokens=300)), embedder=WordEmbedder()) as graph:
        graph.ingest([long])
        assert 1 < _records(graph)[Kind.CHUNK] < by_60
        _check_clean(graph)


def test_options_that_cannot_be_used_are_refused_before_anything_is_written(graph: HLGraph, tmp_path: Path) -> None:
    refused: Sequence[tuple[IngestOptions, type[Exception], str]] = [
        (IngestOptions(extract="precomputed"), InputError, "needs files with its records"),
        (
            IngestOptions(extract="precomputed", extractions=("no.jsonl",)),
            ExtractionError,
            r"no\.jsonl: cannot be read",
        ),
        (IngestOptions(format="word"), UnknownNameError, "no format is called 'word'"),
        (IngestOptions(mapping={"uri": "x"}), InputError, "'uri' cannot be mapped"),
        (IngestOptions(encoding="utf-9"), InputError, "utf-9"),
        (IngestOptions(max_bytes=0), InputError, "max_bytes is 0"),
    ]
    for options, kind, message in refused:
        with pytest.raises(kind, match=message):
            graph.ingest(DOCUMENTS, **keywords(options))
    with pytest.raises(UnknownNameError, match="no extractor 'rules'"):
        graph.ingest(DOCUMENTS, extract="rules")  # type: ignore[arg-type]
    assert graph.stats() == ()


def test_another_model_is_refused_and_another_writer_too(graph: HLGraph, tmp_path: Path) -> None:
    graph.ingest(DOCUMENTS)
    url = f"hlgraph://{tmp_path}/store"
    with connect(url, embedder=WordEmbedder(16)) as other:
        for attempt in (lambda: other.ingest(DOCUMENTS), lambda: other.search("bridge")):
            with pytest.raises(ModelMismatchError, match=r"words/32 .* words/16"):
                attempt()
    opened = open_stores(url)
    with (
        opened.closing,
        connect(Settings(store=url, wait=0), embedder=WordEmbedder(32)) as hasty,
        opened.stores.graph.lock(),
        pytest.raises(StoreLockedError, match="is writing to this store"),
    ):
        hasty.ingest(DOCUMENTS)
    assert graph.ingest(DOCUMENTS).sources_unchanged == 4


# Deleting


@pytest.fixture
def filled(graph: HLGraph, tmp_path: Path) -> HLGraph:
    """Two folders of files, a file of rows, and the tiny corpus."""
    one, two = _files(tmp_path / "one", a="Orne a.", b="Orne b."), _files(tmp_path / "one2", c="Orne c.")
    rows = tmp_path / "rows.csv"
    rows.write_text("id,text\nx,Orne report\ny,Tessing report\n", encoding="utf-8")
    assert graph.ingest([one, two, rows, *DOCUMENTS]).sources_added == 9
    return graph


def _names(graph: HLGraph, folder: Path) -> set[str]:
    """The sources, with the folder of the test taken out of their uris."""
    return {uri.removeprefix(f"{folder.as_uri()}/") for uri in _uris(graph)}


@pytest.mark.parametrize(
    ("named", "gone"),
    [
        (["doc:bridge"], {"doc:bridge"}),
        (["one/a.txt", "doc:poet"], {"one/a.txt", "doc:poet"}),
        (["one"], {"one/a.txt", "one/b.txt"}),
        (["one/"], {"one/a.txt", "one/b.txt"}),
        (["rows.csv"], {"rows.csv#x", "rows.csv#y"}),
        (["rows.csv#y", "rows.csv#y"], {"rows.csv#y"}),
        (["one/../one2/c.txt"], {"one2/c.txt"}),
    ],
)
def test_delete_by_uri_path_file_or_folder(
    filled: HLGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: list[str], gone: set[str]
) -> None:
    before = _names(filled, tmp_path)
    monkeypatch.chdir(tmp_path)
    given = [f"{tmp_path.as_uri()}/{name}" if "#" in name else name for name in named]
    report = filled.delete(given)
    assert report.sources_removed == len(gone)
    assert _names(filled, tmp_path) == before - gone
    _check_clean(filled)


def test_delete_one_that_is_given_as_a_text(filled: HLGraph, tmp_path: Path) -> None:
    assert filled.delete("doc:bridge").sources_removed == 1
    assert filled.delete(str(tmp_path / "one")).sources_removed == 2


def test_delete_by_filter(filled: HLGraph, tmp_path: Path) -> None:
    assert filled.delete(where='category = "person"').sources_removed == 2
    assert filled.delete(where=field("filename").is_in(["a.txt", "c.txt"])).sources_removed == 2
    assert filled.delete(where=~field("title").exists()).sources_removed == 0
    assert _names(filled, tmp_path) == {"one/b.txt", "rows.csv#x", "rows.csv#y", "doc:bridge", "doc:town"}
    _check_clean(filled)


def test_delete_all_leaves_an_empty_corpus_that_can_be_filled_again(filled: HLGraph) -> None:
    report = filled.delete(everything=True)
    assert (report.sources_removed, set(report.kept.values())) == (9, {0})
    assert not any(_records(filled).values())
    _check_clean(filled)
    assert filled.ingest(DOCUMENTS).sources_added == 4


def test_a_deletion_that_names_something_wrong_deletes_nothing(filled: HLGraph, tmp_path: Path) -> None:
    before = _names(filled, tmp_path)
    for wrong in ("doc:bridge ", "doc:", str(tmp_path / "one" / "z.txt"), str(tmp_path / "on")):
        with pytest.raises(UnknownNameError, match="nothing was deleted"):
            filled.delete(["doc:bridge", wrong])
    calls: list[Callable[[], object]] = [
        lambda: filled.delete(()),
        lambda: filled.delete([]),
        lambda: filled.delete(["doc:bridge"], everything=True),
        lambda: filled.delete(["doc:bridge"], where="exists year"),
        lambda: filled.delete(where="exists year", everything=True),
    ]
    for call in calls:
        with pytest.raises(InputError, match="in one way"):
            call()
    with pytest.raises(WhereError):
        filled.delete(where="year <")
    assert _names(filled, tmp_path) == before


@pytest.mark.parametrize("where", ['categorie != "person"', "not exists yaer", 'categorie = "person"'])
def test_a_filter_on_a_field_that_is_not_there_deletes_nothing(filled: HLGraph, tmp_path: Path, where: str) -> None:
    """It would match everything, or nothing: a misspelling must not empty a corpus."""
    before = _names(filled, tmp_path)
    with pytest.raises(WhereError, match="did you mean"):
        filled.delete(where=where)
    assert _names(filled, tmp_path) == before


def test_ingest_removes_what_is_not_there_any_more_when_asked(filled: HLGraph, tmp_path: Path) -> None:
    before = _names(filled, tmp_path)
    (tmp_path / "one" / "a.txt").unlink()
    (tmp_path / "one2" / "c.txt").write_bytes(b"caf\xe9\0")
    (tmp_path / "rows.csv").write_text("id,text\nx,Orne report\n", encoding="utf-8")
    assert filled.ingest(tmp_path / "one").sources_removed == 0
    options = IngestOptions(delete_missing=True)
    report = filled.ingest([tmp_path / "one", tmp_path / "rows.csv"], **keywords(options))
    assert (report.sources_removed, report.sources_unchanged) == (2, 2)
    assert _names(filled, tmp_path) == before - {"one/a.txt", "rows.csv#y"}
    report = filled.ingest([tmp_path / "one2", DOCUMENTS[0]], **keywords(options))  # what cannot be read is not missing
    assert (report.sources_removed, len(report.failed)) == (0, 1)
    assert _names(filled, tmp_path) == before - {"one/a.txt", "rows.csv#y"}
    _check_clean(filled)


def test_a_change_holds_100_000_characters() -> None:
    documents = [Document(f"doc:{at}", "word " * 12_000, "") for at in range(5)]
    assert [len(batch) for batch in batches(documents, Report(), seen=set())] == [2, 2, 1]


def test_a_source_that_two_parts_of_a_run_counted_hides_no_missing_one(graph: HLGraph) -> None:
    graph.ingest([Document("doc:a", "The mill stands."), Document("doc:b", "The bridge stands.")])
    stores, seen = graph._opened.stores, Report(sources_unchanged=2)
    delete_missing(seen, ["doc:a", "doc:b"], corpus="default", keep={"doc:a"}, remover=Remover(stores))
    assert seen.sources_removed == 1
    assert [item.records[Kind.SOURCE] for item in graph.stats()] == [1]
