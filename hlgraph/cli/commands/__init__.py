"""The commands, one module each: to add a command, add a module here, and its name to the list.

Every module defines ``app``, a Typer application: a group if it has a name.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

NAMES = """
ingest retention search answer contents groups serve communities hierarchy merges embeddings manage reconcile backup plan
extract domain failures quality ledger models evaluate judge_answers align questions bench cypher materialise
"""


def commands() -> list[ModuleType]:
    """The modules of the commands, in the order in which the help lists them."""
    return [import_module(f"{__name__}.{name}") for name in NAMES.split()]
