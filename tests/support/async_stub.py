"""Writes the stub of the awaited surface: what hlgraph.awaited makes while it runs, as a type checker reads it.

The signatures are taken from the source of the classes, so that every name in them is imported from where they have it.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from hlgraph.awaited import given, is_part, is_stream, public
from hlgraph.client import HLGraph

_HEAD = '''"""Written by tests/unit/test_async_surface.py (HLGRAPH_UPDATE_SNAPSHOTS=1); not by hand."""'''


class _Source:
    """A module that a class stands in: its functions, and where the names in it are from."""

    def __init__(self, module: ModuleType) -> None:
        self.name = module.__name__
        assert module.__file__
        self.tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        self.imports = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom) and node.module and not node.level
            for alias in node.names
        }
        here = (node for node in self.tree.body if isinstance(node, ast.ClassDef | ast.Assign | ast.AnnAssign))
        for node in here:
            names = [node.name] if isinstance(node, ast.ClassDef) else [ast.unparse(item) for item in _targets(node)]
            self.imports |= {name: (self.name, name) for name in names}

    def member(self, owner: str, name: str) -> ast.FunctionDef:
        (found,) = (node for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name == owner)
        (made,) = (node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == name)
        return made


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


class _Stub:
    """The stub being written."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {"hlgraph.awaited": {"Awaited"}, "hlgraph.client": {"HLGraph"}}
        self.classes: list[str] = []
        self._done: set[type] = set()

    def note(self, kind: type, name: str) -> None:
        """The class of one awaited object, behind those of its parts."""
        if kind in self._done:
            return
        self._done.add(kind)
        members = [line for key, value in public(kind).items() for line in self._member(kind, key, value)]
        if is_dataclass(kind):
            made = (item for item in fields(kind) if not item.name.startswith("_"))
            members += [line for item in made for line in self._field(kind, item.name, str(item.type))]
        decorator = []
        if name.startswith("_"):
            self.imports.setdefault("typing", set()).add("type_check_only")
            decorator = ["@type_check_only"]
        else:
            members.insert(0, f"    _inner: {kind.__name__}")
        self.classes.append("\n".join([*decorator, f"class {name}(Awaited):", *members]))

    def _member(self, kind: type, key: str, value: object) -> Iterator[str]:
        owner = next(item for item in kind.__mro__ if key in vars(item))
        source = _Source(sys.modules[owner.__module__])
        if inspect.isfunction(value):
            yield from self._method(value, source, owner=owner, kind=kind)
        elif isinstance(value, property):
            words = source.member(owner.__name__, key).returns
            assert words is not None, f"{owner.__name__}.{key} does not say what it gives"
            yield "    @property"
            yield f"    def {key}(self) -> {self._part(source, words)}: ..."

    def _part(self, source: _Source, words: ast.expr) -> str:
        """What a property gives: awaited, where it does something."""
        name = ast.unparse(words)
        if name in source.imports:
            module, original = source.imports[name]
            kind = getattr(import_module(module), original)
            if inspect.isclass(kind) and is_part(kind):
                self.note(kind, f"_Async{kind.__name__}")
                return f"_Async{kind.__name__}"
        self._use(source, words)
        return name

    def _field(self, kind: type, name: str, words: str) -> Iterator[str]:
        self._use(_Source(sys.modules[kind.__module__]), ast.parse(words, mode="eval").body)
        yield "    @property"
        yield f"    def {name}(self) -> {words}: ..."

    def _method(self, value: object, source: _Source, *, owner: type, kind: type) -> Iterator[str]:
        assert inspect.isfunction(value)
        node = source.member(owner.__name__, value.__name__)
        assert node.returns is not None, f"{owner.__name__}.{node.name} does not say what it gives"
        begin, result = "async def", ast.unparse(node.returns)
        used = [each.annotation for each in _arguments(node.args) if each.annotation]
        if given(value) in (kind.__name__, "Self"):
            begin, result = "def", "Self"
            self.imports.setdefault("typing", set()).add("Self")
        elif is_stream(value):
            assert isinstance(node.returns, ast.Subscript), f"{node.name} does not say what it gives one after another"
            items = node.returns.slice
            item = items.elts[0] if isinstance(items, ast.Tuple) else items
            begin, result = "def", f"AsyncGenerator[{ast.unparse(item)}]"
            self.imports.setdefault("collections.abc", set()).add("AsyncGenerator")
            used.append(item)
        else:
            used.append(node.returns)
        for words in used:
            self._use(source, words)
        yield from _definition(f"{begin} {node.name}", list(_parameters(node.args)), result)

    def _use(self, source: _Source, words: ast.expr) -> None:
        for node in ast.walk(words):
            if isinstance(node, ast.Name) and node.id in source.imports:
                module, name = source.imports[node.id]
                self.imports.setdefault(module, set()).add(name if name == node.id else f"{name} as {node.id}")

    def text(self) -> str:
        own = [module for module in self.imports if module.startswith("hlgraph")]
        blocks = [[module for module in self.imports if module not in own], own]
        lines = ["\n".join(line for module in sorted(block) for line in self._import(module)) for block in blocks]
        return "\n\n".join([_HEAD, *filter(None, lines), *self.classes]) + "\n"

    def _import(self, module: str) -> list[str]:
        names = sorted(self.imports[module], key=lambda name: (not name.isupper(), not name[0].isupper(), name))
        line = f"from {module} import {', '.join(names)}"
        if len(line) <= 120:
            return [line]
        return [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def _arguments(args: ast.arguments) -> list[ast.arg]:
    rest = [each for each in (args.vararg, args.kwarg) if each]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]


def _parameters(args: ast.arguments) -> Iterator[str]:
    """The parameters of a definition; their defaults are not for a stub."""

    def one(each: ast.arg, default: object = None, mark: str = "") -> str:
        kind = f": {ast.unparse(each.annotation)}" if each.annotation else ""
        return f"{mark}{each.arg}{kind}{'' if default is None else ' = ...' if kind else '=...'}"

    placed = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(placed) - len(args.defaults)) + list(args.defaults)
    for at, (each, default) in enumerate(zip(placed, defaults, strict=True), 1):
        yield one(each, default)
        if at == len(args.posonlyargs):
            yield "/"
    if args.vararg:
        yield one(args.vararg, mark="*")
    elif args.kwonlyargs:
        yield "*"
    for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield one(each, default)
    if args.kwarg:
        yield one(args.kwarg, mark="**")


def _definition(begin: str, parameters: list[str], result: str) -> Iterator[str]:
    """As the formatter has it: on one line, or a parameter a line."""
    line = f"    {begin}({', '.join(parameters)}) -> {result}: ..."
    if len(line) <= 120:
        yield line
        return
    inner = f"        {', '.join(parameters)}"
    yield f"    {begin}("
    if len(inner) <= 120:
        yield inner
    else:
        yield from (f"        {item}," for item in parameters)
    yield f"    ) -> {result}: ..."


def stub() -> str:
    """The text of the stub."""
    made = _Stub()
    made.note(HLGraph, "AsyncSurface")
    return made.text()
