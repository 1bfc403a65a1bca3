"""Embedding and reranking with Cohere (version 2 of its API)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hlgraph.errors import needs_extra
from hlgraph.models.calls import PATIENT, Patience, set_up
from hlgraph.models.remote import AT_ONCE, RemoteEmbedder, RemoteReranker

if TYPE_CHECKING:
    import cohere

_TEXTS = 96  # limit of one embedding call
_DOCUMENTS = 1000  # limit of one reranking call


def cohere_client(name: str, *, url: str = "", timeout: float = 60.0) -> cohere.ClientV2:
    """A Cohere client; it reads its key from ``CO_API_KEY``.

    Parameters
    ----------
    name : ``cohere:model``, for errors
    url : URL of a server with a compatible API; default: Cohere's own
    timeout : time limit for one call, in seconds; default 60

    Returns
    -------
    cohere.ClientV2
        The client; its own retries are off.

    Raises
    ------
    MissingExtraError
        The package is not installed.
    ModelAccessError
        There is no key.
    """
    with needs_extra("cohere", f"the model {name}"):
        import cohere
    # The client's own retries are off: ours are bounded and honour Retry-After.
    make = partial(cohere.ClientV2, timeout=timeout, max_retries=0, log_warning_experimental_features=False)
    return set_up(name, partial(make, base_url=url) if url else make)


def cohere_embedder(
    client: cohere.ClientV2, model: str, *, dimensions: int | None = None, patience: Patience = PATIENT
) -> RemoteEmbedder:
    """An embedder: texts as ``search_document``, questions as ``search_query``; a text that is too long loses its end.

    Parameters
    ----------
    client : the client
    model : model name, such as ``embed-v4.0``
    dimensions : vector length requested from a model that offers a choice; default: the model's own
    patience : the retry policy

    Returns
    -------
    RemoteEmbedder
        The embedder.
    """

    embed = partial(client.embed, output_dimension=dimensions) if dimensions else client.embed

    def send(texts: list[str], is_question: bool) -> list[list[float]]:
        reply = embed(
            model=model,
            texts=texts,
            input_type="search_query" if is_question else "search_document",
            embedding_types=["float"],
            truncate="END",
        )
        return list(reply.embeddings.float_ or [])

    name = f"cohere:{model}" + (f"/{dimensions}" if dimensions else "")
    return RemoteEmbedder(name, send, batch=_TEXTS, dimensions=dimensions, parallel=AT_ONCE, patience=patience)


def cohere_reranker(client: cohere.ClientV2, model: str, *, patience: Patience = PATIENT) -> RemoteReranker:
    """A reranker with scores from 0 to 1.

    Parameters
    ----------
    client : the client
    model : model name, such as ``rerank-v3.5``
    patience : the retry policy

    Returns
    -------
    RemoteReranker
        The reranker.
    """

    def send(question: str, texts: list[str]) -> list[tuple[int, float]]:
        reply = client.rerank(model=model, query=question, documents=texts)
        return [(result.index, result.relevance_score) for result in reply.results]

    return RemoteReranker(f"cohere:{model}", send, batch=_DOCUMENTS, patience=patience)
