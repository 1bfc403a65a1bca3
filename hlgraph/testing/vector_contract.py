"""Contract suite of VectorStore. Subclass :class:`VectorStoreContract` and define a fixture ``stores``."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from hlgraph.change import VectorBlock
from hlgraph.errors import InputError, ModelMismatchError
from hlgraph.records import Hit, Kind, Source
from hlgraph.stores.protocols import Row, Stores, VectorBatch, VectorQuery
from hlgraph.testing.embedder import WordEmbedder
from hlgraph.where import Where, matches, parse, source_values

_EMBEDDER = WordEmbedder(16)
_TEXTS = (
    "steel bridge over the river",
    "wooden bridge over the canal",
    "a poet by the river",
    "the old canal lock",
    "a lighthouse keeper",
    "Brücke über den Fluss",
    "川の橋",
)
_SOURCES = tuple(
    Source(
        f"{at:032x}",
        "c",
        f"doc:{at}",
        f"Title {at}",
        "sum",
        {"n": at, "even": at % 2 == 0, "tags": ("all", f"t{at}"), "created": f"2024-03-05T09:30:0{at}+00:00"},
    )
    for at in range(len(_TEXTS))
)

_FILTERS = (
    "n >= 3",
    "even = true",
    'tags in ("t1", "t2")',
    "not exists n",
    'title = "Title 2" or n < 1',
    'uri = "doc:3"',
    'created <= "2024-03-05T10:30:02+01:00" and created > "2024-03-05"',
    'created in ("2024-03-05T09:30:04Z", "2024-03-05 09:30:05")',
)


def block(
    kind: Kind, texts: tuple[str, ...], *, first: int = 0, source_ids: tuple[str, ...] | None = None
) -> VectorBlock:
    """Vector rows of texts, with consecutive numbers as ids.

    Parameters
    ----------
    kind : kind of the records
    texts : one per row
    first : id of the first row, default 0
    source_ids : source of each row, default a source of its own with the id of the row
    """
    matrix = _EMBEDDER.embed(texts)
    names = tuple(f"{first + at:032x}" for at in range(len(texts)))
    return VectorBlock(kind, names, texts, source_ids or names, 16, matrix.tobytes())


def fill(stores: Stores, *, change: str = "one", corpus: str = "c") -> None:
    """Add all texts as statements, one source each.

    Parameters
    ----------
    stores : the stores
    change : id of the change, default ``one``
    corpus : name of the corpus, default ``c``
    """
    stores.vectors.upsert(VectorBatch(corpus, change, _SOURCES, (block(Kind.STATEMENT, _TEXTS),)))


_of_statements = partial(VectorQuery, Kind.STATEMENT, "c")


def search(
    stores: Stores,
    k: int,
    *,
    vector: NDArray[np.float32] | None = None,
    text: str | None = None,
    where: Where | None = None,
) -> list[Hit]:
    """The best statements of the corpus ``c``."""
    return stores.vectors.search(_of_statements(k, vector, text, where))


def ask(text: str) -> NDArray[np.float32]:
    """The vector of a question."""
    vector: NDArray[np.float32] = _EMBEDDER.embed([text])[0]
    return vector


class VectorStoreContract:
    """Tests that every VectorStore must pass."""

    def test_an_empty_store_finds_nothing(self, stores: Stores) -> None:
        assert search(stores, 3, vector=ask("bridge")) == []
        assert search(stores, 3, text="bridge") == []
        assert stores.vectors.ids(Kind.STATEMENT, "c") == set()
        assert stores.vectors.vectors(Kind.STATEMENT, "c", ids=["x"])[0] == []
        assert stores.vectors.neighbours(Kind.ENTITY, "c", vectors=ask("a")[None], threshold=0.5).ids == []

    def test_search_by_vector_is_exact(self, stores: Stores) -> None:
        fill(stores)
        vector = ask("bridge over the river")
        cosines = _EMBEDDER.embed(_TEXTS) @ vector
        hits = search(stores, 4, vector=vector)
        assert [int(hit.id, 16) for hit in hits] == np.argsort(-cosines, kind="stable")[:4].tolist()
        assert [hit.score for hit in hits] == pytest.approx(np.sort(cosines)[::-1][:4].tolist(), abs=1e-5)

    def test_equal_scores_are_ordered_by_id(self, stores: Stores) -> None:
        stores.vectors.upsert(VectorBatch("c", "one", _SOURCES, (block(Kind.STATEMENT, ("same words",) * 5),)))
        hits = search(stores, 3, vector=ask("same words"))
        assert [int(hit.id, 16) for hit in hits] == [0, 1, 2]

    def test_search_by_text(self, stores: Stores) -> None:
        fill(stores)
        hits = search(stores, 5, text="Who kept the lighthouse?")
        assert int(hits[0].id, 16) == 4
        assert all(a.score >= b.score for a, b in itertools.pairwise(hits))

    def test_text_of_any_script_and_syntax_is_only_words(self, stores: Stores) -> None:
        fill(stores)
        for text, at in (("brücke fluss", 5), ("川の橋", 6), ("BRÜCKE", 5), ('"quoted" AND (canal* OR lock)', 3)):
            hits = search(stores, 1, text=text)
            assert [int(hit.id, 16) for hit in hits] == [at], text

    def test_hybrid_finds_what_either_finds(self, stores: Stores) -> None:
        fill(stores)
        hits = search(stores, 7, vector=ask("lighthouse keeper"), text="canal lock")
        assert {3, 4} < {int(hit.id, 16) for hit in hits[:3]}

    def test_filters_hold_inside_the_search(self, stores: Stores) -> None:
        fill(stores)
        query = "bridge river canal poet lighthouse lock fluss 川の橋"
        for where, mode in itertools.product(_FILTERS, ("vector", "text", "hybrid")):
            condition = parse(where)
            allowed = {item.id for item in _SOURCES if matches(condition, source_values(item))}
            vector, text = ask(query) if mode != "text" else None, query if mode != "vector" else None
            hits = search(stores, len(_TEXTS), vector=vector, text=text, where=condition)
            assert {hit.id for hit in hits} == allowed, f"{where}, {mode}"

    def test_the_k_best_of_the_filtered_not_the_filtered_of_the_k_best(self, stores: Stores) -> None:
        fill(stores)
        hits = search(stores, 2, vector=ask("steel bridge over the river"), where=parse("n >= 4"))
        assert len(hits) == 2

    def test_rows_of_hidden_changes_are_not_found(self, stores: Stores) -> None:
        fill(stores)
        stores.vectors.upsert(VectorBatch("c", "two", (), (block(Kind.STATEMENT, ("a steel bridge",), first=100),)))
        for text in (None, "steel bridge"):
            query = _of_statements(20, ask("steel bridge"), text, hidden=("two",))
            assert f"{100:032x}" not in {hit.id for hit in stores.vectors.search(query)}
        query = _of_statements(20, ask("steel bridge"))
        assert f"{100:032x}" in {hit.id for hit in stores.vectors.search(query)}

    def test_searches_side_by_side_find_what_each_finds(self, stores: Stores) -> None:
        fill(stores)
        queries = [
            _of_statements(3, ask("steel bridge")),
            VectorQuery(Kind.TOPIC, "c", 3, ask("steel bridge")),
            _of_statements(3, text="the canal lock"),
            _of_statements(3, ask("lighthouse"), "poet", parse("n >= 2")),
            _of_statements(3, text="?"),
        ]
        assert stores.vectors.search_many(queries) == [stores.vectors.search(query) for query in queries]
        assert stores.vectors.search_many([]) == []

    def test_what_is_read_twice_in_one_state_is_what_was_written_last(self, stores: Stores) -> None:
        fill(stores)
        name, gone = f"{0:032x}", f"{1:032x}"
        query = _of_statements(9, ask("granite quarry"), state="s")
        for _ in range(3):
            stores.vectors.search(query)
        assert stores.vectors.vectors(Kind.STATEMENT, "c", ids=[name, gone], state="s")[0] == [name, gone]
        stores.vectors.upsert(VectorBatch("c", "two", (), (block(Kind.STATEMENT, ("granite quarry",)),)))
        stores.vectors.delete("c", {Kind.STATEMENT: [gone]})
        hits = stores.vectors.search(query)
        assert hits[0].id == name
        assert hits[0].score == pytest.approx(1.0, abs=1e-6)
        assert gone not in {hit.id for hit in hits}
        stored, matrix = stores.vectors.vectors(Kind.STATEMENT, "c", ids=[name, gone], state="s")
        assert stored == [name]
        np.testing.assert_allclose(matrix[0], ask("granite quarry"), atol=1e-6)

    def test_the_same_batch_twice_changes_nothing(self, stores: Stores) -> None:
        fill(stores)
        before = search(stores, 9, vector=ask("bridge"), text="bridge")
        fill(stores)
        assert search(stores, 9, vector=ask("bridge"), text="bridge") == before
        assert len(stores.vectors.ids(Kind.STATEMENT, "c")) == len(_TEXTS)

    def test_a_row_of_a_later_change_replaces_the_row(self, stores: Stores) -> None:
        fill(stores)
        stores.vectors.upsert(VectorBatch("c", "two", (), (block(Kind.STATEMENT, ("granite quarry",)),)))
        assert len(stores.vectors.ids(Kind.STATEMENT, "c")) == len(_TEXTS)
        assert int(search(stores, 1, vector=ask("granite quarry"))[0].id, 16) == 0
        assert int(search(stores, 1, text="quarry")[0].id, 16) == 0
        assert search(stores, 9, text="steel") == []

    def test_a_new_description_of_a_source_is_what_filters_see(self, stores: Stores) -> None:
        fill(stores)
        moved = Source(_SOURCES[0].id, "c", "doc:0", "Title 0", "sum", {"n": 1000})
        stores.vectors.upsert(VectorBatch("c", "two", (moved,)))
        hits = search(stores, 9, vector=ask("bridge"), where=parse("n = 1000"))
        assert [hit.id for hit in hits] == [_SOURCES[0].id]

    def test_vectors_come_back_in_the_order_asked_for(self, stores: Stores) -> None:
        fill(stores)
        names = [f"{at:032x}" for at in (4, 99, 1)]
        stored, matrix = stores.vectors.vectors(Kind.STATEMENT, "c", ids=names)
        assert stored == [names[0], names[2]]
        np.testing.assert_allclose(matrix, _EMBEDDER.embed([_TEXTS[4], _TEXTS[1]]), atol=1e-6)

    def test_vectors_of_several_kinds_are_those_of_each(self, stores: Stores) -> None:
        fill(stores)
        texts = ("a river", "a weir")
        stores.vectors.upsert(VectorBatch("c", "two", (), (block(Kind.TOPIC, texts),)))
        ids = {Kind.STATEMENT: [f"{at:032x}" for at in (4, 99, 1)], Kind.TOPIC: [f"{1:032x}"], Kind.ENTITY: ["x"]}
        by_kind = stores.vectors.vectors_many("c", {**ids, Kind.CHUNK: []})
        assert {kind: names for kind, (names, _) in by_kind.items()} == {
            Kind.STATEMENT: [f"{4:032x}", f"{1:032x}"], Kind.TOPIC: [f"{1:032x}"], Kind.ENTITY: [], Kind.CHUNK: []
        }  # fmt: skip
        np.testing.assert_allclose(by_kind[Kind.TOPIC][1], _EMBEDDER.embed(texts)[1:], atol=1e-6)
        for kind, names in ids.items():
            np.testing.assert_array_equal(by_kind[kind][1], stores.vectors.vectors(kind, "c", ids=names)[1])
        assert stores.vectors.vectors_many("c", {}) == {}

    def test_neighbours_are_all_pairs_at_the_threshold(self, stores: Stores) -> None:
        fill(stores)
        matrix = _EMBEDDER.embed(_TEXTS)
        neighbours = stores.vectors.neighbours(Kind.STATEMENT, "c", vectors=matrix, threshold=0.4)
        pairs = {(int(a), int(b, 16)) for a, b in zip(neighbours.queries, neighbours.ids, strict=True)}
        assert pairs == {(int(a), int(b)) for a, b in np.argwhere(matrix @ matrix.T >= 0.4)}

    def test_ids_among(self, stores: Stores) -> None:
        fill(stores)
        assert stores.vectors.ids(Kind.STATEMENT, "c", among=[_SOURCES[0].id, "nope"]) == {_SOURCES[0].id}
        assert stores.vectors.ids(Kind.SOURCE, "c") == {item.id for item in _SOURCES}

    def test_corpora_and_kinds_are_apart(self, stores: Stores) -> None:
        fill(stores)
        stores.vectors.upsert(VectorBatch("other", "x", (), (block(Kind.TOPIC, ("bridge",), first=500),)))
        for corpus, kind, ids in (("other", Kind.TOPIC, 1), ("other", Kind.STATEMENT, 0), ("c", Kind.TOPIC, 0)):
            assert len(stores.vectors.search(VectorQuery(kind, corpus, 9, ask("bridge")))) == ids
            assert len(stores.vectors.search(VectorQuery(kind, corpus, 9, text="bridge"))) == ids

    def test_another_corpus_has_no_say_in_the_ranking_by_text(self, stores: Stores) -> None:
        fill(stores)
        query = _of_statements(9, text="the old bridge by the canal lock")
        before = stores.vectors.search(query)
        many = ("canal and more canal in a long text about the canal",) * 40
        stores.vectors.upsert(VectorBatch("other", "x", (), (block(Kind.STATEMENT, many, first=900),)))
        assert stores.vectors.search(query) == before

    def test_deleted_rows_are_gone_from_every_search(self, stores: Stores) -> None:
        fill(stores)
        assert stores.vectors.delete("c", {"statement": [_SOURCES[0].id, "nope"], "source": [_SOURCES[0].id]}) == 2
        assert _SOURCES[0].id not in stores.vectors.ids(Kind.STATEMENT, "c") | stores.vectors.ids(Kind.SOURCE, "c")
        for hits in (search(stores, 9, vector=ask("steel bridge")), search(stores, 9, text="steel bridge")):
            assert _SOURCES[0].id not in {hit.id for hit in hits}
        assert stores.vectors.vectors(Kind.STATEMENT, "c", ids=[_SOURCES[0].id])[0] == []

    def test_many_deletes_and_writes_keep_rows_apart(self, stores: Stores) -> None:
        texts = tuple(f"word{at} shared" for at in range(3_000))
        stores.vectors.upsert(VectorBatch("c", "one", (), (block(Kind.STATEMENT, texts),)))
        stores.vectors.delete("c", {"statement": [f"{at:032x}" for at in range(2_500)]})
        stores.vectors.upsert(VectorBatch("c", "two", (), (block(Kind.STATEMENT, ("late arrival",), first=9_000),)))
        assert len(stores.vectors.ids(Kind.STATEMENT, "c")) == 501
        assert int(search(stores, 1, vector=ask("word2777 shared"))[0].id, 16) == 2_777
        assert int(search(stores, 1, vector=ask("late arrival"))[0].id, 16) == 9_000

    def test_other_dimensions_are_refused(self, stores: Stores) -> None:
        fill(stores)
        wrong = VectorBlock(Kind.STATEMENT, ("f" * 32,), ("x",), ("",), 4, np.ones((1, 4), dtype=np.float32).tobytes())
        with pytest.raises(ModelMismatchError, match="16 dimensions"):
            stores.vectors.upsert(VectorBatch("c", "x", (), (wrong,)))
        with pytest.raises(ModelMismatchError, match="16"):
            search(stores, 1, vector=np.ones(4, dtype=np.float32))

    def test_rows_of_another_length_than_the_corpus_are_damaged_and_a_repair_makes_room(self, stores: Stores) -> None:
        fill(stores)
        ids = stores.vectors.ids(Kind.STATEMENT, "c")
        rows = [Row(item, text, item) for item, text in zip(sorted(ids), _TEXTS, strict=True)]
        for length in (0, 16):
            assert stores.vectors.examine(Kind.STATEMENT, "c", rows=rows, dimensions=length).is_none
        assert stores.vectors.examine(Kind.STATEMENT, "c", rows=rows, dimensions=4).vectors == ids
        assert stores.vectors.examine(Kind.SOURCE, "c", rows=(), dimensions=4).is_none
        assert stores.vectors.examine(Kind.STATEMENT, "c", rows=rows, dimensions=4, repair=True).vectors == ids
        fitting = replace(
            block(Kind.STATEMENT, ("x",)), dimensions=4, data=np.array([0, 1, 0, 0], dtype=np.float32).tobytes()
        )
        stores.vectors.upsert(VectorBatch("c", "x", (), (fitting,)))
        assert stores.vectors.vectors(Kind.STATEMENT, "c", ids=sorted(ids))[1].tolist() == [[0, 1, 0, 0]]

    def test_a_search_for_nothing_is_refused(self, stores: Stores) -> None:
        with pytest.raises(InputError, match="k is 0"):
            search(stores, 0, vector=ask("x"))
        fill(stores)
        with pytest.raises(InputError, match="vector, a text"):
            search(stores, 1)
