"""Any chat model of LangChain as ours."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable

from hlgraph.errors import ModelAnswerError, ModelUnavailableError
from hlgraph.models.calls import PATIENT, Patience, call, mapped
from hlgraph.models.langchain.model_names import name_of
from hlgraph.models.seams import Completion

# What the integrations call the limit of a reply, and how providers say that it was reached.
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens")
_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_log = logging.getLogger(__name__)


class _Usage(Protocol):
    prompt_tokens: int
    completion_tokens: int


class LangChainChat:
    """A chat model that asks one of LangChain. Safe for threads where that one is, as LangChain's own are.

    Parameters
    ----------
    model : the model; its own time-out holds, and its own retries come on top of ours
    name : ``provider:model``; default: the class and the model's name for itself
    patience : of :meth:`complete`, and of whoever calls :meth:`attempt`
    has_forms : replies in a form (a JSON schema) are asked for by the provider's own means, where the integration has any

    Examples
    --------
    >>> from langchain_core.language_models import FakeListChatModel
    >>> chat = LangChainChat(FakeListChatModel(responses=["Yes."]))
    >>> chat.complete("Answer.", "Is it so?", max_tokens=10).text
    'Yes.'
    """

    def __init__(
        self, model: BaseChatModel, *, name: str = "", patience: Patience = PATIENT, has_forms: bool = True
    ) -> None:
        self._model = model
        self._name = name or name_of(model)
        self.patience = patience
        self.has_forms = has_forms
        self._limited: dict[int, BaseChatModel] = {}
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Provider and model."""
        return self._name

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """The reply to one system and one user message.

        Raises
        ------
        ModelUnavailableError, ModelAccessError : the provider does not answer, or does not let us in
        ModelAnswerError : it refused these messages, or replied with no text
        """
        return call(self._name, lambda: self.attempt(system, user, max_tokens=max_tokens), patience=self.patience)

    def attempt(
        self, system: str, user: str, *, max_tokens: int, form: Mapping[str, object] | None = None
    ) -> Completion:
        """The same by one try, for who tries again by himself.

        Parameters
        ----------
        form : the JSON schema of the reply; a provider that refuses such a request is asked without one, from then on where
            that helps
        """
        model = self._with_limit(max_tokens)
        messages = [SystemMessage(system), HumanMessage(user)]
        if form is not None and self.has_forms:
            try:
                return self._in_form(model, messages, form)
            except (NotImplementedError, TypeError, ValueError, ModelAnswerError) as error:
                _log.debug("%s is asked without a form: %s", self._name, error)
            completion = self._plain(model, messages)
            self.has_forms = False
            return completion
        return self._plain(model, messages)

    def stream(self, system: str, user: str, *, max_tokens: int) -> Iterator[str | Completion]:
        """The pieces of the reply as they come, by one try, and at the end the whole reply.

        A model of an integration that cannot give pieces gives one. A reply whose provider said why it ended with every other
        reply, and breaks off without saying so, is an error, not a shorter reply.

        Raises
        ------
        ModelUnavailableError, ModelAccessError, ModelAnswerError : as :meth:`complete` does; ModelUnavailableError also where
            the stream broke off
        """
        pieces = self._with_limit(max_tokens).stream([SystemMessage(system), HumanMessage(user)])
        whole: AIMessageChunk | None = None
        try:
            while (chunk := mapped(self._name, lambda: next(pieces, None))) is not None:
                whole = chunk if whole is None else whole + chunk
                text = str(chunk.text)
                if text:
                    yield text
        finally:
            close = getattr(pieces, "close", None)
            if close is not None:
                close()
        if whole is None:
            raise ModelAnswerError(
                f"{self._name}: the model replied with nothing; ask it another way, or another model"
            )
        if whole.response_metadata and not any(whole.response_metadata.get(name) for name in _REASONS):
            raise ModelUnavailableError(
                f"{self._name}: the reply broke off before its end; try again later", is_silent=True
            )
        yield _completion(whole)

    def _plain(self, model: BaseChatModel, messages: list[BaseMessage]) -> Completion:
        reply = mapped(self._name, lambda: model.invoke(messages))
        return self._said(_completion(reply))

    def _in_form(self, model: BaseChatModel, messages: list[BaseMessage], form: Mapping[str, object]) -> Completion:
        """The reply as JSON; raises NotImplementedError where the integration cannot ask for it."""
        asking = cast(
            "Runnable[list[BaseMessage], dict[str, AIMessage]]",
            model.with_structured_output(dict(form), include_raw=True),
        )

        def ask() -> Completion:
            try:
                return _formed(asking.invoke(messages)["raw"])
            except Exception as error:
                cut = _cut_off(error)
                if cut is not None:
                    return cut
                raise

        return self._said(mapped(self._name, ask))

    def _said(self, completion: Completion) -> Completion:
        if not completion.text.strip() and not completion.is_cut:
            raise ModelAnswerError(
                f"{self._name}: the model replied with no text; ask it another way, or another model"
            )
        return completion

    def _with_limit(self, max_tokens: int) -> BaseChatModel:
        """The model with the limit in the field that its integration has for it, if it has one."""
        with self._lock:
            if max_tokens not in self._limited:
                field = next((name for name in _LIMITS if name in type(self._model).model_fields), None)
                changed = self._model.model_copy(update={field: max_tokens}) if field else self._model
                self._limited[max_tokens] = changed
            return self._limited[max_tokens]


def _completion(reply: AIMessage) -> Completion:
    usage = reply.usage_metadata
    reasons = {str(reply.response_metadata.get(name, "")).lower() for name in _REASONS}
    return Completion(
        text=str(reply.text),
        input_tokens=usage["input_tokens"] if usage else 0,
        output_tokens=usage["output_tokens"] if usage else 0,
        is_cut=bool(reasons & _CUT),
    )


def _formed(reply: AIMessage) -> Completion:
    """A reply in a form: what the model gave to the tool that stands for the form, else its text."""
    completion = _completion(reply)
    if not reply.tool_calls:
        return completion
    return replace(completion, text=json.dumps(reply.tool_calls[0]["args"], ensure_ascii=False))


def _cut_off(error: Exception) -> Completion | None:
    """The reply that an error carries because it was cut off: OpenAI's client raises it where a form was asked for."""
    found = getattr(error, "completion", None)
    choices = getattr(found, "choices", None)
    if not choices or str(getattr(choices[0], "finish_reason", "")) not in _CUT:
        return None
    usage: _Usage | None = getattr(found, "usage", None)
    return Completion(
        text=str(getattr(choices[0].message, "content", "") or ""),
        input_tokens=usage.prompt_tokens if usage else 0,
        output_tokens=usage.completion_tokens if usage else 0,
        is_cut=True,
    )
