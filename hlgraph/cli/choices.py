"""Names that help texts list, taken from file names, so that printing a help text imports nothing."""

from __future__ import annotations

from pathlib import Path

import hlgraph


def _names(folder: str) -> tuple[str, ...]:
    """The names of the public modules in a folder of the package."""
    files = (Path(hlgraph.__file__).parent / folder).glob("[a-z]*.py")
    return tuple(sorted(file.stem.rstrip("_") for file in files))


STRATEGIES = _names("retrieve/strategies")
FORMATS = tuple(sorted(name for names in _names("read/formats") for name in names.split("_")))


def listed(names: tuple[str, ...], joined_by: str = "or") -> str:
    """The names as a phrase.

    Parameters
    ----------
    names : at least two names
    joined_by : word before the last name, default ``or``

    Examples
    --------
    >>> listed(("csv", "html", "text"))
    'csv, html or text'
    """
    return f"{', '.join(names[:-1])} {joined_by} {names[-1]}"
