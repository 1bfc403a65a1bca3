"""Personalised PageRank in process: over the whole graph of a corpus up to a size limit, and around the seeds beyond it.

The whole graph is prepared once, and patched as the image is. A larger graph is pulled around the seeds of each query, within
the bounds of :class:`hlgraph.stores.in_process.PulledRanker`, which then limit the memory of a ranking.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms.ppr import Precision, Rows, replaced, with_twins
from hlgraph.algorithms.projection import INGREDIENTS, NODE_KINDS, PER_STATEMENT, ProjectionShape, ingredients
from hlgraph.records import Hit, Kind, Relationship
from hlgraph.stores.image.arrays import Gathered, joined
from hlgraph.stores.image.image import Image, Touched
from hlgraph.stores.in_process import PulledRanker, WalkedGraph, WalkedNodes, check_query, precision_of
from hlgraph.stores.protocols import GraphStore, PullShape, RankQuery, Scope
from hlgraph.subgraph import KINDS, Subgraph, spans

# Rows of the graph of a shape, read from an image; :func:`hlgraph.algorithms.projection.project` makes all of them.

_Ids = NDArray[np.bytes_]
_Places = NDArray[np.int64]


def touched_ids(
    image: Image, steps: Iterable[Touched], *, shape: ProjectionShape, synonyms: float | None
) -> _Ids | None:
    """The ids of all nodes whose rows may differ from those before some patches, ascending; None if that is not known.

    Parameters
    ----------
    image : the image after the patches
    steps : the patches
    shape : which graph
    synonyms : see :func:`hlgraph.algorithms.projection.project`
    """
    names = ingredients(shape, synonyms=synonyms).relationships
    parts: list[_Ids] = [np.empty(0, dtype="S32")]
    for step in steps:
        if not names <= step.ends.keys():
            return None
        parts += [step.nodes, *(step.ends[name] for name in sorted(names))]
    ids = np.unique(np.concatenate(parts))
    if shape is not ProjectionShape.ENTITY_PASSAGE:
        return ids
    # A statement that says another thing changes the rows of all of its entities and of its chunks.
    statements = _of_kind(image, image.nodes.find(ids), Kind.STATEMENT)
    mentioned = image.links[Relationship.MENTIONS].there.of(statements).target
    chunks = image.links[Relationship.IN_CHUNK].there.of(statements).target
    return np.union1d(ids, image.nodes.ids_of(np.union1d(mentioned, chunks)))


def rows_of(image: Image, nodes: _Places, *, shape: ProjectionShape, synonyms: float | None) -> Gathered:
    """The rows of some nodes, without loops; each pair once.

    Parameters
    ----------
    image : image with the relationships of the shape
    nodes : nodes of the kinds of the shape, ascending
    shape : which graph
    synonyms : see :func:`hlgraph.algorithms.projection.project`
    """
    parts = _MAKERS[shape](image, nodes, synonyms)
    parts.append(_even(_ends(image, Relationship.SAME_AS, nodes)))
    owners, targets, weights = joined(parts)
    keep = (nodes[owners] != targets) & (weights != 0)
    columns, place = np.unique(targets[keep], return_inverse=True)
    matrix = sp.coo_array((weights[keep], (owners[keep], place)), shape=(len(nodes), len(columns))).tocsr()
    rows = np.repeat(np.arange(len(nodes)), np.diff(matrix.indptr))
    return Gathered(rows, columns[matrix.indices], matrix.data)


def _entity_passage(image: Image, nodes: _Places, _: float | None) -> list[Gathered]:
    entities, chunks = _of_kind(image, nodes, Kind.ENTITY), _of_kind(image, nodes, Kind.CHUNK)
    mentions, in_chunk = image.links[Relationship.MENTIONS], image.links[Relationship.IN_CHUNK]
    named = mentions.back.of(entities)
    together = _beyond(named, mentions.there.of)
    gathered = [
        together._replace(weight=np.full(len(together.owner), PER_STATEMENT, dtype=np.float32)),
        _even(_beyond(named, in_chunk.there.of)),
    ]
    synonyms = _ends(image, Relationship.SYNONYM, entities)
    said = _even(_beyond(_statements_of(image, chunks), mentions.there.of))
    return [*(_owned(item, entities, nodes) for item in (*gathered, synonyms)), _owned(said, chunks, nodes)]


def _statement_entity_chunk(image: Image, nodes: _Places, synonyms: float | None) -> list[Gathered]:
    statements, entities, chunks = (_of_kind(image, nodes, kind) for kind in (Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK))
    mentions, in_chunk = image.links[Relationship.MENTIONS], image.links[Relationship.IN_CHUNK]
    gathered = [
        _owned(_even(mentions.there.of(statements)), statements, nodes),
        _owned(_even(in_chunk.there.of(statements)), statements, nodes),
        _owned(_even(mentions.back.of(entities)), entities, nodes),
        _owned(_even(_statements_of(image, chunks)), chunks, nodes),
    ]
    if synonyms is not None:
        near = _ends(image, Relationship.SYNONYM, entities)
        keep = near.weight >= np.float32(synonyms)
        near = Gathered(near.owner[keep], near.target[keep], near.weight[keep])
        gathered.append(_owned(_even(near), entities, nodes))
    return gathered


def _entity_entity(image: Image, nodes: _Places, _: float | None) -> list[Gathered]:
    return [_ends(image, name, nodes) for name in (Relationship.RELATES, Relationship.CO_OCCURS)]


_MAKERS: Mapping[ProjectionShape, Callable[[Image, _Places, float | None], list[Gathered]]] = {
    ProjectionShape.ENTITY_PASSAGE: _entity_passage,
    ProjectionShape.STATEMENT_ENTITY_CHUNK: _statement_entity_chunk,
    ProjectionShape.ENTITY_ENTITY: _entity_entity,
}


def _of_kind(image: Image, nodes: _Places, kind: Kind) -> _Places:
    """Those of some nodes that have a kind; -1 is no node."""
    nodes = nodes[nodes >= 0]
    wanted: _Places = nodes[image.nodes.kinds_of(nodes) == KINDS.index(kind)]
    return wanted


def _statements_of(image: Image, chunks: _Places) -> Gathered:
    gathered = image.links[Relationship.IN_CHUNK].back.of(chunks)
    keep = image.nodes.kinds_of(gathered.target) == KINDS.index(Kind.STATEMENT)
    return Gathered(gathered.owner[keep], gathered.target[keep], gathered.weight[keep])


def _ends(image: Image, name: str, nodes: _Places) -> Gathered:
    """The links of a relationship in both directions."""
    links = image.links[name]
    return joined([links.there.of(nodes), links.back.of(nodes)])


def _beyond(first: Gathered, of: Callable[[_Places], Gathered]) -> Gathered:
    """The links of the targets of some links, by the owners of these."""
    targets, place = np.unique(first.target, return_inverse=True)
    second = of(targets)
    counts = np.bincount(second.owner, minlength=len(targets))
    starts = np.cumsum(counts) - counts
    at = spans(starts[place], counts[place])
    return Gathered(np.repeat(first.owner, counts[place]), second.target[at], second.weight[at])


def _even(links: Gathered) -> Gathered:
    """Each pair once, with the weight 1."""
    pairs = np.unique((links.owner.astype(np.int64) << 32) + links.target)
    return Gathered(pairs >> 32, pairs & 0xFFFFFFFF, np.ones(len(pairs), dtype=np.float32))


def _owned(links: Gathered, some: _Places, nodes: _Places) -> Gathered:
    """Links of some nodes, by their places in all nodes."""
    return links._replace(owner=np.searchsorted(nodes, some)[links.owner])


# A walk is patched by what the patches of the image touched.

SHARE = 0.1
"""A walk with more replaced entries than this share of its matrix is prepared anew."""
LEAST = 20_000
"""Number of replaced entries up to which a walk is not prepared anew, however small it is."""


def followed(old: WalkedGraph, image: Image, *, query: RankQuery) -> WalkedGraph | None:
    """A walk patched to the version of an image; None if it must be prepared from nothing. The old one stays as it is.

    Time is linear in the rows that changed and in the number of nodes.

    Parameters
    ----------
    old : the walk of an older version
    image : the image, with the relationships of the shape
    query : its shape and synonyms are those of the walk
    """
    steps = image.touched_since(old.mark)
    ids = None if steps is None else touched_ids(image, steps, shape=query.shape, synonyms=query.synonyms)
    if ids is None:
        return None
    walk = old.walk
    places = image.nodes.find(ids)
    is_there = places >= 0
    is_wanted = old.nodes.find(ids) >= 0
    kinds = [KINDS.index(kind) for kind in NODE_KINDS[query.shape]]
    is_wanted[is_there] = np.isin(image.nodes.kinds_of(places[is_there]), kinds)
    nodes, numbers = _known(old.nodes, image, ids[is_wanted])
    numbers = np.union1d(numbers, with_twins(walk, numbers))
    places = image.nodes.find(nodes.ids[numbers])
    is_there = places >= 0
    asked = np.sort(places[is_there])
    owners, ends, weights = rows_of(image, asked, shape=query.shape, synonyms=query.synonyms)
    count = len(owners) + (0 if walk.over is None else len(walk.over.weights))
    if count > max(LEAST, SHARE * walk.steps.nnz):
        return None
    targets, at = np.unique(ends, return_inverse=True)
    by_place = np.argsort(places, kind="stable")[len(places) - len(asked) :]  # those that are gone come first
    rows = Rows(numbers, is_there, by_place[owners], nodes.find(image.nodes.ids_of(targets))[at], weights)
    order = _ordered(old.nodes, nodes, numbers, is_there)
    return WalkedGraph(nodes._replace(order=order), replaced(walk, rows), version=image.version, mark=image.mark)


def _known(nodes: WalkedNodes, image: Image, ids: NDArray[np.bytes_]) -> tuple[WalkedNodes, NDArray[np.intp]]:
    """The nodes with those of some ids that they lack, and the numbers of these ids."""
    numbers = nodes.find(ids)
    is_new = numbers < 0
    numbers[is_new] = len(nodes.ids) + np.arange(int(is_new.sum()))
    kinds = image.nodes.kinds_of(image.nodes.find(ids[is_new]))
    grown = nodes._replace(ids=np.concatenate([nodes.ids, ids[is_new]]), kinds=np.concatenate([nodes.kinds, kinds]))
    return grown, numbers


def _ordered(
    old: WalkedNodes, new: WalkedNodes, numbers: NDArray[np.intp], is_there: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """The numbers of all nodes that are there, by id."""
    order = np.arange(old.base) if old.order is None else old.order
    was_there = np.zeros(len(new.ids), dtype=bool)
    was_there[order] = True
    went, came = numbers[~is_there], numbers[is_there & ~was_there[numbers]]
    was_there[went] = False
    order = order[was_there[order]] if len(went) else order
    came = came[np.argsort(new.ids[came])]
    return np.insert(order, np.searchsorted(new.ids[order], new.ids[came]), came)


_EDGES = 20_000_000
"""Maximum number of edges of all cached graphs, about 160 MiB in single precision. The last one used always stays."""
_GRAPHS = 16
WHOLE_LINKS = 2_000_000
"""Maximum number of links, over all relationships of a graph, to rank it whole: about 500,000 statements."""
_Key = tuple[ProjectionShape, Scope, Precision, float | None]


class ImageRanker:
    """Ranks in process on whole images. Exact, or local if the query sets ``epsilon``.

    Graphs are cached by shape, scope and precision; the least recently used is dropped first. Without a filter, the graph of a
    version is patched to that of a later one if the image knows what changed. The graph holds nothing outside the scope, so a
    filtered walk never sees the rest. Thread-safe: threads share the graphs, and one of them builds each.

    Parameters
    ----------
    graph : store to pull from if the graph is too large to rank it whole
    edges : maximum number of edges of all cached graphs together
    links : maximum number of links, over all relationships of a shape, to rank the whole graph. A larger corpus is ranked
        around the seeds, under any filter; a score is then exact on the subgraph that was pulled
    """

    def __init__(self, graph: GraphStore, *, edges: int = _EDGES, links: int = WHOLE_LINKS) -> None:
        self._edges = edges
        self._links = links
        self._around = PulledRanker(graph)
        self._walks: OrderedDict[_Key, WalkedGraph] = OrderedDict()
        self._guard = threading.Lock()

    def rank_on(
        self, image: Image, query: RankQuery, *, scope: Scope, whole: Callable[[PullShape], Subgraph]
    ) -> list[Hit]:
        """The nodes with the highest scores; see :meth:`hlgraph.stores.protocols.GraphStore.rank`.

        Parameters
        ----------
        image : present image of the corpus, with the relationships of the shape
        query : shape, seeds and precision
        scope : corpus and sources that may be seen
        whole : reads all nodes and edges of a shape in the scope, if that has a filter
        """
        check_query(query)
        if self.is_large(image, query.shape):
            return self._around.rank(query, scope=scope)
        return self._walked(image, query, scope=scope, whole=whole).rank(query)

    def is_large(self, image: Image, shape: ProjectionShape) -> bool:
        """Whether an image has too many links, of all sources, to rank it whole.

        Parameters
        ----------
        image : image of the corpus
        shape : graph to rank
        """
        return image.count(INGREDIENTS[shape].relationships) > self._links

    def why_large(self) -> str:
        """The reason for a ranking around the seeds."""
        # The message does not state the number: under a filter it would reveal what the filter hides.
        return f"around the seeds, since the graph has over {self._links:,} links"

    def _walked(
        self, image: Image, query: RankQuery, *, scope: Scope, whole: Callable[[PullShape], Subgraph]
    ) -> WalkedGraph:
        precision = precision_of(query)
        key = (query.shape, replace(scope, state=""), precision, query.synonyms)
        with self._guard:
            walk = self._walks.get(key)
            if walk is None or (walk.version, walk.mark) != (image.version, image.mark):
                has_filter = scope.where is not None or scope.sources is not None
                walk = None if walk is None or has_filter else followed(walk, image, query=query)
                if walk is None:
                    shape = PullShape(*ingredients(query.shape, synonyms=query.synonyms))
                    graph = whole(shape) if has_filter else image.whole(shape, sources=None)
                    walk = WalkedGraph.of(
                        graph, query.shape, precision=precision, synonyms=query.synonyms, mark=image.mark
                    )
                self._walks[key] = walk
            self._walks.move_to_end(key)
            while len(self._walks) > 1 and (
                len(self._walks) > _GRAPHS or sum(item.edges for item in self._walks.values()) > self._edges
            ):
                self._walks.popitem(last=False)
            return walk
