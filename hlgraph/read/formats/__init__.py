"""The file formats: to add a reader, add a module here.

Every module without a leading underscore is named after its format and defines one ``FORMAT``. A module of related formats
is named after all of them, joined by underscores, and defines ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from hlgraph.read.formats._format import FileFormat, Format, RowsFormat

__all__ = ["FORMATS", "SUFFIXES", "FileFormat", "Format", "RowsFormat"]


def _formats() -> dict[str, Format]:
    """The formats of all modules in this package, by name."""
    formats: dict[str, Format] = {}
    for file in iter_modules(__path__):
        if file.name.startswith("_"):
            continue
        module = import_module(f"{__name__}.{file.name}")
        own: tuple[Format, ...] = getattr(module, "FORMATS", None) or (module.FORMAT,)
        if sorted(file.name.split("_")) != sorted(kind.name for kind in own):
            names = ", ".join(repr(kind.name) for kind in own)
            raise ImportError(f"hlgraph/read/formats/{file.name}.py holds the formats {names}; name it after them")
        formats |= {kind.name: kind for kind in own}
    return dict(sorted(formats.items()))


FORMATS: Mapping[str, Format]
SUFFIXES: Mapping[str, str]


def __getattr__(name: str) -> object:
    """``FORMATS``, by name, and ``SUFFIXES``, the name of the format of each: the readers are imported at first use."""
    if name not in ("FORMATS", "SUFFIXES"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    formats = _formats()
    globals()["FORMATS"] = formats
    globals()["SUFFIXES"] = {suffix: kind.name for kind in formats.values() for suffix in kind.suffixes}
    return globals()[name]
