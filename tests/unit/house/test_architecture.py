"""The rules of the house that one file can break by itself. Imports are looked at in test_architecture_imports.py.

A rule is a generator of breaches; its docstring is what to do about them. Each stands in ``RULES`` beside a piece of
code that breaks it, so that a rule that sees nothing fails too.
"""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
FILE_LINES, FUNCTION_LINES, CLASS_LINES, PARAMETERS, POSITIONAL = 1_000, 60, 300, 6, 2
ROOT_MODULES = 10
SDK = "hlgraph/sdk/client.py"

# The order of an id's fields is its definition, so ids.py takes them in order, as many as there are.
POSITIONAL_BY_DESIGN = {"hlgraph/ids.py"}

VAGUE_NAME = re.compile(r"_?(utils?|helpers?|common|misc|managers?|base(_.*)?|.*_(utils?|helpers?|managers?))")
AUTHOR = re.compile(
    r"^\s*(?:__(?:author|date|copyright)__|:author:|#\s*(?:@?author:|created (?:on|by)\b|copyright\b))",
    re.IGNORECASE | re.MULTILINE,
)
STUMBLES = re.compile(r"\b(so many|nobody|somebody|who minds|some that|what there is|(?<!there )(?:is|are) none)\b")
# A pattern in brackets tells MATCH of Cypher from MATCH of full-text search in SQL.
CYPHER = re.compile(r"\b(MATCH|MERGE)\s*(\w+\s*=\s*)?\(|\bUNWIND\s+[$\[\w]|\bDETACH\s+DELETE\b|\bCREATE\s+CONSTRAINT\b")
ROOT_LOGGER = {
    "basicConfig",
    "debug",
    "info",
    "warning",
    "error",
    "exception",
    "critical",
    "log",
    "disable",
    "captureWarnings",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
Breach = tuple[int, str]


@dataclass(frozen=True)
class Module:
    """One file of the package; ``path`` is relative to the repository, with forward slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def everything(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def is_in(self, folder: str) -> bool:
        return self.path.startswith(f"hlgraph/{folder}/") or self.path == f"hlgraph/{folder}.py"

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in self.everything if isinstance(node, kinds))

    def calls(self) -> Iterator[tuple[int, str, ast.Call]]:
        for node in self.nodes(ast.Call):
            assert isinstance(node, ast.Call)
            yield node.lineno, ast.unparse(node.func), node

    def functions(self) -> Iterator[tuple[Function, ast.ClassDef | None]]:
        """Functions and methods with their class, public or not; functions inside functions are left out."""
        for node in self.tree.body:
            if isinstance(node, Function):
                yield node, None
            elif isinstance(node, ast.ClassDef):
                yield from ((method, node) for method in node.body if isinstance(method, Function))


@cache
def modules() -> list[Module]:
    files = sorted((REPOSITORY / "hlgraph").rglob("*.py"))
    return [Module(path.relative_to(REPOSITORY).as_posix(), path.read_text(encoding="utf-8")) for path in files]


def docstring(node: ast.AST) -> ast.Expr | None:
    first = node.body[0] if getattr(node, "body", None) else None  # type: ignore[attr-defined]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return first if is_text else None


@cache
def words_of(tree: ast.AST) -> set[int]:
    """The lines of docstrings, and of overloads, which no limit counts: nobody splits code to please a limit."""
    found: set[int] = set()
    for node in ast.walk(tree):
        holds = isinstance(node, ast.Module | ast.ClassDef | Function)
        if holds and (words := docstring(node)):
            found.update(range(words.lineno, (words.end_lineno or 0) + 1))
        if isinstance(node, Function) and any(ast.unparse(each).endswith("overload") for each in node.decorator_list):
            found.update(range(node.decorator_list[0].lineno, (node.end_lineno or 0) + 1))
    return found


def lines(node: Function | ast.ClassDef) -> int:
    """Lines of a definition without docstrings, overloads and its decorators."""
    return len(set(range(node.lineno, (node.end_lineno or 0) + 1)) - words_of(node))


def is_public(name: str) -> bool:
    """Whether callers name it; pytest alone calls the tests of a contract suite, whose names are their docstrings."""
    return not name.startswith(("_", "test_"))


# Limits


def long_files(module: Module) -> Iterator[Breach]:
    """Split the file by what its parts are about; docstrings and overloads do not count."""
    count = len(set(range(1, len(module.text.splitlines()) + 1)) - words_of(module.tree))
    if count > FILE_LINES:
        yield count, f"{count} lines, at most {FILE_LINES}"


def long_functions(module: Module) -> Iterator[Breach]:
    """Give a part of the function a name of its own; docstrings do not count."""
    for node in module.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, Function)
        if lines(node) > FUNCTION_LINES:
            yield node.lineno, f"{node.name}: {lines(node)} lines, at most {FUNCTION_LINES}"


def long_classes(module: Module) -> Iterator[Breach]:
    """Move what is not about the state of the class into functions, or split the class. Signatures of the SDK are free."""
    for node in module.nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        methods = [each for each in node.body if isinstance(each, Function)] if module.path == SDK else []
        count = lines(node) - sum(each.body[0].lineno - each.lineno - 1 for each in methods)
        if count > CLASS_LINES:
            yield node.lineno, f"{node.name}: {count} lines, at most {CLASS_LINES}"


def unprinted_results(module: Module) -> Iterator[Breach]:
    """What a notebook shows as HTML, ``print`` shows as text: define ``__str__`` beside ``_repr_html_``."""
    for node in module.nodes(ast.ClassDef):
        assert isinstance(node, ast.ClassDef)
        names = {each.name for each in node.body if isinstance(each, Function)}
        if "_repr_html_" in names and "__str__" not in names:
            yield node.lineno, f"{node.name} has _repr_html_ and no __str__"


def many_parameters(module: Module) -> Iterator[Breach]:
    """Put what belongs together into a frozen dataclass. Commands and the methods of the SDK declare options: they are free."""
    for node in module.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, Function)
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len([name for name in names if name not in ("self", "cls")])
        if count > PARAMETERS and not module.is_in("cli") and not module.is_in("sdk"):
            yield node.lineno, f"{node.name}: {count} parameters, at most {PARAMETERS}"


def many_positional_parameters(module: Module) -> Iterator[Breach]:
    """Put a * behind the second parameter: callers then name the others."""
    if module.is_in("cli") or module.path in POSITIONAL_BY_DESIGN or "/_" in module.path.replace("/__init__", ""):
        return
    for node, owner in module.functions():
        # Python itself calls the special methods, and errors are pickled by position.
        is_constructor = node.name == "__init__" and owner is not None and not owner.name.endswith("Error")
        if not is_public(node.name) and not is_constructor:
            continue
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        count = len([name for name in names if name not in ("self", "cls")])
        if count > POSITIONAL:
            yield node.lineno, f"{node.name}: {count} positional parameters, at most {POSITIONAL}"


# The layout


def private_imports(module: Module) -> Iterator[Breach]:
    """A file whose name begins with an underscore is for its own folder: import from a public file, or rename it."""
    home = Path(module.path).parent.as_posix().replace("/", ".")
    for node in module.nodes(ast.Import, ast.ImportFrom):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{each.name}" for each in node.names)]
        else:
            names = [each.name for each in node.names]  # type: ignore[attr-defined]
        for name in names:
            folder, _, last = name.rpartition(".")
            is_file = (REPOSITORY / f"{name.replace('.', '/')}.py").is_file() or module.path == "hlgraph/x.py"
            if name.startswith("hlgraph.") and re.match(r"_[a-z]", last) and is_file and folder != home:
                yield node.lineno, f"{name} is private to {folder}"  # type: ignore[attr-defined]


# Names and words


def vague_names(module: Module) -> Iterator[Breach]:
    """Name the file after the noun that its functions serve."""
    for part in Path(module.path).with_suffix("").parts:
        if VAGUE_NAME.fullmatch(part):
            yield 1, f"{part} says nothing"


def missing_docstrings(module: Module) -> Iterator[Breach]:
    """Say in one line what is computed, or what the thing is."""
    if not ast.get_docstring(module.tree):
        yield 1, "the module"
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and is_public(node.name) and not ast.get_docstring(node):
            yield node.lineno, node.name
    for function, owner in module.functions():
        is_reachable = is_public(function.name) and (owner is None or is_public(owner.name))
        if is_reachable and not ast.get_docstring(function):
            yield function.lineno, function.name


def undocumented_parameters(module: Module) -> Iterator[Breach]:
    """Give a public function with two or more parameters a section Parameters, or "See :..." where a protocol says it all."""
    if module.is_in("cli") or module.is_in("testing"):
        return
    for function, owner in module.functions():
        arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        names = [each.arg for each in arguments if each.arg not in ("self", "cls")]
        words = ast.get_docstring(function) or ""
        is_reachable = is_public(function.name) and (owner is None or is_public(owner.name))
        is_said = "Parameters\n" in words or words.startswith("See :")
        if is_reachable and len(names) > 1 and not is_said:
            yield function.lineno, f"{function.name} does not say what its parameters are"


def stumbling_words(module: Module) -> Iterator[Breach]:
    """Say it as a native engineer would: these words made strangers stumble."""
    holders = module.nodes(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    texts = [(words.lineno, ast.unparse(words)) for words in map(docstring, holders) if words]
    comments = ((number, line.partition("# ")[2]) for number, line in enumerate(module.text.splitlines(), 1))
    for line, text in (*texts, *comments):
        yield from ((line, found[0]) for found in STUMBLES.finditer(text))


def author_headers(module: Module) -> Iterator[Breach]:
    """Leave it out: git knows who and when."""
    for found in AUTHOR.finditer(module.text):
        yield module.text.count("\n", 0, found.end()) + 1, found[0].strip()


# Statements


def broad_excepts(module: Module) -> Iterator[Breach]:
    """Name the exceptions; a broad except must end by raising."""
    for node in module.nodes(ast.ExceptHandler):
        assert isinstance(node, ast.ExceptHandler)
        names = {"BaseException"} if node.type is None else {ast.unparse(each) for each in ast.walk(node.type)}
        if names & {"Exception", "BaseException"} and not isinstance(node.body[-1], ast.Raise):
            yield node.lineno, "broad except"
    for line, name, call in module.calls():
        if name.endswith("suppress") and {ast.unparse(each) for each in call.args} & {"Exception", "BaseException"}:
            yield line, "broad suppress"


def asserts(module: Module) -> Iterator[Breach]:
    """Raise an error of hlgraph.errors: asserts vanish under python -O. They are for hlgraph/testing and the tests."""
    if not module.is_in("testing"):
        for node in module.nodes(ast.Assert):
            yield node.lineno, "assert"  # type: ignore[attr-defined]


def prints(module: Module) -> Iterator[Breach]:
    """Return it in a report, or log it; only the CLI prints."""
    if not module.is_in("cli"):
        for line, name, _ in module.calls():
            if name in ("print", "pprint", "pprint.pprint", "sys.stdout.write", "sys.stderr.write"):
                yield line, name


def evaluations(module: Module) -> Iterator[Breach]:
    """Parse it: what is evaluated may come from a model or a document."""
    for line, name, _ in module.calls():
        if name in ("eval", "exec", "builtins.eval", "builtins.exec"):
            yield line, name


def environment_reads(module: Module) -> Iterator[Breach]:
    """Take it as an argument; hlgraph/settings.py alone reads the environment."""
    if module.path == "hlgraph/settings.py":
        return
    for node in module.nodes(ast.Attribute, ast.ImportFrom):
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.environb", "os.getenv"):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (
                (node.lineno, each.name) for each in node.names if each.name in ("environ", "environb", "getenv")
            )


def logging_set_up(module: Module) -> Iterator[Breach]:
    """Log through logging.getLogger(__name__); only applications set logging up (the CLI: the logger 'hlgraph')."""
    for line, name, call in module.calls():
        owner, _, method = name.rpartition(".")
        if owner == "logging" and method in ROOT_LOGGER:
            yield line, name
        elif method == "getLogger" or name == "getLogger":
            wanted = ["__name__", "'hlgraph'"] if module.is_in("cli") else ["__name__"]
            if [ast.unparse(each) for each in call.args] not in [[each] for each in wanted]:
                yield line, ast.unparse(call)


def cypher_in_strings(module: Module) -> Iterator[Breach]:
    """Make it a file of cypher/ and load it through hlgraph.stores.queries."""
    holders = module.nodes(ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {words.lineno for words in map(docstring, holders) if words}
    for node in module.nodes(ast.Constant):
        assert isinstance(node, ast.Constant)
        if isinstance(node.value, str) and node.lineno not in docstrings and (found := CYPHER.search(node.value)):
            yield node.lineno, found[0]


def attributes_of_threads(module: Module) -> Iterator[Breach]:
    """Give the attribute another name: the thread itself keeps something under this one, in this Python or a newer one."""
    own = {*vars(threading.Thread()), "_context"}  # Thread has _context from Python 3.14 on
    for kind in module.nodes(ast.ClassDef):
        assert isinstance(kind, ast.ClassDef)
        if any(ast.unparse(base) in ("Thread", "threading.Thread") for base in kind.bases):
            stored = (node for node in ast.walk(kind) if isinstance(node, ast.Attribute) and node.attr in own)
            yield from ((node.lineno, node.attr) for node in stored if isinstance(node.ctx, ast.Store))


RULES: list[tuple[Callable[[Module], Iterator[Breach]], Module]] = [
    (long_files, Module("hlgraph/x.py", "\n" * 1_001)),
    (long_functions, Module("hlgraph/x.py", "def f():\n" + "    x = 1\n" * 60)),
    (long_classes, Module("hlgraph/x.py", "class A:\n" + "    x = 1\n" * 300)),
    (unprinted_results, Module("hlgraph/x.py", "class A:\n    def _repr_html_(self): ...")),
    (many_parameters, Module("hlgraph/x.py", "def _f(a, b, /, c, d, *, e, f, g): ...")),
    (many_positional_parameters, Module("hlgraph/x.py", "def f(a, b, c): ...")),
    (many_positional_parameters, Module("hlgraph/x.py", "class A:\n    def __init__(self, a, b, c): ...")),
    (private_imports, Module("hlgraph/x.py", "from hlgraph.extract.local._names import names")),
    (private_imports, Module("hlgraph/x.py", "from hlgraph.extract.local import _names")),
    (vague_names, Module("hlgraph/stores/base_store.py", "")),
    (vague_names, Module("hlgraph/read/html_utils.py", "")),
    (missing_docstrings, Module("hlgraph/x.py", "")),
    (missing_docstrings, Module("hlgraph/x.py", '"""x"""\ndef f(): ...')),
    (missing_docstrings, Module("hlgraph/x.py", '"""x"""\nclass A:\n    """x"""\n    def f(self): ...')),
    (undocumented_parameters, Module("hlgraph/x.py", 'def f(a, b):\n    """Words."""')),
    (stumbling_words, Module("hlgraph/x.py", "x = 1  # so many at most")),
    (stumbling_words, Module("hlgraph/x.py", 'def f():\n    """It is none."""')),
    (author_headers, Module("hlgraph/x.py", '"""x"""\n# Author: somebody')),
    (broad_excepts, Module("hlgraph/x.py", "try: ...\nexcept (ValueError, Exception): ...")),
    (broad_excepts, Module("hlgraph/x.py", "try: ...\nexcept: ...")),
    (broad_excepts, Module("hlgraph/x.py", "with contextlib.suppress(Exception): ...")),
    (asserts, Module("hlgraph/x.py", "assert x")),
    (prints, Module("hlgraph/x.py", "print(1)")),
    (evaluations, Module("hlgraph/x.py", "eval('1')")),
    (environment_reads, Module("hlgraph/x.py", "def f(): return os.environ['X']")),
    (environment_reads, Module("hlgraph/x.py", "from os import getenv")),
    (logging_set_up, Module("hlgraph/x.py", "logging.basicConfig()")),
    (logging_set_up, Module("hlgraph/x.py", "logging.getLogger()")),
    (attributes_of_threads, Module("hlgraph/x.py", "class A(Thread):\n    def f(self): self._context = 1")),
    (cypher_in_strings, Module("hlgraph/x.py", "q = 'MATCH (n:A) RETURN n'")),
    (cypher_in_strings, Module("hlgraph/x.py", "def f():\n    '''Docs.'''\n    return f'UNWIND $rows AS {x}'")),
]


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _ in RULES), ids=lambda rule: rule.__name__)
def test_rule(rule: Callable[[Module], Iterator[Breach]]) -> None:
    breaches = [f"{module.path}:{line}: {what}" for module in modules() for line, what in rule(module)]
    assert not breaches, "\n".join([rule.__doc__ or "", *breaches])


@pytest.mark.parametrize(("rule", "breach"), RULES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_rule_sees_its_breach(rule: Callable[[Module], Iterator[Breach]], breach: Module) -> None:
    assert list(rule(breach))


@pytest.mark.parametrize(
    "code",
    [
        "try: ...\nexcept Exception as error:\n    raise ValueError from error",
        "def f(a, b, *, c): ...",
        "class AError(Exception):\n    def __init__(self, a, b, c): ...\n    def __exit__(self, a, b, c): ...",
        "log = logging.getLogger(__name__)",
        'def f():\n    """MATCH (n) is Cypher."""\n    return "SELECT n FROM t WHERE t MATCH ? AND x IN (1)"',
    ],
)
def test_what_is_allowed_is_seen_by_no_rule_of_statements(code: str) -> None:
    module = Module("hlgraph/x.py", code)
    rules = (many_positional_parameters, broad_excepts, logging_set_up, cypher_in_strings)
    assert [breach for rule in rules for breach in rule(module)] == []


def test_the_root_of_the_package_holds_the_vocabulary_alone() -> None:
    found = sorted(path.stem for path in (REPOSITORY / "hlgraph").glob("*.py"))
    assert len(found) <= ROOT_MODULES, found


# Names that several folders have, each with the one thing that it is in all of them: the noun of the domain on its way from
# algorithm or store to stage, SDK and command, or one protocol and its fillings. A new file takes a name of its own, or is that
# thing too.
SHARED_NAMES = {
    "answering": "answers to questions: to one, and to those of an evaluation set",
    "_extractor": "the extractor of its folder",
    "align": "preference alignment",
    "backup": "a checked copy of an embedded store",
    "batches": "extraction by batch files of a provider",
    "bench": "the benchmark of searches on growing corpora",
    "bulk_load": "the bulk load of a corpus by files",
    "cache": "what was read or made before, kept within a bound",
    "communities": "communities found by Leiden",
    "contents": "what a corpus contains: lists, and each record opened",
    "copying": "whole corpora of a store, read in pieces and written hidden",
    "cypher": "queries of people's own, in Cypher",
    "derived": "what is derived from a corpus as a whole: DerivedStore and its fillings",
    "diameter": "search under a bound on the diameter (TopoRAG)",
    "doctor": "whether a store is consistent",
    "domain": "the domain of a corpus",
    "embedder": "an embedder behind the seam Embedder",
    "failures": "chunks that a chat model could not extract",
    "gds": "graphs that GDS ranks: on the server, and for its Python client",
    "graph": "GraphStore of its store",
    "embeddings": "the sets of vectors of a corpus, and the change of its embedding model",
    "groups": "the groups that may see the sources of a corpus",
    "hierarchy": "layers of summaries over the chunks (GraphMPA)",
    "history": "the versions of the sources of a corpus, and what it says at a moment",
    "image_changes": "the lists of changes of its store, by which images are patched",
    "images": "the images of the corpora of its store",
    "journal": "the journal of changes",
    "langchain": "LangChain: its models behind our protocols, and hlgraph as its retriever",
    "ledger": "what calls of chat models cost",
    "merges": "decisions that entities are one",
    "migrations": "a store as a target of migrations",
    "options": "the options of its stage",
    "plan": "what an ingest by a chat model would cost",
    "protocols": "the protocols of its part",
    "quality": "coverage and faithfulness of statements",
    "questions": "questions made from a corpus",
    "reconcile": "whether graph and vectors hold the same",
    "report": "the report of its stage",
    "retention": "holds on sources, and receipts of deletions",
    "rows": "rows of its store as records, and back",
    "run": "an ingest from paths and options to its report",
    "search": "the search, and its command",
    "tables": "tables in texts",
    "vectors": "VectorStore of its store",
}


def test_a_name_that_several_folders_have_is_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for module in modules():
        path = Path(module.path)
        if path.stem != "__init__":
            places.setdefault(path.stem, []).append(module.path)
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert shared.keys() == SHARED_NAMES.keys()


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('"""Words."""\n\nx = 1\n', 2),
        ('class A:\n    """Words\n    and words."""\n\n    def f(self):\n        """Words."""\n        return 1\n', 4),
        ("@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\ndef f(a):\n    return a\n", 2),
    ],
)
def test_limits_count_neither_docstrings_nor_overloads(code: str, count: int) -> None:
    tree = ast.parse(code)
    assert len(set(range(1, len(code.splitlines()) + 1)) - words_of(tree)) == count
