"""A chat model that says what it is told to say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from hlgraph.models.seams import Completion


class ScriptedChat:
    """Replies from a list, in order, or by a function of the system and the user message. Safe for threads.

    Parameters
    ----------
    script : replies (a text, a whole completion, or an error to raise), or a function that makes one
    name : the fingerprint

    Attributes
    ----------
    asked : system message, user message and limit of every call so far

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
        """The next reply of the script; its tokens are counted as words where it does not say."""
        with self._lock:
            at = len(self.asked)
            self.asked.append((system, user, max_tokens))
            if not callable(self._script):
                assert at < len(self._script), (
                    f"the script has {len(self._script)} replies, this is call {at + 1}: {user}"
                )
        reply = self._script(system, user) if callable(self._script) else self._script[at]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        return Completion(reply, len(f"{system} {user}".split()), len(reply.split()))
