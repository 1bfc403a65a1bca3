"""Judge statements with a chat model, against the text that they were extracted from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hlgraph import progress
from hlgraph.errors import ModelAnswerError
from hlgraph.extract.chat.messages import (
    FoundVerdicts,
    Messages,
    ReplyError,
    accepts,
    ask_and_repair,
    context,
    parse,
    prompt,
    schema,
)
from hlgraph.extract.extractor import ChunkInput
from hlgraph.ids import checksum
from hlgraph.models.accounts.budget import Usage
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Asking, Executor
from hlgraph.models.prompts import delimited


class Verdict(NamedTuple):
    """Whether a statement agrees with its text, and if not, the reason."""

    is_accurate: bool
    reason: str = ""


def ask_verdicts(chunk: ChunkInput, statements: Sequence[str]) -> Messages:
    """The messages of a call about statements of one chunk, numbered from 1.

    Parameters
    ----------
    chunk : the chunk
    statements : texts of the statements

    Returns
    -------
    Messages
        The messages.
    """
    chosen = prompt("verdicts")
    listed = "\n".join(f"[{number}]\n{delimited('statement', text)}" for number, text in enumerate(statements, 1))
    values = {"context": context(chunk), "text": delimited("text", chunk.text), "statements": listed}
    return Messages(chosen.system, chosen.filled(values))


def read_verdicts(reply: str, count: int) -> list[Verdict]:
    """The verdicts in a reply, in the order of the statements.

    Parameters
    ----------
    reply : the reply
    count : number of statements

    Returns
    -------
    list
        One verdict per statement.

    Raises
    ------
    ReplyError
        The reply has another form, or a statement number is missing, occurs twice, or is out of range.
    """
    verdicts = parse(reply, FoundVerdicts).verdicts
    if sorted(verdict.number for verdict in verdicts) != list(range(1, count + 1)):
        raise ReplyError(f"there must be one verdict for each of the numbers from 1 to {count}")
    return [
        Verdict(verdict.is_accurate, "" if verdict.is_accurate else " ".join(verdict.reason.split()))
        for verdict in sorted(verdicts, key=lambda verdict: verdict.number)
    ]


def ask_for_verdicts(
    model: Executor, chunk: ChunkInput, statements: Sequence[str], *, stage: str, max_tokens: int, usage: Usage
) -> list[Verdict] | str:
    """The verdicts of a chat model on statements of one chunk: one call, and a second one if its reply cannot be read.

    Parameters
    ----------
    model : executor of the chat model
    chunk : the chunk
    statements : texts of the statements
    stage : the stage that makes the call, for the ledger
    max_tokens : maximum length of a reply, in tokens
    usage : counts the calls and their tokens

    Returns
    -------
    list or str
        One verdict per statement, or the reason why there are none.
    """

    def read(reply: str) -> list[Verdict]:
        return read_verdicts(reply, len(statements))

    def about(version: str) -> Asking:
        purpose = Purpose(stage=stage, source=chunk.source, part=checksum(chunk.text), prompt=version)
        return model.about(purpose, accept=lambda reply: accepts(read, reply), form=schema(FoundVerdicts))

    try:
        return ask_and_repair(
            about,
            ask_verdicts(chunk, statements),
            version=prompt("verdicts").version,
            max_tokens=max_tokens,
            read=lambda completion: read(completion.text),
            on_reply=usage.add,
        )
    except (ReplyError, ModelAnswerError) as error:
        return str(error)


class ChatJudge:
    """Judge statements with a chat model: one call per chunk, and a second one if the reply cannot be read.

    Parameters
    ----------
    model : executor of the chat model, with its ledger, stored replies and budget
    max_tokens : maximum length of a reply, in tokens

    References
    ----------
    HLG, appendix A: a statement is accurate if it preserves the intended meaning of the original chunk without introducing
    errors such as hallucinations.
    """

    def __init__(self, model: Executor, *, max_tokens: int) -> None:
        self._model = model
        self._max_tokens = max_tokens
        self.usage = Usage()

    @property
    def fingerprint(self) -> str:
        """Version of the prompt, and fingerprint of the model."""
        return f"{prompt('verdicts').version}+{self._model.fingerprint}"

    def judge(self, groups: Sequence[tuple[ChunkInput, Sequence[str]]]) -> list[list[Verdict] | str]:
        """For each chunk the verdicts on its statements, or a text with the reason why there are none.

        Raises ModelUnavailableError, ModelAccessError or BudgetError if the provider or the budget stops the calls.
        """
        with progress.step("judge", len(groups), unit="chunks"):
            return self._model.run(self._judge, groups, step="judge")

    def _judge(self, group: tuple[ChunkInput, Sequence[str]]) -> list[Verdict] | str:
        chunk, statements = group
        return ask_for_verdicts(
            self._model, chunk, statements, stage="quality", max_tokens=self._max_tokens, usage=self.usage
        )
