"""hlgraph domain: what a corpus is about, as the prompts of a chat model name it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.commands.ingest import Chunked, Encoding, Format, Map, pairs
from hlgraph.cli.output import domain_tree, print_json, say, usage_tree
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, State, budget_of, show_help
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.records import Domain

PLACE = 120  # in the list of commands

app = typer.Typer(
    help="See and change what the prompts of a chat model say that a corpus is about.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
_AGAIN = "an ingest by a chat model extracts each source anew when it reads it next; the cost: hlgraph plan"


@app.callback()
def _domain(context: typer.Context) -> None:
    show_help(context)


@app.command("show")
def show(context: typer.Context, corpus: Corpus = None, json: Json = False) -> None:
    """Print the kinds of entities and the topics that the prompts name, as YAML that domain set takes.

    \b
    Examples:
      hlgraph domain show
      hlgraph domain show > domain.yaml
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        found = graph.domain.find()
    if json:
        print_json({"domain": None if found is None else domain_tree(found)})
    elif found is None:
        say(
            "# no domain; next: hlgraph domain infer, hlgraph domain set FILE, or hlgraph ingest --extract chat --adapt"
        )
    else:
        say(*_lines(found))


@app.command("infer")
def infer(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="Sources, as for ingest; none: what the corpus holds.", show_default=False),
    ] = None,
    corpus: Corpus = None,
    format_: Format = None,
    map_: Map = None,
    encoding: Encoding = None,
    chunked: Chunked = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    json: Json = False,
) -> None:
    """Ask the chat model what the corpus is about, by one call about five chunks, and keep that instead of what was there.

    The chunks are those whose texts have the smallest hashes: the same texts give the same five.

    \b
    Examples:
      hlgraph domain infer docs/
      hlgraph domain infer --corpus news
    """
    from hlgraph.ingest.options import IngestOptions

    options = IngestOptions(format=format_, mapping=pairs(map_ or []), encoding=encoding, is_chunked=chunked)
    state: State = context.obj
    with state.open(corpus) as graph:
        found = graph.domain.infer(paths or (), options=options, budget=budget_of(max_tokens, max_usd))
    if json:
        samples = [{"uri": uri, "position": position} for uri, position in found.samples]
        more = {"samples": samples, "is_changed": found.is_changed, "usage": usage_tree(found.usage)}
        print_json({"domain": domain_tree(found.domain), **more})
        return
    say(*_lines(found.domain))
    say(*(f"# from chunk {position} of {uri}" for uri, position in found.samples))
    say(f"# {_AGAIN}" if found.is_changed else "# it is the same as before")


@app.command("set")
def set_domain(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="YAML or JSON; - is standard input.", show_default=False)],
    corpus: Corpus = None,
    json: Json = False,
) -> None:
    """Keep a domain that you wrote, instead of what was there; no model is asked.

    The file holds {kinds: [drug, side effect], topics: [safety of patients]}: at most 15 kinds and 20 topics; one of the lists
    may be left out.

    \b
    Examples:
      hlgraph domain set domain.yaml
      hlgraph domain set domain.json --corpus news
    """
    from hlgraph.sdk.domain import parsed

    given = parsed(_read(file), file)
    state: State = context.obj
    with state.open(corpus) as graph:
        found = graph.domain.set(given)
    if json:
        print_json({"domain": domain_tree(found)})
    else:
        say(f"{len(found.kinds)} kinds and {len(found.topics)} topics are kept", _AGAIN)


@app.command("clear")
def clear(context: typer.Context, corpus: Corpus = None, json: Json = False) -> None:
    """Remove the domain: prompts are then as without one.

    \b
    Example:
      hlgraph domain clear
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        gone = graph.domain.clear()
    if json:
        print_json({"removed": None if gone is None else domain_tree(gone)})
    else:
        say(*(("there was no domain",) if gone is None else ("the domain is removed", _AGAIN)))


def _lines(domain: Domain) -> list[str]:
    import yaml

    lists = {"kinds": list(domain.kinds), "topics": list(domain.topics)}
    text = yaml.safe_dump({name: names for name, names in lists.items() if names}, allow_unicode=True, sort_keys=False)
    return [f"# by {domain.made_by or 'hand'}", *text.splitlines()]


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise InputError(f"{file}: the domain cannot be read ({reason}); name a file of YAML or JSON") from error


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="domain")
