"""The graphs that the papers walk on, projected from a subgraph of hlgraph, and their classes of twin nodes.

:func:`project` makes the adjacency of one :class:`ProjectionShape`. :func:`find_twins` finds its nodes with equal
neighbours, which a walk treats as one node (:mod:`hlgraph.algorithms.ppr`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.records import Kind, Relationship
from hlgraph.subgraph import Csr, Subgraph, block, spans

PER_STATEMENT = 2.0
"""Weight that a statement adds to each pair of its entities."""


class ProjectionShape(StrEnum):
    """A graph from a paper: its kinds of nodes, its edges and their weights.

    ``entity_passage`` (PropRAG A.1): entities and chunks. The entities of a statement form a clique; a pair weighs 2 per
    shared statement. A chunk and an entity of one of its statements are joined by 1. Synonyms weigh their cosine. (The paper
    gives no weights. Its authors' code inserts the edge of a pair in both directions, which counts twice undirected.)

    ``statement_entity_chunk`` (ToPG 3.1): statements with their entities and with their chunks; each edge weighs 1. On request,
    synonyms of a least similarity are joined by 1 (ToPG, appendix A: entity reconciliation).

    ``entity_entity`` (TopoRAG 3.4): entities joined by facts and by common chunks; the weight is the number of both.

    In every shape the weight between two merged entities (SAME_AS) is 1 higher, which no paper has.
    """

    ENTITY_PASSAGE = "entity_passage"
    STATEMENT_ENTITY_CHUNK = "statement_entity_chunk"
    ENTITY_ENTITY = "entity_entity"


class Ingredients(NamedTuple):
    """The relationships and kinds of nodes that a subgraph needs for a shape."""

    relationships: frozenset[Relationship]
    kinds: frozenset[Kind]


_WITH_TEXTS = Ingredients(
    frozenset({Relationship.IN_CHUNK, Relationship.MENTIONS, Relationship.SAME_AS}),
    frozenset({Kind.CHUNK, Kind.STATEMENT, Kind.ENTITY}),
)
INGREDIENTS: Mapping[ProjectionShape, Ingredients] = {
    ProjectionShape.ENTITY_PASSAGE: Ingredients(_WITH_TEXTS.relationships | {Relationship.SYNONYM}, _WITH_TEXTS.kinds),
    ProjectionShape.STATEMENT_ENTITY_CHUNK: _WITH_TEXTS,
    ProjectionShape.ENTITY_ENTITY: Ingredients(
        frozenset({Relationship.RELATES, Relationship.CO_OCCURS, Relationship.SAME_AS}), frozenset({Kind.ENTITY})
    ),
}


def ingredients(shape: ProjectionShape, *, synonyms: float | None = None) -> Ingredients:
    """The relationships and kinds of nodes that a subgraph needs for a shape.

    Parameters
    ----------
    shape : which graph to make
    synonyms : least similarity of the synonyms that are joined, see :func:`project`; None: SYNONYM is not needed for them
    """
    relationships, kinds = INGREDIENTS[shape]
    return Ingredients(relationships if synonyms is None else relationships | {Relationship.SYNONYM}, kinds)


NODE_KINDS: Mapping[ProjectionShape, frozenset[Kind]] = {
    **{shape: ingredients.kinds for shape, ingredients in INGREDIENTS.items()},
    ProjectionShape.ENTITY_PASSAGE: frozenset({Kind.CHUNK, Kind.ENTITY}),
}
"""The kinds of nodes that a shape contains."""


class Projected(NamedTuple):
    """A graph of one shape.

    Attributes
    ----------
    nodes : shape (m,), ascending, the indices of its nodes in the subgraph
    adjacency : CSR of shape (m, m), float32, symmetric, no self loops
    """

    nodes: NDArray[np.intp]
    adjacency: Csr


class Incidence(NamedTuple):
    """Which entities each statement mentions and which chunks contain it, as matrices of 0 and 1.

    Rows and columns are in the order of ``graph.nodes(kind)``.

    Attributes
    ----------
    mentions : CSR of shape (s, e), statements by entities
    in_chunk : CSR of shape (s, c), statements by chunks
    """

    mentions: Csr
    in_chunk: Csr


def project(
    graph: Subgraph, shape: ProjectionShape, *, incident: Incidence | None = None, synonyms: float | None = None
) -> Projected:
    """The graph of a shape, projected from a subgraph; time linear in the size of the result.

    Parameters
    ----------
    graph : a subgraph with the relationships and kinds of ``INGREDIENTS[shape]``
    shape : which graph to make
    incident : the incidence of the subgraph, if the caller has it; None: it is computed if the shape needs it
    synonyms : ``statement_entity_chunk`` only: entities that a SYNONYM edge of at least this similarity joins are joined by 1;
        None: they are not

    Returns
    -------
    Projected
        Its nodes are those of ``NODE_KINDS[shape]``.

    References
    ----------
    PropRAG, appendix A.1; ToPG, section 3.1; TopoRAG, section 3.4.
    """
    if shape is ProjectionShape.ENTITY_PASSAGE:
        return _entity_passage(graph, incident or incidence(graph))
    if shape is ProjectionShape.STATEMENT_ENTITY_CHUNK:
        return _statement_entity_chunk(graph, incident or incidence(graph), synonyms)
    return _entity_entity(graph)


def incidence(graph: Subgraph, *, synonyms: float | None = None) -> Incidence:
    """The incidence of a subgraph: its statements by entities and by chunks; linear in those edges.

    Parameters
    ----------
    graph : the subgraph
    synonyms : entities that SYNONYM edges of at least this similarity join, directly or in a chain, count as one: the first of
        them by id stands for all, and no statement mentions the others. None: each entity is its own
    """
    from scipy.sparse.csgraph import connected_components

    statements, entities, chunks = (graph.nodes(kind) for kind in (Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK))
    mentions = _binary(block(graph.edges[Relationship.MENTIONS], statements, columns=entities))
    if synonyms is not None:
        _, group = connected_components(_joined(graph, Relationship.SYNONYM, entities, least=synonyms), directed=False)
        _, first = np.unique(group, return_index=True)
        rows = np.repeat(np.arange(len(statements)), np.diff(mentions.indptr))
        named = (mentions.data, (rows, first[group][mentions.indices]))
        mentions = _binary(sp.csr_array(named, shape=mentions.shape))
    in_chunk = _binary(block(graph.edges[Relationship.IN_CHUNK], statements, columns=chunks))
    return Incidence(mentions, in_chunk)


def _joined(graph: Subgraph, relationship: Relationship, entities: NDArray[np.intp], *, least: float = 0.0) -> Csr:
    """Edges of weight 1 between merged entities, or between synonyms (ToPG, appendix A), in both directions.

    Parameters
    ----------
    graph : the subgraph; without this relationship the result is empty
    relationship : SAME_AS or SYNONYM
    entities : shape (m,), indices of nodes
    least : lowest weight of a relationship, inclusive; compared in float32, the precision of the stores

    Returns
    -------
    Csr
        Shape (m, m), float32, in the order of ``entities``.
    """
    if relationship not in graph.edges:
        return sp.csr_array((len(entities), len(entities)), dtype=np.float32)
    pairs = sp.coo_array(block(graph.edges[relationship], entities, columns=entities))
    keep = (pairs.data >= np.float32(least)) & (pairs.row != pairs.col)
    kept = sp.csr_array((pairs.data[keep], (pairs.row[keep], pairs.col[keep])), shape=pairs.shape)
    return _binary(sp.csr_array(kept + kept.T))


def _binary(matrix: Csr) -> Csr:
    """The same matrix, changed in place: every non-zero entry becomes 1."""
    matrix.sum_duplicates()
    if not matrix.data.all():
        matrix.eliminate_zeros()
    matrix.data[:] = 1.0
    return matrix


def _entity_passage(graph: Subgraph, incident: Incidence) -> Projected:
    entities, chunks = graph.nodes(Kind.ENTITY), graph.nodes(Kind.CHUNK)
    mentioned_by = sp.csr_array(incident.mentions.T)
    cliques = sp.coo_array(mentioned_by @ incident.mentions)
    contained = sp.coo_array(mentioned_by @ incident.in_chunk)
    synonyms = sp.coo_array(block(graph.edges[Relationship.SYNONYM], entities, columns=entities))
    nodes = np.sort(np.concatenate([entities, chunks]))
    entity, chunk = np.searchsorted(nodes, entities), np.searchsorted(nodes, chunks)
    one, other, mention, passage = synonyms.row, synonyms.col, contained.row, contained.col
    parts = [
        (entity[cliques.row], entity[cliques.col], PER_STATEMENT * cliques.data),
        (entity[one], entity[other], synonyms.data),
        (entity[other], entity[one], synonyms.data),
        (entity[mention], chunk[passage], np.ones(len(mention), dtype=np.float32)),
        (chunk[passage], entity[mention], np.ones(len(mention), dtype=np.float32)),
    ]
    if Relationship.SAME_AS in graph.edges:
        pairs = sp.coo_array(_joined(graph, Relationship.SAME_AS, entities))
        parts.append((entity[pairs.row], entity[pairs.col], pairs.data))
    rows, columns, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    keep = (rows != columns) & (weights != 0)
    size = (len(nodes), len(nodes))
    # One matrix is built from all parts: each sum or block of matrices would be another pass over all entries.
    adjacency = sp.csr_array((weights[keep], (rows[keep], columns[keep])), shape=size, dtype=np.float32)
    return Projected(nodes, adjacency)


def _statement_entity_chunk(graph: Subgraph, incident: Incidence, synonyms: float | None) -> Projected:
    statements, entities, chunks = (graph.nodes(kind) for kind in (Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK))
    across = sp.csr_array(sp.hstack([incident.mentions, incident.in_chunk]))
    edges = _joined(graph, Relationship.SAME_AS, entities)
    if synonyms is not None:
        edges = sp.csr_array(edges + _joined(graph, Relationship.SYNONYM, entities, least=synonyms))
    among = sp.block_diag([edges, sp.csr_array((len(chunks), len(chunks)))], format="csr")
    return _ordered([statements, entities, chunks], sp.block_array([[None, across], [across.T, among]], format="csr"))


def _entity_entity(graph: Subgraph) -> Projected:
    entities = graph.nodes(Kind.ENTITY)
    edges = sp.csr_array((len(graph), len(graph)), dtype=np.float32)
    for relationship in graph.edges.keys() & {Relationship.RELATES, Relationship.CO_OCCURS}:
        edges = edges + graph.edges[relationship]
    inside = block(sp.csr_array(edges), entities, columns=entities)
    summed = sp.csr_array(inside + inside.T + _joined(graph, Relationship.SAME_AS, entities), dtype=np.float32)
    summed.sum_duplicates()
    pairs = sp.coo_array(summed)
    keep = (pairs.row != pairs.col) & (pairs.data != 0)
    edges = sp.csr_array((pairs.data[keep], (pairs.row[keep], pairs.col[keep])), shape=summed.shape)
    return Projected(entities, edges)


def _ordered(parts: list[NDArray[np.intp]], adjacency: Csr) -> Projected:
    """The same graph with its nodes in ascending order."""
    nodes = np.concatenate(parts)
    order = np.argsort(nodes)
    ordered = sp.csr_array(sp.csr_array(adjacency, dtype=np.float32)[order][:, order])
    ordered.sort_indices()
    return Projected(nodes[order], ordered)


class Twins(NamedTuple):
    """Classes of twins: nodes with equal weights to all other nodes and to each other. Most classes have one node.

    Attributes
    ----------
    of : shape (n,), the class of each node
    sizes : shape (c,), the number of nodes of each class
    loops : shape (c,), the weight between two nodes of a class over the degree of one; 0 without an edge between them
    members : shape (n,), the nodes ordered by class, ascending in each
    starts : shape (c + 1,), where each class begins in ``members``
    """

    of: NDArray[np.intp]
    sizes: NDArray[np.float64]
    loops: NDArray[np.float64]
    members: NDArray[np.intp]
    starts: NDArray[np.intp]

    def merged(self, adjacency: Csr) -> Csr:
        """The graph of the classes, CSR of shape (c, c); weights between two classes are summed, those inside form a loop."""
        rows = np.repeat(self.of, np.diff(adjacency.indptr))
        matrix = sp.coo_array((adjacency.data, (rows, self.of[adjacency.indices])), shape=(len(self.sizes),) * 2)
        return sp.csr_array(matrix.tocsr())

    def ordered(self, order: NDArray[np.intp]) -> Twins:
        """The same classes renumbered: class ``order[i]`` becomes class ``i``."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return _classes(place[self.of], self.loops[order])

    def nodes(self, classes: NDArray[np.intp]) -> NDArray[np.intp]:
        """All nodes of the given classes, in time linear in the number of nodes returned."""
        count = self.starts[classes + 1] - self.starts[classes]
        members: NDArray[np.intp] = self.members[spans(self.starts[classes], count)]
        return members


def find_twins(adjacency: Csr) -> Twins:
    """The classes of twins of a graph, in time linear in its edges; each node without edges is its own class.

    Rows are compared by sums of 64-bit hashes of their entries. The probability that two different rows are taken for equal
    is about the number of edges over 2^64.

    Parameters
    ----------
    adjacency : CSR of shape (n, n), symmetric, float64, without duplicate entries

    Examples
    --------
    The leaves of a star are twins. Merging them keeps their total weight.

    >>> star = sp.csr_array(np.array([[0, 1.0, 1.0], [1.0, 0, 0], [1.0, 0, 0]]))
    >>> find_twins(star).of
    array([0, 1, 1])
    >>> find_twins(star).merged(star).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    from scipy.sparse.csgraph import connected_components

    size = adjacency.shape[0]
    rows = np.repeat(np.arange(size), np.diff(adjacency.indptr))
    columns = adjacency.indices
    weights = _mixed(adjacency.data.view(np.uint64))
    there, back = _mixed(weights ^ columns.astype(np.uint64)), _mixed(weights ^ rows.astype(np.uint64))
    has_edges = np.diff(adjacency.indptr) > 0
    sums = np.zeros(size, dtype=np.uint64)
    if has_edges.any():
        sums[has_edges] = np.add.reduceat(there, adjacency.indptr[:-1][has_edges])
    # The rows of adjacent twins are equal without the edge between them; the rows of other twins are equal.
    is_joined = (rows != columns) & (sums[rows] - there == sums[columns] - back)
    order = np.flatnonzero(has_edges)[np.argsort(sums[has_edges], kind="stable")]
    is_equal = sums[order[1:]] == sums[order[:-1]]
    a = np.concatenate([rows[is_joined], order[1:][is_equal]])
    b = np.concatenate([columns[is_joined], order[:-1][is_equal]])
    links = sp.csr_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(size, size))
    count, of = connected_components(links, directed=False)
    of = of.astype(np.intp)
    loops = np.zeros(count)
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
    loops[of[rows[is_joined]]] = adjacency.data[is_joined] / degrees[rows[is_joined]]
    return _classes(of, loops)


def _classes(of: NDArray[np.intp], loops: NDArray[np.float64]) -> Twins:
    sizes = np.bincount(of, minlength=len(loops))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    return Twins(of, sizes.astype(np.float64), loops, np.argsort(of, kind="stable").astype(np.intp), starts)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each number: the finaliser of splitmix64 (Steele, Lea and Flood, 2014)."""
    state = values + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
