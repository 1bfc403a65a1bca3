"""Measures of the house: files, lines, protocols, imports, circles, and the files that a call enters.

``python tests/support/measures.py [FOLDER]`` prints them for the package in FOLDER/hlgraph, by default this one, as a table.
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

_LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
_WAYS = """
import contextlib, io, json, os, sys, tempfile
from pathlib import Path
folder = tempfile.mkdtemp()
os.environ.update({name: f"{folder}/home" for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")})
import trips
import hlgraph
from hlgraph.cli import main
from hlgraph.sdk.client import HLGraph
def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\\n" for row in rows))
def ways(name):
    place = Path(folder, name)
    (place / "set").mkdir(parents=True)
    write(place / "set" / "corpus.jsonl", [{"id": key, "title": "", "text": text} for key, text in trips.DOCUMENTS.items()])
    gold = {"answers": ["Wendlecote"], "supporting_passage_ids": ["b.md"]}
    write(place / "set" / "questions.dev.jsonl", [{"id": "q1", "question": trips.QUESTION, **gold}])
    for key, text in trips.DOCUMENTS.items():
        (place / key).write_text(text)
    def evaluate():
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                main(["--store", f"hlgraph://{place}/eval", "eval", str(place / "set"), "--strategies", "path"])
        except SystemExit as end:
            assert not end.code, end.code  # else the way would end early, and look short
    bearers = set()
    def note(frame, event, _):
        if event == "return" and "/hlgraph/" in frame.f_code.co_filename:
            bearers.update(key for key, value in frame.f_locals.items() if value is trips.QUESTION)
    with HLGraph(hlgraph.Settings(store=f"hlgraph://{place}/graph"), embedder=trips.HashedWords()) as graph:
        found = {"an ingest": trips.entered(lambda: graph.ingest([str(place / key) for key in trips.DOCUMENTS]))}
        found["a search"] = trips.entered(lambda: graph.search(trips.QUESTION, strategy="path", k=3))
        found["an answer"] = trips.entered(lambda: graph.answer(trips.QUESTION, strategy="path"))
        sys.setprofile(note)
        graph.answer(trips.QUESTION, strategy="path")
        sys.setprofile(None)
        found["a delete"] = trips.entered(lambda: graph.delete([str(place / "a.md")]))
    found["an evaluation"] = trips.entered(evaluate)
    return {key: len(files) for key, files in found.items()} | {
        "an answer, beside a search": len(set(found["an answer"]) - set(found["a search"])),
        "an evaluation, beside an ingest and a search": len(
            set(found["an evaluation"]) - set(found["an ingest"]) - set(found["a search"])
        ),
        "names": len(bearers),
    }
ways("warm")
print(json.dumps(ways("measured")))
"""


def measures(root: Path) -> dict[str, int]:
    """The measures of a checkout, by name."""
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((root / "hlgraph").rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = sum((Counter(_kinds(text, trees[path])) for path, text in sources.items()), Counter[str]())
    edges = _edges(root, trees)
    ways = _ways(root)
    bearers = ways.pop("names")
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    return {
        "files": len(sources),
        "lines": sum(lines.values()),
        **{f"lines of {kind}": lines[kind] for kind in ("code", "imports", "docstrings", "comments", "nothing")},
        "protocols": sum(_is_protocol(node) for node in nodes),
        "isinstance on stores": sum(
            _is_check(node) for path, tree in trees.items() if "/stores/" in str(path) for node in ast.walk(tree)
        ),
        "imports between files": sum(map(len, edges.values())),
        "circles": _circles(edges),
        **{f"files entered by {name}": count for name, count in ways.items()},
        "names that a question bears on its way": bearers,
    }


def _kinds(text: str, tree: ast.Module) -> Iterator[str]:
    """The kind of each line: a line with code is of code, whatever else it holds."""
    kinds = dict.fromkeys(range(1, text.count("\n") + 1), "nothing")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            kind = "comments" if token.type == tokenize.COMMENT else "code"
            for line in range(token.start[0], token.end[0] + 1):
                kinds[line] = "code" if "code" in (kind, kinds[line]) else kind
    for node in ast.walk(tree):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            assert isinstance(node, ast.Expr | ast.Import | ast.ImportFrom)
            kinds |= dict.fromkeys(
                range(node.lineno, (node.end_lineno or 0) + 1), "docstrings" if is_text else "imports"
            )
    return iter(kinds.values())


def _is_protocol(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)


def _is_check(node: ast.AST) -> bool:
    """Whether a node asks what a store can do."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        return False
    asked = ast.unparse(node.args[0])
    return node.func.id in {"isinstance", "hasattr", "getattr"} and asked.split(".")[-1] in {
        "graph",
        "vectors",
        "store",
    }


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


def _ways(root: Path) -> dict[str, int]:
    environment = {"PYTHONPATH": f"{root}:{root / 'tests' / 'support'}", "PATH": "/usr/bin:/bin"}
    run = subprocess.run(
        [sys.executable, "-c", _WAYS], capture_output=True, text=True, check=True, env=environment, cwd=root
    )
    ways: dict[str, int] = json.loads(run.stdout)
    return ways


if __name__ == "__main__":
    taken = measures(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(__file__).parents[2])
    sys.stdout.write("".join(f"| {name} | {value:,} |\n" for name, value in taken.items()))
