"""The extractor by a chat model: two calls a chunk, one repair each, quarantine, and an end when the provider is away."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from hlgraph.errors import ModelAccessError, ModelAnswerError, ModelError, ModelUnavailableError
from hlgraph.extract.chat._convert import to_extraction
from hlgraph.extract.chat._messages import Messages, ask_again, ask_entities, ask_propositions, versions
from hlgraph.extract.chat._schema import FoundEntities, FoundPropositions, Reply, ReplyError, parse
from hlgraph.extract.quarantine import Quarantine
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum
from hlgraph.models.seams import ChatModel, Completion
from hlgraph.models.usage import Usage
from hlgraph.records import Extraction

_log = logging.getLogger(__name__)
_VERSION = "chat/1"
_MORE_ROOM = 2


class ChatExtractor:
    """Finds entities, then propositions with topics and facts about these entities, by asking a chat model.

    A reply that cannot be read is asked for once more, with the reason (or with twice the room, when it was cut off). When
    that does not help, the chunk is extracted as nothing, its replies go to the quarantine, and ``Extraction.problem`` and
    ``is_failed`` say so: the next ingest tries it again.

    When the provider is away for longer than its calls are patient, or refuses the key, what was extracted so far is given
    back, the rest of the chunks are failed without a call, and the next call of :meth:`extract` raises: nothing that was
    paid for is lost, and no corpus of failures is made.

    Parameters
    ----------
    model : asked from many threads
    quarantine : where replies go that cannot be used
    concurrency : chunks at once
    max_tokens : of one reply
    usage : counts what the calls cost

    References
    ----------
    Two calls, the second held to the entities of the first: PropRAG, section 3; topics and facts: HLG, section 6.2.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        quarantine: Quarantine,
        concurrency: int = 8,
        max_tokens: int = 4096,
        usage: Usage | None = None,
    ) -> None:
        self._model = model
        self._quarantine = quarantine
        self._concurrency = concurrency
        self._max_tokens = max_tokens
        self._end: ModelError | None = None
        self._is_stopped = False
        self._lock = threading.Lock()
        self.usage = usage or Usage()

    @property
    def fingerprint(self) -> str:
        """Version, prompts and model: another model or another prompt means extracting again."""
        return f"{_VERSION}/{versions()}/{self._model.fingerprint}"

    @property
    def problems(self) -> tuple[str, ...]:
        """None: it reads no files."""
        return ()

    def input_fingerprint(self, chunk: ChunkInput) -> str:
        """A hash of the fingerprint, the text, the title and the headings: all that the model is shown."""
        return checksum(self.fingerprint, chunk.text, chunk.title, *chunk.headings)

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction a chunk, in order.

        Raises
        ------
        ModelUnavailableError, ModelAccessError : the provider let nothing through, now or at the end of the last call
        """
        self._check_end()
        if not chunks:
            return []
        self._quarantine.release({chunk.uri for chunk in chunks})
        pool = ThreadPoolExecutor(min(self._concurrency, len(chunks)), thread_name_prefix="hlgraph-extract")
        try:
            found = list(pool.map(self._extract, chunks))
        except BaseException:
            self._is_stopped = True  # an interrupt: calls under way end, no other is made
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        if all(item.is_failed for item in found):
            self._check_end()
        return found

    def _check_end(self) -> None:
        if self._end is not None:
            raise self._end

    def _extract(self, chunk: ChunkInput) -> Extraction:
        if self._end is not None:
            return _failed(chunk, f"not asked for: {self._end}")
        replies: list[str] = []
        try:
            entities = self._ask(ask_entities(chunk), FoundEntities, replies=replies).entities
            asked = ask_propositions(chunk, entities)
            propositions = self._ask(asked, FoundPropositions, replies=replies).propositions
        except (ModelUnavailableError, ModelAccessError) as error:
            with self._lock:
                self._end = self._end or error
            return _failed(chunk, str(error))
        except (ModelAnswerError, ReplyError) as error:
            return self._quarantined(chunk, str(error), replies)
        extraction, left_out = to_extraction(chunk, entities, propositions)
        if left_out:
            self.usage.leave_out(len(left_out))
            _log.info(
                "chunk %d of %s: %d names in no list and no sentence left out", chunk.position, chunk.uri, len(left_out)
            )
        return extraction

    def _ask(self, asked: Messages, form: type[Reply], *, replies: list[str]) -> Reply:
        room = self._max_tokens
        completion = self._complete(asked, room, replies)
        try:
            return parse(completion.text, form)
        except ReplyError as error:
            _log.debug("a reply of %s is asked for again: %s", self._model.fingerprint, error)
            if completion.is_cut:
                room *= _MORE_ROOM
            else:
                asked = ask_again(asked, completion.text, reason=str(error))
        completion = self._complete(asked, room, replies)
        try:
            return parse(completion.text, form)
        except ReplyError as error:
            if completion.is_cut:
                raise ReplyError(f"the reply is cut off at {room} tokens; raise models.max_tokens") from error
            raise

    def _complete(self, asked: Messages, room: int, replies: list[str]) -> Completion:
        if self._is_stopped:
            raise ModelUnavailableError("the extraction was interrupted; run it again to go on")
        completion = self._model.complete(asked.system, asked.user, max_tokens=room)
        self.usage.add(completion)
        replies.append(completion.text)
        return completion

    def _quarantined(self, chunk: ChunkInput, reason: str, replies: list[str]) -> Extraction:
        path = self._quarantine.keep(chunk, model=self._model.fingerprint, reason=reason, replies=replies)
        where = f"its replies are in {path}" if path else "its replies could not be kept"
        return _failed(chunk, f"{reason}; {where}")


def _failed(chunk: ChunkInput, reason: str) -> Extraction:
    problem = f"chunk {chunk.position} was not extracted: {reason}; the next ingest tries it again"
    return Extraction(problem=problem, is_failed=True)
