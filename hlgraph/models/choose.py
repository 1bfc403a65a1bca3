"""The models that a caller or the settings ask for: an object of ours, one of LangChain's, or a name."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, cast

from hlgraph.errors import InputError
from hlgraph.models.cache import CachedEmbedder
from hlgraph.models.seams import ChatModel, Embedder, Reranker

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

    from hlgraph.models.providers import Connection

AnyChat: TypeAlias = "ChatModel | BaseChatModel | str"
AnyEmbedder: TypeAlias = "Embedder | Embeddings | str"
AnyReranker: TypeAlias = "Reranker | BaseDocumentCompressor | str"
"""What a caller may give: our seam filled, an object of LangChain, or a name such as ``openai:gpt-4o-mini``."""


class ModelNames(Protocol):
    """What the settings say about models; see ``hlgraph.settings.ModelSettings``."""

    @property
    def root(self) -> str | None:
        """Folder of the installed models."""

    @property
    def cache(self) -> str | None:
        """Folder of the embedding cache."""

    @property
    def embedder(self) -> str:
        """``provider:model``, the name of an installed model, or a folder."""

    @property
    def chat(self) -> str:
        """``provider:model``; empty: none."""

    @property
    def reranker(self) -> str:
        """``provider:model``; empty: the local one."""

    @property
    def runtime(self) -> str:
        """What computes a local embedder."""

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors that is asked of a provider."""

    @property
    def embedder_url(self) -> str:
        """Another server for embedding."""

    @property
    def chat_url(self) -> str:
        """Another server for chat."""

    @property
    def reranker_url(self) -> str:
        """Another server for reranking."""

    @property
    def region(self) -> str:
        """Region of Amazon."""

    @property
    def timeout(self) -> float:
        """Seconds for one call."""


class _Local(NamedTuple):
    """The choice of a local model."""

    root: str | None
    cache: str | None
    embedder: str
    runtime: str


def chosen_chat(given: AnyChat, names: ModelNames) -> ChatModel:
    """The chat model that is given as an object or by name.

    Raises UnknownNameError, MissingExtraError, ModelAccessError for a name that cannot be used, InputError for an object
    that is no chat model.
    """
    if isinstance(given, str):
        from hlgraph.models.providers import chat_named

        return chat_named(given, _connection(names, names.chat_url))
    if hasattr(given, "complete"):
        return cast("ChatModel", given)
    if hasattr(given, "invoke"):
        from hlgraph.models.langchain import LangChainChat

        return LangChainChat(given)
    raise InputError(f"{type(given).__name__} is no chat model; give one of LangChain, or an object with complete()")


def chosen_embedder(given: AnyEmbedder, names: ModelNames) -> tuple[Embedder, CachedEmbedder | None]:
    """The embedder, and the cache to be closed where one was made: for names, and objects of LangChain that have one.

    Raises as :func:`chosen_chat` does; ModelMissingError for a local model that is not installed.
    """
    from hlgraph.models.local.load import cache_file, cached_embedder

    if not isinstance(given, str):
        if hasattr(given, "embed"):
            return cast("Embedder", given), None
        if hasattr(given, "embed_documents"):
            from hlgraph.models.langchain import langchain_embedder

            made = langchain_embedder(given)
            if ":" not in made.fingerprint:  # without the name of the model, vectors of two would be mixed up
                return made, None
            cache = CachedEmbedder(made, cache_file(names.cache))
            return cache, cache
        raise InputError(
            f"{type(given).__name__} is no embedder; give the embeddings of LangChain, or an object with embed()"
        )
    if not _is_remote(given):
        cached = cached_embedder(_Local(names.root, names.cache, given, names.runtime))
    else:
        from hlgraph.models.providers import embedder_named

        remote = embedder_named(given, _connection(names, names.embedder_url))
        cached = CachedEmbedder(remote, cache_file(names.cache))
    return cached, cached


def chosen_reranker(given: AnyReranker, names: ModelNames) -> Reranker:
    """The reranker; an empty name is the local one. Raises as :func:`chosen_chat` does."""
    if isinstance(given, str):
        if not given:
            from hlgraph.models.local.reranker import LexicalReranker

            return LexicalReranker()
        from hlgraph.models.providers import reranker_named

        return reranker_named(given, _connection(names, names.reranker_url))
    if hasattr(given, "rerank"):
        return cast("Reranker", given)
    if hasattr(given, "compress_documents"):
        from hlgraph.models.langchain import langchain_reranker

        return langchain_reranker(given)
    raise InputError(
        f"{type(given).__name__} is no reranker; give a document compressor of LangChain, or an object with rerank()"
    )


class ChosenModels:
    """The models of one store, each made when it is first asked for, once also where several threads ask.

    Parameters
    ----------
    names : what the settings say
    embedder, reranker, chat : to use instead; None: those of the settings
    closing : closes the cache of the embedder at its end
    """

    def __init__(
        self,
        names: ModelNames,
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
        """What embeds. Raises as :func:`chosen_embedder` does."""
        with self._guard:
            if self._embedder is None:
                self._embedder, cache = chosen_embedder(self._asked[0], self._names)
                if cache is not None:
                    self._closing.callback(cache.close)
            return self._embedder

    @property
    def reranker(self) -> Reranker:
        """What reranks. Raises as :func:`chosen_chat` does."""
        with self._guard:
            if self._reranker is None:
                self._reranker = chosen_reranker(self._asked[1], self._names)
            return self._reranker

    @property
    def chat(self) -> ChatModel | None:
        """The chat model, None where none is named. Raises as :func:`chosen_chat` does."""
        with self._guard:
            if self._chat is None and self._asked[2]:
                self._chat = chosen_chat(self._asked[2], self._names)
            return self._chat

    @property
    def chat_asked_for(self) -> AnyChat | None:
        """The chat model as it was given, by name or as an object; nothing is made."""
        return self._asked[2] or None

    @property
    def embedder_asked_for(self) -> AnyEmbedder:
        """The embedder as it was given, by name or as an object; nothing is made."""
        return self._asked[0]


def _is_remote(name: str) -> bool:
    """Whether a name is ``provider:model``: a path may hold a colon too, after the letter of a drive or in a folder."""
    provider, colon, _ = name.partition(":")
    return bool(colon) and len(provider) > 1 and not Path(name).is_dir() and len(Path(provider).parts) == 1


def _connection(names: ModelNames, url: str) -> Connection:
    from hlgraph.models.providers import Connection

    return Connection(url=url, region=names.region, timeout=names.timeout, dimensions=names.dimensions)
