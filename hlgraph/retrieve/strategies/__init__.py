"""The retrieval strategies, one file each: to add a strategy, add a file here.

Every file holds one :class:`~hlgraph.retrieve.retriever.Retriever` class whose ``name`` is the name of the file. Steps that
several strategies share are in :mod:`hlgraph.retrieve.steps`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from hlgraph.retrieve.retriever import Retriever

__all__ = ["STRATEGIES"]


def _strategies() -> dict[str, type[Retriever]]:
    """The class of every file of this folder, by its name."""
    strategies: dict[str, type[Retriever]] = {}
    for file in iter_modules(__path__):
        module = import_module(f"{__name__}.{file.name}")
        name = file.name.rstrip("_")
        classes = [
            item for item in vars(module).values() if getattr(item, "name", None) == name and isinstance(item, type)
        ]
        if len(classes) != 1:
            raise ImportError(f"{module.__file__} has {len(classes)} classes whose name is {name!r}; it must have one")
        strategies[name] = classes[0]
    return dict(sorted(strategies.items()))


STRATEGIES = _strategies()
