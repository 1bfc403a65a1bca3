"""Subgraph: lookup by id and by kind, and the adjacency that algorithms walk."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from hlgraph.records import Kind, Relationship
from hlgraph.subgraph import KINDS, Subgraph, block, entries

_IDS = [f"{at:032x}" for at in (3, 5, 8, 13)]
_KINDS = [Kind.STATEMENT, Kind.STATEMENT, Kind.ENTITY, Kind.ENTITY]


def _csr(*edges: tuple[int, int, float], size: int = 4) -> sp.csr_array:
    rows, columns, weights = zip(*edges, strict=True) if edges else ((), (), ())
    return sp.csr_array((np.array(weights, dtype=np.float32), (rows, columns)), shape=(size, size))


@pytest.fixture
def graph() -> Subgraph:
    """Two statements; both mention 2, the second also 3; 2 relates to 3 with three facts and to itself with one."""
    return Subgraph(
        np.array(_IDS),
        np.array([KINDS.index(kind) for kind in _KINDS], dtype=np.uint8),
        {
            Relationship.MENTIONS: _csr((0, 2, 1), (1, 2, 1), (1, 3, 1)),
            Relationship.RELATES: _csr((2, 3, 3), (2, 2, 1)),
            Relationship.SYNONYM: _csr(),
        },
    )


def test_nodes_of_a_kind(graph: Subgraph) -> None:
    assert len(graph) == 4
    assert graph.nodes(Kind.STATEMENT).tolist() == [0, 1]
    assert graph.nodes(Kind.ENTITY).tolist() == [2, 3]
    assert graph.nodes(Kind.CHUNK).tolist() == []


def test_index_keeps_the_requested_order_and_gives_minus_one_for_missing_ids(graph: Subgraph) -> None:
    absent = [f"{at:032x}" for at in (0, 4, 99)]
    asked = [_IDS[3], absent[0], _IDS[0], absent[1], absent[2], _IDS[3], ""]
    assert graph.index(asked).tolist() == [3, -1, 0, -1, -1, 3, -1]
    assert graph.index([]).tolist() == []
    assert graph.index([]).dtype == np.intp


def test_index_does_not_match_an_id_by_its_prefix(graph: Subgraph) -> None:
    assert graph.index([_IDS[1] + "0", _IDS[1][:-1]]).tolist() == [-1, -1]


def test_adjacency_is_the_sum_of_both_directions(graph: Subgraph) -> None:
    expected = [[0, 0, 1, 0], [0, 0, 1, 1], [1, 1, 2, 3], [0, 1, 3, 0]]
    found = graph.adjacency()
    assert found.toarray().tolist() == expected
    assert (found.dtype, found.format) == (np.float32, "csr")


def test_adjacency_ignores_relationships_without_a_weight(graph: Subgraph) -> None:
    found = graph.adjacency({Relationship.RELATES: 0.5, Relationship.SIMILAR: 9.0})
    assert found.toarray().tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1.5], [0, 0, 1.5, 0]]
    assert graph.adjacency({Relationship.MENTIONS: 0.0}).nnz == 0
    assert graph.adjacency({}).nnz == 0


def test_adjacency_does_not_modify_the_edges(graph: Subgraph) -> None:
    before = {item: edges.toarray().tolist() for item, edges in graph.edges.items()}
    graph.adjacency({Relationship.MENTIONS: 2.0, Relationship.RELATES: 3.0}).data[:] = 7.0
    graph.adjacency().data[:] = 7.0
    assert {item: edges.toarray().tolist() for item, edges in graph.edges.items()} == before


def test_a_subgraph_without_nodes() -> None:
    empty = Subgraph(np.empty(0, "<U32"), np.empty(0, np.uint8), {Relationship.MENTIONS: _csr(size=0)})
    assert len(empty) == 0
    assert empty.index(["a", "b"]).tolist() == [-1, -1]
    assert empty.nodes(Kind.ENTITY).tolist() == []
    assert empty.adjacency().shape == (0, 0)


@given(st.data())
def test_block_equals_row_and_column_selection(data: st.DataObject) -> None:
    height, width = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 8))
    cells = data.draw(st.lists(st.sampled_from([0, 0, 1, 2.5]), min_size=height * width, max_size=height * width))
    matrix = sp.csr_array(np.array(cells, dtype=np.float32).reshape(height, width))
    rows = np.array(data.draw(st.lists(st.integers(0, height - 1), max_size=6)), dtype=np.intp)
    columns = np.array(sorted(data.draw(st.sets(st.integers(0, width - 1)))), dtype=np.intp)
    found = block(matrix, rows, columns=columns)
    assert found.toarray().tolist() == matrix.toarray()[rows][:, columns].tolist()
    assert found.has_sorted_indices
    some = entries(matrix, rows)
    assert some.values.tolist() == [value for row in rows for value in matrix.toarray()[row].tolist() if value]


def test_within_keeps_the_edges_between_the_nodes_that_stay(graph: Subgraph) -> None:
    found = graph.within(np.array([1, 2, 3]))
    assert found.ids.tolist() == _IDS[1:]
    assert found.kinds.tolist() == graph.kinds[1:].tolist()
    assert found.edges[Relationship.MENTIONS].toarray().tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert found.edges[Relationship.RELATES].toarray().tolist() == [[0, 0, 0], [0, 1, 3], [0, 0, 0]]
    assert (found.version, found.is_cut) == (graph.version, graph.is_cut)
