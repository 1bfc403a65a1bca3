"""The commands ``hlgraph domain``: the entity kinds and topics that prompts of a chat model name for a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.commands.ingest import Chunked, Encoding, FollowLinks, Format, Map, existing, pairs
from hlgraph.cli.output import domain_tree, print_json, say, usage_tree
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, State, Wait, budget_of, show_help
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.records import Domain

PLACE = 120  # position in the list of commands

app = typer.Typer(
    help="Show and change the domain of a corpus: the entity kinds and topics that prompts name.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
_AGAIN = "the next ingest with a chat model extracts every source that it reads again; to see the cost: hlgraph plan"


@app.callback()
def _domain(context: typer.Context) -> None:
    show_help(context)


@app.command("show")
def show(context: typer.Context, corpus: Corpus = None, json: Json = False) -> None:
    """Print the entity kinds and topics that the prompts name, as YAML that domain set accepts.

    \b
    Examples:
      hlgraph domain show
      hlgraph domain show > domain.yaml
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        domain = graph.domain.find()
    if json:
        print_json({"domain": None if domain is None else domain_tree(domain)})
    elif domain is None:
        say(
            "# no domain; next: hlgraph domain infer, hlgraph domain set FILE, or hlgraph ingest --extract chat --adapt"
        )
    else:
        say(*_lines(domain))


@app.command("infer")
def infer(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Sources, as for ingest (default: the sources in the corpus).",
            show_default=False,
            callback=existing,
        ),
    ] = None,
    corpus: Corpus = None,
    format_: Format = None,
    map_: Map = None,
    encoding: Encoding = None,
    follow_links: FollowLinks = False,
    chunked: Chunked = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Infer the domain of the corpus with one chat call on five chunks, and replace the stored domain.

    The five chunks are those whose texts have the smallest hashes, so the same texts always give the same chunks.

    \b
    Examples:
      hlgraph domain infer docs/
      hlgraph domain infer --corpus news
    """
    from hlgraph.ingest.options import IngestOptions

    options = IngestOptions(
        format=format_,
        mapping=pairs(map_ or []),
        encoding=encoding,
        follow_links=follow_links,
        is_chunked=chunked,
    )
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph:
        inferred = graph.domain.infer(paths or (), options=options, budget=budget_of(max_tokens, max_usd))
    if json:
        samples = [{"uri": uri, "position": position} for uri, position in inferred.samples]
        more = {"samples": samples, "is_changed": inferred.is_changed, "usage": usage_tree(inferred.usage)}
        print_json({"domain": domain_tree(inferred.domain), **more})
        return
    say(*_lines(inferred.domain))
    say(*(f"# from chunk {position} of {uri}" for uri, position in inferred.samples))
    say(f"# {_AGAIN}" if inferred.is_changed else "# unchanged")


@app.command("set")
def set_domain(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A YAML or JSON file, or - for standard input.", show_default=False)
    ],
    corpus: Corpus = None,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Replace the stored domain with one that you wrote; no model is called.

    The file holds {kinds: [drug, side effect], topics: [safety of patients]}: at most 15 kinds and 20 topics. One of the
    two lists may be omitted.

    \b
    Examples:
      hlgraph domain set domain.yaml
      hlgraph domain set domain.json --corpus news
    """
    from hlgraph.sdk.domain import parsed

    given = parsed(_read(file), file)
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph:
        domain = graph.domain.set(given)
    if json:
        print_json({"domain": domain_tree(domain)})
    else:
        say(f"stored {len(domain.kinds)} kinds and {len(domain.topics)} topics", _AGAIN)


@app.command("clear")
def clear(context: typer.Context, corpus: Corpus = None, wait: Wait = None, json: Json = False) -> None:
    """Remove the stored domain; prompts then name no kinds and topics.

    \b
    Example:
      hlgraph domain clear
    """
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph:
        gone = graph.domain.clear()
    if json:
        print_json({"removed": None if gone is None else domain_tree(gone)})
    else:
        say(*(("there was no domain",) if gone is None else ("removed the domain", _AGAIN)))


def _lines(domain: Domain) -> list[str]:
    import yaml

    lists = {"kinds": list(domain.kinds), "topics": list(domain.topics)}
    text = yaml.safe_dump({name: names for name, names in lists.items() if names}, allow_unicode=True, sort_keys=False)
    return [f"# by {domain.made_by or 'hand'}", *text.splitlines()]


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{file}: the domain cannot be read ({reason}); give a YAML or JSON file") from error


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="domain")
