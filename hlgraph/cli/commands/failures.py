"""The commands ``hlgraph failures``: chunks whose extraction by a chat model failed or is incomplete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, cast

from hlgraph.cli.command import Invocation, argument, command, group, option, read_file
from hlgraph.cli.commands.ingest import GroundName
from hlgraph.cli.output import pick, usage_tree
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.extract.grounding import Ground
    from hlgraph.extract.quarantine import Quarantined
    from hlgraph.sdk.failures import Mending

PLACE = 130  # position in the list of commands

_ADDED = {"statements": "statement", "facts": "fact", "entities": "entity"}
app = group("failures", "List, retry and repair chunks whose extraction by a chat model failed.")
Id = Annotated[str, argument("ID", "The id of the failure, or its first characters (at least 4).")]


@command(app, "list", "corpus")
def list_failures(cli: Invocation) -> None:
    """List the chunks for which the model's replies were unusable in whole or in part, with the reasons.

    Their text can be found by chunk search, but they have no statements. Further ingests of the same sources try each
    chunk up to three times, and then report it without another call. Of an incomplete chunk only what is listed is missing.

    \b
    Examples:
      hlgraph failures list
      hlgraph failures list --corpus news --json
    """
    with cli.connect() as graph:
        failures = graph.failures.find()
    cli.show({"failures": [_tree(failure) for failure in failures]}, _list_lines(failures))


def _list_lines(failures: Sequence[Quarantined]) -> Iterator[str]:
    for failed in failures:
        lost = f", incomplete: {len(failed.dropped)} left out" if failed.dropped else ""
        yield f"{failed.id}  chunk {failed.chunk.position} of {failed.chunk.uri}{lost}"
        details = f"{failed.model}  {failed.call or '-'}  tries: {failed.tries}  {_short(failed.reason)}"
        yield f"    {failed.at or '-'}  {details}"
    incomplete = " or are incomplete" if any(failed.dropped for failed in failures) else ""
    yield (
        f"{len(failures)} chunks failed{incomplete}; next: hlgraph failures show ID, or hlgraph failures retry --all"
        if failures
        else "no chunk failed"
    )


@command(app, "show", "corpus")
def show(cli: Invocation, name: Id) -> None:
    """Print the text of a failed chunk, the reason, every part that was left out, and every raw reply.

    \b
    Examples:
      hlgraph failures show 1f0c2a9b
      hlgraph failures show 1f0c2a9b --json
    """
    with cli.connect() as graph:
        (failed,) = graph.failures.find([name])
    chunk = failed.chunk
    lines = [
        f"{failed.id}  chunk {chunk.position} of {chunk.uri}",
        f"model: {failed.model}, {failed.call or 'call unknown'}, tries: {failed.tries}, {failed.at or 'time unknown'}",
        f"reason: {failed.reason}",
    ]
    for dropped in failed.dropped:
        lines += [f"--- left out: {dropped.reason}", *dropped.text.splitlines()]
    for number, reply in enumerate(failed.replies, 1):
        lines += [f"--- reply {number} of {len(failed.replies)}", *reply.splitlines()]
    tree = {**_tree(failed), **pick(chunk, "title headings"), "extractor": failed.extractor}
    cli.show({**tree, "text": chunk.text, "replies": failed.replies}, [*lines, "--- text", *chunk.text.splitlines()])


@command(app, "retry", "corpus", "budget", "wait", "quiet")
def retry(
    cli: Invocation,
    names: Annotated[list[str] | None, argument("ID", "Ids of failures.")] = None,
    all_: Annotated[bool, option("--all", "Retry all failures of the corpus.")] = False,
    ground: GroundName = None,
) -> None:
    """Extract failed chunks again with the chat model of the settings.

    A chunk that succeeds enters the graph as if its ingest had succeeded, whichever model extracted it. A chunk that fails
    again, or is still incomplete, stays listed with the new reason, and the exit code is 1. With --ground off,
    propositions that were left out are stored; replies that are kept are not asked for again.

    \b
    Examples:
      hlgraph failures retry 1f0c2a9b
      hlgraph failures retry --all --max-usd 0.5
      hlgraph failures retry 1f0c2a9b --ground off
    """
    if all_ == bool(names):
        raise InputError("give either the ids of the failures to retry, or --all")
    with cli.connect("extracting again") as graph:
        done = graph.failures.retry(names or None, budget=cli.budget, ground=cast("Ground | None", ground))
    _finish(cli, done)


@command(app, "accept", "corpus", "wait")
def accept(
    cli: Invocation,
    name: Id,
    file: Annotated[str | None, option("FILE", "The corrected reply, or - for standard input.")] = None,
    drop: Annotated[bool, option("--drop", "Accept that the chunk has no statements, or no others.")] = False,
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
    reply = "" if file is None else read_file(file, "the reply", "JSON")
    with cli.connect() as graph:
        done = graph.failures.drop(name) if drop else graph.failures.accept(name, reply)
    _finish(cli, done)


def _finish(cli: Invocation, done: Mending) -> None:
    """Print what was repaired; the exit code is 1 if a chunk failed again."""
    added = done.report.added
    counts = {name: added.get(kind, 0) for name, kind in _ADDED.items()}
    tree = {
        "mended": done.mended,
        "failed": [_tree(failed) for failed in done.failed],
        "waiting": [waiting.id for waiting in done.waiting],
        **pick(done, "gone left_out", added=counts),
        **usage_tree(done.report.usage),
    }
    cli.show(tree, _finish_lines(done, counts), fails=done.failed)


def _finish_lines(done: Mending, counts: Mapping[str, int]) -> Iterator[str]:
    yield f"{len(done.mended)} repaired, {len(done.failed)} failed again"
    if done.gone:
        yield f"repaired before: {len(done.gone)}, by this command when it was interrupted"
    yield "added: " + ", ".join(f"{count} {what}" for what, count in counts.items())
    yield from (f"failed: {failed.id}  {failed.chunk.uri}: {_short(failed.reason)}" for failed in done.failed)
    if done.waiting:
        count = len(done.waiting)
        yield f"{count} are not in the graph, because their ingest was interrupted; the next ingest tries them"
    if done.left_out:
        yield f"dropped names, found neither in the entity list nor in their sentence: {', '.join(done.left_out)}"
    from hlgraph.ingest.report import lost_lines, usage_line

    yield from lost_lines(done.report)
    if done.report.usage:
        yield usage_line(done.report.usage)


def _short(reason: str, most: int = 200) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _tree(failed: Quarantined) -> dict[str, object]:
    model = {"model": failed.model, "call": failed.call or None}
    return {
        "id": failed.id,
        **pick(failed.chunk, "uri position"),
        **model,
        **pick(failed, "reason tries", at=failed.at or None),
        "dropped": [pick(dropped, "text reason") for dropped in failed.dropped],
    }
