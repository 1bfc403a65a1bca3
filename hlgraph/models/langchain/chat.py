"""Any chat model of LangChain as ours."""

from __future__ import annotations

import threading

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from hlgraph.errors import ModelAnswerError
from hlgraph.models.calls import PATIENT, Patience, call, mapped
from hlgraph.models.langchain.names import name_of
from hlgraph.models.seams import Completion

# What the integrations call the limit of a reply, and how providers say that it was reached.
_LIMITS = ("max_tokens", "max_output_tokens", "num_predict", "max_new_tokens")
_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})


class LangChainChat:
    """A chat model that asks one of LangChain. Safe for threads where that one is, as LangChain's own are.

    Parameters
    ----------
    model : the model; its own time-out holds, and its own retries come on top of ours
    name : ``provider:model``; default: the class and the model's name for itself
    patience : of :meth:`complete`, and of whoever calls :meth:`attempt`

    Examples
    --------
    >>> from langchain_core.language_models import FakeListChatModel
    >>> chat = LangChainChat(FakeListChatModel(responses=["Yes."]))
    >>> chat.complete("Answer.", "Is it so?", max_tokens=10).text
    'Yes.'
    """

    def __init__(self, model: BaseChatModel, *, name: str = "", patience: Patience = PATIENT) -> None:
        self._model = model
        self._name = name or name_of(model)
        self.patience = patience
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

    def attempt(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """The same by one try, for who tries again by himself."""
        model = self._with_limit(max_tokens)
        messages = [SystemMessage(system), HumanMessage(user)]
        reply = mapped(self._name, lambda: model.invoke(messages))
        completion = _completion(reply)
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
