"""The rows of some nodes in the graph of a shape, read from an image: what :func:`hlgraph.algorithms.projection.project` makes.

Time is linear in the links of these nodes and of their statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from hlgraph.algorithms.projection import NODE_KINDS, PER_STATEMENT, ProjectionShape, ingredients
from hlgraph.records import Kind, Relationship
from hlgraph.stores.image.image import Image, Touched
from hlgraph.stores.image.links import Gathered
from hlgraph.subgraph import KINDS

_Ids = NDArray[np.bytes_]
_Places = NDArray[np.int64]


class NodeRows(NamedTuple):
    """Rows of nodes of an image.

    Attributes
    ----------
    owners : shape (m,), places in the nodes asked for
    targets : shape (m,), the nodes at the other ends
    weights : shape (m,), float32
    """

    owners: _Places
    targets: _Places
    weights: NDArray[np.float32]


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


def rows_of(image: Image, nodes: _Places, *, shape: ProjectionShape, synonyms: float | None) -> NodeRows:
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
    owners, targets, weights = _joined(parts)
    keep = (nodes[owners] != targets) & (weights != 0)
    columns, place = np.unique(targets[keep], return_inverse=True)
    found = sp.coo_array((weights[keep], (owners[keep], place)), shape=(len(nodes), len(columns))).tocsr()
    rows = np.repeat(np.arange(len(nodes)), np.diff(found.indptr))
    return NodeRows(rows, columns[found.indices], found.data)


def _entity_passage(image: Image, nodes: _Places, _: float | None) -> list[Gathered]:
    entities, chunks = _of_kind(image, nodes, Kind.ENTITY), _of_kind(image, nodes, Kind.CHUNK)
    mentions, in_chunk = image.links[Relationship.MENTIONS], image.links[Relationship.IN_CHUNK]
    named = mentions.back.of(entities)
    together = _beyond(named, mentions.there.of)
    found = [
        together._replace(weight=np.full(len(together.owner), PER_STATEMENT, dtype=np.float32)),
        _even(_beyond(named, in_chunk.there.of)),
    ]
    synonyms = _ends(image, Relationship.SYNONYM, entities)
    said = _even(_beyond(_statements_of(image, chunks), mentions.there.of))
    return [*(_owned(item, entities, nodes) for item in (*found, synonyms)), _owned(said, chunks, nodes)]


def _statement_entity_chunk(image: Image, nodes: _Places, synonyms: float | None) -> list[Gathered]:
    statements, entities, chunks = (_of_kind(image, nodes, kind) for kind in (Kind.STATEMENT, Kind.ENTITY, Kind.CHUNK))
    mentions, in_chunk = image.links[Relationship.MENTIONS], image.links[Relationship.IN_CHUNK]
    found = [
        _owned(_even(mentions.there.of(statements)), statements, nodes),
        _owned(_even(in_chunk.there.of(statements)), statements, nodes),
        _owned(_even(mentions.back.of(entities)), entities, nodes),
        _owned(_even(_statements_of(image, chunks)), chunks, nodes),
    ]
    if synonyms is not None:
        near = _ends(image, Relationship.SYNONYM, entities)
        keep = near.weight >= np.float32(synonyms)
        near = Gathered(near.owner[keep], near.target[keep], near.weight[keep])
        found.append(_owned(_even(near), entities, nodes))
    return found


def _entity_entity(image: Image, nodes: _Places, _: float | None) -> list[Gathered]:
    return [_ends(image, name, nodes) for name in (Relationship.RELATES, Relationship.CO_OCCURS)]


_MAKERS: Mapping[ProjectionShape, Callable[[Image, _Places, float | None], list[Gathered]]] = {
    ProjectionShape.ENTITY_PASSAGE: _entity_passage,
    ProjectionShape.STATEMENT_ENTITY_CHUNK: _statement_entity_chunk,
    ProjectionShape.ENTITY_ENTITY: _entity_entity,
}


def is_of_shape(kinds: NDArray[np.uint8], shape: ProjectionShape) -> NDArray[np.bool_]:
    """Whether nodes of these kinds are nodes of the graph of a shape.

    Parameters
    ----------
    kinds : indices into KINDS
    shape : which graph
    """
    found: NDArray[np.bool_] = np.isin(kinds, [KINDS.index(kind) for kind in NODE_KINDS[shape]])
    return found


def _of_kind(image: Image, nodes: _Places, kind: Kind) -> _Places:
    """Those of some nodes that have a kind; -1 is no node."""
    nodes = nodes[nodes >= 0]
    found: _Places = nodes[image.nodes.kinds_of(nodes) == KINDS.index(kind)]
    return found


def _statements_of(image: Image, chunks: _Places) -> Gathered:
    found = image.links[Relationship.IN_CHUNK].back.of(chunks)
    keep = image.nodes.kinds_of(found.target) == KINDS.index(Kind.STATEMENT)
    return Gathered(found.owner[keep], found.target[keep], found.weight[keep])


def _ends(image: Image, name: str, nodes: _Places) -> Gathered:
    """The links of a relationship in both directions."""
    links = image.links[name]
    there, back = links.there.of(nodes), links.back.of(nodes)
    return _joined([there, back])


def _joined(parts: Sequence[Gathered]) -> Gathered:
    return Gathered(
        np.concatenate([part.owner for part in parts]),
        np.concatenate([part.target for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )


def _beyond(first: Gathered, of: Callable[[_Places], Gathered]) -> Gathered:
    """The links of the targets of some links, by the owners of these."""
    targets, place = np.unique(first.target, return_inverse=True)
    second = of(targets)
    counts = np.bincount(second.owner, minlength=len(targets))
    starts = np.cumsum(counts) - counts
    number = counts[place]
    ends = np.cumsum(number)
    at = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts[place] - ends + number, number)
    return Gathered(np.repeat(first.owner, number), second.target[at], second.weight[at])


def _even(links: Gathered) -> Gathered:
    """Each pair once, with the weight 1."""
    pairs = np.unique((links.owner.astype(np.int64) << 32) + links.target)
    return Gathered(pairs >> 32, pairs & 0xFFFFFFFF, np.ones(len(pairs), dtype=np.float32))


def _owned(links: Gathered, some: _Places, nodes: _Places) -> Gathered:
    """Links of some nodes, by their places in all nodes."""
    return links._replace(owner=np.searchsorted(nodes, some)[links.owner])
