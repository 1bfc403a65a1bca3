"""Recipes: tables of the papers as YAML files, with the sets, measures, strategies and published figures of each.

The files are in ``docs/papers/recipes``; a wheel holds a copy. A recipe says what a table compares, so that ``hlgraph eval
--recipe`` can run what can be run.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import yaml

from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.evaluate.answering import CLOSED_BOOK, ReaderOptions
from hlgraph.evaluate.answering import MEASURES as ANSWERS
from hlgraph.evaluate.answering import NAMES as OF_TEXTS
from hlgraph.evaluate.claims import ClaimScores, WordClaims
from hlgraph.evaluate.datasets import load
from hlgraph.evaluate.evaluation import ACCURACY, COUNTS, LAYERS, TOKENS, EvaluationOptions
from hlgraph.evaluate.figures import Table, Tabled, as_markdown, interval_cells
from hlgraph.evaluate.metrics import FAMILIES
from hlgraph.evaluate.metrics import MEASURES as RETRIEVAL
from hlgraph.evaluate.report import Evaluation, write_files
from hlgraph.evaluate.runner import BASELINES, chosen, needs_hierarchy
from hlgraph.evaluate.statistics import Interval
from hlgraph.evaluate.sweep import knob, with_variants
from hlgraph.index.hierarchy import HierarchyQuery, hierarchy_query
from hlgraph.records import Scalar
from hlgraph.retrieve.retriever import units_of
from hlgraph.retrieve.strategies.chunk import ChunkRetriever
from hlgraph.stores.migrate import folder

if TYPE_CHECKING:
    from hlgraph.retrieve.retriever import Retriever


JUDGED = ("correctness", "assertions", "answer_accuracy")
WINS = ("win_rate", "win_rate_against_B0", "win_rate_against_B1")
CLAIMS = tuple(item.name for item in fields(ClaimScores))
NOT_HERE = ("METEOR",)
"""Measures that ``eval`` does not support."""
COSTS = ("answer_input_tokens", "answer_output_tokens")
"""Mean tokens of an answer by a chat model."""
OF_CORPUS = (*COUNTS, *TOKENS, ACCURACY)
_NUMBERS = frozenset((*COUNTS, *TOKENS, *COSTS))  # the other measures are shares, shown in per cent
_METRICS = (*RETRIEVAL, *ANSWERS, *OF_TEXTS, *JUDGED, *WINS, *CLAIMS, *NOT_HERE, *COSTS, *OF_CORPUS, *LAYERS)


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a recipe; an unknown field is an error."""


class RecipeSet(_Part, frozen=True, kw_only=True):
    """A set of the table.

    Attributes
    ----------
    name : as in the paper
    folders : names of folders that may hold it; the first one that exists is used
    metrics : what the paper measures on this set, where it differs from the other sets
    note : how our copy differs from that of the paper
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
    reads : what the reader of its answers is given, such as ``{k: 5, unit: chunk}``
    build : parameters of the layers that it searches, such as ``{layers: 2, threshold: 0.5}``; empty: the stored ones
    needs : what the row needs besides the set: a chat model, or a trained generator
    of : ``corpus`` for a row of figures of the corpus, ``model`` for answers of the chat model without evidence, which have no
        strategy
    published : figures by set and metric, shares in per cent
    """

    name: str
    strategy: str = ""
    options: tuple[str, ...] = ()
    reads: ReaderOptions = ReaderOptions()
    needs: Literal["", "chat", "training"] = ""
    build: Mapping[str, float] = msgspec.field(default_factory=dict)
    of: Literal["", "corpus", "model"] = ""
    published: Mapping[str, Mapping[str, float]] = msgspec.field(default_factory=dict)


class Recipe(_Part, frozen=True, kw_only=True):
    """A table of a paper.

    Attributes
    ----------
    paper, table, title : what it is
    metrics : what the paper measures
    models : the models of the paper, by their part
    sets, rows : of the table
    beside : further measures that are computed here
    against : the row that the others are compared with; empty: the best one
    preset : parameters of the strategies
    notes : what a reader of the table should know
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

    @property
    def has_strategies(self) -> bool:
        """Whether a row is of a strategy; a table of figures of the corpus has none."""
        return any(row.strategy for row in self.rows)

    def metrics_of(self, item: RecipeSet) -> tuple[str, ...]:
        """The measures of a set: those of the paper, then the further ones."""
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
    """The name under which ``hlgraph eval`` runs a row, such as ``path[max_length=1]``, and its retriever.

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
    variants = with_variants(chosen(row.strategy, preset), [knob(f"{row.strategy}.{option}") for option in row.options])
    return list(variants.items())[-1]


class AskedRow(NamedTuple):
    """A row as it is asked: its name among the results, its retriever, the options of its reader, and the layers it searches."""

    key: str
    retriever: Retriever
    reader: ReaderOptions
    layers: HierarchyQuery | None


def asked_as(recipe: Recipe) -> dict[str, AskedRow]:
    """The rows with a strategy as they are asked, by their names.

    Rows that differ only in their readers or layers have different names among the results, such as
    ``topic_graph[unit=chunk]``.
    """
    rows = {row.name: (*retriever_of(row, recipe.preset), row) for row in recipe.rows if row.strategy}
    asked = {}
    for name, (key, retriever, row) in rows.items():
        others = [_options_of(other) for base, _, other in rows.values() if base == key]
        own = _options_of(row).items()
        shown = ",".join(f"{option}={value}" for option, value in own if _differs(option, others))
        whole = f"{key.removesuffix(']')}{',' if '[' in key else '['}{shown}]" if shown else key
        asked[name] = AskedRow(whole, retriever, row.reads, hierarchy_query(row.build) if row.build else None)
    return asked


def _options_of(row: RecipeRow) -> dict[str, Scalar]:
    """The options of the layers and of the reader of a row."""
    return {**{name: f"{value:g}" for name, value in row.build.items()}, **row.reads.given}


def _differs(option: str, readers: Sequence[Mapping[str, Scalar]]) -> bool:
    return any(reader.get(option) != readers[0].get(option) for reader in readers)


def commands(recipe: Recipe, asked: RecipeSet, *, place: str, has_chat: bool = True) -> list[str]:
    """The commands that run the same without the recipe. Values of one parameter share a command; other variants have their own.

    Rows with other options of the reader, or other layers, have commands of their own.

    Parameters
    ----------
    recipe : the recipe
    asked : a set of the recipe
    place : its folder
    has_chat : whether there is a chat model, which can answer without evidence
    """
    measures = set(recipe.metrics_of(asked))
    end = "" if recipe.preset == "paper" else f" --preset {recipe.preset}"
    further = {metric for metric in measures if metric in LAYERS or metric.partition("@")[0] in FAMILIES}
    end += "" if measures - further <= set(RETRIEVAL) else " --answers"
    end += " --closed-book" if has_chat and any(row.of == "model" for row in recipe.rows) else ""
    named = sorted(further | (measures & set(OF_TEXTS)))
    end += f" --metrics {','.join(named)}" if named else ""
    end += " --claims words" if measures & set(CLAIMS) else ""
    by_reader: dict[str, list[RecipeRow]] = {}
    for row in (row for row in recipe.rows if row.strategy and not row.needs):
        flags = [f" --{name.replace('_', '-')} {value}" for name, value in row.reads.given.items()]
        built = ",".join(f"{name}={value:g}" for name, value in row.build.items())
        flags += [f" --hierarchy {built}"] * bool(row.build)
        by_reader.setdefault("".join(flags), []).append(row)
    asked_by = ((flags, options) for flags, rows in by_reader.items() for options in _asked_by(rows))
    return [f"hlgraph eval {place}{options}{end}{flags}" for flags, options in asked_by]


def _asked_by(rows: Sequence[RecipeRow]) -> list[str]:
    """The options --strategies and --set of the commands that ask these rows."""
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
    asked = ",".join(dict.fromkeys(row.strategy for row in rows))
    first = f" --strategies {asked}{''.join(f' --set {text}' for text in swept.values())}"
    has_first = swept or not all(row.options for row in rows)
    return [*([first] if has_first else []), *("".join(f" --set {text}" for text in sets) for sets in several)]


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
            units = units_of(retriever_of(row, recipe.preset)[1])
            if row.reads.unit is not None:
                _check_known(f"unit of {row.name!r}", [row.reads.unit], units)
        elif row.options or row.needs or row.reads.given or row.build:
            raise InputError(
                f"the row {row.name!r} has options, reads, build or needs, but no strategy; give the strategy, or leave them "
                "out"
            )
        if row.build and hierarchy_query(row.build) and not needs_hierarchy(retriever_of(row, recipe.preset)[1]):
            raise InputError(f"the row {row.name!r} builds layers that {row.strategy} does not search; leave out build")
        _check_known(f"set of {row.name!r}", row.published, list(sets))
        for name, figures in row.published.items():
            _check_known(f"metric of {row.name!r} on {name!r}", figures, recipe.metrics_of(sets[name]))
            shares = [figure for metric, figure in figures.items() if metric not in _NUMBERS]
            if wrong := [figure for figure in shares if not 0 <= figure <= 100]:
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


# The table of a recipe. Pure functions.


_WHY = {
    **dict.fromkeys(JUDGED, "no judge measured it; add --judge"),
    "answer_accuracy": "not measured; no judge of hlgraph decides it",
    **dict.fromkeys(CLAIMS, "no question that was asked has gold answers"),
    **dict.fromkeys(WINS, "wins are in the table of pairs, with --judge pairwise"),
    **dict.fromkeys(NOT_HERE, "not measured; it needs the data of WordNet, which no package of Python brings"),
    **dict.fromkeys((*ANSWERS, *OF_TEXTS), "no question that was asked has gold answers"),
    **dict.fromkeys(COSTS, "no chat model was asked; set HLGRAPH_CHAT"),
    **dict.fromkeys(TOKENS, "no chat model extracted the corpus (hlgraph ingest --extract chat)"),
    "accuracy": "no question that was asked has options",
}
_NO_CLAIMS = "the answers of the questions that were asked, or their gold answers, have no claims"
_NEEDS = {
    "chat": "needs a chat model: pip install 'hlgraph[langchain]' with an integration such as langchain-openai, and set "
    "HLGRAPH_CHAT",
    "training": "needs a generator trained by hlgraph align: serve it, name it in HLGRAPH_CHAT, and ask with --style aligned",
}
_LACKS = {"chat": "no chat model: set HLGRAPH_CHAT", "training": "no trained generator: hlgraph align"}
_LACKS_OF = {
    **dict.fromkeys((*TOKENS, *COSTS), _LACKS["chat"]),
    **dict.fromkeys(JUDGED, "not judged: add --judge"),
    **dict.fromkeys(WINS, "in the pairs of --judge pairwise"),
    **dict.fromkeys(NOT_HERE, "needs the data of WordNet"),
    "answer_accuracy": "no judge decides it",
}
"""What a cell says if its measure has no figure."""


class RecipeRun(NamedTuple):
    """A set of a recipe that was run: its folder, the results, and whether there was a chat model."""

    item: RecipeSet
    place: str
    results: Evaluation
    has_chat: bool = False


def need_of(row: RecipeRow, *, has_chat: bool) -> str:
    """What a row needs that is not there: ``chat`` or ``training``; empty if it can be run.

    Parameters
    ----------
    row : the row
    has_chat : whether there is a chat model
    """
    if row.of == "model":
        return "" if has_chat else "chat"
    need = row.needs or ("" if row.reads.style in (None, "plain") else "chat")
    return "" if need == "chat" and has_chat else need


def asked_rows(recipe: Recipe, *, has_chat: bool) -> list[RecipeRow]:
    """The rows that can be run.

    Parameters
    ----------
    recipe : the recipe
    has_chat : whether there is a chat model
    """
    return [row for row in recipe.rows if row.strategy and not need_of(row, has_chat=has_chat)]


def measured_in(results: Evaluation, strategy: str, *, metric: str) -> Interval | None:
    """The measured value of a strategy; None if it was not measured.

    Parameters
    ----------
    results : the results of a set
    strategy : the name under which it was asked
    metric : name of the measure
    """
    if metric in COSTS:
        if results.answers is None or not results.answers.by_chat or strategy not in results.answers.strategies:
            return None
        answered = results.answers.strategies[strategy]
        mean = getattr(answered.spent, metric.removeprefix("answer_")) / len(answered.outcomes)
        return Interval(mean, mean, mean)
    if (interval := results.uncertainty.intervals.get(strategy, {}).get(metric)) is not None:
        return interval
    items = (item.found.get(metric, {}).get(strategy) for item in results.sections)
    return next((item.own for item in items if item is not None and item.own is not None), None)


def recipe_table(name: str, recipe: Recipe, *, run: RecipeRun) -> Table:
    """The table of one set: for each row and measure the published figure and the measured one, in per cent.

    Parameters
    ----------
    name : of the recipe
    recipe : the recipe
    run : the set as it was asked
    """
    metrics = recipe.metrics_of(run.item)
    given = {metric for row in recipe.rows for metric in row.published.get(run.item.name, {})}
    head = ["row", "asked as"]
    for number, metric in enumerate(metrics):
        head += [f"{metric}: paper"] if metric in given else []
        head += [f"{metric}: here", *([] if metric in _NUMBERS else [f"95 % interval{' ' * number}"])]
    rows = []
    for row, key, figures in _figures(recipe, run):
        cells: list[str] = []
        for metric, (published, here) in figures.items():
            cells += [_published(published, metric)] if metric in given else []
            if here is None:
                planned = run.results.planned.get(key, {}).get(metric) if key or row.of == "corpus" else None
                lack = _lack(run, row, key, metric=metric) or "-"
                shown = (lack if planned is None else f"{planned:,.0f} (planned)", "")
            else:
                shown = (f"{here.mean:,.0f}", "") if metric in _NUMBERS else interval_cells(here)
            cells += shown[:1] if metric in _NUMBERS else shown
        rows.append((row.name, key or "-", *cells))
    asked = f", {len(run.results.report.questions)} questions" if recipe.has_strategies else ""
    title = f"{name}: {recipe.paper}, {recipe.table}: {recipe.title}; {run.item.name} ({run.place}{asked})"
    return Table(title, tuple(head), tuple(rows))


def printed_table(name: str, recipe: Recipe, *, sets: Sequence[RecipeSet]) -> Table | None:
    """The published figures of sets that were not asked, in per cent where they are shares; None if there are none.

    Parameters
    ----------
    name : of the recipe
    recipe : the recipe
    sets : the sets
    """
    columns = dict.fromkeys(
        (each.name, metric) for each in sets for row in recipe.rows for metric in row.published.get(each.name, {})
    )
    rows = [
        (row.name, *(_published(row.published.get(name, {}).get(metric), metric) for name, metric in columns))
        for row in recipe.rows
        if any(name in row.published for name, _ in columns)
    ]
    title = f"{name}: {recipe.paper}, {recipe.table}: {recipe.title}; as printed, sets that are not there"
    return Table(title, ("row", *map(": ".join, columns)), tuple(rows)) if rows else None


def _published(figure: float | None, metric: str) -> str:
    digits = 0 if metric in _NUMBERS else 1 if figure == round(figure or 0, 1) else 2
    return "-" if figure is None else f"{figure:,.{digits}f}"


def _figures(
    recipe: Recipe, run: RecipeRun
) -> Iterator[tuple[RecipeRow, str, dict[str, tuple[float | None, Interval | None]]]]:
    """Each row with the strategy that was asked for it, empty for none, and its published and measured figures by metric.

    Baselines that are in no row, and have a figure, come last.
    """
    asked, names_of = run.results.report.strategies, asked_as(recipe)
    rows = []
    for row in recipe.rows:
        key = names_of[row.name].key if row.strategy and not need_of(row, has_chat=run.has_chat) else ""
        answers = run.results.answers
        if row.of == "model" and answers is not None and CLOSED_BOOK in answers.strategies:
            rows.append((row, CLOSED_BOOK))
        else:
            rows.append((row, key if key in asked else ""))
    named = {key for _, key in rows}
    beside = [name for name in BASELINES if name in asked and name not in named] if recipe.has_strategies else []
    for row, key in [*rows, *((RecipeRow(name=f"{name} (beside)"), name) for name in beside)]:
        published = row.published.get(run.item.name, {})
        figures = {
            metric: (published.get(metric), _measured(run, row, key, metric=metric))
            for metric in recipe.metrics_of(run.item)
        }
        if key not in beside or any(here for _, here in figures.values()):
            yield row, key, figures


def _lack(run: RecipeRun, row: RecipeRow, key: str, *, metric: str) -> str:
    """What is not there that a row or its figure needs, in words; empty if nothing is known."""
    if need := need_of(row, has_chat=run.has_chat):
        return _LACKS[need]
    return _LACKS_OF.get(metric, "") if key or row.of else ""


def _measured(run: RecipeRun, row: RecipeRow, key: str, *, metric: str) -> Interval | None:
    if row.of == "corpus":
        return run.results.of_corpus.get(metric)
    return measured_in(run.results, key, metric=metric) if key else None


def models_line(recipe: Recipe, run: RecipeRun) -> str:
    """A line with the models of the paper and of this run.

    Parameters
    ----------
    recipe : the recipe
    run : a set that was asked
    """
    setting, theirs = run.results.setting, ", ".join(f"{part} {name}" for part, name in recipe.models.items())
    answers = "" if run.results.answers is None else f", reader {setting.chat or 'none (best span)'}"
    return (
        f"the models differ, so compare directions and not levels: paper: {theirs}; here: extraction {setting.extraction}, "
        f"embedder {setting.embedder}, reranker {setting.reranker}{answers}"
    )


def notes(recipe: Recipe, runs: Iterable[RecipeRun]) -> list[str]:
    """Notes on the tables: how the sets differ from those of the paper, warnings about the runs, and the notes of the recipe.

    Parameters
    ----------
    recipe : the recipe
    runs : the sets that were asked
    """
    of_runs = [(run.item.name, line) for run in runs for line in (run.item.note, *run.results.warnings) if line]
    return [*(f"{name}: {line}" for name, line in of_runs), *recipe.notes]


def missing_lines(recipe: Recipe, runs: Iterable[RecipeRun], *, sets: Iterable[RecipeSet], has_chat: bool) -> list[str]:
    """The parts of a recipe that were not run, with the reason, one line each.

    Parameters
    ----------
    recipe : the recipe
    runs : the sets that were asked
    sets : the missing sets
    has_chat : whether there is a chat model
    """
    all_runs = list(runs)
    lines = [f"set {item.name}: not there; looked for the folder {' or '.join(item.folders)}" for item in sets]
    lines += [f"row {row.name}: {_NEEDS[need]}" for row in recipe.rows if (need := need_of(row, has_chat=has_chat))]
    others = [row.name for row in recipe.rows if not row.strategy and not row.of]
    if others:
        lines.append(f"rows that hlgraph does not have, published figures only: {'; '.join(others)}")
    for run in all_runs:
        for metric in recipe.metrics_of(run.item):
            names = () if metric in run.results.of_corpus else tuple(run.results.report.strategies)
            if names and all(measured_in(run.results, name, metric=metric) is None for name in names):
                is_asked = metric in CLAIMS and run.results.answers is not None
                reason = _NO_CLAIMS if is_asked else _WHY.get(metric, "not measured")
                lines.append(f"{metric} on {run.item.name}: {reason}")
    if any(item.section.title.endswith(f"by {WordClaims.by}") for run in all_runs for item in run.results.sections):
        lines.append("checker: claims are split and checked by words; give --claims chat for a chat model")
    if not has_chat and any(run.results.answers is not None for run in all_runs):
        lines.append("reader: no chat model is configured (HLGRAPH_CHAT); EM and F1 are of the best span")
    return lines


def _rows(recipe: Recipe, run: RecipeRun) -> list[dict[str, object]]:
    """The rows of a set as JSON data: published and measured figures of each measure."""
    rows: list[dict[str, object]] = []
    for row, key, figures in _figures(recipe, run):
        cells = {}
        for metric, (published, here) in figures.items():
            factor = 1 if metric in _NUMBERS else 100
            mean, *bounds = (None, None) if here is None else (round(factor * value, 2) for value in here)
            cells[metric] = {"published": published, "measured": mean, "interval": None if here is None else bounds}
        lack = _LACKS.get(need_of(row, has_chat=run.has_chat))
        rows.append({"row": row.name, "strategy": key or None, "lacks": lack, "metrics": cells})
    return rows


# Running a recipe.


Measure = Callable[[Path, EvaluationOptions], Evaluation]
"""Evaluates the set in a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeReport(Tabled):
    """A recipe that was run. A notebook shows its tables.

    Attributes
    ----------
    name, recipe : the recipe
    runs : the sets that were asked
    places : their folders
    missing : what was not run, and why
    absent : sets of the recipe that were looked for and are not there
    """

    name: str
    recipe: Recipe
    runs: tuple[RecipeRun, ...]
    places: tuple[str, ...]
    missing: tuple[str, ...]
    absent: tuple[RecipeSet, ...] = ()

    def tables(self) -> list[Table]:
        """The table of each set that was asked, then one with the published figures of the sets that are not there."""
        printed = printed_table(self.name, self.recipe, sets=self.absent)
        asked = [recipe_table(self.name, self.recipe, run=run) for run in self.runs]
        return asked if printed is None else [*asked, printed]

    def _models(self) -> Iterator[tuple[Table, str]]:
        """The tables, each with the line on its models."""
        lines = [f"{models_line(self.recipe, run)}\n" for run in self.runs]
        return zip(self.tables(), [*lines, ""], strict=False)

    def notes(self) -> list[str]:
        """What is missing, notes on the tables, and the commands that do the same, one line each."""
        same = [
            command
            for run, place in zip(self.runs, self.places, strict=True)
            for command in commands(self.recipe, run.item, place=place, has_chat=run.has_chat)
        ]
        return [
            *(f"missing: {line}" for line in self.missing),
            *(f"note: {line}" for line in notes(self.recipe, self.runs)),
            *(f"same as: {line}" for line in same),
        ]

    def to_json(self) -> dict[str, object]:
        """The recipe that was run as JSON data, figures in per cent."""
        recipe = self.recipe
        return {
            "recipe": self.name,
            **{name: getattr(recipe, name) for name in ("paper", "table", "title", "models")},
            "sets": [
                {
                    "set": run.item.name,
                    "folder": run.place,
                    "rows": _rows(recipe, run),
                    "results": run.results.to_json(),
                }
                for run in self.runs
            ],
            "printed": {
                name: {row.name: row.published[name] for row in recipe.rows if name in row.published}
                for name in (each.name for each in self.absent)
            },
            "missing": list(self.missing),
            "notes": notes(recipe, self.runs),
        }

    def write(self, folder: str | Path) -> None:
        """Write ``recipe.md``, ``recipe.json``, and everything that was measured, in one folder per set. Raises InputError."""
        lines = [f"# {self.recipe.paper}, {self.recipe.table}: {self.recipe.title}", ""]
        for run in self.runs:
            run.results.write(Path(folder) / run.place)
        for table, models in self._models():
            lines += [*as_markdown(table), "", models]
        lines += [
            *(f"- missing: {line}" for line in self.missing),
            *(f"- {line}" for line in notes(self.recipe, self.runs)),
            "",
        ]
        tree = f"{json.dumps(self.to_json(), ensure_ascii=False, indent=2)}\n"
        write_files(Path(folder), {"recipe.md": "\n".join(lines), "recipe.json": tree})

    def __str__(self) -> str:
        """The table of each set with its models, and the notes."""
        return "\n".join((*(f"{table}\n{models}" for table, models in self._models()), *self.notes()))


def run_recipe(
    name: str,
    options: EvaluationOptions,
    *,
    measure: Measure,
    has_chat: bool,
    folder: str | None = None,
    data: str | None = None,
) -> RecipeReport:
    """Run a recipe on the sets that exist.

    Parameters
    ----------
    name : of the recipe
    options : of every evaluation; the recipe decides the strategies and measures
    measure : evaluates one set
    has_chat : whether there is a chat model
    folder : the only set that is asked; None: all sets of the recipe in ``data``
    data : the folder that holds the folders of the sets

    Raises
    ------
    InputError
        There is no such folder, or it holds no set of the recipe.
    UnknownNameError
        There is no such recipe.
    """
    recipe = load_recipe(name)
    recipe = recipe if options.preset == "paper" else msgspec.structs.replace(recipe, preset=options.preset)
    places = _places(recipe, folder, data)
    runs = tuple(
        RecipeRun(
            item,
            place.resolve().name,
            measure(place, _options(recipe, item, place, options, has_chat=has_chat)),
            has_chat,
        )
        for item, place in places
        if place is not None
    )
    absent = tuple(each for each, place in places if place is None)
    missing = tuple(missing_lines(recipe, runs, sets=absent, has_chat=has_chat))
    asked = tuple(str(place) for _, place in places if place is not None)
    return RecipeReport(name=name, recipe=recipe, runs=runs, places=asked, missing=missing, absent=absent)


def _places(recipe: Recipe, folder: str | None, data: str | None) -> list[tuple[RecipeSet, Path | None]]:
    """The folder of each set, None if it is missing; with ``folder``, only the set that it holds."""
    if folder is not None:
        name = Path(folder).resolve().name
        sets = [item for item in recipe.sets if name in item.folders]
        if not sets:
            known = ", ".join(dict.fromkeys(name for item in recipe.sets for name in item.folders))
            raise InputError(f"{folder}: no set of this recipe; its folders are called: {known}")
        return [(sets[0], Path(folder))]
    if data is None:
        raise InputError(
            "a recipe needs its sets; give the folder that holds them with --data (or HLGRAPH_DATA), or one set"
        )
    root = Path(data)
    if not root.is_dir():
        raise InputError(f"{data}: no such folder; give the folder that holds the folders of the sets")
    return [
        (item, next((root / name for name in item.folders if (root / name).is_dir()), None)) for item in recipe.sets
    ]


def _options(
    recipe: Recipe, item: RecipeSet, place: Path, options: EvaluationOptions, *, has_chat: bool
) -> EvaluationOptions:
    """The options of the evaluation of one set."""
    metrics = recipe.metrics_of(item)
    further = [metric for metric in metrics if metric.partition("@")[0] in FAMILIES]
    of_texts = [metric for metric in metrics if metric in OF_TEXTS]
    of_layers = [metric for metric in metrics if metric in LAYERS]
    of_answers = set(metrics) - set(RETRIEVAL) - set(further) - set(OF_CORPUS) - set(of_layers)
    can_be_run = {row.name for row in asked_rows(recipe, has_chat=has_chat)}
    rows = {name: row for name, row in asked_as(recipe).items() if name in can_be_run}
    against = rows.get(recipe.against)
    costs = set() if has_chat else of_answers & set(COSTS)
    needs_answers = bool(of_answers - costs) or options.judging is not None
    questions = load(place, limit=options.limit, subsets=options.subsets).questions if needs_answers else ()
    is_answered = any(question.answers for question in questions)
    usual = options.readers if isinstance(options.readers, ReaderOptions) else ReaderOptions()
    compared = usual if against is None else against.reader.over(usual)
    if compared.unit not in (None, *units_of(ChunkRetriever)):
        compared = msgspec.structs.replace(compared, unit="chunk")
    readers = {**dict.fromkeys(BASELINES, compared), **{row.key: row.reader.over(usual) for row in rows.values()}}
    plans = {row.key: readers[row.key] for row in rows.values()} if costs else {}
    if not is_answered:
        readers = {name: ReaderOptions(diversity=reader.diversity) for name, reader in readers.items()}
    return replace(
        options,
        retrievers={row.key: row.retriever for row in rows.values()},
        readers=readers,
        plans=plans,
        preset=recipe.preset,
        limit=options.limit if recipe.has_strategies else 1,
        of_corpus=tuple(metric for metric in metrics if metric in OF_CORPUS),
        metrics=",".join([*further, *of_layers, *(of_texts if is_answered else ())]),
        against=None if against is None else against.key,
        is_answered=is_answered,
        closed_book=is_answered and has_chat and any(row.of == "model" for row in recipe.rows),
        hierarchy={row.key: row.layers for row in rows.values() if row.layers is not None},
        claims=(options.claims or ("words" if set(metrics) & set(CLAIMS) else "")) if is_answered else "",
    )
