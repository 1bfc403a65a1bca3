"""Recipes: tables of the papers as YAML files, with the sets, measures, strategies and published figures of each.

The files are in ``docs/papers/recipes``; a wheel holds a copy. A recipe says what a table compares, so that ``hlgraph eval
--recipe`` can run what can be run.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import yaml

from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.evaluate.answer_texts import NAMES as OF_TEXTS
from hlgraph.evaluate.answering import MEASURES as ANSWERS
from hlgraph.evaluate.asking import chosen
from hlgraph.evaluate.metrics.claims import ClaimScores
from hlgraph.evaluate.metrics.ranked import FAMILIES
from hlgraph.evaluate.metrics.retrieval import MEASURES as RETRIEVAL
from hlgraph.evaluate.sweep import knob, with_variants
from hlgraph.stores.migrate import folder

if TYPE_CHECKING:
    from hlgraph.retrieve.retriever import Retriever

JUDGED = ("correctness", "assertions", "answer_accuracy")
WINS = ("win_rate_against_B0", "win_rate_against_B1")
CLAIMS = tuple(item.name for item in fields(ClaimScores))
NOT_HERE = ("METEOR",)
"""Measures that ``eval`` does not take."""
_METRICS = (*RETRIEVAL, *ANSWERS, *OF_TEXTS, *JUDGED, *WINS, *CLAIMS, *NOT_HERE)


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a recipe; a field that it does not have is an error."""


class RecipeSet(_Part, frozen=True, kw_only=True):
    """A set of the table.

    Attributes
    ----------
    name : as in the paper
    folders : names of folders that can hold it, the first that is there is taken
    metrics : what the paper measures on this set, where it differs from the other sets
    note : how ours differs from that of the paper
    """

    name: str
    folders: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    note: str = ""


class RecipeRow(_Part, frozen=True, kw_only=True):
    """A row of the table.

    Attributes
    ----------
    name : as in the paper
    strategy : the strategy that is this row; empty: hlgraph does not have it, and only the published figures are shown
    options : parameters of the strategy, such as ``max_length=1``
    needs : what the row needs beside the set: a chat model, or a trained generator
    published : figures by set and metric, in per cent
    """

    name: str
    strategy: str = ""
    options: tuple[str, ...] = ()
    needs: Literal["", "chat", "training"] = ""
    published: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)


class Recipe(_Part, frozen=True, kw_only=True):
    """A table of a paper.

    Attributes
    ----------
    paper, table, title : what it is
    metrics : what the paper measures
    models : the models of the paper, by their part
    sets, rows : of the table
    beside : further measures that are taken here
    against : the row that the others are compared with; empty: the best one
    preset : parameters of the strategies
    notes : what to know to read the table
    """

    paper: Literal["HLG", "PropRAG", "ToPG", "TopoRAG", "GraphMPA"]
    table: str
    title: str
    metrics: tuple[str, ...]
    models: Mapping[str, str]
    sets: tuple[RecipeSet, ...]
    rows: tuple[RecipeRow, ...]
    beside: tuple[str, ...] = ()
    against: str = ""
    preset: str = "paper"
    notes: tuple[str, ...] = ()

    def metrics_of(self, item: RecipeSet) -> tuple[str, ...]:
        """What is looked at on a set: the measures of the paper, then those beside them."""
        return tuple(dict.fromkeys((*(item.metrics or self.metrics), *self.beside)))


def names() -> list[str]:
    """The names of all recipes, sorted."""
    return sorted(path.stem for path in _folder().glob("*.yaml"))


def load_recipe(name: str) -> Recipe:
    """The recipe of this name, checked.

    Raises
    ------
    UnknownNameError
        There is no such recipe.
    ReadError
        The file is not a recipe; the message names the place, the reason and what may stand there.
    """
    known = names()
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UnknownNameError(f"no recipe {name!r}; {hint}there are: {', '.join(known)}")
    return read_recipe(_folder() / f"{name}.yaml")


def read_recipe(path: str | Path) -> Recipe:
    """The recipe in a file, checked.

    Raises
    ------
    ReadError
        The file is not a recipe; the message names the place, the reason and what may stand there.
    """
    try:
        recipe = msgspec.convert(yaml.safe_load(Path(path).read_text(encoding="utf-8")), Recipe)
        _check(recipe)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError, RecursionError, InputError) as error:
        raise ReadError(
            str(path), f"it is not a recipe: {error}", "see hlgraph.evaluate.recipes for its fields"
        ) from error
    return recipe


def retriever_of(row: RecipeRow, preset: str) -> tuple[str, Retriever]:
    """The name under which ``hlgraph eval`` asks a row, such as ``path[max_length=1]``, and its retriever.

    Parameters
    ----------
    row : a row with a strategy
    preset : parameters of the strategy

    Raises
    ------
    UnknownNameError
        The strategy or a parameter does not exist.
    InputError
        A value is not one of the parameter.
    """
    found = with_variants(chosen(row.strategy, preset), [knob(f"{row.strategy}.{option}") for option in row.options])
    return list(found.items())[-1]


def commands(recipe: Recipe, place: str) -> list[str]:
    """The commands that ask the same without the recipe: values of one parameter share a command, other variants have their own.

    Parameters
    ----------
    recipe : the recipe
    place : the folder of the set
    """
    rows = [row for row in recipe.rows if row.strategy and not row.needs]
    values: dict[tuple[str, str], list[str]] = {}
    several = []
    for row in rows:
        parameters = [option.partition("=") for option in row.options]
        if len(parameters) == 1:
            values.setdefault((row.strategy, parameters[0][0]), []).append(parameters[0][2])
        elif parameters:
            several.append([f"{row.strategy}.{option}" for option in row.options])
    swept = {name: f"{name}.{parameter}={','.join(given)}" for (name, parameter), given in reversed(values.items())}
    others = [f"{name}.{parameter}={','.join(given)}" for (name, parameter), given in values.items()]
    several += [[text] for text in others if text not in swept.values()]
    measures = {metric for item in recipe.sets for metric in recipe.metrics_of(item)}
    end = "" if recipe.preset == "paper" else f" --preset {recipe.preset}"
    end += "" if measures <= set(RETRIEVAL) else " --answers"
    named = [metric for metric in sorted(measures) if metric in OF_TEXTS or metric.partition("@")[0] in FAMILIES]
    end += f" --metrics {','.join(named)}" if named else ""
    end += " --claims words" if measures & set(CLAIMS) else ""
    asked = ",".join(dict.fromkeys(row.strategy for row in rows))
    first = f"hlgraph eval {place} --strategies {asked}{''.join(f' --set {text}' for text in swept.values())}{end}"
    return [first, *(f"hlgraph eval {place}{''.join(f' --set {text}' for text in sets)}{end}" for sets in several)]


def _folder() -> Path:
    return folder("recipes")


def _check(recipe: Recipe) -> None:
    """Check every name of a recipe against those that are known."""
    sets = {item.name: item for item in recipe.sets}
    _check_known("set", [item.name for item in recipe.sets], None)
    _check_known("row", [row.name for row in recipe.rows], None)
    if recipe.against:
        _check_known("against", [recipe.against], [row.name for row in recipe.rows if row.strategy and not row.needs])
    for item in recipe.sets:
        if not item.folders:
            raise InputError(f"the set {item.name!r} names no folder; give at least one")
        _check_known("metric", recipe.metrics_of(item), _METRICS)
    for row in recipe.rows:
        if row.strategy:
            retriever_of(row, recipe.preset)
        elif row.options or row.needs:
            raise InputError(
                f"the row {row.name!r} has options or needs, but no strategy; give the strategy, or leave them out"
            )
        _check_known(f"set of {row.name!r}", row.published, list(sets))
        for name, figures in row.published.items():
            _check_known(f"metric of {row.name!r} on {name!r}", figures, recipe.metrics_of(sets[name]))
            if wrong := [figure for figure in figures.values() if not 0 <= figure <= 100]:
                raise InputError(f"{row.name!r} on {name!r} has the figure {wrong[0]}; give per cent")


def _check_known(what: str, given: Iterable[str], known: Collection[str] | None) -> None:
    """Refuse names that are given twice, or that are not known; without known names only the first."""
    named = list(given)
    if len(set(named)) < len(named):
        raise InputError(f"a {what} is named twice: {', '.join(sorted(named))}")
    for name in named:
        family = name.partition("@")[0]
        if known is not None and name not in known and not (known is _METRICS and family in FAMILIES):
            raise InputError(f"no {what} {name!r}; there are: {', '.join(known)}")
