"""Adapters for LangChain models: any ``BaseChatModel``, ``Embeddings`` or ``BaseDocumentCompressor``."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from hlgraph.errors import ModelAnswerError, ModelFilterError, ModelUnavailableError, needs_extra
from hlgraph.models.calls import PATIENT, Patience, call, filtered, mapped
from hlgraph.models.protocols import Completion
from hlgraph.models.remote import RemoteEmbedder, RemoteReranker

with needs_extra("langchain", "a model of LangChain"):
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
    from langchain_core.runnables import Runnable


_FIELDS = ("model_name", "model", "model_id", "deployment_name", "repo_id")


def name_of(model: object) -> str:
    """``Class:model`` for a model object, with ``/dimensions`` if a vector length was chosen.

    The result is only the class if the object does not reveal the name of its model.

    Examples
    --------
    >>> class Chat:
    ...     model = "m-1"
    >>> name_of(Chat())
    'Chat:m-1'
    """
    name = next((value for field in _FIELDS if isinstance(value := getattr(model, field, None), str) and value), "")
    dimensions = getattr(model, "dimensions", None)
    chosen = f"/{dimensions}" if isinstance(dimensions, int) else ""
    return f"{type(model).__name__}:{name}{chosen}" if name else type(model).__name__


# Names that integrations use for the length limit of a reply, and that providers use for reaching it.
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens")
_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"})
_FILTERED = frozenset(
    {
        *("content_filter", "content_filtered", "guardrail_intervened", "refusal", "safety", "recitation", "blocklist"),
        *("prohibited_content", "spii", "error_toxic", "sensitive"),
    }
)
_log = logging.getLogger(__name__)


class LangChainChat:
    """A ChatModel that calls a LangChain model. Thread-safe if that model is, as LangChain's own are.

    Parameters
    ----------
    model : the LangChain model; its own timeout applies, and its own retries come on top of ours
    name : ``provider:model``; default: the class, and the model name that the object reveals
    patience : the retry policy of :meth:`complete`, and for callers of :meth:`attempt`

    Attributes
    ----------
    fingerprint : provider and model
    has_forms : whether JSON replies are requested through the provider's structured output

    Examples
    --------
    >>> from langchain_core.language_models import FakeListChatModel
    >>> chat = LangChainChat(FakeListChatModel(responses=["Yes."]))
    >>> chat.complete("Answer.", "Is it so?", max_tokens=10).text
    'Yes.'
    """

    def __init__(self, model: BaseChatModel, *, name: str = "", patience: Patience = PATIENT) -> None:
        self._model = model
        self.fingerprint = name or name_of(model)
        self.patience = patience
        self.has_forms = True
        self._limited: dict[int, BaseChatModel] = {}
        self._lock = threading.Lock()

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """See :class:`hlgraph.models.protocols.ChatModel`; with retries.

        Raises
        ------
        ModelUnavailableError, ModelAccessError
            The provider does not answer, or refuses access.
        ModelAnswerError
            The provider refused these messages, or the reply has no text.
        """
        return call(self.fingerprint, lambda: self.attempt(system, user, max_tokens=max_tokens), patience=self.patience)

    def attempt(
        self, system: str, user: str, *, max_tokens: int, form: Mapping[str, object] | None = None
    ) -> Completion:
        """See :class:`hlgraph.models.protocols.ChatModel`: one call without retries.

        If the provider refuses the form, the call is repeated without it, and if that succeeds, later calls omit it too.
        """
        model = self._with_limit(max_tokens)
        messages = _messages(system, user)
        if form is not None and self.has_forms:
            try:
                return self._in_form(model, messages, form)
            except ModelFilterError:
                raise
            except (NotImplementedError, TypeError, ValueError, ModelAnswerError) as error:
                _log.debug("%s is called without a JSON schema: %s", self.fingerprint, error)
            completion = self._plain(model, messages)
            self.has_forms = False
            return completion
        return self._plain(model, messages)

    def stream(self, system: str, user: str, *, max_tokens: int) -> Iterator[str | Completion]:
        """See :class:`hlgraph.models.protocols.ChatModel`: the pieces of the reply, from one call without retries.

        An integration that cannot stream yields one piece. A reply with metadata but no finish reason is a broken connection: it
        raises ModelUnavailableError.
        """
        pieces = self._with_limit(max_tokens).stream(_messages(system, user))
        whole: AIMessageChunk | None = None
        try:
            while (chunk := mapped(self.fingerprint, lambda: next(pieces, None))) is not None:
                whole = chunk if whole is None else whole + chunk
                text = str(chunk.text)
                if text:
                    yield text
        finally:
            getattr(pieces, "close", lambda: None)()
        if whole is None:
            raise ModelAnswerError(
                f"{self.fingerprint}: the model replied with nothing; rephrase the request, or use another model"
            )
        if whole.response_metadata and not any(whole.response_metadata.get(name) for name in _REASONS):
            raise ModelUnavailableError(
                f"{self.fingerprint}: the reply ended without a finish reason, so it is incomplete; try again later",
                is_silent=True,
            )
        yield self._passed(whole)

    def _plain(self, model: BaseChatModel, messages: list[BaseMessage]) -> Completion:
        reply = mapped(self.fingerprint, lambda: model.invoke(messages))
        return self._not_empty(self._passed(reply))

    def _in_form(self, model: BaseChatModel, messages: list[BaseMessage], form: Mapping[str, object]) -> Completion:
        """The reply as JSON; raises NotImplementedError if the integration has no structured output."""
        structured = model.with_structured_output(dict(form), include_raw=True)
        asking = cast("Runnable[list[BaseMessage], dict[str, AIMessage]]", structured)

        def ask() -> Completion:
            try:
                reply = asking.invoke(messages)["raw"]
                return _formed(reply, self._passed(reply))
            except Exception as error:
                if (cut := _cut_off(error)) is not None:
                    return cut
                raise

        return self._not_empty(mapped(self.fingerprint, ask))

    def _passed(self, reply: AIMessage) -> Completion:
        """The reply as a completion; raises ModelFilterError if a content filter ended it, since the partial text is no answer."""
        reasons = _reasons(reply) & _FILTERED
        if reasons:
            raise filtered(self.fingerprint, ", ".join(sorted(reasons)))
        return _completion(reply)

    def _not_empty(self, completion: Completion) -> Completion:
        if not completion.text.strip() and not completion.is_cut:
            raise ModelAnswerError(
                f"{self.fingerprint}: the model replied with no text; rephrase the request, or use another model"
            )
        return completion

    def _with_limit(self, max_tokens: int) -> BaseChatModel:
        """The model with the reply limit in the integration's field for it, if there is one."""
        with self._lock:
            if max_tokens not in self._limited:
                field = next((name for name in _LIMITS if name in type(self._model).model_fields), None)
                changed = self._model.model_copy(update={field: max_tokens}) if field else self._model
                self._limited[max_tokens] = changed
            return self._limited[max_tokens]


def _messages(system: str, user: str) -> list[BaseMessage]:
    """Both messages, or the one of a prompt that has no system message."""
    return [*([SystemMessage(system)] if system else []), HumanMessage(user)]


def _reasons(reply: AIMessage) -> set[str]:
    """Reasons why the reply ended, as the provider states them, in lower case."""
    metadata = reply.response_metadata
    details = metadata.get("incomplete_details")  # of OpenAI's Responses API
    more = details.get("reason", "") if isinstance(details, Mapping) else ""
    return {str(each).lower() for each in (*(metadata.get(name, "") for name in _REASONS), more)}


def _completion(reply: AIMessage) -> Completion:
    usage = reply.usage_metadata
    reasons = _reasons(reply)
    return Completion(
        text=str(reply.text),
        input_tokens=usage["input_tokens"] if usage else 0,
        output_tokens=usage["output_tokens"] if usage else 0,
        is_cut=bool(reasons & _CUT),
    )


def _formed(reply: AIMessage, completion: Completion) -> Completion:
    """The reply as JSON: the arguments of its first tool call if it has one, else its text."""
    if not reply.tool_calls:
        return completion
    return replace(completion, text=json.dumps(reply.tool_calls[0]["args"], ensure_ascii=False))


def _cut_off(error: Exception) -> Completion | None:
    """The cut-off reply in an error that OpenAI's client raises for structured output; else None."""
    completion = getattr(error, "completion", None)
    choices = getattr(completion, "choices", None)
    if not choices or str(getattr(choices[0], "finish_reason", "")) not in _CUT:
        return None
    usage = getattr(completion, "usage", None)
    return Completion(
        text=str(getattr(choices[0].message, "content", "") or ""),
        input_tokens=usage.prompt_tokens if usage else 0,
        output_tokens=usage.completion_tokens if usage else 0,
        is_cut=True,
    )


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


_INDEX = "hlgraph_index"
_SCORE = "relevance_score"  # set by the rerankers of LangChain's integrations
_RERANK_BATCH = 1000


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
        documents = [Document(text, metadata={_INDEX: at}) for at, text in enumerate(texts)]
        return _scores(name or name_of(model), model.compress_documents(documents, question))

    return RemoteReranker(name or name_of(model), send, batch=_RERANK_BATCH, patience=patience)


def _scores(name: str, documents: Sequence[Document]) -> list[tuple[int, float]]:
    if any(_INDEX not in document.metadata for document in documents):
        raise ModelAnswerError(
            f"{name}: the compressor does not keep the metadata of documents, so its ranking cannot be read; use another"
        )
    is_scored = all(_SCORE in document.metadata for document in documents)
    return [
        (int(document.metadata[_INDEX]), float(document.metadata[_SCORE]) if is_scored else 1 - at / len(documents))
        for at, document in enumerate(documents)
    ]
