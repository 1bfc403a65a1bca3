"""The commands ``hlgraph extract``: export, submit, fetch, import."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.commands.ingest import Chunked, Encoding, FollowLinks, Format, Map, Paths, pairs
from hlgraph.cli.commands.plan import ChatName
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Corpus, Json, Quiet, State, show_help
from hlgraph.progress import step

if TYPE_CHECKING:
    from hlgraph.ingest.batches import BatchReport
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.models.bedrock import BatchJob
    from hlgraph.sdk.client import HLGraph

PLACE = 110  # position in the list of commands

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="The batch file to write.", show_default=False)]
Results = Annotated[
    list[Path],
    typer.Option(
        "--results", metavar="FILE", help="A results file of the provider (may be repeated).", show_default=False
    ),
]
Batch = Annotated[Path, typer.Argument(metavar="FILE", help="The batch file.", show_default=False)]
To = Annotated[str, typer.Option("--to", metavar="S3", help="A folder in S3: s3://bucket/folder/.", show_default=False)]
Role = Annotated[str, typer.Option("--role", metavar="ARN", help="The role that Bedrock assumes.", show_default=False)]
Again = Annotated[bool, typer.Option("--again", help="Start another job for a file that was submitted before.")]
Job = Annotated[str, typer.Argument(metavar="JOB", help="The ARN of the job.", show_default=False)]
Fetched = Annotated[Path, typer.Option("--out", metavar="FILE", help="The results file to write.", show_default=False)]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until the job has ended.")]
extract_app = typer.Typer(
    name="extract",
    help="Extract through a provider's batch interface, at half the price.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@extract_app.callback()
def _show(context: typer.Context) -> None:
    show_help(context)


def _opened(context: typer.Context, corpus: str | None, chat: str | None) -> HLGraph:
    from hlgraph.sdk.client import connect

    state: State = context.obj
    settings = state.settings(corpus)
    return connect(settings if chat is None else replace(settings, models=replace(settings.models, chat=chat)))


def _options(
    format_: str | None, map_: list[str] | None, encoding: str | None, *, follow_links: bool, chunked: bool
) -> IngestOptions:
    from hlgraph.ingest.options import IngestOptions

    return IngestOptions(
        format=format_,
        mapping=pairs(map_ or []),
        encoding=encoding,
        follow_links=follow_links,
        extract="chat",
        is_chunked=chunked,
    )


def _finish(report: BatchReport, lines: list[str], *, is_json: bool) -> None:
    if is_json:
        tree = asdict(report)
        tree["failed"] = [{"uri": item.uri, "error": item.error} for item in report.failed]
        print_json(tree)
    else:
        say(f"sources: {report.sources:,} to extract, {len(report.failed):,} failed", f"chunks: {report.chunks:,}")
        say(*lines, *(f"failed: {item.error}" for item in report.failed))
    if report.failed or report.refused:
        raise typer.Exit(1)


def export(
    context: typer.Context,
    paths: Paths,
    out: Out,
    corpus: Corpus = None,
    chat: ChatName = None,
    format_: Format = None,
    map_: Map = None,
    encoding: Encoding = None,
    follow_links: FollowLinks = False,
    chunked: Chunked = False,
    json: Json = False,
) -> None:
    """Write the next calls of an extraction to a batch file.

    The file holds one request per line, in OpenAI's batch format or, for a Bedrock model, in Amazon's. A chunk needs two
    calls, and the second depends on the reply to the first: export, run the batch, import its results, and repeat once;
    then ingest with --extract chat finds every reply. Give the same sources and options each time. No API key is needed.
    The prompts name the domain of the corpus, if it has one: infer or set it first.

    \b
    Example:
      hlgraph extract export docs/ --out batch.jsonl --chat openai:gpt-4o-mini
    """
    with _opened(context, corpus, chat) as graph:
        report = graph.batches.export(
            list(paths), _options(format_, map_, encoding, follow_links=follow_links, chunked=chunked), path=out
        )
    next_ = (
        "next: run the batch, then: hlgraph extract import" if report.calls else "next: hlgraph ingest --extract chat"
    )
    _finish(report, [f"calls: {report.calls:,} in {out}", next_], is_json=json)


def submit(
    context: typer.Context,
    batch: Batch,
    to: To,
    role: Role,
    chat: ChatName = None,
    again: Again = False,
    json: Json = False,
) -> None:
    """Submit a batch file to Amazon Bedrock, which runs it at half the price.

    The file is uploaded to a folder in S3, where the results will be written too. Credentials and region are those that
    boto3 finds. Submitting the same file twice gives the same job, so nothing is paid twice.

    \b
    Example:
      hlgraph extract submit batch.jsonl --to s3://mine/batches/ --role arn:aws:iam::123456789012:role/batch
    """
    from hlgraph.models.bedrock import bedrock_jobs

    job = bedrock_jobs().submit(batch, model=_bedrock_model(context, chat), to=to, role=role, repeat=again)
    if json:
        print_json(job)
    else:
        say(*_job_lines(job), f"next: hlgraph extract fetch {job.name} --out results.jsonl")


def fetch(job: Job, out: Fetched, wait: Wait = False, quiet: Quiet = False, json: Json = False) -> None:
    """Fetch the results of a batch job of Amazon Bedrock.

    The exit code is 1 while the job is running, and when it ended without results.

    \b
    Example:
      hlgraph extract fetch arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/abc --out results.jsonl
    """
    from hlgraph.models.bedrock import bedrock_jobs

    jobs = bedrock_jobs()
    if wait:
        with progress("waiting for the batch", quiet=quiet, is_json=json):
            jobs.wait(job, on_poll=_tell)
    result = jobs.fetch(job, out=out)
    if json:
        print_json({**asdict(result), "out": str(out) if result.has_results else None})
    elif result.has_results:
        say(*_job_lines(result), f"results: {out}", f"next: hlgraph extract import PATHS --results {out}")
    else:
        say(*_job_lines(result), "the job ended without results" if result.is_ended else "no results yet")
    if not result.has_results:
        raise typer.Exit(1)


def _tell(item: BatchJob) -> None:
    with step(f"wait ({item.status}, {item.done:,} of {item.records:,} records)"):
        pass


def _bedrock_model(context: typer.Context, chat: str | None) -> str:
    from hlgraph.errors import InputError

    state: State = context.obj
    provider, _, model = (chat or state.settings(None).models.chat).partition(":")
    if provider != "bedrock" or not model:
        raise InputError(
            "batches can be submitted only to Bedrock; name the model with --chat bedrock:MODEL, or in models.chat"
        )
    return model


def _job_lines(job: BatchJob) -> list[str]:
    lines = [f"job: {job.name}", f"status: {job.status}, {job.done:,} of {job.records:,} calls, {job.failed:,} failed"]
    return [*lines, f"message: {job.message}"] if job.message else lines


def import_(
    context: typer.Context,
    paths: Paths,
    results: Results,
    corpus: Corpus = None,
    chat: ChatName = None,
    format_: Format = None,
    map_: Map = None,
    encoding: Encoding = None,
    follow_links: FollowLinks = False,
    chunked: Chunked = False,
    json: Json = False,
) -> None:
    """Store the results of a batch, so that an ingest reuses them at no cost.

    They are entered in the ledger once, at half the price. The call of an unusable result is exported again, and the exit
    code is 1.

    \b
    Example:
      hlgraph extract import docs/ --results output.jsonl --chat openai:gpt-4o-mini
    """
    with _opened(context, corpus, chat) as graph:
        report = graph.batches.take(
            list(paths), _options(format_, map_, encoding, follow_links=follow_links, chunked=chunked), results=results
        )
    lines = [
        f"results: {report.calls:,} stored, {report.known:,} already known, {report.refused:,} refused, "
        f"{report.unknown:,} of other sources",
        f"calls without a result: {report.waiting:,}",
        "next: hlgraph extract export, until no calls are left",
    ]
    _finish(report, lines, is_json=json)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    extract_app.command("export")(export)
    extract_app.command("submit")(submit)
    extract_app.command("fetch")(fetch)
    extract_app.command("import")(import_)
    app.add_typer(extract_app)
