"""Local names say what they hold (docs/explanation/names.md): words that say nothing are counted, and the counts only fall."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
PAGE = (REPOSITORY / "docs" / "explanation" / "names.md").read_text(encoding="utf-8")
# How many functions of hlgraph/ bind the word. Lower a number when the count falls; never raise one.
CEILINGS = {"found": 15, "item": 487, "held": 0, "made": 0, "told": 0}


def bound_names(function: ast.AST) -> set[str]:
    """The arguments of a function and the names that it assigns, those of functions inside it included."""
    return {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)} | {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def counts(trees: list[ast.Module]) -> Counter[str]:
    """How many functions bind each name."""
    functions = (
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return Counter(name for function in functions for name in bound_names(function))


def test_no_more_functions_use_words_that_say_nothing() -> None:
    paths = sorted((REPOSITORY / "hlgraph").rglob("*.py"))
    today = counts([ast.parse(path.read_text(encoding="utf-8")) for path in paths])
    above = {word: today[word] for word, most in CEILINGS.items() if today[word] > most}
    assert above == {}, f"more functions than {CEILINGS} bind these; docs/explanation/names.md has better names"


def test_the_page_says_what_to_write_instead() -> None:
    part = PAGE.partition("## Words that say nothing")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", part, flags=re.MULTILINE)) == set(CEILINGS)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(found): ...", 1),
        ("def f(*found, **other): ...", 1),
        ("def f():\n    for found in (): ...", 1),
        ("def f():\n    if (found := 1): ...", 1),
        ("def f():\n    found = found = 1", 1),
        ("async def f():\n    async with x as found: ...", 1),
        ("def f():\n    return [found for found in x]", 1),
        ("def f():\n    def g(found): ...", 2),
        ("def f():\n    return found.found", 0),
        ("found = 1", 0),
        ("class A:\n    found = 1", 0),
        ("def f(a):\n    a.found = 1", 0),
    ],
)
def test_a_function_that_binds_a_name_counts_once(code: str, expected: int) -> None:
    assert counts([ast.parse(code)])["found"] == expected
