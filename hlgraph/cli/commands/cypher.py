"""The commands ``hlgraph cypher``: list, show and run the analyst queries."""

from __future__ import annotations

import csv
import io
import json as json_text
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from hlgraph.cli.command import Invocation, argument, command, group, option
from hlgraph.cli.commands.search import AsOf
from hlgraph.cli.output import note, pick
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.stores.queries import Plain, Query, Table

PLACE = 190  # position in the list of commands

Name = Annotated[str, argument("NAME", "The name of the query.")]
Folder = Annotated[Path | None, option("FOLDER", "A folder with your own queries instead of hlgraph's.")]
_WIDEST = 60
app = group("cypher", "Run documented read-only queries on a graph in Neo4j.")


@command(app, "list")
def list_queries(cli: Invocation, folder: Folder = None) -> None:
    """List the queries with a summary of each. No store is needed.

    \b
    Examples:
      hlgraph cypher list
      hlgraph cypher list --folder ./my-queries
    """
    from hlgraph.sdk.cypher import load_all

    queries = load_all(folder)
    width = max(map(len, queries))
    lines = [f"{name:<{width}}  {_first_sentence(query.summary)}" for name, query in queries.items()]
    tree = {"queries": [_tree(name, query) for name, query in queries.items()]}
    cli.show(tree, [*lines, "next: hlgraph cypher show NAME"])


@command(app, "show", "corpus")
def show(cli: Invocation, name: Name, folder: Folder = None) -> None:
    """Show a query: what it does, its parameters, and its text to paste into Neo4j's browser. No store is needed.

    \b
    Example:
      hlgraph cypher show what_connects
    """
    from hlgraph.sdk.cypher import browser_lines, load

    query = load(name, folder)
    params = browser_lines(query, corpus=cli.settings().corpus)
    width = max((len(parameter.name) for parameter in query.parameters), default=0)
    lines = [
        f"{name}: {query.summary}",
        "",
        "Parameters:",
        *(f"  --{each.name:<{width}}  {each.shape}: {each.meaning}" for each in query.parameters),
        "",
        f"Columns: {', '.join(query.columns)}",
        *(["", f"Example: {query.example}"] if query.example else []),
        "",
        "To run it in Neo4j's browser or cypher-shell, set the parameters first:",
        "",
        *params,
        "",
        query.text,
    ]
    cli.show({**_tree(name, query), "text": query.text, "browser": params}, lines)


@command(app, "run", "corpus", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run(
    cli: Invocation,
    name: Name,
    folder: Folder = None,
    format_: Annotated[Literal["table", "json", "csv"], option("--format", "Output format of the rows.")] = "table",
    timeout: Annotated[float, option("SECONDS", "The server stops the query after this time.")] = 30,
    max_rows: Annotated[int, option("--max-rows N", "Maximum number of rows.")] = 1_000,
    as_of: AsOf = None,
) -> None:
    """Run a read-only query; set its parameters with --name value. Entities may be given by name.

    hlgraph cypher show NAME lists the parameters. Every query takes --where FILTER and --kinds KINDS. The table format
    shortens long cells; json and csv print them whole.

    \b
    Examples:
      hlgraph cypher run what_connects --source "Mara Quill" --target Orne
      hlgraph cypher run rank_entities --k 50 --format csv > entities.csv
      hlgraph cypher run rank_entities --where "year >= 1900" --kinds "person, place"
      hlgraph cypher run list_facts --entity "Mara Quill" --as-of 2024-03-05
      hlgraph cypher run my_query --folder ./my-queries --timeout 5 --max-rows 100
    """
    from hlgraph.sdk import cypher as analyst
    from hlgraph.stores.open import open_graph
    from hlgraph.stores.queries import Limits

    settings = cli.settings()
    limits = Limits(timeout, max_rows)
    query = analyst.load(name, folder)
    values = analyst.read_texts(query, _parameters(cli.extra))
    if as_of is not None:
        with cli.connect() as opened:
            table = opened.cypher(name, folder=folder, limits=limits, as_of=as_of, **values)
    else:
        with open_graph(settings) as graph:
            table = analyst.run(query, values, graph=graph, corpus=settings.corpus, limits=limits)
    tree = pick(table, "params columns rows is_cut", milliseconds=round(table.milliseconds, 1))
    if format_ == "json":
        cli = replace(cli, json=True)
    cli.show({"query": name, **tree}, _csv(table) if format_ == "csv" else _lines(table))
    if table.is_cut and not cli.json:
        note(f"only the first {max_rows} rows are shown; raise --max-rows for more")


def _parameters(words: Sequence[str]) -> dict[str, str]:
    """The parameter values by name, from arguments such as ``--k 5`` and ``--k=5``."""
    values: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name:
            raise InputError(f"{word!r} is not a parameter; write --name value, or --name=value")
        text = value if has_value else next(rest, None)
        if text is None:
            raise InputError(f"--{name} has no value; write --{name} VALUE")
        key = name.replace("-", "_")
        if key in values:
            raise InputError(f"--{name} is given twice; give it once")
        values[key] = text
    return values


def _tree(name: str, query: Query) -> dict[str, object]:
    return {"name": name, "what": query.summary, **pick(query, "parameters columns example")}


def _first_sentence(text: str) -> str:
    head, stop, _ = text.partition(". ")
    return f"{head}." if stop else head


# Cells


def _text(value: Plain) -> str:
    """A cell as readable text: lists separated by commas, nodes and relationships as in Cypher, numbers rounded."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, Mapping):
        return _map_text(value)
    return " ".join(str(value).split())


def _map_text(value: Mapping[str, Plain]) -> str:
    if value.keys() == {"labels", "properties"}:
        return f"(:{':'.join(map(_text, _items(value['labels'])))} {_title(value['properties'])})"
    if value.keys() == {"type", "start", "end", "properties"}:
        return f"[:{_text(value['type'])} {_text(value['properties'])}]"
    if value.keys() == {"nodes", "relationships"}:
        nodes, steps = map(_text, _items(value["nodes"])), map(_text, _items(value["relationships"]))
        return next(nodes, "") + "".join(f"-{step}-{node}" for step, node in zip(steps, nodes, strict=True))
    return "{" + ", ".join(f"{key}: {_text(item)}" for key, item in value.items()) + "}"


def _title(properties: Plain) -> str:
    """A readable name of a node: its name, title, text or id, else all its properties."""
    mapping = properties if isinstance(properties, Mapping) else {}
    return next((_text(mapping[key]) for key in ("name", "title", "text", "id") if mapping.get(key)), _text(properties))


def _items(value: Plain) -> list[Plain]:
    return value if isinstance(value, list) else []


def _lines(table: Table) -> list[str]:
    """The rows as aligned columns, numbers to the right, followed by their count."""
    from rich.cells import cell_len, set_cell_size

    cells = [[_shortened(_text(row[name])) for name in table.columns] for row in table.rows]
    widths = [max(map(cell_len, column)) for column in zip(table.columns, *cells, strict=True)]
    numeric = [
        {type(row[name]) for row in table.rows} - {type(None)} in ({int}, {float}, {int, float})
        for name in table.columns
    ]

    def line(texts: Iterable[str]) -> str:
        aligned = (
            " " * (width - cell_len(text)) + text if is_right else set_cell_size(text, width)
            for text, width, is_right in zip(texts, widths, numeric, strict=True)
        )
        return "  ".join(aligned).rstrip()

    count = f"{len(table.rows)} row{'' if len(table.rows) == 1 else 's'} in {table.milliseconds:.0f} ms"
    if not cells:
        return [count]
    return [line(table.columns), line("-" * width for width in widths), *map(line, cells), "", count]


def _shortened(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _csv(table: Table) -> list[str]:
    """Comma-separated lines with a header; lists and maps as JSON, null as an empty cell."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow(_csv_cell(row[name]) for name in table.columns)
    return [out.getvalue().removesuffix("\n")]


def _csv_cell(value: Plain) -> str | int | float | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | Mapping):
        return json_text.dumps(value, ensure_ascii=False)
    return value
