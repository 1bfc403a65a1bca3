"""Checks the arguments of SDK calls against the annotations of its methods; raises InputError for invalid ones.

One decorator serves every method, so that a new parameter is checked as soon as it has a type. The stages check values
(bounds, names); this module checks types, such as a text or a whole number.
"""

from __future__ import annotations

import builtins
import dataclasses
import inspect
import numbers
import os
import re
import sys
import typing
from collections import abc
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cache, wraps
from pathlib import Path
from types import FunctionType, NoneType, SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, get_args

from hlgraph import telemetry
from hlgraph.errors import InputError
from hlgraph.models.prompts import prompts_of
from hlgraph.records import plain_scalar
from hlgraph.sdk.opening import in_call, steps_in_calls
from hlgraph.text import UNSTORABLE
from hlgraph.where import AnyWhere, Where, from_mapping, parse

if TYPE_CHECKING:
    from hlgraph.settings import Settings


_P = ParamSpec("_P")
_R = TypeVar("_R")
_Misfit = tuple[str, object, object]
"""A part of an argument of the wrong type: its place (``k``, ``uris[2]``), its value, and the annotation it does not fit."""
_C = TypeVar("_C")

_QUIET = frozenset(
    {"as_caller", "as_operator", "close", "evaluate", "in_corpus", "watched"}
)  # methods that call no store by themselves
_PATHS = frozenset({"backup", "extractions", "folder", "path", "receipt", "results", "sources", "target", "uris"})
"""Parameters that name files: a name that is not UTF-8 reaches Python with halves of surrogate pairs."""
_SHOWN = 60  # characters of a refused value in a message
_WORDS: Mapping[object, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    NoneType: "None",
    abc.Callable: "a function",
}
_NUMBERS: Mapping[object, type] = {int: numbers.Integral, float: numbers.Real}
_CONTAINERS = frozenset({abc.Iterable, abc.Mapping, abc.Sequence, list, set, tuple})


def checked(kind: type[_C]) -> type[_C]:
    """A class whose public methods check their arguments (:func:`checking`) and are traced (:mod:`hlgraph.telemetry`)."""
    for name, method in list(vars(kind).items()):
        if isinstance(method, FunctionType) and not name.startswith("_"):
            setattr(kind, name, checking(method if name in _QUIET else _traced(method)))
    return kind


def _traced(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same method; its calls are operations of :mod:`hlgraph.telemetry` and are counted (:mod:`hlgraph.sdk.opening`)."""

    @wraps(method)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        owner = args[0]
        observed = getattr(getattr(owner, "settings", None), "telemetry", None)
        content, slow = getattr(observed, "content", None), getattr(observed, "slow_query_seconds", None)
        with telemetry.operation(method.__qualname__, content=content, slow_query_seconds=slow):
            result = in_call(owner, method.__name__, work=lambda: method(*args, **kwargs))
            if isinstance(result, Generator):
                return telemetry.continued(steps_in_calls(owner, result))  # type: ignore[return-value]
            return result

    return call


def checking(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same function, with InputError for an argument that does not match its annotation.

    A default is not checked. Scalars of numpy are passed on as plain ones.
    A number may be of any numeric type, but not a bool. A text must not contain what no store can hold: NUL, or half of a
    surrogate pair. Options (dataclasses) are checked field by field. Protocols, and types that only hlgraph creates, are not
    checked. The call has the prompts that the settings of its object name.
    """
    signature = inspect.signature(function)
    rest = next(
        (parameter.name for parameter in signature.parameters.values() if parameter.kind is parameter.VAR_KEYWORD), None
    )

    @wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        args, kwargs = tuple(map(_plain, args)), {name: _plain(value) for name, value in kwargs.items()}  # type: ignore[assignment]
        try:
            values = signature.bind(*args, **kwargs).arguments
        except TypeError:  # a misspelt keyword: Python's own message names the method
            return function(*args, **kwargs)
        if rest is not None:
            values |= values.pop(rest, {})
        for name, value in values.items():
            if name not in signature.parameters or value is not signature.parameters[name].default:
                _check(name, value, _wanted(function, name))
        folder = _prompts(args)
        with prompts_of(folder) if folder else nullcontext():
            return function(*args, **kwargs)

    return call


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple | set | frozenset) and any(hasattr(each, "dtype") for each in value):
        return type(value)(map(_plain, value))
    return plain_scalar(value) if hasattr(value, "dtype") else value


def _prompts(args: Sequence[object]) -> str | None:
    """The folder of prompts that the object of a method names."""
    owner = args[0] if args else None
    settings = getattr(owner, "settings", None) or getattr(getattr(owner, "_graph", None), "settings", None)
    return settings.models.prompts if settings is not None else None


class _Names(dict[str, Any]):
    """The names used in annotations: those of the module, and those imported only for type checkers."""

    def __missing__(self, name: str) -> object:
        package = sys.modules[__name__.partition(".")[0]]  # it exports every type that annotations of the SDK use
        for place in (package, builtins, abc, typing):
            if hasattr(place, name):
                return getattr(place, name)
        if name == "Path":
            return Path
        raise KeyError(name)


@cache
def _wanted(owner: Any, name: str) -> object:
    """The annotation of a parameter or a field; ``object`` if it cannot be resolved. The modules of others are not imported."""
    written = inspect.get_annotations(owner).get(name, object)
    holder = SimpleNamespace(__annotations__={name: written})
    names = _Names(vars(inspect.getmodule(owner)))
    for word in re.findall(r"[^\W\d]\w*", str(written)):  # Python 3.14 copies the names to a plain dict
        with suppress(KeyError):
            names[word] = names[word]
    try:
        return typing.get_type_hints(holder, globalns={}, localns=names)[name]
    except (KeyError, NameError, TypeError):  # TypeError: an alias whose parts only a type checker knows
        return object


def _check(name: str, value: object, wanted: object) -> None:
    """Raise InputError if a value cannot be used; ``name`` is the parameter, or ``parameter.field``."""
    misfit = _misfit(name, value, wanted)
    if misfit is not None:
        place, part_value, kind = misfit
        shown = f"{part_value!a}"
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        if isinstance(part_value, str) and not _is_usable(place, part_value):
            raise InputError(f"{place} is {shown}, with NUL or half of a surrogate pair; remove that character")
        type_name = "" if part_value is None else f" ({_article(type(part_value).__name__)})"
        raise InputError(f"{place} is {shown}{type_name}; give {_said(kind)}")
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and hasattr(value, "__post_init__"):
        for part in dataclasses.fields(value):
            if (inner := getattr(value, part.name)) is not part.default:
                _check(f"{name}.{part.name}", inner, _wanted(type(value), part.name))


def parsed(where: AnyWhere | None) -> Where | None:
    """A filter as data: a text is parsed, and a mapping is read by :func:`hlgraph.where.from_mapping`."""
    if isinstance(where, str):
        return parse(where)
    return from_mapping(where) if isinstance(where, Mapping) else where


def _misfit(name: str, value: object, wanted: object) -> _Misfit | None:
    """The first part of a value that does not fit the annotation, with its place; None if all parts fit."""
    arms = get_args(wanted) if typing.get_origin(wanted) in (typing.Union, UnionType) else (wanted,)
    misfits = [_misfit_of(name, value, arm) for arm in arms]
    if any(misfit is None for misfit in misfits):
        return None
    # For a list with an invalid element, the message names the element; otherwise it names all accepted kinds.
    return next((misfit for misfit in misfits if misfit is not None and misfit[0] != name), (name, value, wanted))


def _misfit_of(name: str, value: object, wanted: object) -> _Misfit | None:
    if not _fits(value, wanted) or (isinstance(value, str) and not _is_usable(name, value)):
        return name, value, wanted
    return _misfit_inside(name, value, get_args(wanted)) if typing.get_origin(wanted) in _CONTAINERS else None


def _fits(value: object, wanted: Any) -> bool:
    """Whether a value fits an annotation; the elements of a container are not checked."""
    origin = typing.get_origin(wanted) or wanted
    if origin in _CONTAINERS:
        # A mapping is an iterable of its keys, which no caller means.
        is_other = isinstance(value, str | bytes) or (isinstance(value, Mapping) and not issubclass(origin, Mapping))
        return isinstance(value, origin) and not is_other
    if origin is abc.Callable:
        return callable(value)
    if origin is typing.Literal:
        return isinstance(value, str)
    if origin in _NUMBERS:
        return isinstance(value, _NUMBERS[origin]) and not isinstance(value, bool)
    if not isinstance(origin, type) or getattr(origin, "_is_protocol", False):
        return True
    return isinstance(value, str if issubclass(origin, str) else origin)  # a StrEnum accepts the text of a member


def _is_usable(name: str, text: str) -> bool:
    """Whether every store can hold a text; for the name of a file, whether the file system can."""
    if name.partition("[")[0].rpartition(".")[2] not in _PATHS:
        return not UNSTORABLE.search(text)
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _misfit_inside(name: str, value: object, inner: tuple[Any, ...]) -> _Misfit | None:
    """The first element that does not fit; iterables that can be read only once are not checked."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            misfit = _misfit(f"a key of {name}", key, inner[0]) or _misfit(f"{name}[{key!r}]", item, inner[1])
            if misfit:
                return misfit
    elif isinstance(value, Sequence) and inner:
        wanted = inner if isinstance(value, tuple) and len(inner) == len(value) and ... not in inner else None
        for at, item in enumerate(value):
            misfit = _misfit(f"{name}[{at}]", item, wanted[at] if wanted else inner[0])
            if misfit:
                return misfit
    return None


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _said(wanted: Any) -> str:
    """The accepted types, in words."""
    origin, inner = typing.get_origin(wanted), get_args(wanted)
    if origin in (typing.Union, UnionType):
        *rest, last = dict.fromkeys(_said(arm) for arm in inner)
        words = f"{', '.join(rest)} or {last}" if rest else last
    elif origin is typing.Literal:
        words = " or ".join(map(repr, inner))
    elif origin in _CONTAINERS:
        words = "a mapping" if origin is abc.Mapping else f"a list, each {_said(inner[0])}"
    else:
        is_filter = isinstance(wanted, type) and issubclass(wanted, get_args(Where))
        words = (
            "a filter of hlgraph.field"
            if is_filter
            else _WORDS.get(origin or wanted) or _article(getattr(wanted, "__name__", str(wanted)))
        )
    return words


def check_not_negative(**numbers: int | None) -> None:
    """Raise InputError for the first argument that is negative, or beyond 64 bits. None is accepted."""
    for name, number in numbers.items():
        if number is not None and not 0 <= number < 1 << 63:
            raise InputError(f"{name} is {number}; it must not be negative, and fit into 64 bits")


def check_database(settings: Settings, corpus: str) -> None:
    """Raise InputError for a corpus in another database of the server than the corpus of the settings.

    Parameters
    ----------
    settings : the settings of open stores
    corpus : another corpus
    """
    ours, other = (settings.neo4j.database_of(name) for name in (settings.corpus, corpus))
    if ours != other and not settings.store.startswith("hlgraph://"):
        raise InputError(
            f"corpus {corpus!r} is in the database {other}, and this graph is open on {ours} (neo4j.databases); open it by "
            "itself with hlgraph.connect"
        )
