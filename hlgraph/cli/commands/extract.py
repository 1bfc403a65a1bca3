"""The commands ``hlgraph extract``: export, submit, fetch, import."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hlgraph.cli.command import Invocation, argument, command, group, option
from hlgraph.cli.commands.ingest import Paths
from hlgraph.cli.output import pick
from hlgraph.errors import InputError
from hlgraph.progress import step

if TYPE_CHECKING:
    from hlgraph.ingest.batches import BatchReport
    from hlgraph.models.bedrock import BatchJob

PLACE = 110  # position in the list of commands

Out = Annotated[Path, option("--out FILE", "The batch file to write.")]
Results = Annotated[list[Path], option("--results FILE", "A results file of the provider (may be repeated).")]
Batch = Annotated[Path, argument("FILE", "The batch file.")]
To = Annotated[str, option("--to S3", "A folder in S3: s3://bucket/folder/.")]
Role = Annotated[str, option("--role ARN", "The role that Bedrock assumes.")]
Again = Annotated[bool, option("--again", "Start another job for a file that was submitted before.")]
Job = Annotated[str, argument("JOB", "The ARN of the job.")]
Fetched = Annotated[Path, option("--out FILE", "The results file to write.")]
Wait = Annotated[bool, option("--wait", "Wait until the job has ended.")]
app = group("extract", "Extract through a provider's batch interface, at half the price.")


def _finish(cli: Invocation, report: BatchReport, *lines: str) -> None:
    """Print a report, and exit with code 1 if a source failed or a result was refused."""
    sources = f"sources: {report.sources:,} to extract, {len(report.failed):,} failed"
    failed = [pick(failure, "uri error") for failure in report.failed]
    cli.show(
        {**asdict(report), "failed": failed},
        [sources, f"chunks: {report.chunks:,}", *lines, *(f"failed: {failure.error}" for failure in report.failed)],
        fails=report.failed or report.refused,
    )


@command(app, "export", "corpus", "chat", "reading")
def export(cli: Invocation, paths: Paths, out: Out) -> None:
    """Write the next calls of an extraction to a batch file.

    The file holds one request per line, in OpenAI's batch format or, for a Bedrock model, in Amazon's. A chunk needs two
    calls, and the second depends on the reply to the first: export, run the batch, import its results, and repeat once;
    then ingest with --extract chat finds every reply. Give the same sources and options each time. No API key is needed.
    The prompts name the domain of the corpus, if it has one: infer or set it first.

    \b
    Example:
      hlgraph extract export docs/ --out batch.jsonl --chat openai:gpt-4o-mini
    """
    with cli.connect() as graph:
        report = graph.batches.export(list(paths), cli.ingest_options(extract="chat"), path=out)
    step_after = "run the batch, then: hlgraph extract import" if report.calls else "hlgraph ingest --extract chat"
    _finish(cli, report, f"calls: {report.calls:,} in {out}", f"next: {step_after}")


@command(app, "submit", "chat")
def submit(cli: Invocation, batch: Batch, to: To, role: Role, again: Again = False) -> None:
    """Submit a batch file to Amazon Bedrock, which runs it at half the price.

    The file is uploaded to a folder in S3, where the results will be written too. Credentials and region are those that
    boto3 finds. Submitting the same file twice gives the same job, so nothing is paid twice.

    \b
    Example:
      hlgraph extract submit batch.jsonl --to s3://mine/batches/ --role arn:aws:iam::123456789012:role/batch
    """
    from hlgraph.models.bedrock import bedrock_jobs

    jobs = bedrock_jobs()
    provider, _, model = (cli.chat or cli.settings().models.chat).partition(":")
    if provider != "bedrock" or not model:
        raise InputError(
            "batches can be submitted only to Bedrock; name the model with --chat bedrock:MODEL, or in models.chat"
        )
    job = jobs.submit(batch, model=model, to=to, role=role, repeat=again)
    cli.show(job, [*_job_lines(job), f"next: hlgraph extract fetch {job.name} --out results.jsonl"])


@command(app, "fetch", "quiet")
def fetch(cli: Invocation, job: Job, out: Fetched, wait: Wait = False) -> None:
    """Fetch the results of a batch job of Amazon Bedrock.

    The exit code is 1 while the job is running, and when it ended without results.

    \b
    Example:
      hlgraph extract fetch arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/abc --out results.jsonl
    """
    from hlgraph.models.bedrock import bedrock_jobs

    jobs = bedrock_jobs()
    if wait:
        with cli.progress("waiting for the batch"):
            jobs.wait(job, on_poll=_report)
    result = jobs.fetch(job, out=out)
    if result.has_results:
        rest = [f"results: {out}", f"next: hlgraph extract import PATHS --results {out}"]
    else:
        rest = ["the job ended without results" if result.is_ended else "no results yet"]
    cli.show(
        {**asdict(result), "out": out if result.has_results else None},
        [*_job_lines(result), *rest],
        fails=not result.has_results,
    )


def _report(job: BatchJob) -> None:
    with step(f"wait ({job.status}, {job.done:,} of {job.records:,} records)"):
        pass


def _job_lines(job: BatchJob) -> list[str]:
    lines = [f"job: {job.name}", f"status: {job.status}, {job.done:,} of {job.records:,} calls, {job.failed:,} failed"]
    return [*lines, f"message: {job.message}"] if job.message else lines


@command(app, "import", "corpus", "chat", "reading")
def import_(cli: Invocation, paths: Paths, results: Results) -> None:
    """Store the results of a batch, so that an ingest reuses them at no cost.

    They are entered in the ledger once, at half the price. The call of an unusable result is exported again, and the exit
    code is 1.

    \b
    Example:
      hlgraph extract import docs/ --results output.jsonl --chat openai:gpt-4o-mini
    """
    with cli.connect() as graph:
        report = graph.batches.take(list(paths), cli.ingest_options(extract="chat"), results=results)
    _finish(
        cli,
        report,
        f"results: {report.calls:,} stored, {report.known:,} already known, {report.refused:,} refused, "
        f"{report.unknown:,} of other sources",
        f"calls without a result: {report.waiting:,}",
        "next: hlgraph extract export, until no calls are left",
    )
