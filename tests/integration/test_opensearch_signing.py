"""Requests for the Amazon service and its serverless form are signed: a server here signs them again and compares."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from opensearch_proxy import Forward, Proxy, Reply, Request, proxied

from hlgraph.errors import MissingExtraError, SettingsError, StoreError
from hlgraph.records import Kind
from hlgraph.settings import OpenSearchSettings
from hlgraph.stores.opensearch.connection import Connection
from hlgraph.stores.opensearch.vectors import OpenSearchVectorStore
from hlgraph.stores.opensearch.wire import Anything

_KEY, _SECRET, _TOKEN = "AKIDEXAMPLE", "secret/EXAMPLE+KEY", "token-of-the-session"
_JSON = {"content-type": "application/json"}
_REGION = "eu-central-1"


def signature(request: Request, url: str, *, service: str) -> str:
    """What the sender should have signed with, computed from what arrived."""
    names = re.search(r"SignedHeaders=([^,]+)", request.headers["authorization"])
    assert names is not None
    signed = {name: request.headers[name] for name in names[1].split(";") if name != "host"}
    again = AWSRequest(request.method, url + request.path, headers=signed, data=request.body)
    again.context["timestamp"] = request.headers["x-amz-date"]
    auth = SigV4Auth(Credentials(_KEY, _SECRET, _TOKEN), service, _REGION)
    found: str = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
    return found


@pytest.fixture
def checking(request: pytest.FixtureRequest) -> Iterator[tuple[Proxy, str]]:
    """A server that refuses what is not signed by this key for this service, and the name of the service."""
    service = request.param

    def check(sent: Request, _: Forward) -> Reply:
        given = sent.headers.get("authorization", "")
        scope = f"Credential={_KEY}/{sent.headers.get('x-amz-date', '')[:8]}/{_REGION}/{service}/aws4_request"
        is_good = (
            scope in given
            and sent.headers.get("x-amz-security-token") == _TOKEN
            and sent.headers.get("x-amz-content-sha256") == hashlib.sha256(sent.body).hexdigest()
            and given.endswith(f"Signature={signature(sent, proxy.url, service=service)}")
        )
        reason = b'{"message":"The request signature we calculated does not match"}'
        return Reply(200, b"{}", _JSON) if is_good else Reply(403, reason, _JSON)

    with proxied() as proxy:
        proxy.behaviour = check
        yield proxy, service


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", _KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", _SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", _TOKEN)


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("checking", ["es", "aoss"], indirect=True)
def test_every_request_is_signed_for_its_service(checking: tuple[Proxy, str]) -> None:
    proxy, service = checking
    connection = Connection(proxy.url, OpenSearchSettings(service=service, region=_REGION))
    parameters = {"allow_partial_search_results": "false", "if_seq_no": "3", "q": "ä b/c+d"}
    connection.ask("GET", "/hlgraph-*/_mapping", answer=Anything)
    connection.ask("POST", "/a,b/_refresh", answer=Anything)
    connection.ask("POST", "/a/_search", answer=Anything, body={"query": {"term": {"id": "橋"}}}, parameters=parameters)
    connection.ask("POST", "/a/_bulk", answer=Anything, body=b'{"delete":{"_id":"x"}}\n')
    assert len(proxy.requests) == 4
    assert _SECRET not in str(proxy.requests)
    connection.close()


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("checking", ["es"], indirect=True)
def test_a_signature_for_another_service_is_refused(checking: tuple[Proxy, str]) -> None:
    proxy, _ = checking
    connection = Connection(proxy.url, OpenSearchSettings(service="aoss", region=_REGION))
    with pytest.raises(StoreError, match=r"not allowed \(403.*signature"):
        connection.ask("GET", "/x", answer=Anything)
    connection.close()


def test_no_credentials_are_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with proxied() as proxy:
        connection = Connection(proxy.url, OpenSearchSettings(service="es", region=_REGION))
        with pytest.raises(
            SettingsError, match=r"opensearch\.service is es, but boto3 finds no credentials; run: aws configure"
        ):
            connection.ask("GET", "/x", answer=Anything)
        assert proxy.requests == []


def test_a_service_needs_a_region() -> None:
    with pytest.raises(SettingsError, match=r"opensearch\.region is empty"):
        OpenSearchSettings(service="es")


@pytest.mark.parametrize(("module", "extra", "service"), [("opensearchpy", "opensearch", ""), ("boto3", "aws", "es")])
def test_a_missing_extra_is_told_with_its_pip_line(
    monkeypatch: pytest.MonkeyPatch, module: str, extra: str, service: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    store = OpenSearchVectorStore("http://localhost:1", OpenSearchSettings(service=service, region=_REGION))
    with pytest.raises(MissingExtraError, match=rf"pip install 'hlgraph\[{extra}\]'"):
        store.ids(Kind.CHUNK, "c")
