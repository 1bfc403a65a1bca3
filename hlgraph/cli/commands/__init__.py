"""The commands, one module each: to add a command, add a module here.

Every module defines ``PLACE``, its position in the list of commands, and ``app``, a Typer application: a group if it has a name.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType


def commands() -> list[ModuleType]:
    """The modules of the commands, ordered by ``PLACE``."""
    modules = [import_module(f"{__name__}.{file.name}") for file in iter_modules(__path__)]
    return sorted(modules, key=lambda module: (module.PLACE, module.__name__))
