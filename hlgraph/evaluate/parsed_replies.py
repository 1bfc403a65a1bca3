"""Ask a chat model for a structured reply, and once more if the first one cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hlgraph.extract.chat.messages import Messages, Reply, ReplyError, ask_again, parse, prompt, schema
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor

MAX_TOKENS = 2_048
"""Default limit of a reply, with room for models that reason before they answer."""


def ask_twice(
    executor: Executor,
    messages: Messages,
    *,
    form: type[Reply],
    purpose: Purpose,
    max_tokens: int = MAX_TOKENS,
    check: Callable[[Reply], None] | None = None,
) -> Reply:
    """The parsed reply. A reply that cannot be read is requested once more, with the reason.

    Parameters
    ----------
    executor : of the chat model, with its ledger, stored replies and budget
    messages : the request
    form : schema of the reply
    purpose : stage, strategy and version of the prompt
    max_tokens : limit of the reply, in tokens
    check : raises ReplyError for a reply of the right form that cannot be used; default: every one can

    Raises
    ------
    ReplyError
        The second reply cannot be read either.
    ModelError
        The model cannot be called, or refuses.
    """

    def read(text: str) -> Reply:
        reply = parse(text, form)
        if check is not None:
            check(reply)
        return reply

    def is_readable(text: str) -> bool:
        try:
            read(text)
        except ReplyError:
            return False
        return True

    def about(asked: Purpose) -> Asking:
        return executor.about(asked, accept=is_readable, form=schema(form))

    first = about(purpose).complete(*messages, max_tokens=max_tokens)
    try:
        return read(first.text)
    except ReplyError as error:
        again = ask_again(messages, first.text, reason=str(error))
    second = about(replace(purpose, prompt=prompt("repair").version)).complete(*again, max_tokens=max_tokens)
    reply = read(second.text)
    # Stored as the reply to the first request, so that a repeated run pays for neither of the two calls.
    about(purpose).settle(*messages, max_tokens=max_tokens, completion=second)
    return reply
