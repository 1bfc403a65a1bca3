"""Splits questions into those for training and those held out, so that no source of a held-out answer is trained on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.errors import InputError
from hlgraph.evaluate.metrics.exactness import normalised
from hlgraph.ids import checksum

if TYPE_CHECKING:
    from hlgraph.evaluate.datasets import Question

_NAMED = 5


class Split(NamedTuple):
    """Questions for training, and held-out ones."""

    train: tuple[Question, ...]
    test: tuple[Question, ...]


def split_by_source(questions: Sequence[Question], *, held_out: float) -> Split:
    """A split in which questions that share a gold source, or their text, are on the same side.

    Groups of such questions go to the held-out side in the order of a hash, each as long as it fits the share; so the split is
    the same for the same questions, and hardly changes when a few are added.

    Parameters
    ----------
    questions : all of them
    held_out : share of the questions that is held out, at least one question; 0: none

    Returns
    -------
    Split
        Both sides in the order of ``questions``.

    Raises
    ------
    InputError
        The share is not from 0 to 0.9, or no group is small enough.
    """
    if not 0 <= held_out <= 0.9:
        raise InputError(f"held_out is {held_out}; give a share from 0 to 0.9")
    if not held_out:
        return Split(tuple(questions), ())
    groups = _groups(questions)
    room = max(1, int(held_out * len(questions)))
    chosen: set[str] = set()
    for group in sorted(groups, key=lambda ids: checksum("align", min(ids))):
        if len(chosen) + len(group) <= room and len(chosen) + len(group) < len(questions):
            chosen.update(group)
    if not chosen:
        raise InputError(
            f"of {len(questions)} questions none can be held out: the smallest group that shares sources has "
            f"{min(map(len, groups))}, and at most {room} are wanted; raise --held-out, or set it to 0"
        )
    train = tuple(item for item in questions if item.id not in chosen)
    return Split(train, tuple(item for item in questions if item.id in chosen))


def given_split(train: Sequence[Question], test: Sequence[Question]) -> Split:
    """The split that a caller gives, if it does not leak.

    Parameters
    ----------
    train : questions for training
    test : held-out questions

    Raises
    ------
    InputError
        A gold source or a question is on both sides; the message names them.
    """
    shared = sorted(
        frozenset().union(*(item.gold for item in train)) & frozenset().union(*(item.gold for item in test))
    )
    if shared:
        raise InputError(
            f"the split leaks: {len(shared)} sources support answers on both sides: {named(shared)}; "
            "move their questions to one side, or leave out the held-out file and let --held-out split"
        )
    asked = {normalised(item.text) for item in train}
    twice = sorted(item.id for item in test if normalised(item.text) in asked)
    if twice:
        raise InputError(f"the split leaks: held-out questions are asked in training, too: {named(twice)}; remove them")
    return Split(tuple(train), tuple(test))


def named(names: Iterable[str]) -> str:
    """The first five names, and how many more there are."""
    every = list(names)
    rest = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _groups(questions: Sequence[Question]) -> list[list[str]]:
    """Ids of questions that are connected by gold sources or by their text."""
    parent = {item.id: item.id for item in questions}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    first: dict[tuple[str, str], str] = {}
    for item in questions:
        for key in (("text", normalised(item.text)), *(("source", gold) for gold in sorted(item.gold))):
            one, other = sorted((root(item.id), root(first.setdefault(key, item.id))))
            parent[other] = one
    groups: dict[str, list[str]] = {}
    for item in questions:
        groups.setdefault(root(item.id), []).append(item.id)
    return list(groups.values())
