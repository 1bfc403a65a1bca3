"""Patches the walk of one version of a corpus to that of the next, by what the patches of the image touched."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms.replaced_rows import Rows, replaced, with_twins
from hlgraph.stores.image.image import Image
from hlgraph.stores.image.rank_rows import is_of_shape, rows_of, touched_ids
from hlgraph.stores.protocols import RankQuery
from hlgraph.stores.ranking import WalkedGraph, WalkedNodes

SHARE = 0.1
"""A walk with more replaced entries than this share of its matrix is prepared anew."""
LEAST = 20_000
"""Number of replaced entries up to which a walk is not prepared anew, however small it is."""


def followed(held: WalkedGraph, image: Image, *, query: RankQuery) -> WalkedGraph | None:
    """The walk of the version of an image; None if it is to be prepared from nothing. The given one stays as it is.

    Time is linear in the rows that changed and in the number of nodes.

    Parameters
    ----------
    held : the walk of an older version
    image : the image, with the relationships of the shape
    query : its shape and synonyms are those of the walk
    """
    steps = image.touched_since(held.mark)
    ids = None if steps is None else touched_ids(image, steps, shape=query.shape, synonyms=query.synonyms)
    if ids is None:
        return None
    nodes, walk = held.nodes, held.walk
    places = image.nodes.find(ids)
    is_there = places >= 0
    is_wanted = nodes.find(ids) >= 0
    is_wanted[is_there] = is_of_shape(image.nodes.kinds_of(places[is_there]), query.shape)
    nodes, numbers = _known(nodes, image, ids[is_wanted])
    numbers = np.union1d(numbers, with_twins(walk, numbers))
    places = image.nodes.find(nodes.ids[numbers])
    is_there = places >= 0
    asked = np.sort(places[is_there])
    found = rows_of(image, asked, shape=query.shape, synonyms=query.synonyms)
    count = len(found.owners) + (0 if walk.over is None else len(walk.over.weights))
    if count > max(LEAST, SHARE * walk.steps.nnz):
        return None
    targets, at = np.unique(found.targets, return_inverse=True)
    owner = np.argsort(places, kind="stable")[len(places) - len(asked) :]  # those that are gone come first
    rows = Rows(numbers, is_there, owner[found.owners], nodes.find(image.nodes.ids_of(targets))[at], found.weights)
    order = _ordered(held.nodes, nodes, numbers, is_there)
    return WalkedGraph(nodes._replace(order=order), replaced(walk, rows), version=image.version, mark=image.mark)


def _known(nodes: WalkedNodes, image: Image, ids: NDArray[np.bytes_]) -> tuple[WalkedNodes, NDArray[np.intp]]:
    """The nodes with those of some ids that they lack, and the numbers of these ids."""
    numbers = nodes.find(ids)
    is_new = numbers < 0
    numbers[is_new] = len(nodes.ids) + np.arange(int(is_new.sum()))
    kinds = image.nodes.kinds_of(image.nodes.find(ids[is_new]))
    made = nodes._replace(ids=np.concatenate([nodes.ids, ids[is_new]]), kinds=np.concatenate([nodes.kinds, kinds]))
    return made, numbers


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
    found: NDArray[np.intp] = np.insert(order, np.searchsorted(new.ids[order], new.ids[came]), came)
    return found
