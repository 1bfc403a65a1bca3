"""The part of the graph that a search has seen so far: statements, the entities that join them, their embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms.beam import Children, Nodes
from hlgraph.algorithms.fusion import top_k
from hlgraph.records import Kind, Relationship
from hlgraph.retrieve.session import Session
from hlgraph.stores.protocols import PullShape
from hlgraph.subgraph import Csr, Subgraph

_MENTIONED = PullShape.along(Relationship.MENTIONS)
_WITH_TOPICS = PullShape.along(Relationship.MENTIONS, Relationship.ABOUT)
_SMALL = 100


class Region:
    """Statements, numbered in the order in which they were found; every pull adds to them, within the scope of the session.

    Two statements are neighbours when they mention the same entity (HLG, Eq. 5). A statement mentions the subject and the object
    of every fact that it supports, so statements joined through a fact are neighbours too.

    Parameters
    ----------
    session : reads the graph
    fan_out : maximum number of statements of one entity, and of entities of one statement, that are followed; the first by id
    neighbours : maximum number of neighbours of one statement. The weight of a neighbour is the sum of 1 / (number of statements
        that mention the entity) over the shared entities; the heaviest are kept, ties by id. So neighbours that share more and
        rarer entities come first, and an entity that occurs everywhere is used only if nothing better joins two statements
        (HLG, C.2.1)
    node_cap : maximum number of nodes of a pull (default 10,000)
    """

    def __init__(self, session: Session, *, fan_out: int, neighbours: int, node_cap: int = 10_000) -> None:
        self.ids: list[str] = []
        self._session = session
        self._fan_out = fan_out
        self._neighbours = neighbours
        self._node_cap = node_cap
        self._numbers: dict[str, int] = {}
        self._entities: dict[str, int] = {}
        self._pairs: list[tuple[Nodes, Nodes]] = []
        self._mentions: Csr | None = None
        self._is_full = False  # whether a pull may have left nodes out because it was full
        self._rank = np.empty(0, dtype=np.intp)  # rank of each statement in the order of ids
        self._vectors = np.empty((0, 0), dtype=np.float32)
        self._has_vector = np.empty(0, dtype=np.bool_)

    def pull(self, seeds: Sequence[str], *, hops: int, has_topics: bool = False) -> Subgraph:
        """Add the neighbourhood of these nodes, at most ``node_cap`` nodes.

        Parameters
        ----------
        seeds : ids to start from
        hops : radius
        has_topics : also follow topics to their statements

        Returns
        -------
        Subgraph
            The pulled subgraph.
        """
        shape = _WITH_TOPICS if has_topics else _MENTIONED
        graph = self._session.pull(seeds, replace(shape, hops=hops, fan_out=self._fan_out, node_cap=self._node_cap))
        self._is_full = self._is_full or len(graph) >= self._node_cap
        statements, entities = graph.nodes(Kind.STATEMENT), graph.nodes(Kind.ENTITY)
        place = np.zeros(len(graph), dtype=np.intp)
        keys = graph.ids[statements].tolist()
        self.add(keys)
        place[statements] = [self._numbers[key] for key in keys]
        keys = graph.ids[entities].tolist()
        _number(keys, self._entities)
        place[entities] = [self._entities[key] for key in keys]
        edges = graph.edges[Relationship.MENTIONS].tocoo()
        self._pairs.append((place[edges.row], place[edges.col]))
        return graph

    def pull_ahead(self, nodes: Nodes, *, steps: int) -> None:
        """Add the neighbours of these statements, as the last pull before several steps of a search.

        While fewer than 100 statements are known, everything within reach of all the steps is pulled. Later, only the neighbours
        for the next step are pulled: each step multiplies the size of a pull, and later steps can continue among the known
        statements.

        Parameters
        ----------
        nodes : shape (m,), numbers of statements
        steps : number of steps until the search ends
        """
        hops = 2 * steps if len(self.ids) < _SMALL else 2
        self.pull([self.ids[node] for node in nodes.tolist()], hops=hops)

    def add(self, ids: Sequence[str]) -> None:
        """Give statements a number; their neighbours are unknown until they are pulled."""
        self.ids.extend(_number(ids, self._numbers))
        self._mentions = None
        self._rank = np.empty(len(self.ids), dtype=np.intp)
        self._rank[sorted(range(len(self.ids)), key=self.ids.__getitem__)] = np.arange(len(self.ids))

    def numbers(self, ids: Sequence[str]) -> Nodes:
        """The numbers of these statements; unknown ones are left out."""
        return np.array([self._numbers[key] for key in ids if key in self._numbers], dtype=np.intp)

    def matches(self, entities: Sequence[str]) -> tuple[Nodes, Nodes]:
        """The statements of the region that mention any of these entities, ascending, and how many of them each mentions."""
        columns = [self._entities[key] for key in entities if key in self._entities]
        counts = np.asarray(self._incidence()[:, columns].sum(axis=1)).ravel().astype(np.intp)
        statements = np.flatnonzero(counts)
        return statements, counts[statements]

    def holds_all(self, entities: Sequence[str]) -> bool:
        """Whether the region has every statement that mentions one of these entities, which it was pulled around."""
        columns = [self._entities[key] for key in entities if key in self._entities]
        degrees = np.bincount(self._incidence().indices, minlength=len(self._entities))[columns]
        return not self._is_full and bool((degrees < self._fan_out).all())

    def about(self, topics: Sequence[str], *, pulled: Subgraph) -> Nodes:
        """The statements about any of these topics, ascending.

        Parameters
        ----------
        topics : ids
        pulled : the result of a pull with topics

        Returns
        -------
        NDArray
            Numbers of statements.
        """
        at = pulled.index(list(topics))
        rows, columns = pulled.edges[Relationship.ABOUT].nonzero()
        return self.numbers(pulled.ids[np.unique(rows[np.isin(columns, at)])].tolist())

    def closest(self, nodes: Nodes, k: int) -> Nodes:
        """The statements with the highest cosine to the question, ties by id.

        Parameters
        ----------
        nodes : shape (m,), numbers of statements to choose from
        k : maximum number to return

        Returns
        -------
        NDArray
            Best first.
        """
        return nodes[top_k(self.cosines(nodes), k, tie_break=self._rank[nodes])]

    def has_entity(self, key: str) -> bool:
        """Whether the region has this entity."""
        return key in self._entities

    def children(self, nodes: Nodes) -> Children:
        """The neighbours of these statements that the region has."""
        mentions = self._incidence()
        degree = np.bincount(mentions.indices, minlength=mentions.shape[1])
        rows = mentions[nodes]
        rows.data = (1 / degree[rows.indices]).astype(np.float32)
        shared = sp.csr_array(rows @ mentions.T)
        owner = np.repeat(np.arange(len(nodes)), np.diff(shared.indptr))
        is_other = shared.indices != nodes[owner]
        owner, others, overlap = owner[is_other], shared.indices[is_other].astype(np.intp), shared.data[is_other]
        # Rounded, because equal sums of fractions may differ in their last digits.
        order = np.lexsort((self._rank[others], -overlap.round(6), owner))
        owner, others = owner[order], others[order]
        is_near = np.arange(len(owner)) - np.searchsorted(owner, owner) < self._neighbours
        owner, others = owner[is_near], others[is_near]
        return Children(owner, others, np.array([self.ids[node] for node in others.tolist()], dtype=np.str_))

    def vectors(self, nodes: Nodes) -> NDArray[np.float32]:
        """Shape (n, d): the embeddings of all statements, complete only for ``nodes``; zeros for missing ones.

        Missing embeddings of ``nodes`` are read in one round trip.
        """
        wanted = np.unique(nodes)
        grown = len(self.ids) - len(self._has_vector)
        self._has_vector = np.concatenate((self._has_vector, np.zeros(grown, dtype=np.bool_)))
        missing = wanted[~self._has_vector[wanted]]
        if len(missing):
            known, matrix = self._session.vectors(Kind.STATEMENT, [self.ids[node] for node in missing.tolist()])
            length = matrix.shape[1] or self._vectors.shape[1]
            vectors = (
                self._vectors if self._vectors.shape[1] == length else np.zeros((len(self._vectors), length), "f4")
            )
            vectors = np.concatenate((vectors, np.zeros((len(self.ids) - len(vectors), length), dtype=np.float32)))
            if known:
                vectors[self.numbers(known)] = matrix
            self._vectors = vectors
            self._has_vector[missing] = True
        return self._vectors

    def cosines(self, nodes: Nodes) -> NDArray[np.float32]:
        """Cosines of these statements to the question; -1 without an embedding."""
        cosines = self._session.similarities(Kind.STATEMENT, [self.ids[node] for node in nodes.tolist()])
        return np.array([cosines.get(self.ids[node], -1.0) for node in nodes.tolist()], dtype=np.float32)

    def _incidence(self) -> Csr:
        if self._mentions is None:
            rows, columns = (np.concatenate([pair[side] for pair in self._pairs]) for side in (0, 1))
            shape = (len(self.ids), len(self._entities))
            mentions = sp.csr_array((np.ones(len(rows), dtype=np.float32), (rows, columns)), shape=shape)
            mentions.sum_duplicates()
            mentions.data[:] = 1.0
            self._mentions = mentions
        return self._mentions


def _number(keys: Sequence[str], table: dict[str, int]) -> list[str]:
    """Number the keys that the table does not have yet, and return these keys."""
    new = [key for key in keys if key not in table]
    table.update(zip(new, range(len(table), len(table) + len(new)), strict=True))
    return new
