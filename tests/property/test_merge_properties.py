"""However merges, ingests and deletions follow each other, undoing all of it leaves the graph of the sources alone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from named_corpus import CORPUS, ingest, key
from thoroughness import cases

from hlgraph.errors import InputError
from hlgraph.ids import source_id
from hlgraph.ingest.delete import delete_sources
from hlgraph.records import Kind
from hlgraph.sdk.merges import Merges
from hlgraph.stores.open import Opened, open_stores
from hlgraph.stores.protocols import Scope, Verdict
from hlgraph.testing.corpus import snapshot

_NAMES = ("Mara Quill", "M. Quill", "Ivo Quill", "Tessing", "Orne")
_MANY = settings(max_examples=cases(12, 25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
_PAIR = st.tuples(st.sampled_from(_NAMES), st.sampled_from(_NAMES))
_DOCUMENT = st.tuples(
    st.just("ingest"), st.integers(0, 2), st.lists(st.sets(st.sampled_from(_NAMES), max_size=3), min_size=1, max_size=3)
)
_STEP = st.one_of(
    _DOCUMENT,
    _DOCUMENT,
    st.tuples(st.just("delete"), st.integers(0, 2), st.none()),
    st.tuples(st.just("merge"), st.just(0), _PAIR),
    st.tuples(st.just("merge"), st.just(0), _PAIR),
    st.tuples(st.just("apart"), st.just(0), _PAIR),
    st.tuples(st.just("undo"), st.integers(0, 5), st.none()),
)


@contextmanager
def opened_at(folder: Path) -> Iterator[Opened]:
    found = open_stores(f"hlgraph://{folder}")
    with found.closing:
        yield found
        assert all(item.is_fine for item in found.check())


def said(number: int, sentences: Sequence[set[str]]) -> dict[str, tuple[str, ...]]:
    return {
        f"{number}.{at}: {' and '.join(sorted(names))}.": tuple(sorted(names)) for at, names in enumerate(sentences)
    }


def plain_groups(pairs: set[frozenset[str]]) -> set[frozenset[str]]:
    """Join sets until nothing changes."""
    groups = set(pairs)
    while True:
        joined = next(((a, b) for a in groups for b in groups if a != b and a & b), None)
        if joined is None:
            return groups
        groups = (groups - set(joined)) | {joined[0] | joined[1]}


@_MANY
@given(st.lists(_STEP, min_size=3, max_size=14))
def test_any_history_of_merges_is_kept_beside_the_graph(history: list[tuple[str, int, object]]) -> None:
    """A plain book of decisions is kept along: what the store says is what the book says, and it never touches the graph."""
    folder = Path(tempfile.mkdtemp(prefix="hlgraph-"))
    sources: dict[int, dict[str, tuple[str, ...]]] = {}
    book: dict[frozenset[str], str] = {}
    try:
        with opened_at(folder / "walked") as opened:
            merges = Merges(CORPUS, opened.stores, chat=lambda _: None)
            for what, number, value in history:
                if what == "ingest":
                    sources[number] = said(number, value)  # type: ignore[arg-type]
                    ingest(opened.stores, {f"doc:{number}": sources[number]})
                elif what == "delete":
                    if sources.pop(number, None) is not None:
                        delete_sources([source_id(CORPUS, f"doc:{number}")], CORPUS, stores=opened.stores)
                elif what == "undo":
                    if opened.stores.graph.stats(CORPUS) and (held := merges.list().decisions):
                        (gone,) = merges.undo(held[number % len(held)].id)
                        del book[frozenset(gone.pair)]
                elif opened.stores.graph.stats(CORPUS):
                    _apply(merges, value, what, book=book)  # type: ignore[arg-type]
                alive = {key(name) for some in sources.values() for names in some.values() for name in names}
                book = {pair: verdict for pair, verdict in book.items() if pair <= alive}
                _compare(opened, merges, book)
            if opened.stores.graph.stats(CORPUS):
                merges.undo([item.id for item in merges.list().decisions])
            walked = snapshot(opened.stores, CORPUS)
        with opened_at(folder / "fresh") as opened:
            for number, some in sorted(sources.items()):
                ingest(opened.stores, {f"doc:{number}": some})
            assert walked == snapshot(opened.stores, CORPUS)
    finally:
        shutil.rmtree(folder)


def _apply(merges: Merges, pair: tuple[str, str], what: str, *, book: dict[frozenset[str], str]) -> None:
    """Apply and note it, where it is not refused; what is refused is what the book refuses."""
    ends = frozenset(map(key, pair))
    try:
        made = merges.apply([pair], keep_apart=what == "apart")
    except InputError:
        return
    for item in made:
        assert frozenset(item.pair) == ends
        book[ends] = item.verdict.value
    groups = plain_groups({held for held, verdict in book.items() if verdict == Verdict.SAME})
    apart = [held for held, verdict in book.items() if verdict == Verdict.DIFFERENT]
    assert not any(held <= group for held in apart for group in groups)


def _compare(opened: Opened, merges: Merges, book: dict[frozenset[str], str]) -> None:
    stats = opened.stores.graph.stats(CORPUS)
    if not stats:
        return
    found = merges.list()
    assert {frozenset(item.pair): item.verdict.value for item in found.decisions} == book
    assert found.contradictions == ()
    groups = plain_groups({held for held, verdict in book.items() if verdict == Verdict.SAME})
    assert {frozenset({item.canonical.id, *(each.id for each in item.aliases)}) for item in found.groups} == groups
    there = {item.id for item in opened.stores.graph.find(Kind.ENTITY, Scope(CORPUS))}
    assert all(pair <= there for pair in book)
