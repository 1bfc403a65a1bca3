"""Groups, conflicts and shared edges against plain references."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from hlgraph.algorithms.merging import Groups, Pair, settle, share_edges
from hlgraph.algorithms.projection import ProjectionShape, project
from hlgraph.records import Kind, Relationship
from hlgraph.subgraph import KINDS, Subgraph

_NAMES = st.sampled_from("abcdefg")
_PAIRS = st.lists(st.tuples(_NAMES, _NAMES).filter(lambda pair: pair[0] != pair[1]), max_size=12)


def plain_groups(pairs: list[Pair]) -> set[frozenset[str]]:
    """Join sets until nothing changes."""
    sets = [frozenset(pair) for pair in pairs]
    while True:
        hit = next(((a, b) for a, b in itertools.combinations(sets, 2) if a & b), None)
        if hit is None:
            return set(sets)
        sets = [item for item in sets if item not in hit] + [hit[0] | hit[1]]


def is_one(pairs: list[Pair], a: str, b: str) -> bool:
    return any({a, b} <= some for some in plain_groups(pairs))


@given(_PAIRS)
def test_groups_are_those_of_a_plain_reference(pairs: list[Pair]) -> None:
    groups = Groups(pairs)
    assert {frozenset(some) for some in groups.all()} == plain_groups(pairs)
    assert list(groups.all()) == sorted(groups.all())
    for a, b in itertools.combinations("abcdefg", 2):
        assert groups.is_one(a, b) == is_one(pairs, a, b)
        assert (b in groups.members(a)) == is_one(pairs, a, b)


@given(_PAIRS, _PAIRS, _PAIRS)
def test_settling_joins_what_it_can_and_never_what_is_kept_apart(
    pairs: list[Pair], same: list[Pair], apart: list[Pair]
) -> None:
    apart = [pair for pair in apart if not is_one(same, *pair)]
    held = list(same)
    expected: dict[str, list[Pair]] = {"joined": [], "known": [], "conflicts": []}
    for pair in pairs:
        if is_one(held, *pair):
            expected["known"].append(pair)
        elif any(is_one([*held, pair], *other) for other in apart):
            expected["conflicts"].append(pair)
        else:
            expected["joined"].append(pair)
            held.append(pair)
    found = settle(pairs, same=same, apart=apart)
    assert list(found.joined) == expected["joined"]
    assert list(found.known) == expected["known"]
    assert [item.pair for item in found.conflicts] == expected["conflicts"]
    assert all(is_one([*held, item.pair], *item.apart) for item in found.conflicts)
    assert all(item.apart in apart for item in found.conflicts)


def graph_of(edges: dict[Relationship, list[tuple[str, str, float]]]) -> Subgraph:
    """Nodes are named by one letter of their kind and a number: e1 is an entity, s1 a statement, c1 a chunk."""
    kinds = {"e": Kind.ENTITY, "s": Kind.STATEMENT, "c": Kind.CHUNK}
    ids = sorted({name for some in edges.values() for a, b, _ in some for name in (a, b)})
    place = {name: at for at, name in enumerate(ids)}
    matrices = {}
    for item, some in edges.items():
        matrix = np.zeros((len(ids), len(ids)), dtype=np.float32)
        for a, b, weight in some:
            matrix[place[a], place[b]] = weight
        matrices[item] = sp.csr_array(matrix)
    return Subgraph(
        np.array(ids, dtype="<U32"), np.array([KINDS.index(kinds[name[0]]) for name in ids], dtype=np.uint8), matrices
    )


def edges_of(graph: Subgraph, relationship: Relationship) -> dict[tuple[str, str], float]:
    found = graph.edges[relationship].tocoo()
    return {
        (str(graph.ids[a]), str(graph.ids[b])): float(weight)
        for a, b, weight in zip(found.row, found.col, found.data, strict=True)
    }


_ONE = ("e1", "e2")
_GROUPS = dict.fromkeys(_ONE, _ONE)


def test_what_a_statement_mentions_it_mentions_under_every_name() -> None:
    graph = graph_of({Relationship.MENTIONS: [("s1", "e1", 1), ("s2", "e2", 1), ("s2", "e1", 1), ("s3", "e3", 1)]})
    assert edges_of(share_edges(graph, _GROUPS), Relationship.MENTIONS) == {
        ("s1", "e1"): 1,
        ("s1", "e2"): 1,
        ("s2", "e1"): 1,
        ("s2", "e2"): 1,
        ("s3", "e3"): 1,
    }


def test_weights_of_facts_add_up_those_of_synonyms_do_not_and_inside_a_group_there_is_nothing() -> None:
    graph = graph_of(
        {
            Relationship.RELATES: [("e1", "e3", 2), ("e2", "e3", 3), ("e1", "e2", 5), ("e4", "e1", 1)],
            Relationship.SYNONYM: [("e1", "e3", 0.9), ("e2", "e3", 0.8), ("e1", "e2", 0.95)],
            Relationship.SAME_AS: [("e1", "e2", 1)],
        }
    )
    found = share_edges(graph, _GROUPS)
    assert edges_of(found, Relationship.RELATES) == {
        ("e1", "e3"): 5,
        ("e2", "e3"): 5,
        ("e4", "e1"): 1,
        ("e4", "e2"): 1,
    }
    assert {pair: round(weight, 4) for pair, weight in edges_of(found, Relationship.SYNONYM).items()} == {
        ("e1", "e3"): 0.9,
        ("e2", "e3"): 0.9,
    }
    assert edges_of(found, Relationship.SAME_AS) == {("e1", "e2"): 1}


_ENTITIES = st.sampled_from(("e1", "e2", "e3", "e4", "e5", "e9"))


# Of e2 and e4 one is there alone: what is said of it and itself stays, although others in the graph are one.
@example([], [("e1", "e3", 1), ("e2", "e2", 1)], [("e1", "e3"), ("e2", "e4")])
@given(
    st.lists(st.tuples(st.sampled_from(("s1", "s2", "s3")), _ENTITIES), max_size=10),
    st.lists(st.tuples(_ENTITIES, _ENTITIES, st.integers(1, 3)), max_size=10),
    st.lists(st.tuples(_ENTITIES, _ENTITIES), max_size=4),
)
def test_shared_edges_are_those_of_a_plain_reference(
    mentions: list[Pair], facts: list[tuple[str, str, int]], merges: list[Pair]
) -> None:
    """An edge of one is an edge of all, counted edge by edge."""
    groups = {name: some for some in Groups(merges).all() if len(some) > 1 for name in some}
    weights = {(a, b): float(weight) for a, b, weight in facts}
    graph = graph_of(
        {
            Relationship.MENTIONS: [(*pair, 1.0) for pair in set(mentions)],
            Relationship.RELATES: [(*pair, weight) for pair, weight in weights.items()],
        }
    )
    there = set(graph.ids.tolist())

    def others(name: str) -> list[str]:
        return [item for item in groups.get(name, (name,)) if item in there]

    related: dict[Pair, float] = {}
    for (a, b), weight in weights.items():
        for start, stop in itertools.product(others(a), others(b)):
            is_inside = start in groups and stop in groups[start]
            if not is_inside or len(others(a)) == 1:
                related[start, stop] = related.get((start, stop), 0.0) + weight
    found = share_edges(graph, groups)
    assert edges_of(found, Relationship.MENTIONS) == {
        (statement, name): 1.0 for statement, entity in mentions for name in others(entity)
    }
    assert edges_of(found, Relationship.RELATES) == related
    assert found.ids.tolist() == graph.ids.tolist()


def test_a_group_of_which_one_is_there_changes_nothing() -> None:
    graph = graph_of({Relationship.MENTIONS: [("s1", "e1", 1), ("s2", "e3", 1)]})
    assert share_edges(graph, _GROUPS) is graph
    assert share_edges(graph, {}) is graph


def test_every_shape_joins_merged_entities_by_one_more() -> None:
    edges = {
        Relationship.MENTIONS: [("s1", "e1", 1.0), ("s1", "e2", 1.0), ("s2", "e3", 1.0)],
        Relationship.IN_CHUNK: [("s1", "c1", 1.0), ("s2", "c1", 1.0)],
        Relationship.SYNONYM: [("e1", "e3", 0.5)],
        Relationship.RELATES: [("e1", "e2", 3.0)],
        Relationship.CO_OCCURS: [("e1", "e3", 1.0)],
        Relationship.SAME_AS: [("e3", "e1", 1.0), ("e2", "e1", 1.0)],
    }
    with_merges, without = graph_of(edges), graph_of({**edges, Relationship.SAME_AS: []})
    for shape in ProjectionShape:
        made, plain = project(with_merges, shape), project(without, shape)
        more = (made.adjacency - plain.adjacency).tocoo()
        ids = with_merges.ids[made.nodes]
        ends = {
            (str(ids[a]), str(ids[b])): float(w) for a, b, w in zip(more.row, more.col, more.data, strict=True) if w
        }
        assert ends == dict.fromkeys([("e1", "e2"), ("e2", "e1"), ("e1", "e3"), ("e3", "e1")], 1.0), shape
