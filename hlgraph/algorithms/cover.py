"""Communities that hold as many wanted nodes as possible within a budget (ToPG, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import InputError


@dataclass(frozen=True, slots=True)
class CoverBounds:
    """What may be chosen; the defaults are the paper's.

    Attributes
    ----------
    budget : B, so many nodes in all
    least, most : the size of a community
    """

    budget: int = 8_000
    least: int = 10
    most: int = 150

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("budget", "least", "most"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.least > self.most:
            raise InputError(f"least is {self.least} and most {self.most}; the first must not be above the second")


class Cover(NamedTuple):
    """What was chosen.

    Attributes
    ----------
    chosen : indices of communities, in the order of the choice
    covered : how many of the wanted nodes they hold
    size : the sum of their sizes, never above the budget
    """

    chosen: tuple[int, ...]
    covered: int
    size: int


def communities_of(levels: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """The members of every community of every level, coarse levels first, each set of members once.

    Parameters
    ----------
    levels : shape (l, n), as :class:`hlgraph.algorithms.communities.Communities` has them

    Examples
    --------
    >>> [members.tolist() for members in communities_of(np.array([[0, 0, 0], [0, 0, 2]]))]
    [[0, 1, 2], [0, 1], [2]]
    """
    found: dict[bytes, NDArray[np.intp]] = {}
    for labels in levels:
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order])) + 1
        for members in np.split(order, starts):
            if len(members):
                found.setdefault(members.tobytes(), members)
    return list(found.values())


def greedy_cover(
    communities: Sequence[NDArray[np.integer]], wanted: NDArray[np.integer], *, bounds: CoverBounds | None = None
) -> Cover:
    """Choose the community with the most newly covered wanted nodes for its size, again and again.

    The score of a community c is ``|wanted nodes in c that are not covered| / size(c)``; ties: more of them, then the lower
    index. A community that does not fit the rest of the budget is passed over. It ends when all that can be covered is. The
    paper's loop may exceed its budget by the last community; this one never does. Where one community alone covers more than
    all these, it is chosen instead: so what is covered is at least ``(1 - 1/e) / 2`` of the most that the budget allows,
    which greed alone does not promise.

    Each step takes time linear in the number of wanted nodes that the communities hold.

    Parameters
    ----------
    communities : members of each, which may overlap or lie in one another; those outside the bounds are passed over
    wanted : nodes, each counted once

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
    sizes = np.array([len(members) for members in communities], dtype=np.int64)
    targets = np.unique(wanted)
    usable = (sizes >= bounds.least) & (sizes <= bounds.most) & (sizes <= bounds.budget)
    holds = np.zeros((len(communities), len(targets)), dtype=bool)
    for at in np.flatnonzero(usable).tolist():
        holds[at] = np.isin(targets, communities[at])
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
