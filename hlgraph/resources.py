"""Finds the folders of files that are not Python: the query library and the migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from hlgraph.errors import HLGraphError

_PACKAGE = Path(__file__).parent

FolderName: TypeAlias = Literal["cypher", "migrations"]
"""The folders that travel with the code: top-level in a check-out, inside the package in a wheel."""


def folder(name: FolderName) -> Path:
    """The folder of this name: the wheel's copy (``hlgraph/_cypher``), or the top-level one of a check-out.

    Raises
    ------
    HLGraphError
        When there is neither: the installation is incomplete.

    Examples
    --------
    >>> (folder("cypher") / "README.md").is_file()
    True
    """
    packaged = _PACKAGE / f"_{name}"
    if packaged.is_dir():
        return packaged
    checkout = _PACKAGE.parent
    # In site-packages the folder above is not ours, and somebody else's package may be called "migrations".
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise HLGraphError(
        f"{_PACKAGE}: this installation of hlgraph lacks its folder {name!r}"
        f" (neither {packaged} nor {checkout / name}); install hlgraph again"
    )
