"""Personalised PageRank in process: over the whole graph of a corpus up to a size limit, and around the seeds beyond it.

The whole graph is prepared once, and patched as the image is. A larger graph is pulled around the seeds of each query, within
the bounds of :class:`hlgraph.stores.ranking.PulledRanker`, which then limit the memory of a ranking.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Protocol

from hlgraph.algorithms.ppr import Precision
from hlgraph.algorithms.projection import INGREDIENTS, ProjectionShape, ingredients
from hlgraph.records import Hit
from hlgraph.stores.image.image import Image
from hlgraph.stores.image.walked import followed
from hlgraph.stores.protocols import GraphStore, PullShape, RankQuery, Scope
from hlgraph.stores.ranking import PulledRanker, WalkedGraph, check_query, precision_of
from hlgraph.subgraph import Subgraph

_EDGES = 20_000_000
"""Maximum number of edges of all cached graphs, about 160 MiB in single precision. The last one used always stays."""
_GRAPHS = 16
WHOLE_LINKS = 2_000_000
"""Maximum number of links, over all relationships of a graph, to rank it whole: about 500,000 statements."""
_Key = tuple[ProjectionShape, Scope, Precision, float | None]


class WholeGraph(Protocol):
    """A graph that can be read whole, without bounds."""

    def version(self, corpus: str) -> int:
        """The version of a corpus; 0 if there is none."""

    def links(self, shape: PullShape, *, scope: Scope) -> int:
        """The number of links of some relationships in a corpus.

        Parameters
        ----------
        shape : relationships to count
        scope : corpus; its filter is ignored
        """

    def whole(self, shape: PullShape, *, scope: Scope) -> Subgraph:
        """All nodes and edges of some kinds and relationships in a scope.

        Parameters
        ----------
        shape : kinds and relationships; its bounds are ignored
        scope : corpus and sources that may be seen
        """

    def unfiltered(self, shape: PullShape, *, scope: Scope) -> Image | None:
        """The image of the present version, with some relationships; None under a filter, or if there is no such corpus.

        Parameters
        ----------
        shape : relationships that it must have
        scope : corpus and sources that may be seen
        """


class ImageRanker:
    """Ranks in process on graphs that can be read whole. Exact, or local if the query sets ``epsilon``.

    Graphs are cached by shape, scope and precision; the least recently used is dropped first. Without a filter, the graph of a
    version is patched to that of a later one where the image knows what changed. The graph holds nothing outside the scope, so a
    filtered walk never sees the rest. Thread-safe: threads share the graphs, and one of them builds each.

    Parameters
    ----------
    graph : store to pull from where the graph is too large to rank it whole
    edges : maximum number of edges of all cached graphs together
    links : maximum number of links, over all relationships of a shape, to rank the whole graph. A larger corpus is ranked
        around the seeds, under any filter; a score is then exact on the subgraph that was pulled
    """

    def __init__(self, graph: GraphStore, *, edges: int = _EDGES, links: int = WHOLE_LINKS) -> None:
        self._edges = edges
        self._links = links
        self._around = PulledRanker(graph)
        self._held: OrderedDict[_Key, WalkedGraph] = OrderedDict()
        self._guard = threading.Lock()

    def rank_on(self, graph: WholeGraph, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """The nodes with the highest scores; see :meth:`hlgraph.stores.protocols.Ranker.rank`.

        Parameters
        ----------
        graph : graph of the corpus
        query : shape, seeds and precision
        scope : corpus and sources that may be seen
        """
        check_query(query)
        if self.is_large(graph, query.shape, scope=scope):
            return self._around.rank(query, scope=scope)
        return self._walked(graph, query, scope=scope).rank(query)

    def is_large(self, graph: WholeGraph, shape: ProjectionShape, *, scope: Scope) -> bool:
        """Whether a graph has too many links to rank it whole.

        Parameters
        ----------
        graph : graph of the corpus
        shape : graph to rank
        scope : corpus; its filter is ignored
        """
        relationships, kinds = INGREDIENTS[shape]
        return graph.links(PullShape(relationships, kinds), scope=scope) > self._links

    def why_large(self) -> str:
        """The reason for a ranking around the seeds."""
        # The message does not state the number: under a filter it would reveal what the filter hides.
        return f"around the seeds, since the graph has over {self._links:,} links"

    def _walked(self, graph: WholeGraph, query: RankQuery, *, scope: Scope) -> WalkedGraph:
        shape = PullShape(*ingredients(query.shape, synonyms=query.synonyms))
        image = graph.unfiltered(shape, scope=scope)
        version = graph.version(scope.corpus) if image is None else image.version
        precision = precision_of(query)
        key = (query.shape, replace(scope, state=""), precision, query.synonyms)
        with self._guard:
            held = self._held.get(key)
            if held is None or held.version != version or (image is not None and held.mark != image.mark):
                made = None if held is None or image is None else followed(held, image, query=query)
                if made is None:
                    found = graph.whole(shape, scope=scope) if image is None else image.whole(shape, sources=None)
                    mark = None if image is None else image.mark
                    made = WalkedGraph.of(found, query.shape, precision=precision, synonyms=query.synonyms, mark=mark)
                held = self._held[key] = made
            self._held.move_to_end(key)
            while len(self._held) > 1 and (len(self._held) > _GRAPHS or self._sum() > self._edges):
                self._held.popitem(last=False)
            return held

    def _sum(self) -> int:
        return sum(item.edges for item in self._held.values())


class WholeStore(GraphStore, WholeGraph, Protocol):
    """A graph store that can read the graph of any corpus whole."""


class StoreRanker(ImageRanker):
    """Ranks on the graph of a store; see :class:`hlgraph.stores.protocols.Ranker`.

    Parameters
    ----------
    graph : the store
    limits : ``edges`` and ``links`` of :class:`ImageRanker`
    """

    def __init__(self, graph: WholeStore, **limits: int) -> None:
        super().__init__(graph, **limits)
        self._graph = graph

    def rank(self, query: RankQuery, *, scope: Scope) -> list[Hit]:
        """See :meth:`Ranker.rank`."""
        return self.rank_on(self._graph, query, scope=scope)

    def why_around(self, shape: ProjectionShape, scope: Scope) -> str:
        """See :meth:`HasBound.why_around`."""
        return self.why_large() if self.is_large(self._graph, shape, scope=scope) else ""
