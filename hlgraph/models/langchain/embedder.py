"""Adapts a LangChain embedding model to Embedder."""

from __future__ import annotations

from langchain_core.embeddings import Embeddings

from hlgraph.models.calls import PATIENT, Patience
from hlgraph.models.langchain.model_names import name_of
from hlgraph.models.remote import RemoteEmbedder

_BATCH = 128


def langchain_embedder(
    model: Embeddings,
    *,
    name: str = "",
    dimensions: int | None = None,
    parallel: int = 1,
    patience: Patience = PATIENT,
) -> RemoteEmbedder:
    """An embedder that calls a LangChain model: ``embed_documents`` for texts, ``embed_query`` for questions.

    Parameters
    ----------
    model : the LangChain model; its own timeout applies, and its own retries come on top of ours
    name : ``provider:model``; default: the class, and the model name that the object reveals
    dimensions : length of the vectors; default: that of the first ones
    parallel : maximum number of concurrent calls; more than 1 helps only with a remote server; default 1
    patience : the retry policy

    Returns
    -------
    RemoteEmbedder
        The embedder.
    """

    def send(texts: list[str], is_question: bool) -> list[list[float]]:
        return [model.embed_query(text) for text in texts] if is_question else model.embed_documents(texts)

    return RemoteEmbedder(
        name or name_of(model), send, batch=_BATCH, dimensions=dimensions, parallel=parallel, patience=patience
    )
