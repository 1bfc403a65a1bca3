"""Paths of statements: which statements follow each other, path scores, and entity weights from paths (PropRAG)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms.beam import BeamPath, Candidates, Children, Frontier
from hlgraph.algorithms.projection import Incidence, incidence
from hlgraph.algorithms.word_counts import WordCounts, rarity
from hlgraph.records import Kind, Relationship
from hlgraph.subgraph import Csr, Subgraph, block, entries


class Coverage:
    """The share of a question's content words that texts cover together; rare words count more.

    ``c(T) = sum_(w in q and some t in T) idf(w) / sum_(w in q) idf(w)`` with ``idf(w) = ln(1 + (n - df(w) + 0.5) / (df(w) +
    0.5))`` over the ``n`` texts. This is the coverage of :class:`hlgraph.models.local.reranker.LexicalReranker`, with the texts
    of a path taken as one. 0 for a question without content words.

    Parameters
    ----------
    counted : counts of the question's content words in all texts

    Examples
    --------
    >>> from hlgraph.algorithms.word_counts import count_words
    >>> terms = ["ferry", "crosses", "arrel"]  # of "Which ferry crosses the Arrel?"
    >>> coverage = Coverage(count_words(terms, ["The ferry is old.", "The Arrel is a river."]))
    >>> coverage.of(np.array([[0, 1]])) > coverage.of(np.array([[0, 0]]))
    array([ True])
    """

    def __init__(self, counted: WordCounts) -> None:
        self._has = counted.counts > 0
        self._idf = rarity(self._has)

    def of(self, paths: NDArray[np.intp]) -> NDArray[np.float64]:
        """Shape (m,), coverage from 0 to 1 of paths of shape (m, l), which are indices into the texts."""
        if not len(self._idf):
            return np.zeros(len(paths))
        together = self._has[paths].any(axis=1)
        return np.asarray(together @ self._idf / self._idf.sum(), dtype=np.float64)


SEMANTIC = 0.6
"""Weight of the cosine in a score that also counts words, as in the local reranker."""


class StatementGraph(NamedTuple):
    """The statements of a subgraph and how they are joined; all indices are into these arrays.

    Attributes
    ----------
    ids : shape (s,): ids of statements, ascending
    mentions : CSR (s, e): 1 if a statement mentions an entity
    synonyms : CSR (e, e): 1 if two entities are synonyms, symmetric
    following : CSR (s, s): statements that share an entity, or have entities that are synonyms
    entity_ids : shape (e,): ids of entities, ascending
    """

    ids: NDArray[np.str_]
    mentions: Csr
    synonyms: Csr
    following: Csr
    entity_ids: NDArray[np.str_]


def statement_graph(graph: Subgraph, *, incident: Incidence | None = None) -> StatementGraph:
    """The statements of a subgraph, joined by shared and by synonymous entities.

    Parameters
    ----------
    graph : the subgraph
    incident : its incidence, if the caller has it

    Returns
    -------
    StatementGraph
    """
    statements, entities = graph.nodes(Kind.STATEMENT), graph.nodes(Kind.ENTITY)
    mentions, _ = incident or incidence(graph)
    edges = block(graph.edges[Relationship.SYNONYM], entities, columns=entities)
    synonyms = sp.csr_array(edges + edges.T)
    synonyms.data[:] = synonyms.data > 0
    if not synonyms.data.all():
        synonyms.eliminate_zeros()
    following = sp.csr_array((mentions @ synonyms + mentions) @ mentions.T)
    following.sort_indices()
    return StatementGraph(graph.ids[statements], mentions, synonyms, following, graph.ids[entities])


@dataclass(frozen=True, slots=True)
class PathFrontier(Frontier):
    """Neighbours and scores for a beam search over the statements of a subgraph.

    The first score of a path is the cosine of the question to the mean of its embeddings; the exact one is the cosine to the
    embedding of its texts in order, joined by spaces. With ``coverage``, either is ``0.6 max(0, cosine) + 0.4 coverage``.

    Attributes
    ----------
    graph : the statements
    vectors : shape (s, d), normalised
    question : shape (d,), normalised
    texts : gives the texts of statements by their indices; called once per depth, and only for exact scores
    embed : maps texts to normalised vectors, for exact scores
    coverage : share of the question that paths cover; None: words do not count

    References
    ----------
    PropRAG, section 5.3, path scoring. ``coverage`` is ours.
    """

    graph: StatementGraph
    vectors: NDArray[np.float32]
    question: NDArray[np.float32]
    texts: Callable[[Sequence[int]], Mapping[int, str]]
    embed: Callable[[Sequence[str]], NDArray[np.float32]]
    coverage: Coverage | None = None

    def expand(self, nodes: NDArray[np.intp]) -> Children:
        """Statements that share an entity with the last one, or have a synonym of one of its entities."""
        following = entries(self.graph.following, nodes)
        return Children(following.owner, following.columns.astype(np.intp), self.graph.ids[following.columns])

    def score(self, candidates: Candidates) -> NDArray[np.float64]:
        """See :meth:`Frontier.score`: by the mean of the embeddings."""
        sums = self.vectors[candidates.prefixes].sum(axis=1)[candidates.owner] + self.vectors[candidates.nodes]
        lengths = np.maximum(np.linalg.norm(sums, axis=1), np.finfo(np.float32).tiny)
        return self._covered(np.vecdot(sums, self.question) / lengths, candidates)

    def rescore(self, candidates: Candidates) -> NDArray[np.float64]:
        """See :meth:`Frontier.rescore`: by the embedding of the texts in order."""
        paths = candidates.paths
        texts = self.texts(np.unique(paths).tolist())
        vectors = self.embed([" ".join(texts[node] for node in path) for path in paths.tolist()])
        return self._covered(np.vecdot(vectors, self.question), candidates)

    def _covered(self, cosines: NDArray[np.float32], candidates: Candidates) -> NDArray[np.float64]:
        scores = np.asarray(cosines, dtype=np.float64)
        if self.coverage is None:
            return scores
        return SEMANTIC * np.maximum(scores, 0) + (1 - SEMANTIC) * self.coverage.of(candidates.paths)


def entity_weights(graph: StatementGraph, paths: Sequence[BeamPath], *, most: int) -> NDArray[np.float64]:
    """The entities of paths, weighted by the sum of the scores of all statements of all paths that mention them.

    Each statement has the score of its path. An entity that a path reaches as a synonym of an earlier one gets that score twice.

    Parameters
    ----------
    graph : the statements
    paths : the best paths
    most : number of entities that are kept, ties by id

    Returns
    -------
    array of shape (e,)
        The highest weights over the highest one; 0 for all others.

    References
    ----------
    PropRAG, appendix A.6.
    """
    totals = np.zeros(len(graph.entity_ids))
    for nodes, score in paths:
        for place, node in enumerate(nodes):
            entities = _row(graph.mentions, node)
            totals[entities] += score
            before = _row(graph.mentions, nodes[place - 1]) if place else entities[:0]
            if len(before) and not len(np.intersect1d(before, entities)):
                reached = entries(graph.synonyms, before).columns
                totals[np.intersect1d(reached, entities)] += score
    order = np.lexsort((graph.entity_ids, -totals))[:most]
    weights = np.zeros(len(totals))
    if len(order) and totals[order[0]] > 0:
        weights[order] = np.maximum(totals[order], 0) / totals[order[0]]
    return weights


def _row(matrix: Csr, row: int) -> NDArray[np.int32]:
    columns: NDArray[np.int32] = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    return columns
