"""Resolve the models that a caller passes or the settings name, and open the accounts of a chat model: ledger and replies.

A name is ``provider:model``. Chat: ``openai`` (or any server with a compatible API, by its url), ``anthropic``, ``bedrock``,
``ollama``. Embedders: ``openai``, ``ollama``, ``cohere``, ``bedrock``. Rerankers: ``cohere``, ``bedrock``. API keys are
read only by the packages of the providers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from hlgraph.errors import InputError, ModelMismatchError, UnknownNameError, needs_extra
from hlgraph.models.accounts.budget import price_of
from hlgraph.models.accounts.ledger import GROUPS, GroupBy, Ledger, Spent
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.cache import CachedEmbedder, cache_file
from hlgraph.models.calls import PATIENT, Patience, set_up
from hlgraph.models.checked import CheckedEmbedder, CheckedReranker
from hlgraph.models.executor import Accounts, Executor
from hlgraph.models.protocols import ChatModel, Embedder, Reranker
from hlgraph.models.remote import AT_ONCE, RemoteEmbedder, RemoteReranker
from hlgraph.records import Kind, Source
from hlgraph.settings import REPLIES_FILE, accounts_folder

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from hlgraph.models.langchain import LangChainChat
    from hlgraph.models.protocols import ChatModel
    from hlgraph.settings import ModelSettings, Settings
    from hlgraph.stores.protocols import CorpusStats, GraphStore, VectorSet

# Models by name, from a closed set of providers.

_OLLAMA_CONTEXT = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How to reach a provider.

    Attributes
    ----------
    url : URL of the server; empty: the provider's default
    region : AWS region; empty: the one that boto3 determines
    timeout : time limit for one call, in seconds
    dimensions : vector length to request from an embedding model that offers a choice; None: the model's default
    patience : the retry policy
    """

    url: str = ""
    region: str = ""
    timeout: float = 60.0
    dimensions: int | None = None
    patience: Patience = PATIENT


class _Integration(NamedTuple):
    """A class of a LangChain integration: its module and name, the extra that installs it, and how to build its arguments."""

    module: str
    name: str
    extra: str
    arguments: Callable[[Connection], dict[str, object]]


# The integrations' own retries are turned off, because ours are bounded and honour Retry-After.


def _openai_chat(connection: Connection) -> dict[str, object]:
    return {
        "timeout": connection.timeout,
        "max_retries": 0,
        **({"base_url": connection.url} if connection.url else {}),
    }


def _openai_embeddings(connection: Connection) -> dict[str, object]:
    dimensions = {"dimensions": connection.dimensions} if connection.dimensions else {}
    # Texts are sent whole, because splitting them by tokens would download a tokenizer.
    return {**_openai_chat(connection), **dimensions, "check_embedding_ctx_length": False}


def _ollama(connection: Connection) -> dict[str, object]:
    return {
        "client_kwargs": {"timeout": connection.timeout},
        **({"base_url": connection.url} if connection.url else {}),
    }


def _ollama_chat(connection: Connection) -> dict[str, object]:
    # Ollama's default context is too small for an extraction prompt with its reply, and Ollama truncates silently.
    return {**_ollama(connection), "num_ctx": _OLLAMA_CONTEXT}


def _bedrock_chat(connection: Connection) -> dict[str, object]:
    from botocore.config import Config

    retries: dict[str, object] = {"total_max_attempts": 1, "mode": "standard"}
    config = Config(connect_timeout=10, read_timeout=connection.timeout, retries=retries)
    arguments: dict[str, object] = {"config": config}
    if connection.region:
        arguments["region_name"] = connection.region
    if connection.url:
        arguments["base_url"] = connection.url
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
        There is no such provider.
    MissingExtraError
        The provider's package is not installed; the message has the pip command.
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


# The models of a graph, and their accounts.

AnyChat: TypeAlias = "ChatModel | BaseChatModel | str"
AnyEmbedder: TypeAlias = "Embedder | Embeddings | str"
AnyReranker: TypeAlias = "Reranker | BaseDocumentCompressor | str"
"""What a caller may pass: an object that implements our protocol, a LangChain object, or a name such as ``openai:gpt-4o-mini``."""


def chosen_chat(model: AnyChat, names: ModelSettings) -> ChatModel:
    """The chat model for an object or a name.

    Parameters
    ----------
    model : a ChatModel, a chat model of LangChain, or ``provider:model``
    names : the model settings

    Returns
    -------
    ChatModel
        ``model`` itself if it has ``complete``, otherwise a new chat model.

    Raises
    ------
    UnknownNameError, MissingExtraError, ModelAccessError
        The named model cannot be used.
    InputError
        The object is not a chat model.
    """
    if isinstance(model, str):
        return chat_named(model, _connection(names, names.chat_url))
    if hasattr(model, "complete"):
        return cast("ChatModel", model)
    if hasattr(model, "invoke"):
        from hlgraph.models.langchain import LangChainChat

        return LangChainChat(model)
    raise InputError(
        f"{type(model).__name__} is not a chat model; pass a LangChain chat model or an object with complete()"
    )


def chosen_embedder(model: AnyEmbedder, names: ModelSettings) -> tuple[Embedder, CachedEmbedder | None]:
    """The embedder for an object or a name, and its cache.

    Embedders given by name are cached, and so are LangChain objects that reveal the name of their model.

    Parameters
    ----------
    model : an Embedder, embeddings of LangChain, ``provider:model``, the name of an installed model, or a folder
    names : the model settings

    Returns
    -------
    tuple
        The embedder, whose replies are checked, and its cache, which the caller must close; None if it has no cache.

    Raises
    ------
    UnknownNameError, MissingExtraError, ModelAccessError
        The named model cannot be used.
    ModelMissingError
        The local model is not installed.
    InputError
        The object is not an embedder.
    """
    if not isinstance(model, str):
        if hasattr(model, "embed"):
            return CheckedEmbedder(cast("Embedder", model)), None
        if hasattr(model, "embed_documents"):
            from hlgraph.models.langchain import langchain_embedder

            embedder = langchain_embedder(model)
            if ":" not in embedder.fingerprint:  # without a model name, a cache would mix the vectors of two models
                return embedder, None
            cache = CachedEmbedder(embedder, cache_file(names.cache))
            return cache, cache
        raise InputError(
            f"{type(model).__name__} is not an embedder; pass LangChain embeddings or an object with embed()"
        )
    if not _is_remote(model):
        cached = cached_embedder(replace(names, embedder=model))
    else:
        remote = embedder_named(model, _connection(names, names.embedder_url))
        cached = CachedEmbedder(remote, cache_file(names.cache))
    return cached, cached


def chosen_reranker(model: AnyReranker, names: ModelSettings) -> Reranker:
    """The reranker for an object or a name.

    Parameters
    ----------
    model : a Reranker, a document compressor of LangChain, ``provider:model``, the name of an installed cross-encoder, or its
        folder; empty: the local lexical reranker
    names : the model settings

    Returns
    -------
    Reranker
        A reranker whose replies are checked.

    Raises
    ------
    UnknownNameError, MissingExtraError, ModelAccessError
        The named model cannot be used.
    ModelMissingError
        The local model is not installed.
    InputError
        The object is not a reranker.
    """
    from hlgraph.models.local.reranker import LexicalReranker

    if isinstance(model, str):
        if not model:
            return LexicalReranker()
        if not _is_remote(model):
            from hlgraph.models.install import load_reranker
            from hlgraph.models.local.cross_encoder import LocalCrossEncoder

            if _is_folder(model):
                return CheckedReranker(LocalCrossEncoder(Path(model)))
            return CheckedReranker(load_reranker(model, root=Path(names.root) if names.root else None))

        return reranker_named(model, _connection(names, names.reranker_url))
    if hasattr(model, "rerank"):
        # The lexical reranker calls no model, so its replies need no check; a search recognises it by its class.
        return model if type(model) is LexicalReranker else CheckedReranker(cast("Reranker", model))
    if hasattr(model, "compress_documents"):
        from hlgraph.models.langchain import langchain_reranker

        return langchain_reranker(model)
    raise InputError(
        f"{type(model).__name__} is not a reranker; pass a LangChain document compressor or an object with rerank()"
    )


def cached_embedder(models: ModelSettings) -> CachedEmbedder:
    """The local embedder that the settings name (an installed model or a folder), with the on-disk cache of its vectors.

    Raises ModelMissingError with the command that installs the model, and InputError for an unknown runtime.
    """
    from hlgraph.models.install import load_local
    from hlgraph.models.local.embedder import LocalEmbedder, Runtime

    runtime = cast("Runtime", models.runtime)  # LocalEmbedder checks it
    if _is_folder(models.embedder):
        embedder = LocalEmbedder(Path(models.embedder), runtime=runtime)
    else:
        embedder = load_local(models.embedder, root=Path(models.root) if models.root else None, runtime=runtime)
    return CachedEmbedder(embedder, cache_file(models.cache))


def _is_folder(name: str) -> bool:
    folder = Path(name)
    return len(folder.parts) > 1 or folder.is_absolute()


class ChosenModels:
    """The models of one store; each is created once, on first use. Thread-safe.

    Parameters
    ----------
    names : the model settings
    embedder, reranker, chat : models to use in place of those in the settings; None: those in the settings
    closing : exit stack that closes the embedding cache
    """

    def __init__(
        self,
        names: ModelSettings,
        *,
        embedder: AnyEmbedder | None,
        reranker: AnyReranker | None,
        chat: AnyChat | None,
        closing: ExitStack,
    ) -> None:
        self._names = names
        self._requested = (embedder or names.embedder, reranker or names.reranker, chat or names.chat)
        self._closing = closing
        self._guard = threading.Lock()
        self._embedder: Embedder | None = None
        self._known: dict[
            str, Embedder
        ] = {}  # further embedders by fingerprint, such as those of corpora that were switched
        self._reranker: Reranker | None = None
        self._chat: ChatModel | None = None

    @property
    def embedder(self) -> Embedder:
        """The embedder. Raises as :func:`chosen_embedder` does."""
        with self._guard:
            if self._embedder is None:
                self._embedder, cache = chosen_embedder(self._requested[0], self._names)
                if cache is not None:
                    self._closing.callback(cache.close)
            return self._embedder

    @property
    def by_corpus(self) -> Callable[[Sequence[CorpusStats]], Embedder]:
        """:meth:`embedder_of`, with the requested embedder already created. Raises as :func:`chosen_embedder` does."""
        self.embedder  # noqa: B018 - create it now, not later while a state of the corpus is pinned
        return self.embedder_of

    def embedder_of(self, stats: Sequence[CorpusStats]) -> Embedder:
        """The embedder to use in a corpus: its current one, if ``hlgraph embeddings switch`` replaced the requested one.

        A process that was started with the old embedder can thus continue. A requested embedder that the corpus never used is
        returned unchanged; the caller refuses it.

        Parameters
        ----------
        stats : statistics of the corpus; empty for a new one

        Raises
        ------
        ModelMismatchError
            The embedder of the corpus cannot be created here.
        It also raises as :func:`chosen_embedder` does.
        """
        requested = self.embedder
        for corpus in stats:
            sets = corpus.sets
            if sets is None or corpus.embedding in ("", requested.fingerprint):
                continue
            if sets.current.embedding == corpus.embedding and requested.fingerprint in sets.past:
                return self.of_set(corpus.corpus, sets.current)
        return requested

    def of_set(self, corpus: str, vector_set: VectorSet) -> Embedder:
        """The embedder of a set of vectors: the requested one, one that was created before, or a new one by its name.

        Parameters
        ----------
        corpus : corpus of the set
        vector_set : the set

        Raises
        ------
        ModelMismatchError
            It cannot be created here.
        """
        if vector_set.embedding == self.embedder.fingerprint:
            return self.embedder
        return self._known.get(vector_set.embedding) or self._created(corpus, vector_set)

    def chosen(self, model: AnyEmbedder) -> Embedder:
        """Another embedder, which :meth:`of_set` finds by its fingerprint from now on. Raises as :func:`chosen_embedder` does.

        Parameters
        ----------
        model : see :func:`chosen_embedder`
        """
        if model is self._requested[0] or (isinstance(model, str) and model == self._requested[0]):
            return self.embedder
        names = self._names
        if isinstance(model, str) and isinstance(self._requested[0], str):
            is_same = model.partition(":")[0] == self._requested[0].partition(":")[0]
            names = names if is_same else replace(names, embedder_url="")  # that url is another provider's
        return self._keep(chosen_embedder(model, names))

    def _created(self, corpus: str, vector_set: VectorSet) -> Embedder:
        message = (
            f"corpus {corpus!r} has vectors of {vector_set.embedding}, and this process cannot create that model; open the "
            "corpus with it "
            "(models.embedder, HLGRAPH_EMBEDDER, or embedder= of hlgraph.connect), or return to the previous model: "
            f"hlgraph embeddings rollback --corpus {corpus}"
        )
        if not vector_set.model:
            raise ModelMismatchError(message)
        has_length = vector_set.embedding.endswith(f"/{vector_set.dimensions}")
        names = replace(self._names, dimensions=vector_set.dimensions if has_length else None)
        if vector_set.model.partition(":")[0] != str(self._requested[0]).partition(":")[0]:
            names = replace(names, embedder_url="")
        embedder = self._keep(chosen_embedder(vector_set.model, names))
        if embedder.fingerprint != vector_set.embedding:
            raise ModelMismatchError(f"{message} (here {vector_set.model!r} is {embedder.fingerprint})")
        return embedder

    def _keep(self, chosen: tuple[Embedder, CachedEmbedder | None]) -> Embedder:
        """The embedder with this fingerprint that was created first: an earlier one, otherwise this one."""
        embedder, cache = chosen
        with self._guard:
            known = self._known.setdefault(embedder.fingerprint, embedder)
            if cache is not None:
                self._closing.callback(cache.close)
        return known

    @property
    def reranker(self) -> Reranker:
        """The reranker. Raises as :func:`chosen_reranker` does."""
        with self._guard:
            if self._reranker is None:
                self._reranker = chosen_reranker(self._requested[1], self._names)
            return self._reranker

    @property
    def chat(self) -> ChatModel | None:
        """The chat model; None if none is configured. Raises as :func:`chosen_chat` does."""
        with self._guard:
            if self._chat is None and self._requested[2]:
                self._chat = chosen_chat(self._requested[2], self._names)
            return self._chat

    @property
    def chat_asked_for(self) -> AnyChat | None:
        """The chat model as it was passed, a name or an object; creates nothing."""
        return self._requested[2] or None

    @property
    def embedder_asked_for(self) -> AnyEmbedder:
        """The embedder as it was passed, a name or an object; creates nothing."""
        return self._requested[0]


def _is_remote(name: str) -> bool:
    """Whether a name is ``provider:model``, not a path; a path may contain a colon, too, after a drive letter or in a name."""
    provider, colon, _ = name.partition(":")
    return bool(colon) and len(provider) > 1 and not Path(name).is_dir() and len(Path(provider).parts) == 1


def _connection(names: ModelSettings, url: str) -> Connection:
    return Connection(url=url, region=names.region, timeout=names.timeout, dimensions=names.dimensions)


LEDGER_FILE = "ledger-1.sqlite"  # 1 is the version of its schema
# Deadline of a call as a multiple of the client's timeout, which limits only the silence between packets.
_DEADLINES = 2


def executor_of(chat: ChatModel, settings: Settings, *, corpus: str) -> Executor:
    """The executor for a chat model, with the ledger and the stored replies of the store.

    Replies of a model without a name (a LangChain object that does not reveal it) are not stored, because the replies of two such
    models would be mixed up.

    Parameters
    ----------
    chat : the chat model
    settings : all settings; ``models`` and the accounts folder are read
    corpus : the corpus that the calls are made for

    Returns
    -------
    Executor
        The executor; close it to close its files.
    """
    models, folder = settings.models, accounts_folder(settings)
    is_known = ":" in chat.fingerprint or not hasattr(chat, "patience")
    if not models.structured and hasattr(chat, "has_forms"):
        chat.has_forms = False
    accounts = Accounts(
        corpus=corpus,
        ledger=Ledger(folder / LEDGER_FILE),
        replies=kept_replies(settings) if models.keep_replies and is_known else None,
        price=price_of(chat.fingerprint, models.prices),
    )
    return Executor(chat, accounts=accounts, most=models.concurrency, deadline=_DEADLINES * models.timeout)


def kept_replies(settings: Settings) -> Replies:
    """The stored replies of the store; the file is created at the first reply."""
    return Replies(accounts_folder(settings) / REPLIES_FILE)


def spent(settings: Settings, by: GroupBy, *, corpus: str, graph: GraphStore) -> list[Spent]:
    """Totals of the ledger, the most expensive group first; see :meth:`hlgraph.sdk.client.HLGraph.ledger`.

    Parameters
    ----------
    settings : all settings; the accounts folder is read
    by : what to group by
    corpus : count the calls of this corpus only; not used if ``by`` is ``corpus``
    graph : resolves source ids to uris

    Returns
    -------
    list
        One line per group.

    Raises
    ------
    InputError
        ``by`` is not one of the groups.
    """
    if by not in GROUPS:
        raise InputError(f"the ledger cannot be grouped by {by!r}; choose one of: {', '.join(GROUPS)}")
    ledger = Ledger(accounts_folder(settings) / LEDGER_FILE)
    try:
        lines = ledger.spent(by, corpus=None if by == "corpus" else corpus)
    finally:
        ledger.close()
    if by != "source":
        return lines
    from hlgraph.stores.protocols import Scope

    names = [line.name for line in lines if line.name]
    sources = (
        graph.records(Kind.SOURCE, names, scope=Scope(corpus))
        if names and graph.stats(corpus, has_counts=False)
        else []
    )
    uris = {record.id: record.uri for record in sources if isinstance(record, Source)}
    return [replace(line, name=uris.get(line.name, line.name)) for line in lines]
