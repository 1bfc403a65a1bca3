"""The extractor by a chat model: two calls a chunk, one repair each, quarantine, and an end when the provider is away."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import NamedTuple

from hlgraph.errors import BudgetError, ModelAccessError, ModelAnswerError, ModelError, ModelUnavailableError
from hlgraph.extract.chat._convert import to_extraction
from hlgraph.extract.chat.messages import Messages, ask_again, ask_entities, ask_propositions, version, versions
from hlgraph.extract.chat.reply_schema import (
    FoundEntities,
    FoundPropositions,
    Reply,
    ReplyError,
    is_readable,
    parse,
    schema,
)
from hlgraph.extract.quarantine import Quarantine, Quarantined
from hlgraph.extract.seam import ChunkInput, shown_fingerprint
from hlgraph.ids import checksum
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.accounts.usage import Usage
from hlgraph.models.executor import Asking, Executor
from hlgraph.models.seams import ChatModel, Completion
from hlgraph.records import Domain, Extraction

_log = logging.getLogger(__name__)
_VERSION = "chat/1"
_MORE_ROOM = 2
MOST_TRIES = 3
"""Ingests that ask for a chunk whose replies cannot be used."""


class _Asked(NamedTuple):
    """A chunk, what was replied about it so far, and the prompt that was asked last."""

    chunk: ChunkInput
    replies: list[str]
    calls: list[str]


class ChatExtractor:
    """Finds entities, then propositions with topics and facts about these entities, by asking a chat model.

    A reply that cannot be read is asked for once more, with the reason (or with twice the room, when it was cut off). When
    that does not help, the chunk is extracted as nothing, its replies go to the quarantine, and ``Extraction.problem`` and
    ``is_failed`` say so: the next ingest tries it again, up to ``most_tries`` times.

    When the provider is away for longer than its calls are patient, or refuses the key, or when the budget is spent, what
    was extracted so far is given back, the rest of the chunks are failed without a call, and the next call of
    :meth:`extract` raises: nothing that was paid for is lost, and no corpus of failures is made.

    Parameters
    ----------
    model : asked from many threads; an executor brings its ledger, its kept replies and its budget
    quarantine : where replies go that cannot be used; what succeeds later leaves it when it is in the graph
    concurrency : chunks at once, for a model that is no executor
    max_tokens : of one reply
    domain : of the corpus, which its prompts name; None: none
    most_tries : a chunk that failed so often, by this extractor, is failed without a call, since it would cost the same for
        nothing at every ingest; None: it is asked for however often it failed (a retry that somebody wants)

    References
    ----------
    Two calls, the second held to the entities of the first: PropRAG, section 3; topics, facts and domain: HLG, section 6.2.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        quarantine: Quarantine,
        concurrency: int = 8,
        max_tokens: int = 4096,
        domain: Domain | None = None,
        most_tries: int | None = MOST_TRIES,
    ) -> None:
        self._model = model if isinstance(model, Executor) else Executor(model, most=concurrency).begin()
        self._quarantine = quarantine
        self._max_tokens = max_tokens
        self._most_tries = most_tries
        self._end: ModelError | None = None
        self._lock = threading.Lock()
        self.domain = domain
        self.usage = Usage()

    @property
    def fingerprint(self) -> str:
        """Version, prompts, domain and model: another one of them means extracting again."""
        return f"{_VERSION}/{versions(self.domain)}/{self._model.fingerprint}"

    @property
    def problems(self) -> tuple[str, ...]:
        """None: it reads no files."""
        return ()

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """A hash of the fingerprint, the text, the title and the headings: all that the model is shown."""
        return shown_fingerprint(self.fingerprint, chunk)

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction a chunk, in order.

        Raises
        ------
        ModelUnavailableError, ModelAccessError : the provider let nothing through, now or at the end of the last call
        BudgetError : the budget did not reach for a call, now or at the end of the last call
        """
        self._check_end()
        if not chunks:
            return []
        found = self._model.run(self._extract, chunks)
        if all(item.is_failed for item in found):
            self._check_end()
        return found

    def gives_up(self, chunk: ChunkInput) -> bool:
        """Whether a chunk failed so often that it is not asked for any more."""
        held = self._quarantine.find(chunk)
        return held is not None and self._is_given_up(held)

    @property
    def end(self) -> ModelError | None:
        """What ended the extraction before its time, with all that was spent; None: nothing did."""
        found = self._model.purse.ended()
        return found if isinstance(self._end, BudgetError) and isinstance(found, BudgetError) else self._end

    def _check_end(self) -> None:
        end = self.end
        if end is not None:
            raise end

    def _extract(self, chunk: ChunkInput) -> Extraction:
        held = self._quarantine.find(chunk)
        if self._end is not None:
            return self._unasked(chunk, f"not asked for: {self._end}", held)
        if held is not None and self._is_given_up(held):
            reason = f"it failed {held.tries} times ({held.reason})"
            return _failed(chunk, reason, mend=f"hlgraph failures retry {held.id}, or accept, mends it")
        asked = _Asked(chunk, [], [])
        try:
            entities = self._ask("entities", ask_entities(chunk, self.domain), asked, form=FoundEntities).entities
            messages = ask_propositions(chunk, entities, domain=self.domain)
            propositions = self._ask("propositions", messages, asked, form=FoundPropositions).propositions
        except (ModelUnavailableError, ModelAccessError, BudgetError) as error:
            with self._lock:
                self._end = self._end or error
            return self._unasked(chunk, str(error), held)
        except (ModelAnswerError, ReplyError) as error:
            return self._quarantined(asked, str(error), held)
        extraction, left_out = to_extraction(chunk, entities, propositions)
        if left_out:
            self.usage.leave_out(len(left_out))
            _log.info(
                "chunk %d of %s: %d names in no list and no sentence left out", chunk.position, chunk.uri, len(left_out)
            )
        return extraction

    def _ask(self, name: str, messages: Messages, asked: _Asked, *, form: type[Reply]) -> Reply:
        """The reply in its form, at the second try if it must be."""
        room = self._max_tokens
        asked.calls.append(version(name, self.domain))
        model = self._asking(name, asked.chunk, form)
        first = self._complete(model, messages, room, asked)
        try:
            return parse(first.text, form)
        except ReplyError as error:
            _log.debug("a reply of %s is asked for again: %s", self._model.fingerprint, error)
            if first.is_cut:
                again, room = messages, room * _MORE_ROOM
            else:
                again = ask_again(messages, first.text, reason=str(error))
                model = self._asking("repair", asked.chunk, form)
        second = self._complete(model, again, room, asked)
        try:
            found = parse(second.text, form)
        except ReplyError as error:
            if second.is_cut:
                raise ReplyError(f"the reply is cut off at {room} tokens; raise models.max_tokens") from error
            raise
        # Asked the first time again, nobody should pay for the way there again.
        self._asking(name, asked.chunk, form).settle(*messages, max_tokens=self._max_tokens, completion=second)
        return found

    def _asking(self, name: str, chunk: ChunkInput, form: type[Reply]) -> Asking:
        prompt = version(name, self.domain)
        purpose = Purpose(stage="extract", uri=chunk.uri, part=checksum(chunk.text), prompt=prompt)
        return self._model.about(purpose, accept=lambda text: is_readable(text, form), form=schema(form))

    def _complete(self, model: Asking, messages: Messages, room: int, asked: _Asked) -> Completion:
        completion = model.complete(messages.system, messages.user, max_tokens=room)
        self.usage.add(completion)
        asked.replies.append(completion.text)
        return completion

    def _is_given_up(self, held: Quarantined) -> bool:
        if self._most_tries is None or held.extractor != self.fingerprint:
            return False
        return held.tries >= self._most_tries

    def _unasked(self, chunk: ChunkInput, reason: str, held: Quarantined | None) -> Extraction:
        if held is not None and self._most_tries is not None and held.extractor != self.fingerprint:
            # The source is stored as one that waits for this extractor, so its failures must too.
            self._quarantine.expect(held, self.fingerprint)
        return _failed(chunk, reason)

    def _quarantined(self, asked: _Asked, reason: str, held: Quarantined | None) -> Extraction:
        chunk, fingerprint = asked.chunk, self.fingerprint
        # What the source waits for is what its ingest was to use, whoever tries in between.
        is_retry = self._most_tries is None and held is not None
        path = self._quarantine.keep(
            chunk,
            model=self._model.fingerprint,
            extractor=held.extractor if is_retry and held else fingerprint,
            call=asked.calls[-1],
            reason=reason,
            replies=asked.replies,
        )
        where = f"its replies are in {path}" if path else "its replies could not be kept"
        return _failed(chunk, f"{reason}; {where}")


def _failed(chunk: ChunkInput, reason: str, *, mend: str = "the next ingest tries it again") -> Extraction:
    problem = f"chunk {chunk.position} was not extracted: {reason}; {mend}"
    return Extraction(problem=problem, is_failed=True)
