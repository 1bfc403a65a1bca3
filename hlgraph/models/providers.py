"""Create the model for a name ``provider:model``, from a closed set of providers. Only their packages read API keys.

Chat: ``openai`` (or any server with a compatible API, by its url), ``anthropic``, ``bedrock``, ``ollama``. Embedders:
``openai``, ``ollama``, ``cohere``, ``bedrock``. Rerankers: ``cohere``, ``bedrock``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from hlgraph.errors import UnknownNameError, needs_extra
from hlgraph.models.calls import PATIENT, Patience, set_up
from hlgraph.models.remote import AT_ONCE, RemoteEmbedder, RemoteReranker

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from hlgraph.models.langchain import LangChainChat


_OLLAMA_CONTEXT = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to reach a provider.

    Attributes
    ----------
    url : URL of the server; empty: the provider's own
    region : AWS region; empty: the one that boto3 finds
    timeout : time limit for one call, in seconds
    dimensions : vector length requested from an embedding model that offers a choice; None: the model's own
    patience : the retry policy
    """

    url: str = ""
    region: str = ""
    timeout: float = 60.0
    dimensions: int | None = None
    patience: Patience = PATIENT


class _Integration(NamedTuple):
    """A class of a LangChain integration: its module and name, the extra that installs it, its constructor arguments."""

    module: str
    name: str
    extra: str
    arguments: Callable[[Connection], dict[str, object]]


# The integrations' own retries are off: ours are bounded and honour Retry-After.


def _openai_chat(to: Connection) -> dict[str, object]:
    return {"timeout": to.timeout, "max_retries": 0, **({"base_url": to.url} if to.url else {})}


def _openai_embeddings(to: Connection) -> dict[str, object]:
    more = {"dimensions": to.dimensions} if to.dimensions else {}
    # Texts are sent as they are: cutting them by tokens would download a tokenizer.
    return {**_openai_chat(to), **more, "check_embedding_ctx_length": False}


def _ollama(to: Connection) -> dict[str, object]:
    return {"client_kwargs": {"timeout": to.timeout}, **({"base_url": to.url} if to.url else {})}


def _ollama_chat(to: Connection) -> dict[str, object]:
    # Ollama's default context is too small for an extraction prompt with its reply, and Ollama truncates silently.
    return {**_ollama(to), "num_ctx": _OLLAMA_CONTEXT}


def _bedrock_chat(to: Connection) -> dict[str, object]:
    from botocore.config import Config

    config = Config(connect_timeout=10, read_timeout=to.timeout, retries={"total_max_attempts": 1, "mode": "standard"})
    arguments: dict[str, object] = {"config": config}
    if to.region:
        arguments["region_name"] = to.region
    if to.url:
        arguments["base_url"] = to.url
    return arguments


_CHAT: Mapping[str, _Integration] = {
    "anthropic": _Integration("langchain_anthropic", "ChatAnthropic", "anthropic", _openai_chat),
    "bedrock": _Integration("langchain_aws", "ChatBedrockConverse", "bedrock", _bedrock_chat),
    "ollama": _Integration("langchain_ollama", "ChatOllama", "ollama", _ollama_chat),
    "openai": _Integration("langchain_openai", "ChatOpenAI", "openai", _openai_chat),
}
_EMBEDDINGS: Mapping[str, _Integration] = {
    "ollama": _Integration("langchain_ollama", "OllamaEmbeddings", "ollama", _ollama),
    "openai": _Integration("langchain_openai", "OpenAIEmbeddings", "openai", _openai_embeddings),
}
CHAT_PROVIDERS = tuple(sorted(_CHAT))
EMBEDDER_PROVIDERS = tuple(sorted((*_EMBEDDINGS, "bedrock", "cohere")))
RERANKER_PROVIDERS = ("bedrock", "cohere")


def split_name(name: str, providers: tuple[str, ...], *, kind: str) -> tuple[str, str]:
    """Provider and model of ``provider:model``.

    Parameters
    ----------
    name : the name
    providers : the providers of this kind of model
    kind : kind of model, for the error, such as ``chat model``

    Returns
    -------
    tuple
        Provider and model.

    Raises
    ------
    UnknownNameError
        The provider is not one of ``providers``, or the model is empty.

    Examples
    --------
    >>> split_name("ollama:llama3:8b", ("ollama",), kind="chat model")
    ('ollama', 'llama3:8b')
    """
    provider, _, model = name.partition(":")
    if provider not in providers or not model.strip():
        raise UnknownNameError(
            f"{name!r} is not a known {kind}; write provider:model with one of the providers {', '.join(providers)}"
        )
    return provider, model.strip()


def chat_named(name: str, connection: Connection) -> LangChainChat:
    """The chat model ``provider:model``.

    Parameters
    ----------
    name : ``provider:model``
    connection : how to reach the provider

    Returns
    -------
    LangChainChat
        The chat model.

    Raises
    ------
    UnknownNameError
        No such provider.
    MissingExtraError
        The provider's package is not installed; the message holds the pip command.
    ModelAccessError
        The client cannot be created, for example without a key.
    """
    provider, model = split_name(name, CHAT_PROVIDERS, kind="chat model")
    chat = cast("BaseChatModel", _make(_CHAT[provider], name, model=model, connection=connection))
    from hlgraph.models.langchain import LangChainChat

    return LangChainChat(chat, name=name, patience=connection.patience)


def embedder_named(name: str, connection: Connection) -> RemoteEmbedder:
    """The embedder ``provider:model``. Raises as :func:`chat_named` does.

    Parameters
    ----------
    name : ``provider:model``
    connection : how to reach the provider

    Returns
    -------
    RemoteEmbedder
        The embedder.
    """
    provider, model = split_name(name, EMBEDDER_PROVIDERS, kind="embedder")
    if provider == "cohere":
        from hlgraph.models.cohere import cohere_client, cohere_embedder

        client = cohere_client(name, url=connection.url, timeout=connection.timeout)
        return cohere_embedder(client, model, dimensions=connection.dimensions, patience=connection.patience)
    if provider == "bedrock":
        from hlgraph.models.bedrock import bedrock_client, bedrock_embedder

        runtime = bedrock_client(
            "bedrock-runtime", name, region=connection.region, url=connection.url, timeout=connection.timeout
        )
        return bedrock_embedder(runtime, model, dimensions=connection.dimensions, patience=connection.patience)
    embeddings = cast("Embeddings", _make(_EMBEDDINGS[provider], name, model=model, connection=connection))
    from hlgraph.models.langchain import langchain_embedder

    chosen = connection.dimensions if provider == "openai" else None
    return langchain_embedder(
        embeddings,
        name=f"{name}/{chosen}" if chosen else name,
        dimensions=connection.dimensions,
        parallel=AT_ONCE if provider == "openai" else 1,
        patience=connection.patience,
    )


def reranker_named(name: str, connection: Connection) -> RemoteReranker:
    """The reranker ``provider:model``. Raises as :func:`chat_named` does.

    Parameters
    ----------
    name : ``provider:model``
    connection : how to reach the provider

    Returns
    -------
    RemoteReranker
        The reranker.
    """
    provider, model = split_name(name, RERANKER_PROVIDERS, kind="reranker")
    if provider == "cohere":
        from hlgraph.models.cohere import cohere_client, cohere_reranker

        client = cohere_client(name, url=connection.url, timeout=connection.timeout)
        return cohere_reranker(client, model, patience=connection.patience)
    from hlgraph.models.bedrock import bedrock_client, bedrock_reranker

    agent = bedrock_client(
        "bedrock-agent-runtime", name, region=connection.region, url=connection.url, timeout=connection.timeout
    )
    return bedrock_reranker(agent, model, patience=connection.patience)


def _make(integration: _Integration, name: str, *, model: str, connection: Connection) -> object:
    with needs_extra(integration.extra, f"the model {name}"):
        module = import_module(integration.module)
    constructor = getattr(module, integration.name)
    return set_up(name, lambda: constructor(model=model, **integration.arguments(connection)))
