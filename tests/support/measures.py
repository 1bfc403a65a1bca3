"""Measures of the house: files, lines, protocols, imports, circles, and the files that a call enters.

``python tests/support/measures.py [FOLDER]`` prints them for the package in FOLDER/hlgraph, by default this one, as a table.
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path

_LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
_HOMES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


def measures(root: Path) -> dict[str, int]:
    """The measures of a checkout, by name."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((root / "hlgraph").rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = sum((Counter(_kinds(text, trees[path])) for path, text in sources.items()), Counter[str]())
    edges = _edges(root, trees)
    trips, bearers = _trips(root)
    nodes = {path: list(ast.walk(tree)) for path, tree in trees.items()}
    return {
        "files": len(sources),
        "lines": sum(lines.values()),
        **{f"lines of {kind}": lines[kind] for kind in ("code", "imports", "docstrings", "comments", "nothing")},
        "protocols": sum(map(_is_protocol, chain.from_iterable(nodes.values()))),
        "isinstance on stores": sum(
            _is_check(node) for path in nodes if "/stores/" in str(path) for node in nodes[path]
        ),
        "imports between files": sum(map(len, edges.values())),
        "circles": _circles(edges),
        **{f"files entered by {_a(name)}": len(files) for name, files in trips.items()},
        "files entered by an answer, beside a search": len(trips["answer"] - trips["search"]),
        **{
            f"files entered by {_a(name)}, beside an ingest and a search": len(
                files - trips["ingest"] - trips["search"]
            )
            for name, files in trips.items()
            if name.startswith("evaluation")
        },
        "names that a question bears on its way": len(bearers),
    }


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aei" else f"a {noun}"


def _kinds(text: str, tree: ast.Module) -> Iterator[str]:
    """The kind of each line: a line with code is of code, whatever else it holds."""
    kinds = dict.fromkeys(range(1, text.count("\n") + 1), "nothing")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            kind = "comments" if token.type == tokenize.COMMENT else "code"
            for line in range(token.start[0], token.end[0] + 1):
                kinds[line] = "code" if "code" in (kind, kinds[line]) else kind
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                kinds |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), "docstrings")
            case ast.Import() | ast.ImportFrom():
                kinds |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), "imports")
    return iter(kinds.values())


def _is_protocol(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)


def _is_check(node: ast.AST) -> bool:
    """Whether a node asks what a store can do."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "getattr"), args=[asked, *_]):
            return ast.unparse(asked).split(".")[-1] in {"graph", "vectors", "store"}
    return False


def _edges(root: Path, trees: Mapping[Path, ast.Module]) -> dict[str, set[str]]:
    names = {".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path for path in trees}
    edges = dict[str, set[str]]()
    for name, path in names.items():
        edges[name] = set[str]()
        for node in _run(trees[path]):
            if isinstance(node, ast.ImportFrom) and node.module:
                wanted = {f"{node.module}.{alias.name}" for alias in node.names} & names.keys() or {node.module}
                edges[name] |= wanted & names.keys() - {name}
    return edges


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module that run: not those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _run(node)


def _circles(edges: Mapping[str, set[str]]) -> int:
    """How many imports must go until none runs in a circle, one circle after the other."""
    left, count = {name: set(wanted) for name, wanted in edges.items()}, 0
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            before, after = error.args[1][:2]
            left[after].discard(before)
            count += 1
        else:
            return count


def _trips(root: Path) -> tuple[dict[str, set[str]], list[str]]:
    """The files that each trip of trips.py enters in a checkout, and the names that a question bears."""
    command = [sys.executable, str(Path(__file__).with_name("trips.py")), "--all"]
    environment = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", **dict.fromkeys(_HOMES, tempfile.mkdtemp())}
    trips, bearers = json.loads(subprocess.check_output(command, text=True, env=environment, cwd=root))
    return {name: set(files) for name, files in trips.items()}, bearers


if __name__ == "__main__":
    taken = measures(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(__file__).parents[2])
    sys.stdout.write("".join(f"| {name} | {value:,} |\n" for name, value in taken.items()))
