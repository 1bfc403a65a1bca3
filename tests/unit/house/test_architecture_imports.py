"""Imports point one way, extras stay optional, and importing hlgraph does nothing."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hlgraph import HLGraph

REPOSITORY = Path(__file__).parents[3]

# From the ground up. A module imports from its own row and from those above it in this list, never from below.
LAYERS = (
    ("errors", "records"),
    ("ids", "text", "where", "change", "subgraph", "progress", "telemetry"),
    ("settings",),
    ("algorithms",),
    ("models", "stores"),
    # The stages, in the order of the data.
    ("read",),
    ("chunk",),
    ("extract",),
    ("resolve",),
    ("persist",),
    ("index",),
    ("retrieve",),
    ("answer",),
    ("ingest",),
    ("sdk", "evaluate", "align", "testing"),
    ("cli", "integrations", "serve", "__main__"),
)
STAGES = tuple(
    f"hlgraph.{name}" for name in ("read", "chunk", "extract", "resolve", "persist", "index", "retrieve", "answer")
)
# What knows the two protocols and no store.
PROTOCOLS = {
    "hlgraph.stores",
    "hlgraph.stores.protocols",
    "hlgraph.stores.in_process",
    "hlgraph.stores.reads",
    "hlgraph.stores.derived",
    "hlgraph.stores.trace",
}
CONCRETE_STORES = ("hlgraph.stores.embedded", "hlgraph.stores.neo4j", "hlgraph.stores.opensearch")
STORE_OPENERS = ("hlgraph.stores.open", "hlgraph.cli.doctor")

ALGORITHMS_MAY_IMPORT = (
    "numpy",
    "scipy",
    "hlgraph.errors",
    "hlgraph.records",
    "hlgraph.subgraph",
    "hlgraph.text",
    "hlgraph.algorithms",
)
# Algorithms are pure: no clock, no log, no files, no network, no hidden randomness.
IMPURE = {
    *("asyncio", "io", "multiprocessing", "os", "pathlib", "shutil", "socket", "sqlite3", "subprocess", "tempfile"),
    *("datetime", "logging", "random", "secrets", "threading", "time", "urllib", "uuid"),
}

# Where a distribution is not imported by its own name.
IMPORT_NAMES = {
    "opentelemetry-api": "opentelemetry",
    "pyyaml": "yaml",
    "opensearch-py": "opensearchpy",
    "charset-normalizer": "charset_normalizer",
    "pdfminer.six": "pdfminer",
    "protobuf": "google",
    "prometheus-client": "prometheus_client",
    "pyjwt": "jwt",
    "python-docx": "docx",
    "python-pptx": "pptx",
    "graspologic-native": "graspologic_native",
}
# The folders that are about one extra, and so may import it at the top.
HOME_OF_EXTRA = {
    "neo4j": ("hlgraph.stores.neo4j",),
    "graphdatascience": ("hlgraph.integrations.gds",),
    "opensearchpy": ("hlgraph.stores.opensearch",),
    "langchain_core": ("hlgraph.integrations.langchain", "hlgraph.models.langchain"),
    "pydantic": (
        "hlgraph.extract.chat",
        "hlgraph.resolve.decide",
        "hlgraph.integrations.langchain",
        "hlgraph.evaluate.claims",
        "hlgraph.evaluate.judges",
        "hlgraph.evaluate.questions",
    ),
    "py2neo": ("hlgraph.integrations.py2neo",),
    "pytest": ("hlgraph.testing",),
    **dict.fromkeys(
        ("fastapi", "prometheus_client", "sse_starlette", "starlette", "uvicorn"),
        ("hlgraph.serve.application", "hlgraph.serve.completions", "hlgraph.serve.routes"),
    ),
    **dict.fromkeys(("anyio", "mcp"), ("hlgraph.serve.application", "hlgraph.serve.mcp")),
}


@dataclass(frozen=True)
class Import:
    """One import of one file: who, where, of what, and whether it happens when the file is imported."""

    module: str
    line: int
    target: str
    is_at_top: bool

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target}"

    @property
    def package(self) -> str:
        return self.target.partition(".")[0]


def is_within(name: str, *homes: str) -> bool:
    return any(name == home or name.startswith(f"{home}.") for home in homes)


@cache
def files() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted((REPOSITORY / "hlgraph").rglob("*.py")):
        parts = path.relative_to(REPOSITORY).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(module: str, code: str) -> Iterator[Import]:
    tree = ast.parse(code)
    later = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        or (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"))
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(module, node.lineno, each.name, node not in later) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: write absolute imports"
            for each in node.names:
                # "from hlgraph import ids" imports hlgraph.ids; "from hlgraph.ids import f" imports it as well.
                inner = f"{node.module}.{each.name}"
                yield Import(module, node.lineno, inner if inner in files() else node.module or "", node not in later)


@cache
def imports() -> tuple[Import, ...]:
    return tuple(
        each for module, path in files().items() for each in imports_of(module, path.read_text(encoding="utf-8"))
    )


@cache
def declared(*, with_extras: bool) -> frozenset[str]:
    """The import names of the dependencies in pyproject.toml, without those of development."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    if with_extras:
        lines += [line for extra, some in project["optional-dependencies"].items() if extra != "dev" for line in some]
    names = [re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in lines]  # type: ignore[index]
    return frozenset(IMPORT_NAMES.get(name, name.replace("-", "_")) for name in names)


def layer(module: str) -> int:
    """The row of a module; the package itself, which re-exports the client, is for the last row."""
    name = module.removeprefix("hlgraph").lstrip(".").partition(".")[0]
    if not name:
        return len(LAYERS) - 1
    rows = [number for number, row in enumerate(LAYERS) if name in row]
    assert rows, f"{module} has no place yet: add {name!r} to LAYERS in {Path(__file__).name}"
    return rows[0]


def is_foreign(each: Import) -> bool:
    return each.package not in sys.stdlib_module_names and each.package != "hlgraph"


# Rules: whether an import breaks one. The docstring says what to do.


def points_up(each: Import) -> bool:
    """Move the shared part down, or take it as an argument: imports point one way (LAYERS)."""
    return each.package == "hlgraph" and layer(each.target) > layer(each.module)


def knows_a_concrete_store(each: Import) -> bool:
    """Take a GraphStore or a VectorStore as an argument; hlgraph.stores.open alone turns an address into one."""
    homes = [store for store in CONCRETE_STORES if is_within(each.target, store)]
    return bool(homes) and not is_within(each.module, *homes, *STORE_OPENERS)


def opens_a_store_in_a_stage(each: Import) -> bool:
    """Take the store as an argument: a stage knows hlgraph.stores.protocols, reads of one state, files, batches, and terms."""
    is_stage = is_within(each.module, *STAGES)
    known = {*PROTOCOLS, *(f"hlgraph.stores.{name}" for name in ("files", "one_state", "batches", "terms"))}
    return is_stage and is_within(each.target, "hlgraph.stores") and each.target not in known


def reaches_below_the_sdk(each: Import) -> bool:
    """Call the SDK: the server knows HLGraph, the vocabulary, and the reader of uploaded files; no store and no stage."""
    known = (
        "sdk.client",
        "serve",
        "errors",
        "records",
        "settings",
        "progress",
        "telemetry",
        "text",
        "stores.files",
        "read",
    )
    types = ("sdk.contents", "ingest.report", "ingest.options", "models.accounts.budget", "retrieve", "answer")
    homes = tuple(f"hlgraph.{name}" for name in (*known, *types))
    is_package = each.target == "hlgraph"
    return (
        is_within(each.module, "hlgraph.serve")
        and each.package == "hlgraph"
        and not is_package
        and not is_within(each.target, *homes)
    )


def makes_an_algorithm_impure(each: Import) -> bool:
    """Take it as an argument: algorithms know arrays, records and subgraphs; no clock, no log, no files, no network."""
    if not is_within(each.module, "hlgraph.algorithms"):
        return False
    if each.module == "hlgraph.algorithms.communities" and each.package == "graspologic_native":
        return False
    if each.package in sys.stdlib_module_names:
        return each.package in IMPURE
    return not is_within(each.target, *ALGORITHMS_MAY_IMPORT)


def is_undeclared(each: Import) -> bool:
    """Declare it in pyproject.toml, as a dependency or in an extra."""
    is_for_tests = each.package in HOME_OF_EXTRA and is_within(each.module, *HOME_OF_EXTRA[each.package])
    return is_foreign(each) and each.package not in declared(with_extras=True) and not is_for_tests


def needs_an_extra_at_the_top(each: Import) -> bool:
    """Import it inside the function that uses it, and raise MissingExtraError where it is missing."""
    if not (each.is_at_top and is_foreign(each)) or each.package in declared(with_extras=False):
        return False
    return not is_within(each.module, *HOME_OF_EXTRA.get(each.package, ()))


BREACHES: list[tuple[Callable[[Import], bool], str, str]] = [
    (points_up, "hlgraph.records", "from hlgraph.ids import content_id"),
    (points_up, "hlgraph.chunk.x", "def f():\n    from hlgraph import pipeline"),
    (points_up, "hlgraph.retrieve.x", "from hlgraph import connect"),
    (knows_a_concrete_store, "hlgraph.sdk.client", "from hlgraph.stores.embedded import EmbeddedGraphStore"),
    (knows_a_concrete_store, "hlgraph.stores.neo4j.x", "import hlgraph.stores.embedded.rows"),
    (opens_a_store_in_a_stage, "hlgraph.retrieve.x", "from hlgraph.stores.open import open_stores"),
    (reaches_below_the_sdk, "hlgraph.serve.service", "from hlgraph.stores.open import open_stores"),
    (reaches_below_the_sdk, "hlgraph.serve.routes", "def f():\n    from hlgraph.ingest.delete import Deletion"),
    (points_up, "hlgraph.sdk.client", "from hlgraph.serve.service import Service"),
    (makes_an_algorithm_impure, "hlgraph.algorithms.ppr", "import time"),
    (makes_an_algorithm_impure, "hlgraph.algorithms.ppr", "from hlgraph.settings import load"),
    (makes_an_algorithm_impure, "hlgraph.algorithms.ppr", "import graspologic_native"),
    (is_undeclared, "hlgraph.read.x", "def f():\n    import polars"),
    (needs_an_extra_at_the_top, "hlgraph.read.x", "import pypdf"),
    (needs_an_extra_at_the_top, "hlgraph.cli.x", "from neo4j import GraphDatabase"),
]
ALLOWED = [
    ("hlgraph.ids", "from hlgraph.records import Kind"),
    ("hlgraph.index.x", "from hlgraph.stores.protocols import GraphStore"),
    ("hlgraph.stores.open", "def f():\n    from hlgraph.stores.embedded import EmbeddedGraphStore"),
    ("hlgraph.stores.neo4j.x", "import neo4j"),
    ("hlgraph.algorithms.communities", "def f():\n    import graspologic_native"),
    ("hlgraph.read.x", "def f():\n    import pypdf"),
    ("hlgraph.read.x", "if TYPE_CHECKING:\n    import pypdf"),
    ("hlgraph.where", "import lark"),
    ("hlgraph.cli.app", "from hlgraph import __version__"),
    ("hlgraph.serve.application", "import uvicorn"),
]
RULES = list(dict.fromkeys(rule for rule, _, _ in BREACHES))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule(rule: Callable[[Import], bool]) -> None:
    breaches = [str(each) for each in imports() if rule(each)]
    assert not breaches, "\n".join([rule.__doc__ or "", *breaches])


@pytest.mark.parametrize(("rule", "module", "code"), BREACHES)
def test_a_rule_sees_its_breach(rule: Callable[[Import], bool], module: str, code: str) -> None:
    assert [each for each in imports_of(module, code) if rule(each)]


@pytest.mark.parametrize(("module", "code"), ALLOWED)
def test_what_is_allowed_is_seen_by_no_rule(module: str, code: str) -> None:
    # The extra of communities comes with a later issue: is_undeclared would be right.
    rules = [rule for rule in RULES if "graspologic" not in code or rule is makes_an_algorithm_impure]
    assert [rule.__name__ for each in imports_of(module, code) for rule in rules if rule(each)] == []


def test_algorithms_draw_no_numbers_of_their_own() -> None:
    for module, path in files().items():
        if is_within(module, "hlgraph.algorithms"):
            calls = [
                node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
            ]
            names = [ast.unparse(call.func) for call in calls]
            drawn = [name for name in names if re.match(r"(np|numpy)\.random\.", name)]
            assert not drawn, f"{path}: {drawn}: take a numpy.random.Generator as the argument rng"


# What importing does, seen in a process of its own.

PROBE = """
import importlib, json, logging, os, sys, warnings
opened, read, filters = [], [], list(warnings.filters)
sys.addaudithook(lambda event, arguments: opened.append(event) if event.startswith("socket.") else None)
environment = type(os.environ)
look_up, walk = environment.__getitem__, environment.__iter__
def recorded(self, key):
    read.append(key)
    return look_up(self, key)
def walked(self):
    read.append("HLGRAPH_*")
    return walk(self)
environment.__getitem__ = recorded
NAMES = sys.argv[1:]
if NAMES == ["hlgraph"]:
    environment.__iter__ = walked
for name in NAMES:
    importlib.import_module(name)
ours = [name for name in logging.root.manager.loggerDict if name.startswith("hlgraph")]
loggers = [logging.getLogger(), *map(logging.getLogger, ours)]
print(json.dumps({
    "sockets": opened,
    "environment": [key for key in map(os.fsdecode, read) if key.startswith("HLGRAPH")],
    "handlers": [str(handler) for logger in loggers for handler in logger.handlers],
    "filters": list(warnings.filters) != filters,
    "modules": sorted({name.partition(".")[0] for name in sys.modules}),
}))
"""
HEAVY = {
    *("boto3", "cohere", "langchain_core", "lark", "lxml", "neo4j", "numpy", "onnx", "onnxruntime", "opensearchpy"),
    *(
        "opentelemetry",
        "pandas",
        "pydantic",
        "pypdf",
        "rich",
        "scipy",
        "spacy",
        "tokenizers",
        "torch",
        "trafilatura",
        "typer",
    ),
}


def seen(*names: str) -> dict[str, Any]:
    """What happens in a fresh process that imports these modules."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *names], cwd=REPOSITORY, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_importing_hlgraph_does_nothing() -> None:
    found = seen("hlgraph")
    heavy = HEAVY & set(found.pop("modules"))
    assert found == {"sockets": [], "environment": [], "handlers": [], "filters": False}
    assert not heavy, "hlgraph/__init__.py resolves its names when they are used: import these later"


def test_importing_any_module_does_nothing() -> None:
    homes = [home for package, some in HOME_OF_EXTRA.items() if package != "pytest" for home in some]
    names = [name for name in files() if not is_within(name, *homes) and not name.endswith("__main__")]
    found = seen(*names)
    extras = (HEAVY - declared(with_extras=False) - {"pydantic", "rich"}) & set(found.pop("modules"))
    found.pop("filters")  # numpy and scipy set their own
    assert found == {"sockets": [], "environment": [], "handlers": []}
    assert not extras


def test_the_server_starts_without_the_protocol_of_agents() -> None:
    assert "mcp" not in seen("hlgraph.serve.application")["modules"]


def test_a_call_that_reads_no_file_imports_no_reader(graph: HLGraph) -> None:
    """The readers, and what the types of arguments that were not given name, take two fifths of the start of a command."""
    graph.ingest(text="Ada built a mill.")
    script = (
        "import sys, hlgraph\n"
        "from hlgraph.testing.embedder import WordEmbedder\n"
        f"with hlgraph.connect({graph.settings.store!r}, embedder=WordEmbedder()) as graph:\n"
        "    graph.stats(), graph.search('Ada')\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    readers = {f"hlgraph.read.formats.{path.stem}" for path in (REPOSITORY / "hlgraph/read/formats").glob("[a-z]*.py")}
    assert len(readers) > 20
    assert "hlgraph.retrieve.search" in imported
    assert not imported & {*readers, "hlgraph.ingest.pipeline", "hlgraph.ingest.history", "hlgraph.extract.local"}


def test_the_package_exports_a_sorted_list_of_names_that_exist() -> None:
    import hlgraph

    names = hlgraph.__all__

    def kind(name: str) -> int:
        """Constants, then classes, then the rest: the order of ruff's RUF022."""
        return 0 if name.isupper() else 1 if name[0].isupper() else 2

    assert list(names) == sorted(names, key=lambda name: (kind(name), name))
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(hlgraph, name) is not None
    with pytest.raises(AttributeError):
        _ = hlgraph.no_such_name  # type: ignore[attr-defined]
    assert set(dir(hlgraph)) == set(names)


def _annotations(kind: type) -> Iterator[tuple[str, str]]:
    """The names in the annotations of the public methods and properties of a class, with the module that they are from."""
    path = Path(sys.modules[kind.__module__].__file__ or "")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    homes = {
        each.asname or each.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }
    homes |= {node.name: kind.__module__ for node in tree.body if isinstance(node, ast.ClassDef)}
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    for method in found.body:
        if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
            arguments = (*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs)
            written = [each.annotation for each in arguments] + [method.returns]
            for node in (inner for each in written if each for inner in ast.walk(each)):
                if isinstance(node, ast.Name) and homes.get(node.id, "").startswith("hlgraph"):
                    yield f"{kind.__name__}.{method.name}", node.id


def test_every_type_that_an_annotation_of_the_sdk_needs_is_exported() -> None:
    import hlgraph

    parts = (hlgraph.HLGraph, hlgraph.Batches, hlgraph.Communities, hlgraph.CorpusDomain, hlgraph.Failures)
    parts += (hlgraph.Hierarchy, hlgraph.Merges, hlgraph.Quality)
    missing = {
        f"{place}: {name}" for kind in parts for place, name in _annotations(kind) if name not in hlgraph.__all__
    }
    assert not missing


def test_the_page_on_the_architecture_draws_the_layers() -> None:
    page = (REPOSITORY / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    drawing = page.partition("## Imports point one way\n\n```text\n")[2].partition("```")[0]
    drawn = [tuple(name.strip() for name in row.split(",")) for row in " ".join(drawing.split()).split("<-")]
    assert [set(row) for row in drawn] == [set(layer) - {"__main__"} for layer in LAYERS]
