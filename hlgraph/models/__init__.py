"""The three seams to models: ChatModel, Embedder, Reranker."""

from hlgraph.models.seams import ChatModel, Embedder, Reranker

__all__ = ["ChatModel", "Embedder", "Reranker"]
