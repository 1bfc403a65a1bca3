"""Reading from S3, by boto3 against a local server that speaks its interface."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.client
import pytest
from ingest_keywords import keywords
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import hlgraph
from hlgraph.errors import InputError
from hlgraph.ingest.options import IngestOptions
from hlgraph.read import ReadFailure, ReadOptions, covered, read, source_uri
from hlgraph.read.s3 import objects
from hlgraph.records import Document
from hlgraph.testing.embedder import WordEmbedder

_ROWS = b"".join(b'{"id": "r%d", "text": "Row %d.", "year": %d}\n' % (n, n, 1900 + n) for n in range(3))


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aws_models: None) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A bucket with a folder of all kinds of things."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    name = f"b-{abs(hash(request.node.name)) % 10**9}"
    client = boto3.client("s3")
    client.create_bucket(Bucket=name)
    things = {
        "docs/": b"",
        "docs/a.md": "# Bridge\n\nThe bridge in Müllheim is old.".encode(),
        "docs/deep/b c#1.txt": b"The river is wide.",
        "docs/rows.jsonl": _ROWS,
        "docs/packed.txt.gz": gzip.compress(b"It was packed."),
        "docs/.hidden.txt": b"hidden",
        "docs/.git/config.txt": b"hidden",
        "docs/picture.png": b"\x89PNG",
        "docs/damaged.txt": "Grüße äöü".encode() + b"\xff",
        "docs2/other.txt": b"Another folder.",
        "plain": b"No suffix at all.",
    }
    for key, data in things.items():
        client.put_object(Bucket=name, Key=key, Body=data)
    return name


def _split(items: Iterator[Document | ReadFailure]) -> tuple[dict[str, Document], dict[str, str]]:
    found = list(items)
    documents = {item.uri: item for item in found if isinstance(item, Document)}
    return documents, {item.uri: str(item.error) for item in found if isinstance(item, ReadFailure)}


def test_a_folder_gives_what_can_be_read_and_says_what_cannot(bucket: str, caplog: pytest.LogCaptureFixture) -> None:
    documents, failures = _split(read([f"s3://{bucket}/docs/"]))
    root = f"s3://{bucket}/docs"
    assert {uri.removeprefix(root) for uri in documents} == {
        "/a.md",
        "/deep/b%20c%231.txt",
        "/packed.txt.gz",
        "/rows.jsonl#r0",
        "/rows.jsonl#r1",
        "/rows.jsonl#r2",
    }
    assert documents[f"{root}/a.md"].title == "Bridge"
    assert documents[f"{root}/a.md"].metadata["filename"] == "a.md"
    assert documents[f"{root}/packed.txt.gz"].text == "It was packed."
    assert documents[f"{root}/rows.jsonl#r1"].metadata == {"year": 1901}
    assert list(failures) == [f"{root}/damaged.txt"]
    assert "--encoding" in failures[f"{root}/damaged.txt"]
    assert "no reader for .png (1)" in caplog.text


def test_one_object_is_one_path_whatever_its_suffix(bucket: str) -> None:
    documents, failures = _split(read([f"s3://{bucket}/plain", f"s3://{bucket}/docs/deep/b c#1.txt"]))
    assert failures == {}
    assert [item.text for item in documents.values()] == ["No suffix at all.", "The river is wide."]


def test_the_whole_bucket_and_what_two_paths_reach_once(bucket: str) -> None:
    documents, _ = _split(read([f"s3://{bucket}", f"s3://{bucket}/docs/", f"s3://{bucket}/docs2/other.txt"]))
    assert len(documents) == 8  # with the file without a suffix


def test_more_objects_than_one_page(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", httpserver.url_for("").rstrip("/"))

    def page(request: Request) -> Response:
        token = request.args.get("continuation-token", "")
        keys = {"": ["many/1.txt", "many/2.txt"], "next": ["many/3.txt", "many/"]}[token]
        more = "" if token else "<NextContinuationToken>next</NextContinuationToken>"
        contents = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in keys)
        body = (
            f"<ListBucketResult><IsTruncated>{str(not token).lower()}</IsTruncated>{more}{contents}</ListBucketResult>"
        )
        return Response(body, content_type="application/xml")

    httpserver.expect_request("/b", query_string=None).respond_with_handler(page)
    assert [item.place.key for item in objects("s3://b/many/")] == ["many/1.txt", "many/2.txt", "many/3.txt"]
    httpserver.check_handler_errors()


def test_limits_hold(bucket: str) -> None:
    boto3.client("s3").put_object(Bucket=bucket, Key="big/a.txt", Body=b"word " * 400_000)
    _, failures = _split(read([f"s3://{bucket}/big/"], ReadOptions(max_bytes=100_000)))
    assert "is larger than 100,000 bytes" in next(iter(failures.values()))
    documents, _ = _split(read([f"s3://{bucket}/big/"]))
    assert len(next(iter(documents.values())).text) == 2_000_000


@pytest.mark.parametrize(
    ("path", "uri", "says"),
    [
        ("s3://", "s3://", "names no bucket"),
        ("s3:/bucket/a.txt", "s3:/bucket/a.txt", "has lost a slash; give s3://bucket/key as text"),
        ("s3://no-such-bucket-here/", "s3://no-such-bucket-here/", "there is no such bucket"),
        ("s3://no-such-bucket-here/a.txt", "s3://no-such-bucket-here/a.txt", "there is no such bucket"),
        (
            "s3://{bucket}/gone.txt",
            "s3://{bucket}/gone.txt",
            "there is no such object; check the key; to read all objects",
        ),
        ("s3://{bucket}/gone/", "s3://{bucket}/gone/", "holds no object that can be read"),
        ("s3://Bad_Name!/x", "s3://Bad_Name!/x", "Invalid bucket name"),
    ],
)
def test_what_is_not_there_is_one_clear_failure(bucket: str, path: str, uri: str, says: str) -> None:
    documents, failures = _split(read([path.format(bucket=bucket)]))
    assert (documents, list(failures)) == ({}, [uri.format(bucket=bucket)])
    assert says in next(iter(failures.values()))


def test_missing_credentials_are_said(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for path in (f"s3://{bucket}/docs/", f"s3://{bucket}/plain"):
        _, failures = _split(read([path]))
        assert "no AWS credentials were found; set AWS_PROFILE, or AWS_ACCESS_KEY_ID" in next(iter(failures.values()))


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        (403, "AccessDenied", "access is denied; the credentials need s3:GetObject for objects and s3:ListBucket"),
        (403, "InvalidAccessKeyId", "the credentials are refused"),
        (400, "ExpiredToken", "the credentials have expired"),
        (403, "InvalidObjectState", "the object is archived; restore it first"),
        (500, "Odd", "S3 answers Odd (oh dear)"),
    ],
)
def test_a_refusal_is_said(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, status: int, code: str, says: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", httpserver.url_for("").rstrip("/"))
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>oh dear</Message></Error>"
    httpserver.expect_request("/b/a.txt").respond_with_data(body, status=status, content_type="application/xml")
    httpserver.expect_request("/b").respond_with_data(body, status=status, content_type="application/xml")
    for path in ("s3://b/a.txt", "s3://b/docs/"):
        _, failures = _split(read([path]))
        assert list(failures) == [path]
        assert says in failures[path]


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    _, failures = _split(read(["s3://b/a.txt"]))
    assert "S3 cannot be reached" in failures["s3://b/a.txt"]


@pytest.mark.parametrize(("breaks", "is_read"), [(2, True), (9, False)])
def test_a_stream_that_breaks_is_taken_up_where_it_broke(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, breaks: int, is_read: bool
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", httpserver.url_for("").rstrip("/"))
    whole = "".join(f"Sentence number {number}. " for number in range(1000)).encode()
    asked: list[tuple[str | None, str | None]] = []

    def serve(request: Request) -> Response:
        span = request.headers.get("Range")
        asked.append((span, request.headers.get("If-Match")))
        rest = whole[int(span.removeprefix("bytes=").rstrip("-")) :] if span else whole
        is_cut = len(asked) <= breaks
        response = Response(rest[: len(rest) // 3] if is_cut else rest, status=206 if span else 200)
        response.automatically_set_content_length = False
        response.headers["Content-Length"] = str(len(rest))
        response.headers["ETag"] = '"e1"'
        return response

    httpserver.expect_request("/b/a.txt").respond_with_handler(serve)
    documents, failures = _split(read(["s3://b/a.txt"]))
    if is_read:
        assert documents["s3://b/a.txt"].text == whole.decode()
        assert asked[0] == (None, None)
        assert all(span and tag == '"e1"' for span, tag in asked[1:])
    else:
        assert "the connection broke 4 times" in failures["s3://b/a.txt"]


def test_names_for_finding_what_is_missing() -> None:
    assert covered(["s3://b/d/", "s3://b/a b.md", "s3://b"]) == (
        "s3://b/d/",
        "s3://b/a%20b.md",
        "s3://b/a%20b.md#",
        "s3://b/",
    )
    assert source_uri("s3://b/a b.md") == "s3://b/a%20b.md"


def test_ingest_edit_and_delete_what_is_missing(bucket: str, tmp_path: Path) -> None:
    client = boto3.client("s3")
    client.delete_object(Bucket=bucket, Key="docs/damaged.txt")
    options = IngestOptions(delete_missing=True)
    path = f"s3://{bucket}/docs/"
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        report = graph.ingest([path], **keywords(options))
        assert (report.sources_added, report.failed) == (6, [])
        assert graph.ingest([path], **keywords(options)).sources_unchanged == 6
        client.put_object(Bucket=bucket, Key="docs/a.md", Body=b"# Bridge\n\nIt fell.")
        client.delete_object(Bucket=bucket, Key="docs/packed.txt.gz")
        report = graph.ingest([path], **keywords(options))
        assert (report.sources_changed, report.sources_removed, report.sources_unchanged) == (1, 1, 4)
        graph.delete([f"s3://{bucket}/docs/deep/b c#1.txt"])
        gone = graph.ingest([f"s3://{bucket}-gone/docs/"], **keywords(options))
        assert (gone.sources_removed, len(gone.failed)) == (0, 1)
        assert graph.stats()[0].records["source"] == 4


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls of S3 from now on."""
    calls: list[str] = []
    real = botocore.client.BaseClient._make_api_call

    def call(self: Any, name: str, arguments: Any) -> Any:
        calls.append(name)
        return real(self, name, arguments)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", call)
    return calls


def test_groups_come_from_tags_and_a_change_of_tags_alone_takes_effect(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = boto3.client("s3")

    def tag(key: str, **tags: str) -> None:
        pairs = [{"Key": name, "Value": value} for name, value in tags.items()]
        client.put_object_tagging(Bucket=bucket, Key=key, Tagging={"TagSet": pairs})

    client.put_object(Bucket=bucket, Key="docs/a.md", Body=b"---\nacl: public\n---\nThe bridge fell in May.")
    tag("docs/a.md", acl="board finance", other="public")
    tag("docs/rows.jsonl", acl="staff")
    tag("docs/deep/b c#1.txt", acl=" ")
    path, root = f"s3://{bucket}/docs/", f"s3://{bucket}/docs"
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        calls = _counted(monkeypatch)
        report = graph.ingest(path, acl_tag="acl", acl="public")
        assert Counter(calls) == {"ListObjectsV2": 1, "GetObjectTagging": 5, "GetObject": 2}
        said = {failure.uri.removeprefix(root): failure.error for failure in report.failed}
        assert set(said) == {"/damaged.txt", "/packed.txt.gz", "/deep/b%20c%231.txt"}
        assert "has no tag 'acl' that names its groups; add the tag" in said["/packed.txt.gz"]
        assert "names no group in its tag 'acl'" in said["/deep/b%20c%231.txt"]
        assert graph.groups.list() == {"board": 1, "finance": 1, "staff": 3}
        assert not graph.as_caller({"public"}).search("Which bridge fell?").evidence

        tag("docs/a.md", acl="staff")
        report = graph.ingest(path, acl_tag="acl")
        assert (report.sources_changed, report.sources_unchanged, sum(report.added.values())) == (1, 3, 0)
        assert graph.groups.list() == {"staff": 4}

        client.delete_object_tagging(Bucket=bucket, Key="docs/a.md")
        report = graph.ingest(path, acl_tag="acl", delete_missing=True)
        assert (report.sources_changed, report.sources_removed, report.sources_unchanged) == (0, 0, 3)
        assert graph.groups.list() == {"staff": 4}  # what cannot be read stays as it is

        del calls[:]
        graph.ingest(f"{root}/a.md")
        assert "GetObjectTagging" not in calls


def test_tags_that_may_not_be_read_are_one_failure_and_nothing_is_public(
    bucket: str, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", httpserver.url_for("").rstrip("/"))
    body = "<Error><Code>AccessDenied</Code><Message>no</Message></Error>"
    httpserver.expect_request("/b/a.txt", query_string="tagging").respond_with_data(body, 403, content_type="text/xml")
    with hlgraph.connect(f"hlgraph://{tmp_path}/s", embedder=WordEmbedder()) as graph:
        (failure,) = graph.ingest("s3://b/a.txt", acl_tag="acl").failed
        assert failure.error == "s3://b/a.txt: access to its tags is denied; the credentials need s3:GetObjectTagging"
        assert graph.stats() == ()
        with pytest.raises(InputError, match=r"acl_tag 'acl' has no effect: .* no path is s3://"):
            graph.ingest([Document("doc:1", "A text.")], acl_tag="acl")
        with pytest.raises(InputError, match="acl_tag is empty"):
            graph.ingest("s3://b/a.txt", acl_tag=" ")
