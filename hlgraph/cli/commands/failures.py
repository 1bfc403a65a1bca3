"""The commands ``hlgraph failures``: chunks whose extraction by a chat model failed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import print_json, say, usage_tree
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, Quiet, State, Wait, budget_of, show_help
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.extract.quarantine import Quarantined
    from hlgraph.sdk.failures import Mending

PLACE = 130  # position in the list of commands

app = typer.Typer(
    help="List, retry and repair chunks whose extraction by a chat model failed.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of the failure, or its first characters (at least 4).")]


@app.callback()
def _failures(context: typer.Context) -> None:
    show_help(context)


@app.command("list")
def list_failures(context: typer.Context, corpus: Corpus = None, json: Json = False) -> None:
    """List the chunks for which the model's replies were unusable, with the reasons.

    Their text can be found by chunk search, but they have no statements. Further ingests of the same sources try each
    chunk up to three times, and then report it without another call.

    \b
    Examples:
      hlgraph failures list
      hlgraph failures list --corpus news --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        failures = graph.failures.find()
    if json:
        print_json({"failures": [_tree(item) for item in failures]})
        return
    if not failures:
        say("no chunk failed")
        return
    for item in failures:
        say(
            f"{item.id}  chunk {item.chunk.position} of {item.chunk.uri}",
            f"    {item.at or '-'}  {item.model}  {item.call or '-'}  tries: {item.tries}  {_short(item.reason)}",
        )
    say(f"{len(failures)} chunks failed; next: hlgraph failures show ID, or hlgraph failures retry --all")


@app.command("show")
def show(context: typer.Context, name: Id, corpus: Corpus = None, json: Json = False) -> None:
    """Print the text of a failed chunk, the reason, and every raw reply.

    \b
    Examples:
      hlgraph failures show 1f0c2a9b
      hlgraph failures show 1f0c2a9b --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        (item,) = graph.failures.find([name])
    if json:
        more = {"title": item.chunk.title, "headings": list(item.chunk.headings), "extractor": item.extractor}
        print_json({**_tree(item), **more, "text": item.chunk.text, "replies": list(item.replies)})
        return
    say(
        f"{item.id}  chunk {item.chunk.position} of {item.chunk.uri}",
        f"model: {item.model}, {item.call or 'call unknown'}, tries: {item.tries}, {item.at or 'time unknown'}",
        f"reason: {item.reason}",
    )
    for number, reply in enumerate(item.replies, 1):
        say(f"--- reply {number} of {len(item.replies)}", *reply.splitlines())
    say("--- text", *item.chunk.text.splitlines())


@app.command("retry")
def retry(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids of failures.", show_default=False)
    ] = None,
    corpus: Corpus = None,
    all_: Annotated[bool, typer.Option("--all", help="Retry all failures of the corpus.")] = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    wait: Wait = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Extract failed chunks again with the chat model of the settings.

    A chunk that succeeds enters the graph as if its ingest had succeeded, whichever model extracted it. A chunk that fails
    again stays listed with the new reason, and the exit code is 1.

    \b
    Examples:
      hlgraph failures retry 1f0c2a9b
      hlgraph failures retry --all --max-usd 0.5
    """
    if all_ == bool(names):
        raise InputError("give either the ids of the failures to retry, or --all")
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph, progress("extracting again", quiet=quiet, is_json=json):
        done = graph.failures.retry(names or None, budget=budget_of(max_tokens, max_usd))
    _finish(done, is_json=json)


@app.command("accept")
def accept(
    context: typer.Context,
    name: Id,
    corpus: Corpus = None,
    file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The corrected reply, or - for standard input.", show_default=False),
    ] = None,
    drop: Annotated[bool, typer.Option("--drop", help="Accept that the chunk has no statements.")] = False,
    wait: Wait = None,
    json: Json = False,
) -> None:
    """Add a reply that you corrected by hand to the graph, or accept that a chunk has no statements.

    The reply is {"propositions": [...]}, plus "entities": [...] if the model's own list is wrong, in the format that the
    prompts define. It is checked by the same rules as a reply of the model.

    \b
    Examples:
      hlgraph failures accept 1f0c2a9b --file reply.json
      hlgraph failures accept 1f0c2a9b --drop
    """
    if drop == (file is not None):
        raise InputError("give either --file with the corrected reply, or --drop")
    reply = "" if file is None else _read(file)
    state: State = context.obj
    with state.open(corpus, wait=wait) as graph:
        done = graph.failures.drop(name) if drop else graph.failures.accept(name, reply)
    _finish(done, is_json=json)


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"{file}: the reply cannot be read ({reason}); give a JSON file") from error


def _finish(done: Mending, *, is_json: bool) -> None:
    added = done.report.added
    counts = {
        "statements": added.get("statement", 0),
        "facts": added.get("fact", 0),
        "entities": added.get("entity", 0),
    }
    if is_json:
        cost = {"usage": usage_tree(done.report.usage)} if done.report.usage else {}
        lists = {"mended": done.mended, "failed": [_tree(item) for item in done.failed]}
        waiting = [item.id for item in done.waiting]
        print_json(
            {**lists, "waiting": waiting, "gone": done.gone, "left_out": list(done.left_out), "added": counts, **cost}
        )
    else:
        say(f"{len(done.mended)} repaired, {len(done.failed)} failed again")
        if done.gone:
            say(f"repaired before: {len(done.gone)}, by this command when it was interrupted")
        say("added: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
        say(*(f"failed: {item.id}  {item.chunk.uri}: {_short(item.reason)}" for item in done.failed))
        if done.waiting:
            count = len(done.waiting)
            say(f"{count} are not in the graph, because their ingest was interrupted; the next ingest tries them")
        if done.left_out:
            say(f"dropped names, found neither in the entity list nor in their sentence: {', '.join(done.left_out)}")
        if done.report.usage:
            usage = done.report.usage
            say(f"chat model: {usage.calls} calls, {usage.input_tokens} tokens in, {usage.output_tokens} out")
    if done.failed:
        raise typer.Exit(1)


def _short(reason: str, most: int = 200) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _tree(item: Quarantined) -> dict[str, object]:
    chunk = item.chunk
    return {
        "id": item.id,
        "uri": chunk.uri,
        "position": chunk.position,
        "model": item.model,
        "call": item.call or None,
        "reason": item.reason,
        "tries": item.tries,
        "at": item.at or None,
    }


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="failures")
