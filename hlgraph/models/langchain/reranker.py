"""Any document compressor of LangChain as a reranker."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import BaseDocumentCompressor, Document

from hlgraph.errors import ModelAnswerError
from hlgraph.models.calls import PATIENT, Patience
from hlgraph.models.langchain.model_names import name_of
from hlgraph.models.remote import RemoteReranker

_INDEX = "hlgraph_index"
_SCORE = "relevance_score"  # where the rerankers of LangChain's integrations put it
_BATCH = 1000


def langchain_reranker(
    model: BaseDocumentCompressor, *, name: str = "", patience: Patience = PATIENT
) -> RemoteReranker:
    """A reranker that asks a compressor.

    A text is scored by the ``relevance_score`` that the compressor writes, else by its place in what comes back: the first
    of n gets 1, the last 1/n. What it leaves out comes last.
    """

    def send(question: str, texts: list[str]) -> list[tuple[int, float]]:
        given = [Document(text, metadata={_INDEX: at}) for at, text in enumerate(texts)]
        return _scores(name or name_of(model), model.compress_documents(given, question))

    return RemoteReranker(name or name_of(model), send, batch=_BATCH, patience=patience)


def _scores(name: str, found: Sequence[Document]) -> list[tuple[int, float]]:
    if any(_INDEX not in item.metadata for item in found):
        raise ModelAnswerError(
            f"{name}: the compressor does not keep the metadata of documents, so its order cannot be read; use another"
        )
    is_scored = all(_SCORE in item.metadata for item in found)
    return [
        (int(item.metadata[_INDEX]), float(item.metadata[_SCORE]) if is_scored else 1 - at / len(found))
        for at, item in enumerate(found)
    ]
