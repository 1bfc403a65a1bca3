"""Batches of Amazon Bedrock: the file goes to S3, the job is made by a local server that speaks its protocol, and comes back.

S3 is moto's server; boto3 speaks to both over HTTP. Moto has no batch jobs.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import boto3
import pytest
from chat_server import Asked, good_reply, usage_tokens
from ingest_keywords import keywords
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import hlgraph
from hlgraph.cli import main
from hlgraph.errors import InputError, MissingExtraError, ModelAccessError, ModelAnswerError
from hlgraph.models import bedrock as jobs_module
from hlgraph.models.accounts.ledger import total
from hlgraph.models.bedrock import bedrock_jobs
from hlgraph.sdk.client import HLGraph, IngestOptions
from hlgraph.settings import ModelSettings, Price, Settings
from hlgraph.testing.chat import ScriptedChat
from hlgraph.testing.embedder import WordEmbedder

MODEL = "anthropic.claude-3-haiku-20240307-v1:0"
NAME = f"bedrock:{MODEL}"
ROLE = "arn:aws:iam::123456789012:role/batch"
CHAT = IngestOptions(extract="chat")
DOCUMENTS = sorted((Path(hlgraph.__file__).parent / "samples").glob("*.md"))[:2]


_ONE = re.compile(r"/model-invocation-job/.+")


class Bedrock:
    """Batch jobs as Amazon makes them: of files in S3, once a token, results beside the file in another order."""

    def __init__(self, server: HTTPServer) -> None:
        self.jobs: dict[str, dict[str, Any]] = {}
        self.tokens: dict[str, str] = {}
        self.status = "Completed"
        server.expect_request("/model-invocation-job", method="POST").respond_with_handler(self._create)
        server.expect_request(_ONE, method="GET").respond_with_handler(self._get)

    def _create(self, request: Request) -> Response:
        asked = request.get_json()
        if asked["roleArn"] != ROLE:
            body = {"message": "the role cannot be assumed"}
            return _answer(body, 403, error="AccessDeniedException")
        token = asked["clientRequestToken"]
        if token not in self.tokens:
            arn = f"arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/{uuid.uuid4().hex[:12]}"
            self.jobs[arn], self.tokens[token] = asked, arn
        return _answer({"jobArn": self.tokens[token]})

    def _get(self, request: Request) -> Response:
        arn = unquote(request.path.removeprefix("/model-invocation-job/"))
        if arn not in self.jobs:
            return _answer({"message": "there is no such job"}, 404, error="ResourceNotFoundException")
        job = self.jobs[arn]
        lines = self._sent(job)
        if self.status == "Completed":
            self._make(arn, job, lines)
        body = {
            **job,
            "jobArn": arn,
            "status": self.status,
            "submitTime": "2026-01-01T00:00:00Z",
            "totalRecordCount": len(lines),
            "processedRecordCount": len(lines) if self.status == "Completed" else 0,
            "errorRecordCount": 0,
        }
        return _answer(body | ({"message": "too few lines"} if self.status == "Failed" else {}))

    def _sent(self, job: dict[str, Any]) -> list[Any]:
        bucket, key = _place(job["inputDataConfig"]["s3InputDataConfig"]["s3Uri"])
        body = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
        return [json.loads(line) for line in body.decode().splitlines()]

    def _make(self, arn: str, job: dict[str, Any], lines: list[Any]) -> None:
        assert (job["modelId"], job["modelInvocationType"]) == (MODEL, "Converse")
        made = []
        for line in lines:
            (system,), (message,) = line["modelInput"]["system"], line["modelInput"]["messages"]
            text = good_reply(Asked(system["text"], message["content"][0]["text"]))
            usage = {"inputTokens": usage_tokens(system["text"]), "outputTokens": usage_tokens(text)}
            content = [{"reasoningContent": {"reasoningText": {"text": "..."}}}, {"text": text}]
            output = {"output": {"message": {"role": "assistant", "content": content}}, "usage": usage}
            made.append({**line, "modelOutput": {**output, "stopReason": "end_turn"}})
        bucket, folder = _place(job["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"])
        place = f"{folder.rstrip('/')}/{arn.rpartition('/')[2]}".lstrip("/")
        name = job["inputDataConfig"]["s3InputDataConfig"]["s3Uri"].rpartition("/")[2]
        half = len(made) // 2
        objects = {
            f"{place}/{name}.out": made[half:][::-1],
            f"{place}/more.jsonl.out": made[:half],
            f"{place}/manifest.json.out": [{"totalRecordCount": len(made)}],
        }
        for key, rows in objects.items():
            body = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
            boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=body)


def _answer(body: object, status: int = 200, *, error: str = "") -> Response:
    headers = {"x-amzn-errortype": error} if error else {}
    return Response(json.dumps(body), status, headers, content_type="application/json")


def _place(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


@pytest.fixture
def bedrock(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Bedrock]:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_ENDPOINT_URL_S3": s3,
    }.items():
        monkeypatch.setenv(name, value)
    with HTTPServer(threaded=True) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK", server.url_for("").rstrip("/"))
        yield Bedrock(server)


@pytest.fixture
def folder(bedrock: Bedrock) -> str:
    name = f"b-{uuid.uuid4().hex[:12]}"
    boto3.client("s3").create_bucket(Bucket=name)
    return f"s3://{name}/batches/"


def opened(folder: Path, chat: ScriptedChat | str = NAME) -> HLGraph:
    models = ModelSettings(prices={NAME: Price(1.0, 2.0)}, quarantine=str(folder / "quarantine"))
    return hlgraph.connect(
        Settings(store=f"hlgraph://{folder}/store", models=models), embedder=WordEmbedder(), chat=chat
    )


def run(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def nothing(system: str, user: str) -> str:
    raise AssertionError("nothing is left to be asked")


def test_two_rounds_and_an_ingest_asks_nothing(tmp_path: Path, bedrock: Bedrock, folder: str) -> None:
    batch, results = tmp_path / "batch.jsonl", tmp_path / "results.jsonl"
    jobs = bedrock_jobs()
    with opened(tmp_path) as graph:
        calls = 0
        for _ in range(2):
            exported = graph.batches.export(DOCUMENTS, CHAT, path=batch)
            job = jobs.submit(batch, model=MODEL, to=folder, role=ROLE)
            assert (job.is_ended, job.records, job.failed) == (True, exported.calls, 0)
            assert jobs.submit(batch, model=MODEL, to=folder, role=ROLE).name == job.name
            assert jobs.fetch(job.name, out=results).has_results
            taken = graph.batches.take(DOCUMENTS, CHAT, results=[results])
            assert (taken.calls, taken.waiting, taken.refused, taken.unknown) == (exported.calls, 0, 0, 0)
            calls += taken.calls
        assert len(bedrock.jobs) == 2
        assert graph.batches.export(DOCUMENTS, CHAT, path=batch).calls == 0
        spent = total(graph.ledger())
        assert spent.calls == calls > 10
        assert spent.usd == pytest.approx((spent.input_tokens + 2 * spent.output_tokens) / 2e6)
    with opened(tmp_path, ScriptedChat(nothing, name=NAME)) as graph:
        assert graph.ingest(DOCUMENTS, **keywords(CHAT)).problems == []


def test_the_command_line(
    tmp_path: Path, bedrock: Bedrock, folder: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch, results = tmp_path / "batch.jsonl", tmp_path / "results.jsonl"
    with opened(tmp_path) as graph:
        calls = graph.batches.export(DOCUMENTS, CHAT, path=batch).calls
    bedrock.status = "InProgress"
    monkeypatch.setenv("HLGRAPH_CHAT", NAME)
    assert run(["extract", "submit", str(batch), "--to", folder, "--role", ROLE]) == 0
    said = capsys.readouterr().out
    assert f"InProgress, 0 of {calls}" in said
    arn = next(line.split()[1] for line in said.splitlines() if line.startswith("job: "))
    assert run(["extract", "fetch", arn, "--out", str(results)]) == 1
    assert "no results yet" in capsys.readouterr().out
    assert not results.exists()
    bedrock.status = "Completed"
    assert run(["extract", "fetch", arn, "--out", str(results), "--wait", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(results)
    assert len(results.read_text().splitlines()) == calls
    bedrock.status = "Failed"
    assert run(["extract", "fetch", arn, "--out", str(tmp_path / "none.jsonl")]) == 1
    said = capsys.readouterr().out
    assert "message: too few lines" in said
    assert "the job ended without results" in said
    assert run(["extract", "submit", str(batch), "--to", folder, "--role", ROLE, "--again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] != arn
    monkeypatch.setenv("HLGRAPH_CHAT", "openai:m")
    assert run(["extract", "submit", str(batch), "--to", folder, "--role", ROLE]) == 2
    assert "name the model with --chat bedrock:MODEL" in capsys.readouterr().err


def test_waiting_asks_until_the_job_has_ended(
    tmp_path: Path, bedrock: Bedrock, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = tmp_path / "batch.jsonl"
    with opened(tmp_path) as graph:
        graph.batches.export(DOCUMENTS, CHAT, path=batch)
    bedrock.status = "Scheduled"
    jobs = bedrock_jobs()
    job = jobs.submit(batch, model=MODEL, to=folder, role=ROLE)
    waited, seen = [], []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        bedrock.status = "InProgress" if len(waited) == 1 else "Completed"

    monkeypatch.setattr(jobs_module.time, "sleep", sleep)
    assert jobs.wait(job.name, every=7.0, on_poll=lambda job: seen.append(job.status)).has_results
    assert (waited, seen) == ([7.0, 7.0], ["Scheduled", "InProgress", "Completed"])


def test_what_is_wrong_is_said(tmp_path: Path, bedrock: Bedrock, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = bedrock_jobs()
    batch = tmp_path / "batch.jsonl"
    with pytest.raises(InputError, match="write it with hlgraph extract export"):
        jobs.submit(batch, model=MODEL, to=folder, role=ROLE)
    batch.touch()
    with pytest.raises(InputError, match="no call is left"):
        jobs.submit(batch, model=MODEL, to=folder, role=ROLE)
    with opened(tmp_path) as graph:
        graph.batches.export(DOCUMENTS, CHAT, path=batch)
        with pytest.raises(InputError, match="not the one that was sent"):
            graph.batches.take(DOCUMENTS, CHAT, results=[batch])
    for place in ("/here", "s3://", "https://bucket/x", "s3://b/x?y"):
        with pytest.raises(InputError, match="write s3://bucket/folder/"):
            jobs.submit(batch, model=MODEL, to=place, role=ROLE)
    with pytest.raises(ModelAccessError, match="the role cannot be assumed"):
        jobs.submit(batch, model=MODEL, to=folder, role=ROLE.replace("batch", "other"))
    with pytest.raises((ModelAccessError, ModelAnswerError), match="bucket"):
        jobs.submit(batch, model=MODEL, to="s3://there-is-none/x/", role=ROLE)
    with pytest.raises((ModelAccessError, ModelAnswerError), match="there is no such job"):
        jobs.fetch("arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/none", out=tmp_path / "r.jsonl")
    job = jobs.submit(batch, model=MODEL, to=folder, role=ROLE)
    with pytest.raises(InputError, match="choose another"):
        jobs.fetch(job.name, out=tmp_path / "nowhere" / "r.jsonl")
    monkeypatch.setattr(jobs_module, "TYPE_PARAMETER", "notThere")
    with pytest.raises(MissingExtraError, match="too old"):
        bedrock_jobs()


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    """Other ends of lines may stand raw in the text of a reply."""
    results = tmp_path / "results.jsonl"
    output = {"output": {"message": {"content": [{"text": "a\u2028b\x85c"}]}}, "stopReason": "end_turn"}
    results.write_text(
        f"{json.dumps({'recordId': 'x', 'modelOutput': output}, ensure_ascii=False)}\n", encoding="utf-8"
    )
    with opened(tmp_path) as graph:
        assert graph.batches.take(DOCUMENTS, CHAT, results=[results]).unknown == 1
