"""Summaries of long sources: which sources, their place in the first layer, what a change touches, and the strategy over them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.algorithms.communities import leiden
from hlgraph.algorithms.distances import similarity_graph
from hlgraph.errors import BudgetError, InputError
from hlgraph.extract import LocalExtractor
from hlgraph.ids import source_id
from hlgraph.index.hierarchy import RUN, BuiltHierarchy, HierarchyQuery, build_hierarchy
from hlgraph.index.summaries import (
    LARGE,
    WHOLE,
    ChatSummariser,
    ExtractiveSummariser,
    Group,
    Summariser,
    large_chunks,
    long_sources,
)
from hlgraph.ingest import pipeline
from hlgraph.ingest.delete import delete_sources
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.executor import Executor
from hlgraph.models.local.reranker import LexicalReranker
from hlgraph.records import Chunk, Document, Kind, Span, Statement
from hlgraph.retrieve import SearchRequest, SearchResult, Unit, search
from hlgraph.sdk.hierarchy import Hierarchy
from hlgraph.stores.derived import DerivedStore, Summarised
from hlgraph.stores.open import Opened
from hlgraph.stores.protocols import Scope, Stores
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.text import count_tokens
from hlgraph.where import parse

_EMBEDDER = WordEmbedder(64)
_WORDS = ("bridge", "mill", "comet")
_LONG = 40


class ParagraphChunker:
    """A chunk a paragraph: an edit of one leaves the others as they are."""

    fingerprint = "paragraph/1"

    def chunk(self, document: Document) -> list[Span]:
        found = []
        start = 0
        for text in document.text.split("\n\n"):
            found.append(Span(start, start + len(text), count_tokens(text)))
            start += len(text) + 2
        return found


_STEPS = pipeline.Steps(ParagraphChunker(), LocalExtractor(), _EMBEDDER)


def _chronicle(*more: str) -> Document:
    """A source of six paragraphs, two a theme: the long one."""
    parts = [
        f"The {word} of Ombry was built in {year} by masons. The {word} is known to all of the valley."
        for year, word in enumerate([*_WORDS, *_WORDS], 1800)
    ]
    return Document("doc:chronicle", "\n\n".join([*parts, *more]), "Chronicle", {"is_long": True})


def _notes() -> list[Document]:
    return [
        Document(f"doc:{word}:{n}", f"The {word} of Ombry is in note {n}.", f"{word} {n}", {"is_long": False})
        for word in _WORDS
        for n in range(6)
    ]


@pytest.fixture
def opened(opened: Opened) -> Iterator[Opened]:
    ingest(opened.stores, _chronicle(), *_notes())
    yield opened
    assert all(item.is_fine for item in opened.check())


def ingest(stores: Stores, *documents: Document) -> None:
    assert not pipeline.ingest(documents, "c", stores=stores, steps=_STEPS).failed


def build(stores: Stores, summariser: Summariser | None = None, **options: int) -> BuiltHierarchy:
    query = HierarchyQuery(**{"long_source": _LONG, "max_size": 4, **options})  # type: ignore[arg-type]
    return build_hierarchy(
        "c", query, stores=stores, embedder=_EMBEDDER, summariser=summariser or ExtractiveSummariser()
    )


def derived(stores: Stores) -> DerivedStore:
    assert stores.graph.derived is not None
    return stores.graph.derived


def members(stores: Stores) -> dict[str, set[str]]:
    communities = derived(stores).communities("c", RUN)
    found = derived(stores).members([item.id for item in communities])
    return {name: {item.id for item in some} for name, some in found.items()}


def of_source(stores: Stores) -> Summarised:
    (found,) = [item for item in derived(stores).summaries("c", RUN).items if item.source_id]
    return found


def touching(stores: Stores, name: str) -> set[str]:
    """The summaries of the communities that hold a node."""
    held = members(stores)
    return {
        item.summary.id
        for item in derived(stores).summaries("c", RUN).items
        if item.community_id and name in held[item.community_id]
    }


def ask(stores: Stores, question: str, *, k: int = 5, where: str = "", unit: Unit | None = "chunk") -> SearchResult:
    request = SearchRequest(question, "c", k, unit, "vector", parse(where) if where else None)
    return search(request, "hierarchy", stores=stores, embedder=_EMBEDDER, reranker=LexicalReranker())


# Which sources


def plain_long(chunks: list[Chunk], tokens: int) -> list[str]:
    names = sorted({item.source_id for item in chunks})
    sizes = {name: [item.tokens for item in chunks if item.source_id == name] for name in names}
    return [name for name in names if tokens > 0 and len(sizes[name]) > 1 and sum(sizes[name]) > tokens]


_CHUNKS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), max_size=12).map(
    lambda some: [Chunk(f"{at:02d}", name, "", 0, 0, -at, size) for at, (name, size) in enumerate(some)]
)


@given(chunks=_CHUNKS, tokens=st.integers(0, 120))
def test_sources_above_the_bound_are_long(chunks: list[Chunk], tokens: int) -> None:
    found = long_sources(chunks, tokens)
    assert [item.id for item in found] == plain_long(chunks, tokens)
    for item in found:
        own = [chunk.id for chunk in chunks if chunk.source_id == item.id]
        assert list(item.chunk_ids) == own[::-1]  # by position
    assert found == long_sources(chunks[::-1], tokens)


def test_the_bound_is_checked() -> None:
    with pytest.raises(InputError, match="long_source is -1; it must be from 0 to"):
        HierarchyQuery(long_source=-1)


@pytest.mark.parametrize("bound", [0, 10_000])
def test_without_a_long_source_nothing_is_different(opened: Opened, bound: int) -> None:
    delete_sources([source_id("c", "doc:chronicle")], "c", stores=opened.stores)
    built = build(opened.stores, long_source=bound)
    assert built.sources == 0
    # What was stored of this corpus before there were summaries of sources.
    assert built.run.stamp == "bbf1e8b5e41ef26f901d3eb762ae0e33"
    assert all(
        item.source_id == "" and item.chunk_ids == () for item in derived(opened.stores).summaries("c", RUN).items
    )


def test_none_has_one_where_the_bound_is_nothing(opened: Opened) -> None:
    assert build(opened.stores, long_source=0).sources == 0
    built = build(opened.stores)
    assert (built.sources, built.is_whole) == (1, True)  # the bound is one of the parameters
    assert not build(opened.stores, long_source=0).is_unchanged
    assert not any(item.source_id for item in derived(opened.stores).summaries("c", RUN).items)


# The first layer


def test_the_first_layer_is_the_chunks_and_the_summary_of_the_long_source(opened: Opened) -> None:
    """Worked with the parts alone: the vectors of all nodes, the graph, the communities."""
    stores = opened.stores
    built = build(stores)
    chunks = [item for item in stores.graph.find(Kind.CHUNK, Scope("c")) if isinstance(item, Chunk)]
    assert (built.chunks, built.sources) == (len(chunks), 1) == (24, 1)
    about = of_source(stores)
    assert about.source_id == source_id("c", "doc:chronicle")
    assert about.summary.level == -1
    names, matrix = stores.vectors.vectors(Kind.CHUNK, "c", ids=sorted(item.id for item in chunks))
    rows = {**dict(zip(names, matrix, strict=True)), about.summary.id: about.vector}
    order = sorted(rows)
    labels = leiden(similarity_graph(np.stack([rows[name] for name in order])), max_size=4).finest
    expected = {frozenset(np.array(order)[labels == label].tolist()) for label in np.unique(labels)}
    held = members(stores)
    communities = {item.id: item for item in derived(stores).communities("c", RUN)}
    assert {frozenset(held[name]) for name, item in communities.items() if item.level == 0} == expected
    for name, item in communities.items():
        assert item.size == len(held[name])
        assert item.parent_id is None or held[name] <= held[item.parent_id]
    assert any(about.summary.id in held[name] for name, item in communities.items() if item.level == 1)
    assert build(stores) == replace(
        built, written=0, kept=built.written, saved=build(stores).saved, is_unchanged=True, is_whole=False
    )


def test_it_is_made_of_the_statements_of_its_source(opened: Opened) -> None:
    stores = opened.stores
    build(stores, ExtractiveSummariser(max_tokens=30))
    about = of_source(stores)
    own = {
        item.id: item
        for item in stores.graph.find(Kind.STATEMENT, Scope("c"))
        if isinstance(item, Statement) and item.source_id == about.source_id
    }
    said = [own[name] for name in about.parts if name in own]
    chunks = {
        item.id
        for item in stores.graph.find(Kind.CHUNK, Scope("c"))
        if isinstance(item, Chunk) and item.source_id == about.source_id
    }
    assert said
    assert set(about.chunk_ids) == chunks == set(about.parts) - set(own)
    assert all(item.text in about.summary.text for item in said)
    assert sum(count_tokens(item.text) for item in said) <= 30
    assert np.allclose(about.vector, _EMBEDDER.embed([about.summary.text])[0], atol=1e-6)


# Kept up


def test_an_edit_rewrites_the_summary_of_its_source_and_the_communities_it_touches(opened: Opened) -> None:
    stores = opened.stores
    build(stores)
    before = {item.summary.id for item in derived(stores).summaries("c", RUN).items}
    about = of_source(stores).summary.id
    gone = touching(stores, about)
    changed = _chronicle().text.replace("built in 1803", "built in 1903")
    (old,) = [
        item.id for item in stores.graph.find(Kind.CHUNK, Scope("c")) if isinstance(item, Chunk) and "1803" in item.text
    ]
    gone |= touching(stores, old) | {about}
    ingest(stores, replace(_chronicle(), text=changed))
    left = {item.summary.id for item in derived(stores).summaries("c", RUN).items}
    assert left == before - gone
    assert gone
    built = build(stores)
    after = {item.summary.id for item in derived(stores).summaries("c", RUN).items}
    assert not built.is_whole
    assert built.sources == 1
    assert built.written == len(after - left) < len(before)
    assert left <= after
    assert of_source(stores).summary.id != about


def test_a_paragraph_that_is_added_makes_the_summary_leave(opened: Opened) -> None:
    stores = opened.stores
    build(stores)
    about = of_source(stores).summary.id
    before = {item.summary.id for item in derived(stores).summaries("c", RUN).items}
    gone = touching(stores, about) | {about}
    chunks = {item.id for item in stores.graph.find(Kind.CHUNK, Scope("c"))}
    ingest(stores, _chronicle("The quinces of Ombry ripen late."))
    assert chunks < {item.id for item in stores.graph.find(Kind.CHUNK, Scope("c"))}  # nothing was taken away
    assert {item.summary.id for item in derived(stores).summaries("c", RUN).items} == before - gone
    build(stores)
    assert len(of_source(stores).chunk_ids) == 7


def test_another_source_does_not_touch_it(opened: Opened) -> None:
    stores = opened.stores
    build(stores)
    about = of_source(stores).summary.id
    delete_sources([source_id("c", "doc:mill:3")], "c", stores=stores)
    assert of_source(stores).summary.id == about
    build(stores)
    assert of_source(stores).summary.id == about


def test_it_is_gone_with_its_source(opened: Opened) -> None:
    stores = opened.stores
    build(stores)
    about = of_source(stores)
    delete_sources([about.source_id], "c", stores=stores)
    assert not any(item.source_id for item in derived(stores).summaries("c", RUN).items)
    assert all(about.summary.id not in held for held in members(stores).values())
    assert build(stores).sources == 0


def test_the_tier_lists_it(opened: Opened) -> None:
    tier = Hierarchy("c", opened.stores, models=SimpleNamespace(embedder=_EMBEDDER), chat=lambda _: None)
    build(opened.stores)
    found = tier.find()
    assert found.sources == ((of_source(opened.stores).summary, "doc:chronicle"),)
    assert found.waiting == 0
    assert all(community.level == summary.level for summary, community in found.summaries)
    assert tier.find(level=0).sources == tier.find(k=0).sources == ()
    ingest(opened.stores, _chronicle("The quinces of Ombry ripen late."))
    assert tier.find().sources == ()
    assert tier.find().run != found.run or tier.find().run.is_stale  # type: ignore[union-attr]


# By a chat model


def test_a_chat_model_reads_the_chunks_in_their_order_and_then_the_summary_beside_chunks(opened: Opened) -> None:
    chat = ScriptedChat(
        lambda _, user: (
            f"A chronicle of the bridge of Ombry, {user.count('<passage ')}." if "1805" in user else "Notes."
        )
    )
    stores = opened.stores
    built = build(stores, ChatSummariser(chat, concurrency=1))
    assert len(chat.asked) == built.written
    first = chat.asked[0][1]
    places = [first.index(str(year)) for year in range(1800, 1806)]
    assert places == sorted(places)
    assert first.count("<passage ") == 6
    about = of_source(stores)
    assert about.summary.text == "A chronicle of the bridge of Ombry, 6."
    assert about.parts == about.chunk_ids
    (lower,) = [
        name for name, held in members(stores).items() if about.summary.id in held and len(held) < 8 and len(held) > 1
    ][:1]
    beside = [user for _, user, _ in chat.asked[1:] if about.summary.text in user]
    assert beside
    assert beside[0].count("<passage ") == len(members(stores)[lower])
    assert build(stores, ChatSummariser(ScriptedChat([]), concurrency=1)).is_unchanged


def test_a_budget_that_does_not_reach_stores_nothing(opened: Opened) -> None:
    chat = Executor(ScriptedChat(lambda _, user: f"About {len(user)}.")).begin(Budget(max_tokens=300))
    with pytest.raises(BudgetError):
        build(opened.stores, ChatSummariser(chat))
    assert derived(opened.stores).runs("c") == ()


@given(st.integers(1, 2_000))
def test_of_a_very_long_source_a_model_reads_chunks_that_are_evenly_spread(count: int) -> None:
    names = tuple(f"{at:04d}" for at in range(count))
    shown = Group(names, np.ones(2, dtype=np.float32), is_source=True).shown
    assert len(shown) == min(count, 133)
    assert (shown[0], shown[-1]) == (names[0], names[-1])
    steps = {int(b) - int(a) for a, b in itertools.pairwise(shown)}
    assert max(steps, default=1) - min(steps, default=1) <= 1
    assert Group(names, np.ones(2, dtype=np.float32)).shown == names  # a community is shown whole


# The strategy


def test_the_summary_brings_the_chunks_of_its_source_and_is_of_layer_0(opened: Opened) -> None:
    stores = opened.stores
    build(stores, ExtractiveSummariser(max_tokens=60))
    about = of_source(stores)
    result = ask(stores, about.summary.text, k=4)
    brought = [item for item in result.evidence if item.why.get("layer") == 0.0]
    assert 0 < len(brought) <= 3
    assert {item.source.uri for item in brought} == {"doc:chronicle"}
    assert all(item.why["summary"] == pytest.approx(1.0, abs=1e-5) for item in brought)


def test_what_rests_on_a_long_source_is_not_used_where_the_filter_hides_it(opened: Opened) -> None:
    stores = opened.stores
    build(stores)
    about = of_source(stores)
    rests = {about.summary.id} | touching(stores, about.summary.id)
    cosine = functools.partial(np.dot, _EMBEDDER.embed(["The bridge of Ombry"])[0])
    hidden = {
        round(float(cosine(item.vector)), 5)
        for item in derived(stores).summaries("c", RUN).items
        if item.summary.id in rests
    }
    for k in (2, 6, 20):
        result = ask(stores, "The bridge of Ombry", where="is_long = false", k=k)
        assert result.evidence
        assert not any(item.source.uri == "doc:chronicle" for item in result.evidence)
        assert not hidden & {round(float(item.why.get("summary", -9.0)), 5) for item in result.evidence}
    for item in ask(stores, "The bridge of Ombry", where="is_long = true", k=20).evidence:
        assert item.source.uri == "doc:chronicle"


# Large chunks


@given(chunks=_CHUNKS, tokens=st.integers(0, 120))
def test_large_chunks_are_runs_of_the_wanted_size(chunks: list[Chunk], tokens: int) -> None:
    found = large_chunks(chunks, tokens)
    sizes = {item.id: item.tokens for item in chunks}
    for item in found:
        own = sorted((chunk for chunk in chunks if chunk.source_id == item.id), key=lambda chunk: chunk.position)
        ids = [chunk.id for chunk in own]
        start = ids.index(item.chunk_ids[0])
        assert list(item.chunk_ids) == ids[start : start + len(item.chunk_ids)]
        assert sum(sizes[name] for name in item.chunk_ids) <= tokens
        assert item.level == (WHOLE if len(item.chunk_ids) == len(ids) else LARGE)
    inside = [name for item in found for name in item.chunk_ids]
    assert len(inside) == len(set(inside))
    for item in long_sources(chunks, 0 if tokens == 0 else -1):  # every source that would fit into one is in one
        if tokens and sum(sizes[name] for name in item.chunk_ids) <= tokens:
            assert item in found


def test_an_edit_changes_the_large_chunks_around_it_alone() -> None:
    rng = np.random.default_rng(5)
    names = [f"{number:08x}" for number in rng.integers(0, 1 << 32, size=200)]
    before = {item.chunk_ids for item in large_chunks(_chunks_of(names), 600)}
    assert 20 < len(before) < 100
    after = {item.chunk_ids for item in large_chunks(_chunks_of([*names[:90], "80000000", *names[90:]]), 600)}
    assert len(before - after) <= 3


def _chunks_of(names: list[str]) -> list[Chunk]:
    return [Chunk(name, "a", "", 0, 0, at, 60) for at, name in enumerate(names)]


def test_only_summaries_that_rest_on_an_edited_source_are_stale_until_the_next_build(opened: Opened) -> None:
    stores = opened.stores
    delete_sources([each.id for each in stores.graph.find(Kind.SOURCE, Scope("c"))], "c", stores=stores)
    themes = {"mill": "sail rye flour", "comet": "tail orbit dome", "harbour": "ship pier tide"}
    texts = {f"{theme}{at}": f"{theme} {words} number{at}" for theme, words in themes.items() for at in range(4)}
    both = Document("doc:both", f"{texts['mill0']}\n\n{texts['comet0']}", "Both")
    alone = [Document(f"doc:{key}", text, key) for key, text in texts.items() if key not in ("mill0", "comet0")]
    ingest(stores, both, *alone)
    build(stores, layers=2)

    def stale() -> dict[str, bool]:
        shown = ask(stores, " ".join(texts.values()), k=9, unit="summary").evidence
        return {next(theme for theme in themes if theme in each.text): each.is_stale for each in shown}

    assert stale() == {"mill": False, "comet": False, "harbour": False}
    ingest(stores, Document("doc:new", "harbour ship pier tide number9", "New"))
    assert stale() == {"mill": False, "comet": False, "harbour": False}  # what they rest on is as it was
    ingest(stores, Document("doc:both", f"mill sail rye bread\n\n{texts['comet0']}", "Both"))
    assert stale() == {"comet": True, "harbour": False}  # of the mill nothing is shown that was removed
    again = build(stores, layers=2)
    assert (again.written, again.kept, again.is_whole) == (2, 1, False)  # the mill, and the harbour with its new chunk
    assert stale() == {"mill": False, "comet": False, "harbour": False}
    assert build(stores, layers=2).is_unchanged


def test_large_chunks_are_nodes_of_layer_0_and_leave_only_with_their_own_chunks(opened: Opened) -> None:
    stores = opened.stores
    build(stores, long_source=0, large_chunk=50)
    found = [item for item in derived(stores).summaries("c", RUN).items if item.source_id]
    assert len(found) > 1
    assert {item.summary.level for item in found} == {LARGE}
    held = {name for some in members(stores).values() for name in some}
    assert {item.summary.id for item in found} <= held
    ingest(stores, _chronicle("A kestrel nests on the tower."))
    assert {item.summary.id for item in derived(stores).summaries("c", RUN).items if item.source_id} == {
        item.summary.id for item in found
    }
    (first,) = ask(stores, found[0].summary.text, k=1, unit="mixed").evidence
    assert (first.id, first.why["layer"], first.is_stale) == (found[0].summary.id, 0.0, True)
    assert {part.id for part in first.rests_on} == set(found[0].parts)
    built = build(stores, long_source=0, large_chunk=50)
    assert 0 < built.written < 6
    tier = Hierarchy("c", stores, models=SimpleNamespace(embedder=_EMBEDDER), chat=lambda _: None)
    assert {uri for _, uri in tier.find().sources} == {"doc:chronicle"}
    assert len(tier.find().sources) == built.sources > 1
