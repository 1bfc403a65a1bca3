"""Variants of strategies with other parameters, as ``hlgraph eval --set path.jump_points=0,50`` names them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.records import Scalar

if TYPE_CHECKING:
    from hlgraph.retrieve.retriever import Retriever

_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "none": None}


class Knob(NamedTuple):
    """One parameter of one strategy and the values that a sweep gives it."""

    strategy: str
    parameter: str
    values: tuple[Scalar | None, ...]


def knob(text: str) -> Knob:
    """Parse ``strategy.parameter=value,value``.

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
    found = re.fullmatch(r"\s*(\w+)\.(\w+)\s*=\s*(.*?)\s*", text)
    values = [value.strip() for value in found[3].split(",")] if found else []
    if not found or not all(values):
        raise InputError(f"--set {text!r} is not a parameter with values; write it as path.jump_points=0,50")
    return Knob(found[1], found[2], tuple(dict.fromkeys(map(_value, values))))


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
        A variant is called ``strategy[parameter=value,...]``. Values that are those of the retriever give no variant.

    Raises
    ------
    UnknownNameError
        A knob names a strategy that is not among the retrievers, or a parameter that the strategy does not have.
    InputError
        A value is of another type than the parameter, or out of its bounds.
    """
    wanted: dict[str, list[Knob]] = {}
    for item in knobs:
        wanted.setdefault(item.strategy, []).append(item)
    for name in wanted:
        if name not in retrievers:
            raise UnknownNameError(f"--set names the strategy {name!r}; --strategies asks {', '.join(retrievers)}")
    found: dict[str, Retriever] = {}
    for name, made in retrievers.items():
        found[name] = made
        found.update(_variants(name, made, wanted.get(name, [])))
    return found


def with_values(name: str, made: Retriever, knobs: Iterable[Knob]) -> Retriever:
    """The retriever with the values of its knobs, for one search or answer.

    Parameters
    ----------
    name : of the strategy
    made : its retriever
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
    >>> with_values("local", LocalRetriever(), [knob("local.cycles=1")]).cycles
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
        changes[item.parameter] = _checked(made, item, item.values[0])
    return replace(made, **changes)


def base_of(name: str) -> str:
    """The strategy of a variant; a strategy is its own.

    Examples
    --------
    >>> base_of("path[jump_points=0]")
    'path'
    """
    return name.partition("[")[0]


def _variants(name: str, made: Retriever, knobs: list[Knob]) -> Iterator[tuple[str, Retriever]]:
    if not knobs:
        return
    choices = [[(item.parameter, _checked(made, item, value)) for value in item.values] for item in knobs]
    for chosen in product(*choices):
        changes = {parameter: value for parameter, value in chosen if getattr(made, parameter) != value}
        if changes:
            shown = ",".join(f"{parameter}={value}" for parameter, value in changes.items())
            yield f"{name}[{shown}]", replace(made, **changes)


def _checked(made: Retriever, item: Knob, value: Scalar | None) -> Scalar | None:
    """The value, if the parameter exists and holds values of this type; a whole number may be given for a float."""
    types = {each.name: str(each.type) for each in fields(made)}
    names = list(types)
    if item.parameter not in names:
        close = difflib.get_close_matches(item.parameter, names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        there = ", ".join(names) or "none"
        raise UnknownNameError(
            f"the strategy {item.strategy} has no parameter {item.parameter!r}; {hint}it has {there}"
        )
    held = getattr(made, item.parameter)
    if "float" in types[item.parameter] and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if value is None and "None" in types[item.parameter]:
        return None
    if held is not None and not isinstance(held, bool | int | float | str):
        raise InputError(f"{item.strategy}.{item.parameter} holds parts, not a number or a word; set it in Python")
    if held is not None and type(value) is not type(held):
        raise InputError(
            f"{item.strategy}.{item.parameter} is {held!r}, of type {type(held).__name__}; {value!r} is of another type"
        )
    return value
