"""The retrieval strategies, one file each: to add a strategy is to add a file here.

Every file holds one :class:`~hlgraph.retrieve.retriever.Retriever` class whose ``name`` is the name of the file. What is in no
strategy's file alone is in :mod:`hlgraph.retrieve.steps`.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from pkgutil import iter_modules

from hlgraph.errors import UnknownNameError
from hlgraph.retrieve.retriever import Retriever, with_preset

__all__ = ["STRATEGIES", "retriever", "retriever_named"]


def _strategies() -> dict[str, type[Retriever]]:
    """The class of every file of this folder, by its name."""
    found: dict[str, type[Retriever]] = {}
    for file in iter_modules(__path__):
        module = import_module(f"{__name__}.{file.name}")
        name = file.name.rstrip("_")
        made = [
            item for item in vars(module).values() if getattr(item, "name", None) == name and isinstance(item, type)
        ]
        if len(made) != 1:
            raise ImportError(f"{module.__file__} has {len(made)} classes whose name is {name!r}; it must have one")
        found[name] = made[0]
    return dict(sorted(found.items()))


STRATEGIES = _strategies()


def retriever_named(name: str) -> Retriever:
    """The retriever of a strategy with its defaults.

    Raises
    ------
    UnknownNameError : there is no such strategy; the message has the closest name and all names
    """
    return retriever(name, "paper")


def retriever(strategy: str, preset: str) -> Retriever:
    """The retriever of a strategy with the parameters of a preset.

    Parameters
    ----------
    strategy : a name of ``STRATEGIES``
    preset : a name of :data:`hlgraph.retrieve.retriever.PRESETS`

    Returns
    -------
    Retriever
        With the parameters of the paper where the strategy says nothing about the preset.

    Raises
    ------
    UnknownNameError : there is no such strategy or preset
    """
    if strategy not in STRATEGIES:
        close = difflib.get_close_matches(strategy, STRATEGIES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UnknownNameError(
            f"there is no strategy {strategy!r}; {hint}choose one of: {', '.join(sorted(STRATEGIES))}"
        )
    return with_preset(STRATEGIES[strategy], preset)
