"""From passages and files of extractions, made elsewhere, to a graph and answers with exact provenance."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from ingest_keywords import keywords

from hlgraph import HLGraph, IngestOptions, Settings, connect
from hlgraph.ids import entity_id, source_id
from hlgraph.ingest.report import Report
from hlgraph.records import Entity, Fact, Kind, Relationship, Statement
from hlgraph.stores.open import open_stores
from hlgraph.stores.protocols import PullShape, Scope, Stores
from hlgraph.testing.embedder import WordEmbedder

_Row = Mapping[str, object]

_PASSAGES: tuple[_Row, ...] = (
    {"id": "p1", "title": "Aldane Bridge", "text": "The Aldane Bridge was designed by Mara Quill. It opened in 1931."},
    {"id": "p2", "title": "Mara Quill", "text": "Mara Quill, an engineer, was born in Tessing. 🌉 She studied there."},
    {"id": "p3", "title": "Tessing", "text": "Tessing lies on the Orne."},
    {"id": "p4", "title": "Nobody", "text": "Nothing was extracted here."},
)
_EXTRACTIONS: tuple[_Row, ...] = (
    {
        "passage_id": "p1",
        "entities": ["aldane bridge", "mara quill"],
        "triples": [["aldane bridge", "designed by", "mara quill"], ["aldane bridge", "opened in", "1931"]],
        "llm": "ignored",
    },
    {"passage_id": "p2", "entities": ["mara quill", "tessing"], "triples": [["mara quill", "born in", "tessing"]]},
    {"passage_id": "p3", "entities": ["tessing", "orne"], "triples": [["tessing", "lies on", "orne"]]},
)
_PROPOSITIONS: tuple[_Row, ...] = (
    {
        "passage_id": "p1",
        "propositions": [
            {"text": "The Aldane Bridge was designed by Mara Quill.", "entities": ["aldane bridge", "mara quill"]},
            {"text": "The Aldane Bridge opened in 1931.", "entities": ["aldane bridge"]},
        ],
    },
    {
        "passage_id": "p2",
        "propositions": [
            {"text": "mara quill, an engineer,  was born in tessing.", "entities": ["mara quill", "tessing"]},
            {"text": "She studied there.", "entities": []},
        ],
    },
)


def _write(path: Path, rows: Sequence[_Row], *, more: str = "") -> Path:
    text = "".join(f"{json.dumps(row)}\n" for row in rows) + more
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


class _Set:
    """A folder with passages and what was extracted from them, and a graph to bring them into."""

    def __init__(self, folder: Path) -> None:
        self.passages = _write(folder / "corpus.jsonl", _PASSAGES)
        self.extractions = _write(folder / "extractions.jsonl.gz", _EXTRACTIONS)
        self.propositions = _write(folder / "derived_propositions.jsonl", _PROPOSITIONS)
        self.embedder = WordEmbedder()
        self.graph: HLGraph = connect(Settings(store=f"hlgraph://{folder}/s", corpus="c"), embedder=self.embedder)
        self.opened = open_stores(f"hlgraph://{folder}/s")

    @property
    def stores(self) -> Stores:
        return self.opened.stores

    def ingest(self) -> Report:
        files = (str(self.extractions), str(self.propositions))
        options = IngestOptions(extract="precomputed", extractions=files, is_chunked=True)
        return self.graph.ingest(self.passages, **keywords(options))

    def source(self, key: str) -> str:
        return source_id("c", f"{self.passages.as_uri()}#{key}")

    def statements(self, key: str) -> dict[str, Statement]:
        found = self.stores.graph.find(Kind.STATEMENT, Scope("c", sources=(self.source(key),)))
        return {item.text: item for item in found if isinstance(item, Statement)}

    def entities(self) -> dict[str, Entity]:
        found = self.stores.graph.find(Kind.ENTITY, Scope("c"))
        return {item.name: item for item in found if isinstance(item, Entity)}

    def mentioned(self, statement: str) -> set[str]:
        shape = PullShape(frozenset({Relationship.MENTIONS}), frozenset({Kind.STATEMENT, Kind.ENTITY}))
        graph = self.stores.graph.pull([statement], shape, scope=Scope("c"))
        ids = [str(graph.ids[at]) for at in graph.nodes(Kind.ENTITY)]
        held = self.stores.graph.records(Kind.ENTITY, ids, scope=Scope("c"))
        return {item.name for item in held if isinstance(item, Entity)}

    def check_clean(self) -> None:
        assert [item for item in self.graph.check() if not item.is_fine] == []


@pytest.fixture
def given(tmp_path: Path) -> Iterator[_Set]:
    found = _Set(tmp_path)
    with found.graph, found.opened.closing:
        yield found


def test_statements_entities_and_facts_come_from_the_files(given: _Set) -> None:
    report = given.ingest()
    assert (report.sources_added, report.failed) == (4, [])
    assert set(given.statements("p1")) == {
        "The Aldane Bridge was designed by Mara Quill.",
        "The Aldane Bridge opened in 1931.",
    }
    assert set(given.statements("p2")) == {"mara quill, an engineer, was born in tessing.", "She studied there."}
    assert set(given.statements("p3")) == {"tessing lies on orne"}  # triples alone become statements
    # Names have the capitals of the passages; "1931" is in no list of entities, so it is a literal.
    assert set(given.entities()) == {"Aldane Bridge", "Mara Quill", "Tessing", "Orne"}
    facts = {item.text: item for item in given.stores.graph.find(Kind.FACT, Scope("c")) if isinstance(item, Fact)}
    assert set(facts) == {
        "Aldane Bridge designed by Mara Quill",
        "Aldane Bridge opened in 1931",
        "Mara Quill born in Tessing",
        "Tessing lies on Orne",
    }
    assert facts["Aldane Bridge opened in 1931"].object_id is None
    assert facts["Mara Quill born in Tessing"].object_id == entity_id("c", "tessing")
    given.check_clean()


def test_mentions_and_topics_go_to_the_statements_that_name_them(given: _Set) -> None:
    given.ingest()
    [designed, opened] = (
        item.id for _, item in sorted(given.statements("p1").items(), key=lambda pair: "opened" in pair[0])
    )
    assert given.mentioned(designed) == {"Aldane Bridge", "Mara Quill"}
    assert given.mentioned(opened) == {"Aldane Bridge"}
    assert given.mentioned(given.statements("p2")["She studied there."].id) == set()
    result = given.graph.search("Tessing", strategy="topic")
    assert {item.source.title for item in result.evidence} >= {"Tessing", "Mara Quill"}


def test_spans_point_at_the_words_of_the_passage(given: _Set) -> None:
    given.ingest()
    texts = {given.source(str(row["id"])): str(row["text"]) for row in _PASSAGES}

    def words(key: str, statement: str) -> str:
        found = given.statements(key)[statement]
        return texts[given.source(key)][found.start : found.end]

    assert (
        words("p1", "The Aldane Bridge was designed by Mara Quill.") == "The Aldane Bridge was designed by Mara Quill."
    )
    assert words("p2", "She studied there.") == "She studied there."
    # But for case and white space; what is nowhere in the passage is said of all of it.
    assert (
        words("p2", "mara quill, an engineer, was born in tessing.") == "Mara Quill, an engineer, was born in Tessing."
    )
    assert words("p1", "The Aldane Bridge opened in 1931.") == texts[given.source("p1")]
    assert words("p3", "tessing lies on orne") == "Tessing lies on the Orne."


def test_a_passage_without_a_record_is_kept_and_reported(given: _Set) -> None:
    report = given.ingest()
    [problem] = report.problems
    assert problem.uri.endswith("#p4")
    assert "no record for 'p4'" in problem.error
    assert given.statements("p4") == {}
    [found] = given.graph.search("nothing extracted", strategy="chunk", k=1).evidence
    assert found.source.title == "Nobody"


def test_questions_over_two_passages_are_answered_with_citations(given: _Set) -> None:
    given.ingest()
    answer = given.graph.answer("Where was the designer of the Aldane Bridge born?")
    assert answer.is_supported
    assert {item.evidence.source.title for item in answer.citations} >= {"Aldane Bridge", "Mara Quill"}
    linked = given.graph.search("Aldane Bridge opened", strategy="chunk_entity").evidence
    assert {item.source.title for item in linked} >= {"Aldane Bridge", "Mara Quill"}


def test_the_same_files_again_change_nothing(given: _Set) -> None:
    given.ingest()
    given.embedder.embedded.clear()
    report = given.ingest()
    assert (report.sources_unchanged, report.added, report.removed) == (4, {}, {})
    assert given.embedder.embedded == []


def test_a_new_record_touches_its_own_passage_only(given: _Set) -> None:
    given.ingest()
    third = {
        "passage_id": "p3",
        "propositions": [{"text": "Tessing lies on the Orne.", "entities": ["tessing", "orne"]}],
    }
    _write(given.propositions, (*_PROPOSITIONS, third))
    given.embedder.embedded.clear()
    report = given.ingest()
    assert (report.failed, report.added["statement"], report.removed["statement"]) == ([], 1, 1)
    assert set(given.statements("p3")) == {"Tessing lies on the Orne."}
    # Its chunk and its statement are embedded, and names of topics; no other passage was extracted again.
    names = {"tessing", "aldane bridge", "mara quill"}
    assert set(given.embedder.embedded) - names == {"Tessing\nTessing lies on the Orne.", "Tessing lies on the Orne."}
    given.check_clean()
    _write(given.propositions, _PROPOSITIONS)
    assert given.ingest().removed["statement"] == 1
    assert set(given.statements("p3")) == {"tessing lies on orne"}
    given.check_clean()


def test_a_broken_line_is_reported_and_costs_one_record(given: _Set) -> None:
    _write(given.propositions, _PROPOSITIONS[:1], more='{"passage_id": "p2", "propositions": [{"text": 7}]}\n{"oops\n')
    report = given.ingest()
    assert report.sources_added == 4
    errors = [item.error for item in report.problems]
    assert any("derived_propositions.jsonl, line 2" in error for error in errors)
    assert any("derived_propositions.jsonl, line 3" in error for error in errors)
    # The other file still says something about the passage.
    assert set(given.statements("p2")) == {"mara quill born in tessing"}
    given.check_clean()


def test_a_passage_that_goes_takes_what_only_it_said(given: _Set) -> None:
    given.ingest()
    given.graph.delete([f"{given.passages.as_uri()}#p1"])
    assert set(given.entities()) == {"Mara Quill", "Tessing", "Orne"}
    facts = {item.text for item in given.stores.graph.find(Kind.FACT, Scope("c")) if isinstance(item, Fact)}
    assert facts == {"Mara Quill born in Tessing", "Tessing lies on Orne"}
    given.check_clean()
    assert given.ingest().sources_added == 1
    assert set(given.entities()) == {"Aldane Bridge", "Mara Quill", "Tessing", "Orne"}
    given.check_clean()
