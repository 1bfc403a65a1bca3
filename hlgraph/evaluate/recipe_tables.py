"""The table of a recipe: published figures beside measured ones, and what is missing. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hlgraph.evaluate.answer_texts import NAMES as OF_TEXTS
from hlgraph.evaluate.answering import MEASURES as ANSWERS
from hlgraph.evaluate.asking import BASELINES
from hlgraph.evaluate.bootstrap import Interval
from hlgraph.evaluate.claims import WordClaims
from hlgraph.evaluate.figures import Table, interval_cells
from hlgraph.evaluate.recipes import CLAIMS, JUDGED, NOT_HERE, WINS, Recipe, RecipeRow, RecipeSet, retriever_of
from hlgraph.evaluate.results import Results, as_tree

_WHY = {
    **dict.fromkeys(JUDGED, "no judge measured it; add --judge"),
    **dict.fromkeys(CLAIMS, "no question that was asked has gold answers"),
    **dict.fromkeys(WINS, "wins are in the table of pairs, with --judge pairwise"),
    **dict.fromkeys(NOT_HERE, "not measured; it needs the data of WordNet, which no package brings"),
    **dict.fromkeys((*ANSWERS, *OF_TEXTS), "no question that was asked has gold answers"),
    "accuracy": "no question that was asked has options",
}
_NEEDS = {"chat": "needs a chat model; set HLGRAPH_CHAT", "training": "needs a generator trained by hlgraph align"}


class RecipeRun(NamedTuple):
    """A set of a recipe that was asked: its folder, the rows that were, and the results."""

    item: RecipeSet
    place: str
    results: Results


def asked_rows(recipe: Recipe, *, has_chat: bool) -> list[RecipeRow]:
    """The rows that can be asked.

    Parameters
    ----------
    recipe : the recipe
    has_chat : whether there is a chat model
    """
    return [row for row in recipe.rows if row.strategy and (not row.needs or (row.needs == "chat" and has_chat))]


def measured_in(results: Results, strategy: str, *, metric: str) -> Interval | None:
    """What was measured of a strategy; None for what was not.

    Parameters
    ----------
    results : the results of a set
    strategy : the name under which it was asked
    metric : name of the measure
    """
    if (found := results.uncertainty.intervals.get(strategy, {}).get(metric)) is not None:
        return found
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
        head += [f"{metric}: here", f"95 % interval{' ' * number}"]
    rows = []
    for row, key in _keys(recipe, run.results):
        cells: list[str] = []
        for metric in metrics:
            published = row.published.get(run.item.name, {}).get(metric)
            here = measured_in(run.results, key, metric=metric) if key else None
            cells += ["-" if published is None else f"{published:.1f}"] if metric in given else []
            cells += interval_cells(here) if here else ("-", "")
        rows.append((row.name, key or "-", *cells))
    asked = len(run.results.report.questions)
    title = f"{name}: {recipe.paper}, {recipe.table}: {recipe.title}; {run.item.name} ({run.place}, {asked} questions)"
    return Table(title, tuple(head), tuple(rows))


def _keys(recipe: Recipe, results: Results) -> list[tuple[RecipeRow, str]]:
    """Every row with the strategy that was asked for it, empty for none; then the baselines that are in no row."""
    asked = results.report.strategies
    found = []
    for row in recipe.rows:
        key = retriever_of(row, recipe.preset)[0] if row.strategy and row.needs != "training" else ""
        found.append((row, key if key in asked else ""))
    named = {key for _, key in found}
    found += [(RecipeRow(name=f"{name} (beside)"), name) for name in BASELINES if name in asked and name not in named]
    return found


def models_line(recipe: Recipe, run: RecipeRun) -> str:
    """With which models the paper measured, and with which this run did.

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
    """What to know to read the tables: how the sets differ from those of the paper, and the notes of the recipe.

    Parameters
    ----------
    recipe : the recipe
    runs : the sets that were asked
    """
    return [*(f"{run.item.name}: {run.item.note}" for run in runs if run.item.note), *recipe.notes]


def missing_lines(recipe: Recipe, runs: Iterable[RecipeRun], *, sets: Iterable[RecipeSet], has_chat: bool) -> list[str]:
    """What of a recipe was not run, and why, one line each.

    Parameters
    ----------
    recipe : the recipe
    runs : the sets that were asked
    sets : the sets that are not there
    has_chat : whether there is a chat model
    """
    made = list(runs)
    lines = [f"set {item.name}: not there; looked for the folder {' or '.join(item.folders)}" for item in sets]
    lines += [
        f"row {row.name}: {_NEEDS[row.needs]}"
        for row in recipe.rows
        if row.needs and (row.needs, has_chat) != ("chat", True)
    ]
    others = [row.name for row in recipe.rows if not row.strategy]
    if others:
        lines.append(f"rows that hlgraph does not have, published figures only: {'; '.join(others)}")
    for run in made:
        for metric in recipe.metrics_of(run.item):
            if all(measured_in(run.results, name, metric=metric) is None for name in run.results.report.strategies):
                lines.append(f"{metric} on {run.item.name}: {_WHY.get(metric, 'not measured')}")
    if any(item.section.title.endswith(f"by {WordClaims.by}") for run in made for item in run.results.sections):
        lines.append("checker: claims are split and checked by words; give --claims chat for a chat model")
    if not has_chat and any(run.results.answers is not None for run in made):
        lines.append("reader: no chat model is configured (HLGRAPH_CHAT); EM and F1 are of the best span")
    return lines


def recipe_tree(name: str, recipe: Recipe, *, runs: Iterable[RecipeRun], missing: Iterable[str]) -> dict[str, object]:
    """A recipe that was run as JSON data, figures in per cent.

    Parameters
    ----------
    name : of the recipe
    recipe : the recipe
    runs : the sets that were asked
    missing : what was not run, and why
    """
    made = list(runs)
    return {
        "recipe": name,
        "paper": recipe.paper,
        "table": recipe.table,
        "title": recipe.title,
        "models": dict(recipe.models),
        "sets": [_run_tree(recipe, run) for run in made],
        "missing": list(missing),
        "notes": notes(recipe, made),
    }


def _run_tree(recipe: Recipe, run: RecipeRun) -> dict[str, object]:
    rows = []
    for row, key in _keys(recipe, run.results):
        cells: dict[str, Mapping[str, object]] = {}
        for metric in recipe.metrics_of(run.item):
            here = measured_in(run.results, key, metric=metric) if key else None
            cells[metric] = {
                "published": row.published.get(run.item.name, {}).get(metric),
                "measured": None if here is None else round(100 * here.mean, 2),
                "interval": None if here is None else [round(100 * here.low, 2), round(100 * here.high, 2)],
            }
        rows.append({"row": row.name, "strategy": key or None, "metrics": cells})
    return {"set": run.item.name, "folder": run.place, "rows": rows, "results": as_tree(run.results)}
