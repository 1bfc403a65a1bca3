"""Adapts a LangChain document compressor to Reranker."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import BaseDocumentCompressor, Document

from hlgraph.errors import ModelAnswerError
from hlgraph.models.calls import PATIENT, Patience
from hlgraph.models.langchain.model_names import name_of
from hlgraph.models.remote import RemoteReranker

_INDEX = "hlgraph_index"
_SCORE = "relevance_score"  # set by the rerankers of LangChain's integrations
_BATCH = 1000


def langchain_reranker(
    model: BaseDocumentCompressor, *, name: str = "", patience: Patience = PATIENT
) -> RemoteReranker:
    """A reranker that calls a document compressor.

    The score of a text is the ``relevance_score`` that the compressor sets, else its rank in the result: the first of n
    texts gets 1, the last 1/n. Texts that the compressor leaves out rank last.

    Parameters
    ----------
    model : the document compressor; it must preserve the metadata of documents
    name : ``provider:model``; default: the class, and the model name that the object reveals
    patience : the retry policy

    Returns
    -------
    RemoteReranker
        The reranker.
    """

    def send(question: str, texts: list[str]) -> list[tuple[int, float]]:
        given = [Document(text, metadata={_INDEX: at}) for at, text in enumerate(texts)]
        return _scores(name or name_of(model), model.compress_documents(given, question))

    return RemoteReranker(name or name_of(model), send, batch=_BATCH, patience=patience)


def _scores(name: str, found: Sequence[Document]) -> list[tuple[int, float]]:
    if any(_INDEX not in item.metadata for item in found):
        raise ModelAnswerError(
            f"{name}: the compressor does not keep the metadata of documents, so its ranking cannot be read; use another"
        )
    is_scored = all(_SCORE in item.metadata for item in found)
    return [
        (int(item.metadata[_INDEX]), float(item.metadata[_SCORE]) if is_scored else 1 - at / len(found))
        for at, item in enumerate(found)
    ]
