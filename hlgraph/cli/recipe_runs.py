"""Implementation of ``hlgraph eval --recipe``: runs the possible rows of a paper's table, and lists what is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.cli.evaluating import Evaluation, exit_code, measure
from hlgraph.cli.output import print_json, say
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.cli.state import State
    from hlgraph.evaluate.recipes import Recipe, RecipeRun, RecipeSet

_LIST = "list"
# What a recipe decides, by the option that would decide it.
_DECIDED = {
    "--strategies": "strategies",
    "--set": "sets",
    "--questions": "questions",
    "--qrels": "qrels",
    "--run": "runs",
    "--against": "against",
    "--metrics": "metrics",
    "--save": "save",
    "--baseline": "baseline",
}


def _list_recipes(*, is_json: bool) -> None:
    """Print the available recipes."""
    from hlgraph.evaluate.recipes import load_recipe, names

    found = {name: load_recipe(name) for name in names()}
    if is_json:
        told = ("paper", "table", "title", "metrics")
        print_json(
            {"recipes": [{"name": name, **{key: getattr(item, key) for key in told}} for name, item in found.items()]}
        )
        return
    width = max(map(len, found))
    say(*(f"{name:<{width}}  {item.paper}, {item.table}: {item.title}" for name, item in found.items()))


def run_recipe(
    state: State, name: str, *, asked: Evaluation, data: str | None, quiet: bool = False, is_json: bool = False
) -> int:
    """Run a recipe on the available sets and print its tables; the exit code is the highest of all sets.

    The name ``list`` prints the available recipes.
    """
    if name == _LIST:
        _list_recipes(is_json=is_json)
        return 0
    from msgspec.structs import replace as replaced

    from hlgraph.evaluate.figures import as_lines
    from hlgraph.evaluate.recipes import (
        RecipeRun,
        commands,
        load_recipe,
        missing_lines,
        models_line,
        notes,
        recipe_table,
        recipe_tree,
    )

    recipe = load_recipe(name)
    recipe = recipe if asked.preset == "paper" else replaced(recipe, preset=asked.preset)
    if given := [option for option, field in _DECIDED.items() if getattr(asked, field)]:
        raise InputError(f"--recipe {name} decides the strategies and measures; leave out {', '.join(given)}")
    has_chat = bool(state.settings().models.chat)
    places = _places(recipe, asked.folder, data)
    runs: list[RecipeRun] = []
    code = 0
    for item, place in places:
        if place is not None:
            planned = _planned(recipe, item, place=place, asked=asked, has_chat=has_chat)
            results, is_whole = measure(state, planned, quiet=quiet, is_json=is_json)
            code = max(code, exit_code(results, is_whole=is_whole))
            runs.append(RecipeRun(item, place.resolve().name, results))
    missing = missing_lines(recipe, runs, sets=[item for item, place in places if place is None], has_chat=has_chat)
    tree = recipe_tree(name, recipe, runs=runs, missing=missing)
    if asked.out is not None:
        _write(name, recipe, runs, missing=missing, out=asked.out, tree=tree)
    if is_json:
        print_json(tree)
        return code
    for run in runs:
        say(*as_lines(recipe_table(name, recipe, run=run)), models_line(recipe, run), "")
    same = (command for _, place in places if place is not None for command in commands(recipe, str(place)))
    say(
        *(f"missing: {line}" for line in missing),
        *(f"note: {line}" for line in notes(recipe, runs)),
        *(f"same as: {line}" for line in same),
    )
    return code


def _places(recipe: Recipe, folder: str | None, data: str | None) -> list[tuple[RecipeSet, Path | None]]:
    """The folder of each set, None where it is not there; with ``folder`` only the set that it holds."""
    if folder is not None:
        name = Path(folder).resolve().name
        found = [item for item in recipe.sets if name in item.folders]
        if not found:
            known = ", ".join(dict.fromkeys(name for item in recipe.sets for name in item.folders))
            raise InputError(f"{folder}: no set of this recipe; its folders are called: {known}")
        return [(found[0], Path(folder))]
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


def _planned(recipe: Recipe, item: RecipeSet, *, place: Path, asked: Evaluation, has_chat: bool) -> Evaluation:
    """The evaluation of one set."""
    from hlgraph.evaluate.answering import NAMES as OF_TEXTS
    from hlgraph.evaluate.datasets import load
    from hlgraph.evaluate.metrics.retrieval import FAMILIES, MEASURES
    from hlgraph.evaluate.recipes import CLAIMS, asked_rows, retriever_of

    metrics = recipe.metrics_of(item)
    further = [metric for metric in metrics if metric.partition("@")[0] in FAMILIES]
    of_texts = [metric for metric in metrics if metric in OF_TEXTS]
    of_answers = set(metrics) - set(MEASURES) - set(further)
    rows = {row.name: retriever_of(row, recipe.preset) for row in asked_rows(recipe, has_chat=has_chat)}
    against = rows.get(recipe.against)
    questions = (
        load(place, limit=asked.limit, subsets=asked.subsets).questions if of_answers or asked.judging.judges else ()
    )
    is_answered = any(question.answers for question in questions)
    return replace(
        asked,
        folder=str(place),
        made=dict(rows.values()),
        preset=recipe.preset,
        metrics=",".join([*further, *(of_texts if is_answered else ())]),
        against=None if against is None else against[0],
        is_answered=is_answered,
        claims=(asked.claims or ("words" if set(metrics) & set(CLAIMS) else "")) if is_answered else "",
        out=None,
    )


def _write(
    name: str, recipe: Recipe, runs: list[RecipeRun], *, missing: list[str], out: str, tree: dict[str, object]
) -> None:
    """Write the table of the recipe and, in a folder a set, everything that was measured."""
    from json import dumps

    from hlgraph.evaluate.figures import as_markdown
    from hlgraph.evaluate.recipes import models_line, notes, recipe_table
    from hlgraph.evaluate.report import write_files, write_folder

    lines = [f"# {recipe.paper}, {recipe.table}: {recipe.title}", ""]
    for run in runs:
        lines += [*as_markdown(recipe_table(name, recipe, run=run)), "", models_line(recipe, run), ""]
        write_folder(run.results, Path(out) / run.place)
    lines += [*(f"- missing: {line}" for line in missing), *(f"- {line}" for line in notes(recipe, runs)), ""]
    text = f"{dumps(tree, ensure_ascii=False, indent=2)}\n"
    write_files(Path(out), {"recipe.md": "\n".join(lines), "recipe.json": text})
