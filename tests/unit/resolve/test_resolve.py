"""What of a document is new, what stays, what moves, what goes; and the one change that a batch becomes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest

from hlgraph import ids
from hlgraph.change import About, Change, Move
from hlgraph.extract.extractor import ChunkInput
from hlgraph.persist.assemble import Extracted, assemble, removal
from hlgraph.persist.compare import ChunkPlan, Comparison, compare, plan_chunks
from hlgraph.records import Document, Extraction, Mention, Metadata, Proposition, Source, Span, Triple

_PROCESSING = ("chunker/1", "extractor/1")
_DOCUMENT = Document("doc:1", "One. Two. Three.", "Title", {"year": 1931, "tags": ("a", "b")}, key="k1")


class _Extractor:
    """Looks at the text of a chunk only."""

    problems: tuple[str, ...] = ()

    def __init__(self, version: str = "1") -> None:
        self.fingerprint = f"test/{version}"

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        return [Extraction() for _ in chunks]

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        return f"{self.fingerprint}|{chunk.text}"


def _source(document: Document = _DOCUMENT, **changes: str | int | Metadata) -> Source:
    compared = compare(document, "c", stored=None, processing=_PROCESSING)
    assert compared is not None
    return replace(compared.source, **changes)  # type: ignore[arg-type]


def _compared(document: Document, stored: Source | None = None) -> Comparison:
    found = compare(document, "c", stored=stored, processing=_PROCESSING)
    assert found is not None
    return found


def test_a_new_document_is_version_one() -> None:
    found = _compared(_DOCUMENT)
    assert (found.is_new, found.base_version, found.has_new_text) == (True, 0, True)
    assert found.source.id == ids.source_id("c", "doc:1")
    assert (found.source.version, found.source.title, found.source.uri) == (1, "Title", "doc:1")


def test_an_unchanged_document_is_nothing_to_do() -> None:
    assert compare(_DOCUMENT, "c", stored=_source(version=7), processing=_PROCESSING) is None


@pytest.mark.parametrize("changed", [{"text": "One."}, {"title": "Another"}, {"key": "k2"}, {"page_starts": (0, 5)}])
def test_a_new_text_title_key_or_page_is_a_new_version(changed: dict[str, Any]) -> None:
    found = _compared(replace(_DOCUMENT, **changed), _source(version=4))
    assert (found.is_new, found.base_version, found.source.version, found.has_new_text) == (False, 4, 5, True)
    assert found.source.id == _source().id


@pytest.mark.parametrize("processing", [("chunker/2", "extractor/1"), ("chunker/1", "extractor/2")])
def test_another_chunker_or_extractor_is_a_new_version(processing: tuple[str, str]) -> None:
    found = compare(_DOCUMENT, "c", stored=_source(), processing=processing)
    assert found is not None
    assert (found.has_new_text, found.source.version) == (True, 2)


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"year": 1932, "tags": ("a", "b")},
        {"year": "1931", "tags": ("a", "b")},
        {"year": 1931, "tags": ("b", "a")},
        {"year": 1931, "tags": ("a", "b"), "more": False},
    ],
)
def test_new_metadata_alone_keeps_text_and_version(metadata: Metadata) -> None:
    found = _compared(replace(_DOCUMENT, metadata=metadata), _source(version=3))
    assert (found.is_new, found.base_version, found.source.version, found.has_new_text) == (False, 3, 3, False)
    assert dict(found.source.metadata) == metadata


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, False), (("a", 1), ("a", True)), (True, 1)])
def test_a_number_that_becomes_a_truth_value_is_new_metadata(
    before: int | tuple[str | int, ...], after: bool | tuple[str | bool, ...]
) -> None:
    """To Python they are equal, to a filter they are not."""
    found = compare(
        replace(_DOCUMENT, metadata={"x": after}), "c", stored=_source(metadata={"x": before}), processing=_PROCESSING
    )
    assert found is not None
    assert found.source.metadata == {"x": after}


def test_metadata_in_another_order_or_as_a_list_is_the_same() -> None:
    listed: Metadata = {"tags": ["a", "b"], "year": 1931}  # type: ignore[dict-item]
    assert compare(replace(_DOCUMENT, metadata=listed), "c", stored=_source(), processing=_PROCESSING) is None
    assert _compared(replace(_DOCUMENT, metadata=listed)).source.metadata["tags"] == ("a", "b")


# plan_chunks


def _spans(text: str, *parts: str, headings: tuple[str, ...] = ()) -> list[Span]:
    """Where these parts stand, one after the other."""
    spans: list[Span] = []
    at = 0
    for part in parts:
        start = text.index(part, at)
        at = start + len(part)
        spans.append(Span(start, at, 1, headings))
    return spans


def _plan(
    document: Document, spans: list[Span], stored: ChunkPlan | None = None, *, extractor: _Extractor | None = None
) -> ChunkPlan:
    held = {chunk.id: chunk for chunk, _ in stored.to_extract} if stored else {}
    return plan_chunks(_compared(document), spans, stored=held, extractor=extractor or _Extractor())


def _texts(plan: ChunkPlan) -> list[str]:
    return [chunk.text for chunk, _ in plan.to_extract]


_FIRST = _plan(_DOCUMENT, _spans(_DOCUMENT.text, "One.", "Two.", "Three."))


def test_all_chunks_of_a_new_source_are_extracted_with_their_context() -> None:
    spans = _spans(_DOCUMENT.text, "One.", "Two.", headings=("H1", "H2"))
    plan = _plan(replace(_DOCUMENT, page_starts=(0, 5, 9)), spans)
    assert _texts(plan) == ["One.", "Two."]
    chunk, context = plan.to_extract[1]
    assert (chunk.start, chunk.end, chunk.position, chunk.page, chunk.headings) == (5, 9, 1, 2, ("H1", "H2"))
    assert chunk.source_id == ids.source_id("c", "doc:1")
    assert context == ChunkInput("Two.", "Title", ("H1", "H2"), "doc:1", "k1", 1, 2, source=chunk.source_id)
    assert (plan.known, plan.moves, plan.removed) == (frozenset(), (), ())


def test_chunks_that_stay_where_they_are_need_nothing() -> None:
    assert _plan(_DOCUMENT, _spans(_DOCUMENT.text, "One.", "Two.", "Three."), _FIRST) == ChunkPlan()


def test_chunks_behind_an_insertion_move_and_the_new_one_is_extracted() -> None:
    text = "One. And a half. Two. Three."
    plan = _plan(replace(_DOCUMENT, text=text), _spans(text, "One.", "And a half.", "Two.", "Three."), _FIRST)
    assert _texts(plan) == ["And a half."]
    two, three = (chunk.id for chunk, _ in _FIRST.to_extract[1:])
    assert plan.moves == (Move(two, 17, 21, 2, None), Move(three, 22, 28, 3, None))
    assert plan.removed == ()


def test_a_new_page_alone_is_a_move() -> None:
    plan = _plan(replace(_DOCUMENT, page_starts=(0, 9)), _spans(_DOCUMENT.text, "One.", "Two.", "Three."), _FIRST)
    assert [(move.position, move.page) for move in plan.moves] == [(0, 1), (1, 1), (2, 2)]
    assert not plan.to_extract


def test_chunks_that_are_gone_are_removed_and_the_order_of_others_is_theirs() -> None:
    text = "Three. One."
    plan = _plan(replace(_DOCUMENT, text=text), _spans(text, "Three.", "One."), _FIRST)
    assert plan.removed == (_FIRST.to_extract[1][0].id,)
    assert [move.position for move in plan.moves] == [0, 1]
    assert not plan.to_extract


def test_equal_texts_are_told_apart_by_their_occurrence() -> None:
    text = "Yes. No. Yes. Yes."
    first = _plan(replace(_DOCUMENT, text=text), _spans(text, "Yes.", "No.", "Yes.", "Yes."))
    names = [chunk.id for chunk, _ in first.to_extract]
    source = ids.source_id("c", "doc:1")
    assert names[0::2] == [ids.chunk_id(source, "Yes.", 0), ids.chunk_id(source, "Yes.", 1)]
    assert names[3] == ids.chunk_id(source, "Yes.", 2)
    # One fewer: whichever was taken out, the last occurrence is the one that goes.
    shorter = "No. Yes. Yes."
    plan = _plan(replace(_DOCUMENT, text=shorter), _spans(shorter, "No.", "Yes.", "Yes."), first)
    assert plan.removed == (names[3],)
    assert [move.chunk_id for move in plan.moves] == [names[1], names[0]]  # the third stands where it stood
    assert not plan.to_extract


def test_a_chunk_that_is_seen_differently_is_extracted_again() -> None:
    spans = _spans(_DOCUMENT.text, "One.", "Two.", "Three.")
    names = {chunk.id for chunk, _ in _FIRST.to_extract}
    again = _plan(_DOCUMENT, spans, _FIRST, extractor=_Extractor("2"))
    assert {chunk.id for chunk, _ in again.to_extract} == again.known == names
    assert (again.moves, again.removed) == ((), ())
    # The title and the headings stand in the text that is embedded, so they count whatever the extractor looks at.
    for document, seen in (
        (replace(_DOCUMENT, title="Another"), spans),
        (_DOCUMENT, _spans(_DOCUMENT.text, "One.", "Two.", "Three.", headings=("H",))),
    ):
        plan = _plan(document, seen, _FIRST)
        assert {chunk.id for chunk, _ in plan.to_extract} == plan.known == names
        fingerprints = {chunk.fingerprint for chunk, _ in plan.to_extract}
        assert fingerprints.isdisjoint(chunk.fingerprint for chunk, _ in _FIRST.to_extract)


def test_only_the_chunks_that_are_seen_differently_are_extracted_again() -> None:
    spans = _spans(_DOCUMENT.text, "One.", "Two.", "Three.")
    spans[1] = replace(spans[1], headings=("New heading",))
    plan = _plan(_DOCUMENT, spans, _FIRST)
    assert _texts(plan) == ["Two."]
    assert plan.known == {_FIRST.to_extract[1][0].id}


# assemble

_TEXT = "Mara Quill built the bridge in 1931."


def _extracted(
    *propositions: Proposition, topics: tuple[str, ...] = (), uri: str = "doc:1", text: str = _TEXT
) -> Extracted:
    """One source with one chunk, of which this was extracted."""
    document = Document(uri, f"  {text}  ", "T")
    compared = _compared(document)
    plan = plan_chunks(compared, [Span(2, 2 + len(text), 9)], stored={}, extractor=_Extractor())
    return Extracted(compared, plan, (Extraction(propositions, topics),))


def _proposition(text: str = _TEXT, **more: object) -> Proposition:
    return Proposition(text, more.pop("start", 0), more.pop("end", len(_TEXT)), **more)  # type: ignore[arg-type]


def test_what_an_extraction_says_becomes_records_and_links() -> None:
    item = _extracted(
        _proposition(
            topics=("Bridges",),
            mentions=(Mention("Mara Quill", "person"),),
            triples=(
                Triple("Mara Quill", "Built", "the bridge"),
                Triple("the bridge", "built in", "1931", is_literal=True),
            ),
            details=("in 1931",),
        ),
        topics=("Engineers",),
    )
    change = assemble("c", [item])
    source, chunk = item.comparison.source, item.plan.to_extract[0][0]
    quill, bridge = ids.entity_id("c", "mara quill"), ids.entity_id("c", "the bridge")
    assert (change.sources, change.base_versions, change.chunks) == ((source,), (0,), (chunk,))
    [statement] = change.statements
    assert (statement.id, statement.text, statement.details) == (
        ids.statement_id(source.id, _TEXT),
        _TEXT,
        ("in 1931",),
    )
    assert {topic.name for topic in change.topics} == {"Bridges", "Engineers"}
    assert set(change.abouts) == {
        About(chunk.id, statement.id, ids.topic_id(source.id, "Bridges"), "Bridges"),
        About(chunk.id, "", ids.topic_id(source.id, "Engineers"), "Engineers"),
    }
    assert set(change.entities) == {quill, bridge}
    assert {(link.entity_id, link.surface, link.kind) for link in change.mentions} == {
        (quill, "Mara Quill", "person"),
        (bridge, "the bridge", ""),
    }
    assert {(row.subject_id, row.predicate, row.object_id, row.complement) for row in change.facts} == {
        (quill, "built", bridge, ""),
        (bridge, "built in", "", "1931"),
    }
    assert {(link.statement_id, link.chunk_id) for link in change.supports} == {(statement.id, chunk.id)}
    assert len(change.supports) == 2


def test_a_literal_is_no_entity_and_another_fact_than_the_entity_of_its_name() -> None:
    triples = (Triple("Bridge", "opened", "1931", is_literal=True), Triple("Bridge", "opened", "1931"))
    change = assemble("c", [_extracted(_proposition(triples=triples))])
    assert len(change.facts) == 2
    assert set(change.entities) == {ids.entity_id("c", "bridge"), ids.entity_id("c", "1931")}
    literal = assemble("c", [_extracted(_proposition(triples=triples[:1]))])
    assert set(literal.entities) == {ids.entity_id("c", "bridge")}


def test_names_that_are_empty_make_nothing() -> None:
    item = _extracted(
        _proposition("   "),
        _proposition(
            topics=("", "“”", " "),
            mentions=(Mention(""), Mention("''"), Mention(" , ")),
            triples=(
                Triple("", "built", "bridge"),
                Triple("Quill", "()", "bridge"),
                Triple("Quill", "built", "“”"),
                Triple("Quill", "built", "  ", is_literal=True),
            ),
        ),
        topics=("\t",),
    )
    change = assemble("c", [item])
    assert [statement.text for statement in change.statements] == [_TEXT]
    made = (change.topics, change.abouts, change.entities, change.mentions, change.facts, change.supports)
    assert made == ((),) * 6


def test_a_statement_keeps_its_text_without_outer_space() -> None:
    change = assemble("c", [_extracted(_proposition(f"\n {_TEXT} "), _proposition(_TEXT))])
    assert [statement.text for statement in change.statements] == [_TEXT]


@pytest.mark.parametrize(
    ("start", "end", "placed"),
    [
        (5, 10, (5, 10)),
        (0, len(_TEXT), (0, len(_TEXT))),
        (-1, 5, (0, len(_TEXT))),
        (5, 5, (0, len(_TEXT))),
        (9, 4, (0, len(_TEXT))),
        (5, len(_TEXT) + 1, (0, len(_TEXT))),
    ],
)
def test_a_span_that_is_none_becomes_the_whole_chunk(start: int, end: int, placed: tuple[int, int]) -> None:
    [placement] = assemble("c", [_extracted(_proposition(start=start, end=end))]).placements
    assert (placement.start, placement.end) == placed


def test_a_proposition_said_twice_is_one_statement_with_what_both_say() -> None:
    item = _extracted(
        _proposition(start=0, end=4, mentions=(Mention("Quill"),), topics=("A",), details=("first",)),
        _proposition(start=5, end=9, mentions=(Mention("QUILL", "person"), Mention("Tessing")), topics=("B",)),
    )
    change = assemble("c", [item])
    assert [statement.details for statement in change.statements] == [("first",)]
    assert [(placement.ordinal, placement.start, placement.end) for placement in change.placements] == [(0, 0, 4)]
    assert len(change.abouts) == 2
    # One mention an entity; a kind that is known stands over one that is not.
    assert {(link.surface, link.kind) for link in change.mentions} == {("QUILL", "person"), ("Tessing", "")}


def test_equal_statements_of_two_sources_are_two_and_their_entities_and_facts_one() -> None:
    said = _proposition(mentions=(Mention("Quill"),), triples=(Triple("Quill", "built", "bridge"),))
    change = assemble("c", [_extracted(said), _extracted(said, uri="doc:2")])
    assert len({statement.id for statement in change.statements}) == 2
    assert len(change.facts) == 1
    assert len(change.entities) == 2
    assert len(change.supports) == 2


def _without_order(change: Change) -> list[list[str]]:
    """Everything that a change says, each part in one order."""
    sources = zip(change.sources, change.base_versions, strict=True)
    names = [item.name for item in fields(Change) if item.name not in ("sources", "base_versions")]
    parts = [part if isinstance(part := getattr(change, name), tuple) else (part,) for name in names]
    return [sorted(map(repr, part)) for part in (sources, *parts)]


def test_a_change_is_the_same_whatever_the_order_of_its_documents() -> None:
    batch = [
        _extracted(_proposition(mentions=(Mention(name),), topics=(name,)), uri=f"doc:{at}")
        for at, name in enumerate(("Quill", "QUILL", "Tessing"))
    ]
    changes = [assemble("c", order) for order in itertools.permutations(batch)]
    assert all(_without_order(change) == _without_order(changes[0]) for change in changes)
    assert assemble("c", batch) == assemble("c", batch)


def test_the_id_of_a_change_tells_corpus_sources_versions_and_texts_apart() -> None:
    item = _extracted(_proposition())
    later = replace(item, comparison=replace(item.comparison, stored=replace(_source(), version=1)))
    edited = _extracted(_proposition(), text="Another text.")
    two = [item, _extracted(_proposition(), uri="doc:2")]
    made = [assemble("c", batch).id for batch in ([item], [later], [edited], two)]
    made += [assemble("d", [item]).id, removal("c", [item.comparison.source.id], versions=[1]).id]
    assert len(set(made)) == len(made)


def test_two_new_descriptions_of_one_source_are_two_changes() -> None:
    """The version and the text stay, so the id must come from the metadata too."""
    stored = _source()
    items = [_compared(replace(_DOCUMENT, metadata={"year": year}), stored) for year in (1, 2)]
    assert len({assemble("c", [Extracted(item, ChunkPlan(), ())]).id for item in items}) == 2


def test_a_removal_names_its_sources_and_does_not_depend_on_their_order() -> None:
    change = removal("c", ["b", "a"], versions=[2, 1])
    assert (change.removed_sources, change.corpus, change.sources) == (("b", "a"), "c", ())
    assert change.id == removal("c", ["a", "b"], versions=[1, 2]).id
    assert change.id != removal("c", ["a", "b"], versions=[2, 1]).id


def test_moves_and_removals_of_all_sources_are_in_the_change() -> None:
    batch = [
        replace(
            _extracted(), plan=ChunkPlan(moves=(Move(name, 0, 1, 0, None),), removed=(f"gone {name}",)), extractions=()
        )
        for name in ("x", "y")
    ]
    change = assemble("c", batch)
    assert [move.chunk_id for move in change.moves] == ["x", "y"]
    assert change.removed_chunks == ("gone x", "gone y")
