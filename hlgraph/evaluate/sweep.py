"""Variants of strategies with other parameters, as ``hlgraph eval --set path.jump_points=0,50`` names them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from itertools import product
from operator import attrgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.records import Scalar, group_by

if TYPE_CHECKING:
    from hlgraph.retrieve.retriever import Retriever

_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "none": None}
_SCALARS = (bool, int, float, str)


class Knob(NamedTuple):
    """One parameter of one strategy, such as ``cycles`` or ``walk.damping``, and the values that a sweep gives it."""

    strategy: str
    parameter: str
    values: tuple[Scalar | None, ...]


def knob(text: str) -> Knob:
    """Parse ``strategy.parameter=value,value``, or ``strategy.part.parameter=value,value``.

    Parameters
    ----------
    text : the option as typed; a value is ``true``, ``false``, ``none``, a number, or a word

    Returns
    -------
    Knob

    Raises
    ------
    InputError
        The text has another form.

    Examples
    --------
    >>> knob("local.cycles=1,2,3")
    Knob(strategy='local', parameter='cycles', values=(1, 2, 3))
    """
    match = re.fullmatch(r"\s*(\w+)\.(\w+(?:\.\w+)*)\s*=\s*(.*?)\s*", text)
    values = [value.strip() for value in match[3].split(",")] if match else []
    if not match or not all(values):
        raise InputError(f"--set {text!r} is not a parameter with values; write it as path.jump_points=0,50")
    return Knob(match[1], match[2], tuple(dict.fromkeys(map(_value, values))))


def _value(text: str) -> Scalar | None:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def with_variants(retrievers: Mapping[str, Retriever], knobs: Iterable[Knob]) -> dict[str, Retriever]:
    """The retrievers, each followed by its variants: one for every combination of the values of its knobs.

    Parameters
    ----------
    retrievers : by strategy name
    knobs : parameters and their values; a strategy may have several

    Returns
    -------
    dict[str, Retriever]
        A variant is called ``strategy[parameter=value,...]``. Values that the retriever already has give no variant.

    Raises
    ------
    UnknownNameError
        A knob names a strategy that is not among the retrievers, or a parameter that the strategy does not have.
    InputError
        A value is of another type than the parameter, or out of its bounds.
    """
    wanted = group_by(knobs, lambda item: item.strategy)
    for name in wanted:
        if name not in retrievers:
            raise UnknownNameError(f"--set names the strategy {name!r}; --strategies asks {', '.join(retrievers)}")
    result: dict[str, Retriever] = {}
    for name, retriever in retrievers.items():
        result[name] = retriever
        result.update(_variants(name, retriever, wanted.get(name, [])))
    return result


def with_values(name: str, retriever: Retriever, *, knobs: Iterable[Knob]) -> Retriever:
    """The retriever with the values of its knobs, for one search or answer.

    Parameters
    ----------
    name : of the strategy
    retriever : its retriever
    knobs : parameters, each with one value

    Returns
    -------
    Retriever

    Raises
    ------
    UnknownNameError
        A knob names another strategy, or a parameter that the strategy does not have.
    InputError
        A knob has several values, or one of another type than the parameter, or out of its bounds.

    Examples
    --------
    >>> from hlgraph.retrieve.strategies.local import LocalRetriever
    >>> with_values("local", LocalRetriever(), knobs=[knob("local.cycles=1")]).cycles
    1
    """
    changes: dict[str, Scalar | None] = {}
    for item in knobs:
        if item.strategy != name:
            raise UnknownNameError(f"--set names the strategy {item.strategy!r}; --strategy asks {name}")
        if len(item.values) > 1:
            raise InputError(
                f"--set {name}.{item.parameter} has {len(item.values)} values; give one here, or compare several with: "
                "hlgraph eval"
            )
        changes[item.parameter] = _checked(retriever, item, item.values[0])
    chosen: Retriever = _changed(retriever, changes)
    return chosen


def base_of(name: str) -> str:
    """The strategy of a variant; a strategy is its own.

    Examples
    --------
    >>> base_of("path[jump_points=0]")
    'path'
    """
    return name.partition("[")[0]


def _variants(name: str, retriever: Retriever, knobs: list[Knob]) -> Iterator[tuple[str, Retriever]]:
    if not knobs:
        return
    choices = [[(item.parameter, _checked(retriever, item, value)) for value in item.values] for item in knobs]
    for chosen in product(*choices):
        changes = {parameter: value for parameter, value in chosen if attrgetter(parameter)(retriever) != value}
        if changes:
            shown = ",".join(f"{parameter}={value}" for parameter, value in changes.items())
            variant = f"{name}[{shown}]"
            try:
                yield variant, _changed(retriever, changes)
            except InputError as error:
                raise InputError(f"{variant}: {error}") from error


def _changed(retriever: Any, changes: Mapping[str, Scalar | None]) -> Any:
    """The retriever, or the part of one, with all changes at once."""
    whole: dict[str, Any] = {}
    of_part: dict[str, dict[str, Scalar | None]] = {}
    for parameter, value in changes.items():
        name, _, inner = parameter.partition(".")
        if inner:
            of_part.setdefault(name, {})[inner] = value
        else:
            whole[name] = value
    parts = {name: _changed(getattr(retriever, name), some) for name, some in of_part.items()}
    return replace(retriever, **whole, **parts)


def _checked(retriever: Any, item: Knob, value: Scalar | None) -> Scalar | None:
    """The value in the type of the parameter: an integer is accepted for a float, and a word for the member it names."""
    first, _, inner = item.parameter.partition(".")
    names = [each.name for each in fields(retriever)]
    if first not in names:
        close = difflib.get_close_matches(first, names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        there = ", ".join(names) or "none"
        raise UnknownNameError(f"{item.strategy} has no parameter {first!r}; {hint}it has {there}")
    if inner:
        part = getattr(retriever, first)
        if not is_dataclass(part):
            raise UnknownNameError(f"{item.strategy}.{first} is {part!r}, which has no parameter {inner!r}")
        return _checked(part, Knob(f"{item.strategy}.{first}", inner, item.values), value)
    kinds = _kinds(get_type_hints(type(retriever))[item.parameter])
    name, current = f"{item.strategy}.{item.parameter}", getattr(retriever, item.parameter)
    words = [word for kind in kinds for word in _words(kind)]
    text = "none" if value is None else value
    if text in words:
        # A member of an enumeration is a string as well.
        enum = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, StrEnum)), None)
        return enum(str(text)) if enum else text
    if value is None and NoneType in kinds:
        return None
    if float in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type(value) in kinds:
        return value
    if words:
        shown = repr(str(current)) if isinstance(current, str) else repr(current)
        raise InputError(f"{name} is {shown}; {text!r} is none of its values: {', '.join(map(str, words))}")
    if not any(kind in _SCALARS for kind in kinds):
        parts = ", ".join(f"{name}.{each.name}" for each in fields(current)) if is_dataclass(current) else ""
        mend = f"set one of them: {parts}" if parts else "set it in Python"
        raise InputError(f"{name} holds parts, not a number or a word; {mend}")
    known = " or ".join(kind.__name__ for kind in kinds if kind in _SCALARS)
    raise InputError(f"{name} is {current!r}, of type {known}; {value!r} is of another type")


def _kinds(hint: Any) -> list[Any]:
    """The alternatives of a type."""
    if get_origin(hint) in (Union, UnionType):
        return [kind for each in get_args(hint) for kind in _kinds(each)]
    return [hint]


def _words(kind: Any) -> tuple[str, ...]:
    """The words that a type accepts, if it lists them."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()
