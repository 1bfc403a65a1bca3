"""Embedding and reranking with Amazon Bedrock, through boto3 and the credentials that it finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Protocol, cast

import msgspec

from hlgraph.errors import MissingExtraError, UnknownNameError
from hlgraph.models.calls import PATIENT, Patience, set_up
from hlgraph.models.remote import AT_ONCE, RemoteEmbedder, RemoteReranker

_CONNECT_SECONDS = 10.0
_TEXTS = 96  # limit of one embedding call of a Cohere model
_LONGEST = 2048  # characters that it accepts of each text
_AT_ONCE = 8  # concurrent calls to Titan, which takes one text per call
_DOCUMENTS = 1000
_LONGEST_DOCUMENT = 32_000


class ClientMeta(Protocol):
    """Where a client of boto3 sends its calls."""

    region_name: str
    partition: str


class RuntimeClient(Protocol):
    """The part of boto3's client ``bedrock-runtime`` that is used here."""

    def invoke_model(self, *, modelId: str, body: bytes) -> Mapping[str, object]:  # noqa: N803 - the names of AWS
        """The answer of a model; its ``body`` is a stream of JSON.

        Parameters
        ----------
        modelId : id of the model, or the ARN of an inference profile
        body : the request, JSON in UTF-8

        Returns
        -------
        Mapping
            The answer.
        """


class AgentClient(Protocol):
    """The part of boto3's client ``bedrock-agent-runtime`` that is used here."""

    meta: ClientMeta

    def rerank(self, **request: object) -> Mapping[str, object]:
        """One page of results."""


def bedrock_client(
    service: str, name: str, *, region: str = "", url: str = "", timeout: float = 60.0
) -> RuntimeClient | AgentClient:
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
    RuntimeClient or AgentClient
        The client.

    Raises
    ------
    MissingExtraError
        boto3 is not installed.
    ModelAccessError
        No region is configured.
    """
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise MissingExtraError("aws", f"the model {name}") from error
    config = Config(
        connect_timeout=_CONNECT_SECONDS, read_timeout=timeout, retries={"total_max_attempts": 1, "mode": "standard"}
    )
    made: RuntimeClient | AgentClient = set_up(
        name,
        lambda: boto3.session.Session().client(
            service, region_name=region or None, endpoint_url=url or None, config=config
        ),
    )
    return made


def bedrock_embedder(
    client: RuntimeClient, model: str, *, dimensions: int | None = None, patience: Patience = PATIENT
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
        found = ask({"texts": clipped, "input_type": kind, "truncate": "END"})["embeddings"]
        # Newer models group the vectors by number type.
        return cast("list[list[float]]", found["float"] if isinstance(found, dict) else found)

    name = f"bedrock:{model}" + (f"/{dimensions}" if dimensions else "")
    if family == "titan":
        return RemoteEmbedder(name, titan, batch=1, dimensions=dimensions, parallel=_AT_ONCE, patience=patience)
    return RemoteEmbedder(name, cohere, batch=_TEXTS, dimensions=dimensions, parallel=AT_ONCE, patience=patience)


def bedrock_reranker(client: AgentClient, model: str, *, patience: Patience = PATIENT) -> RemoteReranker:
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


def _pages(client: AgentClient, request: dict[str, object]) -> Iterator[tuple[int, float]]:
    while True:
        page = client.rerank(**request)
        for item in cast("list[Mapping[str, float]]", page["results"]):
            yield int(item["index"]), item["relevanceScore"]
        if not page.get("nextToken"):
            return
        request["nextToken"] = page["nextToken"]
