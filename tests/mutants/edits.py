"""The places where one small edit of a module makes a mutant, and the edit as text.

An edit keeps to one statement. A statement is known by the qualified name of its function, its source without its body,
and how often that source came before in the function: so the same edit is found again in another tree, where the function
may stand in another file.

Left alone: docstrings, f-strings, log calls, the arguments of ``raise``, annotations, decorators, imports, blocks under
``TYPE_CHECKING``, overloads, and ``strict=`` of ``zip``.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_NOT_A_NUMBER = (ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp)
_LOGGERS = {"log", "_log", "logger", "_logger", "LOG", "_LOG", "LOGGER", "_LOGGER", "logging"}
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.ClassDef


class Key(NamedTuple):
    """What is the same edit in two trees."""

    function: str
    statement: str
    occurrence: int
    number: int
    kind: str


@dataclass(frozen=True)
class Edit:
    """One edit; columns are bytes, as ``ast`` counts them, and lines count from 1."""

    file: str
    key: Key
    start: tuple[int, int]
    end: tuple[int, int]
    before: str
    after: str
    in_function: bool

    def applied(self, source: bytes) -> bytes:
        """The module with the edit."""
        lines = source.splitlines(keepends=True)
        head = b"".join(lines[: self.start[0] - 1]) + lines[self.start[0] - 1][: self.start[1]]
        tail = lines[self.end[0] - 1][self.end[1] :] + b"".join(lines[self.end[0] :])
        return head + self.after.encode() + tail

    def compiles(self, source: bytes) -> bool:
        """Whether the module with the edit is Python."""
        try:
            compile(self.applied(source), self.file, "exec")
        except SyntaxError:
            return False
        return True


def edits(package: Path, file: Path) -> list[Edit]:
    """The edits of one module, in the order of its source."""
    name = file.relative_to(package.parent).as_posix()
    return list(_Finder(name).of(ast.parse(file.read_bytes())))


def lines_of_code(file: Path) -> int:
    """Lines with code on them: without blank lines, comments and docstrings."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.stmt) and not _is_text(node):
            header = _header(node)
            lines.update(range(node.lineno, max(node.lineno, _end_of_header(node, header)) + 1))
    return len(lines)


class _Finder:
    def __init__(self, file: str) -> None:
        self._file = file
        self._seen: Counter[tuple[str, str]] = Counter()

    def of(self, tree: ast.Module) -> Iterator[Edit]:
        yield from self._block(tree.body, (), False)

    def _block(self, statements: list[ast.stmt], scope: tuple[str, ...], in_function: bool) -> Iterator[Edit]:
        for statement in statements:
            if not _is_left_alone(statement):
                yield from self._statement(statement, scope, in_function)

    def _statement(self, statement: ast.stmt, scope: tuple[str, ...], in_function: bool) -> Iterator[Edit]:
        inner = (*scope, statement.name) if isinstance(statement, Scope) else scope
        header = _header(statement)
        place = (".".join(inner), ast.unparse(header))
        occurrence = self._seen[place]
        self._seen[place] += 1
        for number, (kind, node, after) in enumerate(_changes(statement)):
            assert node.end_lineno is not None
            assert node.end_col_offset is not None
            yield Edit(
                self._file,
                Key(*place, occurrence, number, kind),
                (node.lineno, node.col_offset),
                (node.end_lineno, node.end_col_offset),
                ast.unparse(node),
                after,
                in_function,
            )
        within = in_function or isinstance(statement, Function)
        for name in _BODIES:
            for child in getattr(statement, name, ()):
                body = child.body if isinstance(child, ast.ExceptHandler | ast.match_case) else [child]
                yield from self._block(body, inner, within)


def _changes(statement: ast.stmt) -> Iterator[tuple[str, ast.AST, str]]:
    """The kind of each edit of a statement, the node it replaces, and the text in its place."""
    if _can_go(statement):
        yield "dropped", statement, "pass"
    if isinstance(statement, ast.Raise):
        return
    if isinstance(statement, ast.Return) and statement.value is not None and not _is_none(statement.value):
        yield "returns None", statement, "return None"
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add | ast.Sub):
        turned = copy.deepcopy(statement)
        turned.op = _turned(statement.op)
        yield "plus or minus", statement, ast.unparse(turned)
    for node in _expressions(statement):
        for kind, changed in _changed(node):
            yield kind, node, f"({ast.unparse(changed)})"


def _changed(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                turned = copy.deepcopy(node)
                turned.ops[place] = _COMPARISONS[type(operator)]()
                yield "comparison", turned
        case ast.BinOp(op=ast.Add() | ast.Sub() as sign) if not (_is_text_like(node.left) or _is_text_like(node.right)):
            yield "plus or minus", ast.BinOp(node.left, _turned(sign), node.right)
        case ast.BoolOp():
            yield "and or or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            yield "not removed", node.operand
        case ast.IfExp():
            yield "branches swapped", ast.IfExp(node.test, node.orelse, node.body)
        case ast.Constant(value=bool()):
            yield "true or false", ast.Constant(not node.value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", ast.Constant(value + 1)


def _expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, without those of its body and those left alone."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.expr):
            yield node
        children = []
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params"} or (
                node is statement and name in _BODIES
            ):
                continue
            children += value if isinstance(value, list) else [value]
        waiting += [
            child
            for child in reversed(children)
            if isinstance(child, ast.AST)
            and not isinstance(child, ast.JoinedStr)
            and not (isinstance(child, ast.keyword) and child.arg == "strict")
        ]


def _is_left_alone(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Pass() | ast.Global() | ast.Nonlocal():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            return name in _LOGGERS
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return any(ast.unparse(decorator).endswith("overload") for decorator in statement.decorator_list)
    return False


def _can_go(statement: ast.stmt) -> bool:
    """Whether the module without the statement still makes sense: no name is missed afterwards."""
    match statement:
        case ast.Expr() | ast.AugAssign() | ast.Raise() | ast.Delete() | ast.Continue() | ast.Break():
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return True
    return False


def _header(statement: ast.stmt) -> ast.stmt:
    """The statement with nothing in its body: what stands before the colon."""
    if not any(hasattr(statement, name) for name in _BODIES):
        return statement
    shell = copy.copy(statement)
    for name in _BODIES:
        if hasattr(statement, name):
            setattr(shell, name, [ast.Pass()] if name == "body" else [])
    if isinstance(shell, ast.Try | ast.TryStar):
        shell.finalbody = [ast.Pass()]
    if isinstance(shell, Scope):
        shell.decorator_list = []
    return shell


def _end_of_header(statement: ast.stmt, header: ast.stmt) -> int:
    ends = [
        child.end_lineno or statement.lineno
        for field, value in ast.iter_fields(statement)
        if header is statement or field not in _BODIES
        for child in (value if isinstance(value, list) else [value])
        if isinstance(child, ast.AST) and hasattr(child, "end_lineno")
    ]
    return max([statement.lineno, *ends])


def _turned(sign: ast.operator) -> ast.operator:
    return ast.Sub() if isinstance(sign, ast.Add) else ast.Add()


def _is_text_like(node: ast.expr) -> bool:
    return isinstance(node, _NOT_A_NUMBER) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
