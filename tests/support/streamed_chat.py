"""A chat model that streams its replies from a script."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from hlgraph.models.protocols import Completion
from hlgraph.testing.chat import without_salt


class StreamedChat:
    """A chat model that streams each reply of its script in pieces.

    An error among the pieces is raised at its place; a completion among them ends the reply.

    Parameters
    ----------
    script : the pieces of each reply, in order
    name : the fingerprint, default ``streamed``

    Attributes
    ----------
    asked : system message, user message and ``max_tokens`` of every call so far
    closed : number of streams that ended, exhausted or closed by the reader

    Examples
    --------
    >>> [*StreamedChat([["Y", "es."]]).stream("s", "u", max_tokens=5)]
    ['Y', 'es.', Completion(text='Yes.', input_tokens=2, output_tokens=1, is_cut=False, is_kept=False, is_estimated=False, calls=1)]
    """

    def __init__(self, script: Sequence[Sequence[str | Completion | Exception]], *, name: str = "streamed") -> None:
        self._script = script
        self._name = name
        self._lock = threading.Lock()
        self.asked: list[tuple[str, str, int]] = []
        self.closed = 0

    @property
    def fingerprint(self) -> str:
        """The name."""
        return self._name

    def complete(self, system: str, user: str, *, max_tokens: int) -> Completion:
        """See :class:`hlgraph.models.protocols.ChatModel`; the next reply, whole."""
        last = [*self.stream(system, user, max_tokens=max_tokens)][-1]
        assert isinstance(last, Completion)
        return last

    def stream(self, system: str, user: str, *, max_tokens: int) -> Iterator[str | Completion]:
        """See :class:`hlgraph.models.protocols.ChatModel`; the next reply, its words counted as tokens."""
        with self._lock:
            pieces = self._script[len(self.asked)]
            self.asked.append((without_salt(system), without_salt(user), max_tokens))
        text = ""
        try:
            for piece in pieces:
                if isinstance(piece, Exception):
                    raise piece
                if isinstance(piece, Completion):
                    yield piece
                    return
                text += piece
                yield piece
            yield Completion(text, len(f"{system} {user}".split()), len(text.split()))
        finally:
            self.closed += 1
