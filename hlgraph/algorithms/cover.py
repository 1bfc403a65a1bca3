"""Choice of communities that cover as many wanted nodes as possible within a budget (ToPG, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.algorithms import check
from hlgraph.errors import InputError


@dataclass(frozen=True, slots=True)
class CoverBounds:
    """Limits of a cover; the defaults are the paper's.

    Attributes
    ----------
    budget : B, largest total number of nodes, default 8,000
    least : smallest size of a community in nodes, default 10
    most : largest size of a community in nodes, default 150

    Raises
    ------
    InputError
        A number is below 1, or ``least`` is above ``most``.
    """

    budget: int = 8_000
    least: int = 10
    most: int = 150

    def __post_init__(self) -> None:
        """Check the numbers."""
        check.at_least(1, budget=self.budget, least=self.least, most=self.most)
        if self.least > self.most:
            raise InputError(f"least is {self.least} and most is {self.most}; least must not be above most")


class Cover(NamedTuple):
    """The chosen communities.

    Attributes
    ----------
    chosen : indices of communities, in the order in which they were chosen
    covered : number of wanted nodes in them
    size : sum of their sizes in nodes, never above the budget
    """

    chosen: tuple[int, ...]
    covered: int
    size: int


def communities_of(levels: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """The members of every community of every level, coarse levels first, each set of members once; O(l n log n).

    Parameters
    ----------
    levels : shape (l, n), as in :class:`hlgraph.algorithms.communities.CommunityLevels`

    Returns
    -------
    list
        One ascending array of nodes per community.

    Examples
    --------
    >>> [members.tolist() for members in communities_of(np.array([[0, 0, 0], [0, 0, 2]]))]
    [[0, 1, 2], [0, 1], [2]]
    """
    distinct: dict[bytes, NDArray[np.intp]] = {}
    for labels in levels:
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order])) + 1
        for members in np.split(order, starts):
            if len(members):
                distinct.setdefault(members.tobytes(), members)
    return list(distinct.values())


def greedy_cover(
    communities: Sequence[NDArray[np.integer]],
    wanted: NDArray[np.integer],
    *,
    bounds: CoverBounds | None = None,
    sizes: NDArray[np.integer] | None = None,
) -> Cover:
    """Greedy budgeted cover: repeatedly choose the community with the most newly covered wanted nodes for its size.

    The score of a community c is ``|uncovered wanted nodes in c| / size(c)``. Ties go to the larger number of such nodes, then
    to the lower index. A community larger than the remaining budget is skipped. The loop ends when no community covers
    another wanted node. The paper's loop may exceed its budget by the last community; this one never does.

    If one community alone covers more wanted nodes than all chosen ones, it is returned instead. The cover is therefore at
    least ``(1 - 1/e) / 2`` of the best one within the budget, which the greedy choice alone does not guarantee.

    Each step takes O(c t) time for c communities and t wanted nodes.

    Parameters
    ----------
    communities : the members of each; communities may overlap or be nested, and those outside the bounds are skipped
    wanted : nodes to cover; duplicates count once
    bounds : budget and sizes; None: the paper's
    sizes : number of members of each community, if ``communities`` has only those to cover; None: all are there

    Returns
    -------
    Cover
        Empty when no community within the bounds has a wanted node.

    References
    ----------
    ToPG, section 2.3.3, step 5, and Algorithm 3. Khuller, Moss and Naor, The Budgeted Maximum Coverage Problem, 1999.

    Examples
    --------
    >>> members = [np.arange(6), np.arange(3), np.array([4, 5])]
    >>> greedy_cover(members, np.array([0, 1, 5]), bounds=CoverBounds(budget=5, least=2, most=6))
    Cover(chosen=(1, 2), covered=3, size=5)
    """
    bounds = bounds or CoverBounds()
    if sizes is None:
        sizes = np.array([len(members) for members in communities], dtype=np.int64)
    targets = np.unique(wanted)
    usable = (sizes >= bounds.least) & (sizes <= bounds.most) & (sizes <= bounds.budget)
    holds = np.zeros((len(communities), len(targets)), dtype=bool)
    some = [communities[at] for at in np.flatnonzero(usable).tolist()]
    if some and len(targets):
        rows, members = np.repeat(np.flatnonzero(usable), [*map(len, some)]), np.concatenate(some)
        columns = np.minimum(np.searchsorted(targets, members), len(targets) - 1)
        is_wanted = targets[columns] == members
        holds[rows[is_wanted], columns[is_wanted]] = True
    first = holds.sum(axis=1)
    is_open, is_left = np.ones(len(targets), dtype=bool), usable.copy()
    chosen: list[int] = []
    size = 0
    while is_open.any():
        gains = np.where(is_left & (sizes <= bounds.budget - size), holds[:, is_open].sum(axis=1), 0)
        if not gains.any():
            break
        best = int(np.lexsort((np.arange(len(gains)), -gains, -gains / np.maximum(sizes, 1)))[0])
        chosen.append(best)
        size += int(sizes[best])
        is_left[best] = False
        is_open &= ~holds[best]
    covered = int((~is_open).sum())
    if len(first) and first.max() > covered:
        alone = int(np.argmax(first))
        return Cover((alone,), int(first[alone]), int(sizes[alone]))
    return Cover(tuple(chosen), covered, size)
