"""The file formats, one module each: to add a reader, add a module here.

Every module without a leading underscore is named after its format and defines one ``FORMAT``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from hlgraph.read.formats._format import FileFormat, Format, RowsFormat

__all__ = ["FORMATS", "SUFFIXES", "FileFormat", "Format", "RowsFormat"]


def _formats() -> dict[str, Format]:
    """The formats of all modules in this package, by name."""
    names = sorted(file.name for file in iter_modules(__path__) if not file.name.startswith("_"))
    formats: dict[str, Format] = {name: import_module(f"{__name__}.{name}").FORMAT for name in names}
    if wrong := [name for name, kind in formats.items() if kind.name != name]:
        raise ImportError(
            f"hlgraph/read/formats/{wrong[0]}.py holds the format {formats[wrong[0]].name!r}; give both one name"
        )
    return formats


FORMATS = _formats()
SUFFIXES: Mapping[str, str] = {suffix: kind.name for kind in FORMATS.values() for suffix in kind.suffixes}
