"""Resolve the models that a caller passes or the settings name, and open the accounts of a chat model: ledger and replies."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from hlgraph.errors import InputError
from hlgraph.models.accounts.budget import price_of
from hlgraph.models.accounts.ledger import GROUPS, GroupBy, Ledger, Spent
from hlgraph.models.accounts.replies import Replies
from hlgraph.models.cache import CachedEmbedder, cache_file
from hlgraph.models.checked import CheckedEmbedder, CheckedReranker
from hlgraph.models.executor import Accounts, Executor
from hlgraph.models.protocols import ChatModel, Embedder, Reranker
from hlgraph.records import Kind, Source
from hlgraph.settings import REPLIES_FILE, accounts_folder

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from hlgraph.models.protocols import ChatModel
    from hlgraph.models.providers import Connection
    from hlgraph.settings import ModelSettings, Settings
    from hlgraph.stores.protocols import GraphStore


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
        ``model`` itself if it has ``complete``, else a new chat model.

    Raises
    ------
    UnknownNameError, MissingExtraError, ModelAccessError
        The named model cannot be used.
    InputError
        The object is not a chat model.
    """
    if isinstance(model, str):
        from hlgraph.models.providers import chat_named

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

    A cache is created for names, and for LangChain objects that reveal the name of their model.

    Parameters
    ----------
    model : an Embedder, embeddings of LangChain, ``provider:model``, the name of an installed model, or a folder
    names : the model settings

    Returns
    -------
    tuple
        The embedder, whose replies are checked, and the cache that the caller must close, or None if no cache was created.

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
        from hlgraph.models.providers import embedder_named

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
        from hlgraph.models.providers import reranker_named

        return reranker_named(model, _connection(names, names.reranker_url))
    if hasattr(model, "rerank"):
        # The lexical reranker calls no model, and a search recognises it by its class.
        return model if type(model) is LexicalReranker else CheckedReranker(cast("Reranker", model))
    if hasattr(model, "compress_documents"):
        from hlgraph.models.langchain import langchain_reranker

        return langchain_reranker(model)
    raise InputError(
        f"{type(model).__name__} is not a reranker; pass a LangChain document compressor or an object with rerank()"
    )


def cached_embedder(models: ModelSettings) -> CachedEmbedder:
    """The local embedder that the settings name, an installed model or a folder, with the on-disk cache of its vectors.

    Raises ModelMissingError with the command that installs the model, InputError for an unknown runtime.
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
    """The models of one store; each is created once, at its first use. Thread-safe.

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
        self._asked = (embedder or names.embedder, reranker or names.reranker, chat or names.chat)
        self._closing = closing
        self._guard = threading.Lock()
        self._embedder: Embedder | None = None
        self._reranker: Reranker | None = None
        self._chat: ChatModel | None = None

    @property
    def embedder(self) -> Embedder:
        """The embedder. Raises as :func:`chosen_embedder` does."""
        with self._guard:
            if self._embedder is None:
                self._embedder, cache = chosen_embedder(self._asked[0], self._names)
                if cache is not None:
                    self._closing.callback(cache.close)
            return self._embedder

    @property
    def reranker(self) -> Reranker:
        """The reranker. Raises as :func:`chosen_reranker` does."""
        with self._guard:
            if self._reranker is None:
                self._reranker = chosen_reranker(self._asked[1], self._names)
            return self._reranker

    @property
    def chat(self) -> ChatModel | None:
        """The chat model; None if none is configured. Raises as :func:`chosen_chat` does."""
        with self._guard:
            if self._chat is None and self._asked[2]:
                self._chat = chosen_chat(self._asked[2], self._names)
            return self._chat

    @property
    def chat_asked_for(self) -> AnyChat | None:
        """The chat model as it was passed, a name or an object; creates nothing."""
        return self._asked[2] or None

    @property
    def embedder_asked_for(self) -> AnyEmbedder:
        """The embedder as it was passed, a name or an object; creates nothing."""
        return self._asked[0]


def _is_remote(name: str) -> bool:
    """Whether a name is ``provider:model``; a path may contain a colon too, after a drive letter or in a folder name."""
    provider, colon, _ = name.partition(":")
    return bool(colon) and len(provider) > 1 and not Path(name).is_dir() and len(Path(provider).parts) == 1


def _connection(names: ModelSettings, url: str) -> Connection:
    from hlgraph.models.providers import Connection

    return Connection(url=url, region=names.region, timeout=names.timeout, dimensions=names.dimensions)


LEDGER_FILE = "ledger-1.sqlite"  # 1 is the version of its schema
_DEADLINES = 2  # multiple of the client's timeout, which limits only the silence between two packets of a call


def executor_of(chat: ChatModel, settings: Settings, *, corpus: str) -> Executor:
    """The executor for a chat model, with the ledger and the stored replies of the store.

    Replies of a model without a name (a LangChain object that does not reveal it) are not stored: replies of two such models
    would be mixed up.

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
