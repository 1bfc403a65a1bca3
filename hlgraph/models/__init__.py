"""Protocols for models: ChatModel, Embedder, Reranker."""

from hlgraph.models.protocols import ChatModel, Completion, Embedder, Reranker, question_vector

__all__ = ["ChatModel", "Completion", "Embedder", "Reranker", "question_vector"]
