"""Embedding, reranking and batch jobs with Amazon Bedrock, through boto3 and the credentials that it finds.

A batch job uploads a batch file to S3, runs there, and its results are downloaded into one file.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import urlsplit

import msgspec

from hlgraph.errors import InputError, MissingExtraError, UnknownNameError, needs_extra
from hlgraph.models.calls import PATIENT, Patience, mapped, set_up
from hlgraph.models.remote import AT_ONCE, RemoteEmbedder, RemoteReranker
from hlgraph.stores import files

if TYPE_CHECKING:
    from botocore.client import BaseClient

_CONNECT_SECONDS = 10.0
_TEXTS = 96  # limit of one embedding call of a Cohere model
_LONGEST = 2048  # characters that it accepts of each text
_AT_ONCE = 8  # concurrent calls to Titan, which takes one text per call
_DOCUMENTS = 1000
_LONGEST_DOCUMENT = 32_000


def bedrock_client(service: str, name: str, *, region: str = "", url: str = "", timeout: float = 60.0) -> BaseClient:
    """A boto3 client without retries of its own.

    Parameters
    ----------
    service : service of boto3, such as ``bedrock-runtime`` or ``bedrock-agent-runtime``
    name : ``bedrock:model``, for errors
    region : AWS region; default: the one that boto3 finds
    url : URL of the endpoint; default: that of AWS
    timeout : time limit for one call, in seconds; default 60

    Returns
    -------
    BaseClient
        The client.

    Raises
    ------
    MissingExtraError
        boto3 is not installed.
    ModelAccessError
        No region is configured.
    """
    with needs_extra("aws", f"the model {name}"):
        import boto3
        from botocore.config import Config
    config = Config(
        connect_timeout=_CONNECT_SECONDS, read_timeout=timeout, retries={"total_max_attempts": 1, "mode": "standard"}
    )
    return set_up(
        name,
        lambda: boto3.session.Session().client(
            service, region_name=region or None, endpoint_url=url or None, config=config
        ),
    )


def bedrock_embedder(
    client: BaseClient, model: str, *, dimensions: int | None = None, patience: Patience = PATIENT
) -> RemoteEmbedder:
    """An embedder for a Titan or a Cohere model.

    Parameters
    ----------
    client : boto3 client ``bedrock-runtime``
    model : model id, such as ``amazon.titan-embed-text-v2:0`` or ``cohere.embed-multilingual-v3``
    dimensions : vector length requested from a model that offers a choice (Titan 2); default: the model's own
    patience : the retry policy

    Returns
    -------
    RemoteEmbedder
        The embedder.

    Raises
    ------
    UnknownNameError
        The model belongs to neither family.
    """
    family = "titan" if "titan-embed" in model else "cohere" if "cohere.embed" in model else ""
    if not family:
        raise UnknownNameError(
            f"bedrock:{model}: only the families titan-embed and cohere.embed are supported; for another, pass an "
            "embeddings object of LangChain"
        )

    def ask(request: Mapping[str, object]) -> Mapping[str, object]:
        reply = client.invoke_model(modelId=model, body=msgspec.json.encode(request))
        return msgspec.json.decode(cast("IO[bytes]", reply["body"]).read(), type=dict[str, object])

    def titan(texts: list[str], is_question: bool) -> list[list[float]]:  # noqa: ARG001 - Titan embeds both alike
        more = {"dimensions": dimensions} if dimensions else {}
        return [cast("list[float]", ask({"inputText": text, **more})["embedding"]) for text in texts]

    def cohere(texts: list[str], is_question: bool) -> list[list[float]]:
        kind = "search_query" if is_question else "search_document"
        clipped = [text[:_LONGEST] for text in texts]
        vectors = ask({"texts": clipped, "input_type": kind, "truncate": "END"})["embeddings"]
        # Newer models group the vectors by number type.
        return cast("list[list[float]]", vectors["float"] if isinstance(vectors, dict) else vectors)

    name = f"bedrock:{model}" + (f"/{dimensions}" if dimensions else "")
    if family == "titan":
        return RemoteEmbedder(name, titan, batch=1, dimensions=dimensions, parallel=_AT_ONCE, patience=patience)
    return RemoteEmbedder(name, cohere, batch=_TEXTS, dimensions=dimensions, parallel=AT_ONCE, patience=patience)


def bedrock_reranker(client: BaseClient, model: str, *, patience: Patience = PATIENT) -> RemoteReranker:
    """A reranker for a Bedrock model.

    Parameters
    ----------
    client : boto3 client ``bedrock-agent-runtime``
    model : model id, such as ``cohere.rerank-v3-5:0``, or its ARN
    patience : the retry policy

    Returns
    -------
    RemoteReranker
        The reranker.
    """
    meta = client.meta
    arn = (
        model
        if model.startswith("arn:")
        else f"arn:{meta.partition}:bedrock:{meta.region_name}::foundation-model/{model}"
    )

    def send(question: str, texts: list[str]) -> list[tuple[int, float]]:
        configuration = {"modelConfiguration": {"modelArn": arn}, "numberOfResults": len(texts)}
        request: dict[str, object] = {
            "queries": [{"type": "TEXT", "textQuery": {"text": question[:_LONGEST_DOCUMENT]}}],
            "sources": [_source(text) for text in texts],
            "rerankingConfiguration": {
                "type": "BEDROCK_RERANKING_MODEL",
                "bedrockRerankingConfiguration": configuration,
            },
        }
        return list(_pages(client, request))

    return RemoteReranker(f"bedrock:{model}", send, batch=_DOCUMENTS, patience=patience)


def _source(text: str) -> dict[str, object]:
    document = {"type": "TEXT", "textDocument": {"text": text[:_LONGEST_DOCUMENT]}}
    return {"type": "INLINE", "inlineDocumentSource": document}


def _pages(client: BaseClient, request: dict[str, object]) -> Iterator[tuple[int, float]]:
    while True:
        page = client.rerank(**request)
        for result in cast("list[Mapping[str, float]]", page["results"]):
            yield int(result["index"]), result["relevanceScore"]
        if not page.get("nextToken"):
            return
        request["nextToken"] = page["nextToken"]


# Batch jobs.

TYPE, TYPE_PARAMETER = "Converse", "modelInvocationType"
_ENDED = frozenset({"Completed", "PartiallyCompleted", "Failed", "Stopped", "Expired"})
_WITH_RESULTS = frozenset({"Completed", "PartiallyCompleted", "Stopped", "Expired"})
_RESULTS = ".jsonl.out"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchJob:
    """State of a batch job.

    Attributes
    ----------
    name : ARN of the job
    status : as AWS reports it: ``Submitted``, ``Validating``, ``Scheduled``, ``InProgress``, ``Completed``,
        ``PartiallyCompleted``, ``Failed``, ``Stopping``, ``Stopped`` or ``Expired``
    output : S3 folder of the results, ``s3://``
    records : lines of the batch; 0 while not known
    done : lines processed so far; 0 while not known
    failed : processed lines that gave an error; 0 while not known
    message : why the job failed, as AWS reports it
    """

    name: str
    status: str
    output: str = ""
    records: int = 0
    done: int = 0
    failed: int = 0
    message: str = ""

    @property
    def is_ended(self) -> bool:
        """Whether the job has ended, successfully or not."""
        return self.status in _ENDED

    @property
    def has_results(self) -> bool:
        """Whether the job has ended and its results can be downloaded."""
        return self.status in _WITH_RESULTS


class BedrockJobs:
    """Submits batch files and downloads their results. Neither is retried; both are safe to repeat.

    Parameters
    ----------
    jobs : boto3 client ``bedrock``
    objects : boto3 client ``s3``
    """

    def __init__(self, jobs: BaseClient, objects: BaseClient) -> None:
        self._jobs = jobs
        self._objects = objects

    def submit(self, batch: Path, *, model: str, to: str, role: str, repeat: bool = False) -> BatchJob:
        """Upload a batch file and start its job. Submitting the same file twice gives one job, which is charged once.

        Parameters
        ----------
        batch : file that ``hlgraph extract export`` wrote for a Bedrock model
        model : model id in Bedrock, or the ARN of an inference profile
        to : folder in S3, ``s3://bucket/folder/``; results are written beside the batch
        role : ARN of the role that Bedrock assumes to read and write there
        repeat : start another job, for a file whose job failed; default False

        Returns
        -------
        BatchJob
            State of the job.

        Raises
        ------
        InputError
            The file is empty or cannot be read, or ``to`` is not a folder in S3.
        ModelAccessError, ModelAnswerError, ModelUnavailableError
            AWS refuses the request or does not answer.
        """
        bucket, folder = _place(to)
        token = _digest(batch) if not repeat else uuid.uuid4().hex
        name, key = f"hlgraph-{token}", f"{folder}{token}.jsonl"
        shown = f"bedrock:{model}"
        mapped(shown, lambda: self._objects.upload_file(Filename=str(batch), Bucket=bucket, Key=key))
        request = {
            "jobName": name,
            "clientRequestToken": token,
            "roleArn": role,
            "modelId": model,
            TYPE_PARAMETER: TYPE,
            "inputDataConfig": {"s3InputDataConfig": {"s3InputFormat": "JSONL", "s3Uri": f"s3://{bucket}/{key}"}},
            "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": f"s3://{bucket}/{folder}"}},
        }
        created = mapped(shown, lambda: self._jobs.create_model_invocation_job(**request))
        return self.look(str(created["jobArn"]))

    def look(self, job: str) -> BatchJob:
        """Current state of a job. Raises the model errors of :meth:`submit`."""
        state = mapped(job, lambda: self._jobs.get_model_invocation_job(jobIdentifier=job))
        written = cast("Mapping[str, Mapping[str, str]]", state["outputDataConfig"])["s3OutputDataConfig"]["s3Uri"]
        return BatchJob(
            name=str(state["jobArn"]),
            status=str(state["status"]),
            output=f"{written.removesuffix('/')}/{str(state['jobArn']).rpartition('/')[2]}/",
            records=_whole(state, "totalRecordCount"),
            done=_whole(state, "processedRecordCount"),
            failed=_whole(state, "errorRecordCount"),
            message=str(state.get("message") or ""),
        )

    def wait(self, job: str, *, every: float = 30.0, on_poll: Callable[[BatchJob], None] = lambda _: None) -> BatchJob:
        """Wait until a job has ended. Raises the model errors of :meth:`submit`.

        Parameters
        ----------
        job : ARN of the job
        every : seconds between two polls; default 30
        on_poll : called with the state of the job at every poll; default: no call

        Returns
        -------
        BatchJob
            Final state of the job.
        """
        while True:
            state = self.look(job)
            on_poll(state)
            if state.is_ended:
                return state
            time.sleep(every)

    def fetch(self, job: str, *, out: Path) -> BatchJob:
        """Download the results of a job into one file, for ``hlgraph extract import``; writes nothing before the job has ended.

        Parameters
        ----------
        job : ARN of the job
        out : file to write

        Returns
        -------
        BatchJob
            State of the job; the file was written if ``has_results``.

        Raises
        ------
        InputError
            The file cannot be written.
        ModelAccessError, ModelAnswerError, ModelUnavailableError
            AWS refuses the request or does not answer.
        """
        state = self.look(job)
        if not state.has_results:
            return state
        bucket, folder = _place(state.output)
        partial = out.with_name(f"{out.name}.part")
        try:
            with files.write_bytes(partial) as file:
                for key in self._results(bucket, folder, job=job):
                    mapped(job, lambda key=key: self._copy(bucket, key, file=file))  # type: ignore[misc]
            partial.replace(out)
        except OSError as error:
            raise InputError(
                f"{out}: the results cannot be written to this file ({error.strerror}); choose another"
            ) from error
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
        return state

    def _results(self, bucket: str, folder: str, *, job: str) -> Iterator[str]:
        after: dict[str, object] = {}
        while True:
            page = mapped(job, lambda: self._objects.list_objects_v2(Bucket=bucket, Prefix=folder, **after))  # noqa: B023
            for entry in cast("list[Mapping[str, str]]", page.get("Contents") or []):
                if entry["Key"].endswith(_RESULTS):
                    yield entry["Key"]
            if not page.get("IsTruncated"):
                return
            after = {"ContinuationToken": page["NextContinuationToken"]}

    def _copy(self, bucket: str, key: str, *, file: IO[bytes]) -> None:
        with contextlib.closing(cast("IO[bytes]", self._objects.get_object(Bucket=bucket, Key=key)["Body"])) as body:
            shutil.copyfileobj(body, file, _BLOCK)


def bedrock_jobs() -> BedrockJobs:
    """Access to batch jobs, with the credentials and the region that boto3 finds.

    Raises
    ------
    MissingExtraError
        boto3 is not installed, or is too old for batches of the type ``Converse``.
    ModelAccessError
        No region is configured.
    """
    jobs = bedrock_client("bedrock", "bedrock")
    if not _knows_type(jobs):
        raise MissingExtraError("aws", "batches of Bedrock (the installed boto3 is too old for them; add --upgrade)")
    return BedrockJobs(jobs, bedrock_client("s3", "bedrock"))


def _knows_type(client: object) -> bool:
    model = getattr(getattr(client, "meta", None), "service_model", None)
    if model is None:
        return True
    return TYPE_PARAMETER in model.operation_model("CreateModelInvocationJob").input_shape.members


def _place(uri: str) -> tuple[str, str]:
    """Bucket and folder of an S3 uri; the folder ends with a slash or is empty."""
    parts = urlsplit(uri)
    if parts.scheme != "s3" or not parts.netloc or parts.query or parts.fragment:
        raise InputError(f"{uri}: not a folder in S3; write s3://bucket/folder/")
    folder = parts.path.strip("/")
    return parts.netloc, f"{folder}/" if folder else ""


def _digest(batch: Path) -> str:
    try:
        size = batch.stat().st_size
        with batch.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:40]
    except OSError as error:
        raise InputError(
            f"{batch}: the batch cannot be read ({error.strerror}); write it with hlgraph extract export"
        ) from error
    if not size:
        raise InputError(f"{batch}: the batch is empty, since no call is left; run hlgraph ingest --extract chat")
    return digest


def _whole(state: Mapping[str, object], name: str) -> int:
    value = state.get(name)
    return value if isinstance(value, int) else 0
