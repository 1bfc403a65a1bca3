"""Chat models that reply from a script."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence

from hlgraph.models.prompts import SALT
from hlgraph.models.protocols import Completion

_SALTED = re.compile(r"(</?\w+ [0-9a-f]{8})[0-9a-f]{16}>")


def without_salt(message: str) -> str:
    """A message as it was before it was salted, so that it can be compared (:func:`hlgraph.models.prompts.delimited`)."""
    return _SALTED.sub(lambda match: f"{match[1]}{SALT}>", message)


class ScriptedChat:
    """A chat model whose replies come from a list, in order, or from a function of the system and user messages. Thread-safe.

    Parameters
    ----------
    script : replies (a text, a completion, or an error to raise), or a function that returns one
    name : the fingerprint, default ``scripted``

    Attributes
    ----------
    asked : system message, user message and ``max_tokens`` of every call so far

    Examples
    --------
    >>> chat = ScriptedChat(["Yes.", "No."])
    >>> chat.complete("s", "u", max_tokens=5).text, chat.complete("s", "u", max_tokens=5).text, len(chat.asked)
    ('Yes.', 'No.', 2)
    """

    def __init__(
        self,
        script: Sequence[str | Completion | Exception] | Callable[[str, str], str | Completion | Exception],
        *,
        name: str = "scripted",
    ) -> None:
        self._script = script
        self._name = name
        self._lock = threading.Lock()
        self.asked: list[tuple[str, str, int]] = []

    @property
    def fingerprint(self) -> str:
        """The name."""
        return self._name

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """See :class:`hlgraph.models.protocols.ChatModel`; the next reply, its words counted as tokens if it is a text."""
        with self._lock:
            at = len(self.asked)
            self.asked.append((without_salt(system), without_salt(user), max_tokens))
            if not callable(self._script):
                assert at < len(self._script), (
                    f"the script has {len(self._script)} replies, but this is call {at + 1}: {user}"
                )
        reply = self._script(system, user) if callable(self._script) else self._script[at]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        return Completion(reply, len(f"{system} {user}".split()), len(reply.split()))
