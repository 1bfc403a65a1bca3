"""Adapters for LangChain models: any ``BaseChatModel``, ``Embeddings`` or ``BaseDocumentCompressor``."""

from hlgraph.errors import MissingExtraError

try:
    import langchain_core  # noqa: F401 - imported here, so that its absence gives one clear error
except ImportError as error:
    raise MissingExtraError("langchain", "a model of LangChain") from error

from hlgraph.models.langchain.chat import LangChainChat, langchain_embedder, langchain_reranker

__all__ = ["LangChainChat", "langchain_embedder", "langchain_reranker"]
