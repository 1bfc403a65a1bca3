"""Every line of the table of renamed modules leads to names that can be imported.

``python tests/unit/house/test_renamed_modules.py`` mends lines whose names have moved again: a name that exactly one module
defines gets a line with that module. The others are printed for a person to decide: a name that changed is written
``OldName = NewName`` in the table. ``--forget`` moves names that no module defines to the list at the end of the page.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

import hlgraph

REPOSITORY = Path(__file__).parents[3]
PAGE = REPOSITORY / "docs" / "reference" / "renamed-modules.md"
_LINE = re.compile(r"^\| `(hlgraph[\w.]*)` \| `(hlgraph[\w.]*)` \| (.+) \|$")


class Line(NamedTuple):
    """A line of the table: each name as it was, and as it is now."""

    old: str
    new: str
    names: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        names = ", ".join(f"`{was}`" if was == now else f"`{was} = {now}`" for was, now in self.names)
        return f"| `{self.old}` | `{self.new}` | {names} |"


def lines(page: str) -> list[Line]:
    """The lines of all tables of the page."""
    found = []
    for match in filter(None, map(_LINE.match, page.splitlines())):
        pairs = (name.split(" = ") for name in re.findall(r"`([^`]+)`", match[3]))
        found.append(Line(match[1], match[2], tuple((pair[0], pair[-1]) for pair in pairs)))
    return found


def missing(line: Line) -> list[tuple[str, str]]:
    """The names of a line that its new module does not have."""
    try:
        module = importlib.import_module(line.new)
    except ModuleNotFoundError as error:
        if not line.new.startswith(error.name or ""):
            raise  # a package of an extra
        return list(line.names)
    return [(was, now) for was, now in line.names if not hasattr(module, now)]


TEXT = PAGE.read_text(encoding="utf-8")
LINES = lines(TEXT)


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.old}-{line.new}")
def test_the_names_of_a_line_can_be_imported(line: Line) -> None:
    try:
        gone = missing(line)
    except ModuleNotFoundError as error:
        pytest.skip(f"without the extra that has {error.name}")
    assert gone == [], "run: python tests/unit/house/test_renamed_modules.py"


def test_no_old_module_is_there() -> None:
    folder = Path(hlgraph.__file__).parents[1]
    paths = [folder.joinpath(*line.old.split(".")) for line in LINES]
    assert [path for path in paths if path.with_suffix(".py").exists() or (path / "__init__.py").exists()] == []


def test_every_line_of_the_page_is_read() -> None:
    assert TEXT.count("\n| `hlgraph.") == len(LINES) > 150
    assert all(str(line) in TEXT for line in LINES)


def _definitions() -> dict[str, list[str]]:
    """The modules that define each public name."""
    found = defaultdict(list)
    for path in sorted((REPOSITORY / "hlgraph").rglob("*.py")):
        module = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = {each.id for each in targets if isinstance(each, ast.Name)} | {getattr(node, "name", "")}
            for name in names - {""}:
                found[name].append(module)
    return found


def _main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    defined = _definitions()
    for line in lines(page):
        moved = defaultdict(list)
        for was, now in missing(line):
            homes = defined[now]
            if len(homes) == 1:
                moved[homes[0]].append((was, now))
            elif not homes and "--forget" in sys.argv:
                moved[""].append((was, now))
                page = f"{page.rstrip()}\n- `{line.old.removeprefix('hlgraph.')}.{was}`\n"
            else:
                sys.stdout.write(f"{line.old}.{was}: not in {line.new}; defined in {homes}\n")
        kept = tuple(pair for pair in line.names if pair not in {*chain.from_iterable(moved.values())})
        new = [
            Line(line.old, home, tuple(pairs))
            for home, pairs in [(line.new, kept), *sorted(moved.items())]
            if home and pairs
        ]
        page = page.replace(f"{line}\n", "".join(f"{each}\n" for each in new))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    _main()
