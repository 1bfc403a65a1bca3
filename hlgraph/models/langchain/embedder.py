"""Any embedding model of LangChain as ours."""

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
    """An embedder that asks one of LangChain: ``embed_documents`` for texts, ``embed_query`` for questions.

    Parameters
    ----------
    model : its own time-out holds, and its own retries come on top of ours
    name : ``provider:model``; default: the class and the model's name for itself
    dimensions : length of the vectors, where it is known; else it is found
    parallel : so many calls at once; more than one helps only where another machine computes
    """

    def send(texts: list[str], is_question: bool) -> list[list[float]]:
        return [model.embed_query(text) for text in texts] if is_question else model.embed_documents(texts)

    return RemoteEmbedder(
        name or name_of(model), send, batch=_BATCH, dimensions=dimensions, parallel=parallel, patience=patience
    )
