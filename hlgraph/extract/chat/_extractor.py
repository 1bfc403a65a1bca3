"""The chat extractor: two calls per chunk, one repair each, grounding, a quarantine, and a stop if the provider is unavailable.

:func:`to_extraction` converts parsed replies to an extraction: it checks names against the list and finds spans in the chunk.
:class:`ChatExtractor` makes the calls. :func:`mended` accepts replies that a person corrected. :class:`ChatJudge` checks
statements. :func:`expected_calls` says what the calls will need.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, Field, ValidationError, model_validator

from hlgraph import progress
from hlgraph.errors import (
    BudgetError,
    InputError,
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelUnavailableError,
)
from hlgraph.extract.chat.messages import (
    FoundEntities,
    FoundEntity,
    FoundFact,
    FoundProposition,
    FoundPropositions,
    FoundVerdicts,
    MendedReply,
    Messages,
    Reply,
    ReplyError,
    ReplyPart,
    Salvaged,
    Words,
    accepts,
    ask_and_repair,
    ask_domain,
    ask_entities,
    ask_propositions,
    context,
    is_readable,
    parse,
    prompt,
    reasons,
    salvage,
    schema,
    version,
    versions,
    whole,
)
from hlgraph.extract.extractor import ChunkInput, ChunkText, Extractor, Metered, spelled
from hlgraph.extract.grounding import Grounds, check_ground
from hlgraph.extract.quarantine import Dropped, Quarantine, Quarantined
from hlgraph.ids import checksum, normalise_name
from hlgraph.models.accounts.budget import Usage
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import MORE_ROOM, Asking, Executor
from hlgraph.models.prompts import delimited, estimated_tokens, request_tokens
from hlgraph.models.protocols import ChatModel, Completion
from hlgraph.records import Domain, Extraction, Mention, Proposition, Triple

# The domain of a corpus: given by a person, or inferred from samples.

_MOST_KINDS, _LONGEST_KIND = 15, 40
_MOST_TOPICS, _LONGEST_TOPIC = 20, 80
DOMAIN_TOKENS = 250
"""Approximate length of a reply about a domain, in tokens."""
GUESSED = Domain(("kind of things",) * 10, ("topic of some documents",) * 12)
"""Placeholder of typical length for a domain that is not known yet; for token estimates."""


def _kind(text: str) -> str:
    if len(text) > _LONGEST_KIND:
        raise ValueError(f"must be a kind of at most {_LONGEST_KIND} characters")
    return text.lower()


def _topic(text: str) -> str:
    if len(text) > _LONGEST_TOPIC:
        raise ValueError(f"must be a topic of at most {_LONGEST_TOPIC} characters")
    return text


def _once(names: list[str]) -> list[str]:
    by_key: dict[str, str] = {}
    for name in names:
        by_key.setdefault(name.casefold(), name)
    return list(by_key.values())


Kinds = Annotated[list[Annotated[Words, AfterValidator(_kind)]], Field(max_length=_MOST_KINDS), AfterValidator(_once)]
Topics = Annotated[
    list[Annotated[Words, AfterValidator(_topic)]], Field(max_length=_MOST_TOPICS), AfterValidator(_once)
]


class FoundDomain(ReplyPart):
    """The reply about the samples of a corpus."""

    kinds: Annotated[Kinds, Field(min_length=1)]
    topics: Annotated[Topics, Field(min_length=1)]


class GivenDomain(ReplyPart):
    """A domain given by a person; one of the two lists may be omitted."""

    kinds: Kinds = Field(default_factory=list)
    topics: Topics = Field(default_factory=list)

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not (self.kinds or self.topics):
            raise ValueError("must name kinds or topics")
        return self


def given_domain(tree: object) -> Domain:
    """The domain in a mapping with ``kinds`` and ``topics``. Raises InputError if the mapping has another form."""
    try:
        parsed = GivenDomain.model_validate(tree)
    except ValidationError as error:
        raise InputError(
            f"the domain cannot be used: {'; '.join(reasons(error))}; give at most {_MOST_KINDS} kinds of entities and "
            f"{_MOST_TOPICS} topics, as {{kinds: [drug, side effect], topics: [safety of patients]}}"
        ) from error
    return Domain(tuple(parsed.kinds), tuple(parsed.topics))


def read_domain(reply: str, *, model: str) -> Domain:
    """The domain in the reply of a model.

    Parameters
    ----------
    reply : the reply
    model : fingerprint of the model

    Returns
    -------
    Domain
        The domain.

    Raises
    ------
    ReplyError
        The reply has another form.
    """
    parsed = parse(reply, FoundDomain)
    return Domain(tuple(parsed.kinds), tuple(parsed.topics), f"{prompt('domain').version}+{model}")


def infer_domain(model: Executor, samples: Sequence[ChunkInput], *, max_tokens: int, usage: Usage) -> Domain:
    """The domain of a corpus, inferred from sample chunks: one call, and a second one if its reply cannot be read.

    Parameters
    ----------
    model : executor of the chat model, with its ledger (stage ``domain``), stored replies and budget
    samples : sample chunks of the corpus
    max_tokens : maximum length of the reply, in tokens
    usage : counts the calls and their tokens

    Returns
    -------
    Domain
        The domain.

    Raises
    ------
    ModelAnswerError
        Neither reply can be used.
    ModelUnavailableError, ModelAccessError, BudgetError
        The provider or the budget stops the call.

    References
    ----------
    HLG, section 6.2, step 2.
    """

    def about(version: str) -> Asking:
        # No source: the samples come from several, so the reply is deleted with the first change that removes something.
        purpose = Purpose(stage="domain", prompt=version)
        return model.about(purpose, accept=lambda text: is_readable(text, FoundDomain), form=schema(FoundDomain))

    try:
        return ask_and_repair(
            about,
            ask_domain(samples),
            version=prompt("domain").version,
            max_tokens=max_tokens,
            read=lambda reply: read_domain(_whole(reply), model=model.fingerprint),
            on_reply=usage.add,
        )
    except ReplyError as error:
        raise ModelAnswerError(
            f"{model.fingerprint} was asked twice for the domain of the corpus, and its reply cannot be used: {error}; "
            "nothing was changed; repeat the command, choose another chat model, or write the domain by hand: "
            "hlgraph domain set"
        ) from error


def _whole(reply: Completion) -> str:
    """The text of a reply. Raises ReplyError if it is cut off, even if the part parses."""
    if reply.is_cut:
        raise ReplyError("it is cut off even at twice the length limit; raise models.max_tokens")
    return reply.text


# Parsed replies as an extraction, and the calls that get them.

_ARTICLE = re.compile("^(?:the|an?) ")


class _Names:
    """The listed entities by normalised name, and the names that are neither listed nor in their sentence."""

    def __init__(self, entities: Sequence[FoundEntity]) -> None:
        self.listed: dict[str, Mention] = {}
        for entity in entities:
            name = normalise_name(entity.name)
            if name:
                self.listed.setdefault(name, Mention(entity.name, entity.kind))
        self.foreign: dict[str, None] = {}

    def of(self, name: str) -> Mention | None:
        """The listed entity with this name, with or without a leading article."""
        normalised = normalise_name(name)
        return self.listed.get(normalised) or self.listed.get(_ARTICLE.sub("", normalised))

    def mention(self, name: str, words: str) -> Mention | None:
        """The listed entity with this name, else the name itself if the sentence has it. Else None, noted in ``foreign``."""
        entity = self.of(name)
        if entity is None and normalise_name(name) and spelled(name) in words:
            entity = Mention(name)
        if entity is None:
            self.foreign[name] = None
        return entity


def to_extraction(
    chunk: ChunkInput, entities: Sequence[FoundEntity], propositions: Sequence[FoundProposition]
) -> tuple[Extraction, tuple[str, ...]]:
    """The extraction in two parsed replies, and the names that were left out.

    A name that is neither listed nor in its sentence is left out, together with the facts whose subject it is. An object
    that is not listed is a literal. The span of a proposition is the place of its words, else the sentence that shares the
    most of its content words (at least half), else the whole chunk.

    Parameters
    ----------
    chunk : the chunk
    entities : the entities in the first reply
    propositions : the propositions in the second reply

    Returns
    -------
    tuple
        The extraction, and the names that were left out.
    """
    names = _Names(entities)
    text = ChunkText(chunk.text)
    fallback = next((topic for topic in (*reversed(chunk.headings), chunk.title) if topic.strip()), "")
    converted = tuple(_proposition(proposition, names, text, fallback) for proposition in propositions)
    topics = tuple(dict.fromkeys(topic for proposition in converted for topic in proposition.topics))
    return Extraction(converted, topics), tuple(names.foreign)


def _proposition(proposed: FoundProposition, names: _Names, text: ChunkText, fallback: str) -> Proposition:
    words = spelled(proposed.text)
    start, end = text.find(proposed.text) or text.closest(proposed.text) or (0, len(text.text))
    mentions = dict.fromkeys(mention for name in proposed.entities if (mention := names.mention(name, words)))
    triples = dict.fromkeys(triple for fact in proposed.facts if (triple := _triple(fact, names, words)))
    for triple in triples:
        ends = (triple.subject,) if triple.is_literal else (triple.subject, triple.object)
        mentions |= dict.fromkeys(mention for name in ends if (mention := names.mention(name, words)))
    return Proposition(
        text=proposed.text,
        start=start,
        end=end,
        topics=tuple(dict.fromkeys(proposed.topics)) or ((fallback,) if fallback else ()),
        mentions=tuple(mentions),
        triples=tuple(triples),
    )


def _triple(fact: FoundFact, names: _Names, words: str) -> Triple | None:
    subject = names.mention(fact.subject, words)
    if subject is None:
        return None
    listed = names.of(fact.object)
    return Triple(subject.name, fact.predicate, listed.name if listed else fact.object, is_literal=listed is None)


_log = logging.getLogger(__name__)
_VERSION = "chat/1"
MOST_TRIES = 3
"""Number of failures after which ingests no longer call the model for a chunk."""


_MOST_JUDGED = 25
"""Number of propositions that one grounding call is about."""


class _Exchange(NamedTuple):
    """A chunk, the replies about it so far, the versions of the prompts sent for it, and what was dropped from its replies."""

    chunk: ChunkInput
    replies: list[str]
    calls: list[str]
    dropped: list[Dropped]


class ChatExtractor(Extractor, Metered):
    """An extractor that calls a chat model: for the entities, then for propositions with topics and facts about them.

    A reply with parts that cannot be read is requested once more, with the reason (with twice the token limit if it was cut
    off). If that reply has such parts, too, the one with more readable items counts: the others are dropped, counted in
    ``Extraction.dropped``, and go to the quarantine. If nothing can be read, the extraction of the chunk is empty, its replies
    go to the quarantine, and ``Extraction.problem`` and ``is_failed`` are set. Later ingests retry the chunk until it has
    failed ``most_tries`` times.

    A proposition that its chunk does not say, with its title, headings and the lines above it, is left out, counted in
    ``Extraction.ungrounded``, and goes to the quarantine.

    If the provider stays unavailable or refuses the key, or if the budget is spent, the results so far are returned, the
    remaining chunks fail without a call, and the next call of :meth:`extract` raises. So nothing that was paid for is lost,
    and the ingest stops before every chunk of the corpus has failed.

    Parameters
    ----------
    model : the chat model, called from several threads; an Executor contributes its ledger, stored replies and budget
    quarantine : stores unusable replies, which are removed once their chunk is in the graph
    max_tokens : maximum length of a reply, in tokens; default 4096
    domain : domain of the corpus, which the prompts name; default None
    most_tries : failures of this extractor after which a chunk fails without a call, since another call would probably cost
        money for nothing; None: no limit (for an explicit retry); default 3
    ground : how propositions are checked against their chunk: ``words`` (default; see :mod:`hlgraph.extract.grounding`),
        ``chat`` (the chat model judges them, 25 a call), or ``off``; no part of the fingerprint

    References
    ----------
    Two calls, the second restricted to the entities of the first: PropRAG, section 3; topics, facts, domain: HLG, section 6.2.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        quarantine: Quarantine,
        max_tokens: int = 4096,
        domain: Domain | None = None,
        most_tries: int | None = MOST_TRIES,
        ground: str = "words",
    ) -> None:
        self._model = model if isinstance(model, Executor) else Executor(model).begin()
        self._quarantine = quarantine
        self._max_tokens = max_tokens
        self._most_tries = most_tries
        check_ground(ground)
        self._ground = ground
        self._end: ModelError | None = None
        self._lock = threading.Lock()
        self.domain = domain
        self.usage = Usage()

    @property
    def fingerprint(self) -> str:
        """Version, prompts, domain and model; a change of any of them triggers a new extraction."""
        return f"{_VERSION}/{versions(self.domain)}/{self._model.fingerprint}"

    def extract(self, chunks: Sequence[ChunkInput]) -> list[Extraction]:
        """One extraction per chunk, in order.

        Raises
        ------
        ModelUnavailableError, ModelAccessError
            The provider answered no call this time, or stopped an earlier call of this method.
        BudgetError
            The budget covered no call this time, or stopped an earlier call of this method.
        """
        self._check_end()
        if not chunks:
            return []
        extractions = self._model.run(self._extract, chunks, step="extract")
        if all(extraction.is_failed for extraction in extractions):
            self._check_end()
        return extractions

    def gives_up(self, chunk: ChunkInput) -> bool:
        """Whether a chunk has failed ``most_tries`` times, so that the model is no longer called for it."""
        return self._is_given_up(self._quarantine.find(chunk))

    @property
    def end(self) -> ModelError | None:
        """The error that stopped the extraction early, a BudgetError with the current totals; None if there is none."""
        spent = self._model.purse.ended()
        return spent if isinstance(self._end, BudgetError) and isinstance(spent, BudgetError) else self._end

    def _check_end(self) -> None:
        end = self.end
        if end is not None:
            raise end

    def _extract(self, chunk: ChunkInput) -> Extraction:
        failure = self._quarantine.find(chunk)
        if self._end is not None:
            return self._unasked(chunk, f"the model was not called: {self._end}", failure)
        if failure is not None and self._is_given_up(failure):
            reason = f"it failed {failure.tries} times ({failure.reason})"
            return _failed(chunk, reason, mend=f"run hlgraph failures retry {failure.id}, or hlgraph failures accept")
        exchange = _Exchange(chunk, [], [], [])
        try:
            entities = self._ask("entities", ask_entities(chunk, self.domain), exchange, form=FoundEntities).entities
            messages = ask_propositions(chunk, entities, domain=self.domain)
            propositions = self._ask("propositions", messages, exchange, form=FoundPropositions).propositions
            ungrounded = self._ungrounded(chunk, propositions)
        except (ModelUnavailableError, ModelAccessError, BudgetError) as error:
            with self._lock:
                self._end = self._end or error
            return self._unasked(chunk, str(error), failure)
        except (ModelAnswerError, ReplyError) as error:
            return self._quarantined(exchange, str(error), failure)
        grounded = [proposition for proposition in propositions if proposition.text not in ungrounded]
        extraction, left_out = to_extraction(chunk, entities, grounded)
        if left_out:
            self.usage.leave_out(len(left_out))
            message = "chunk %d of %s: left out %d names that are neither listed nor in their sentence"
            _log.info(message, chunk.position, chunk.uri, len(left_out))
        lost = [*exchange.dropped, *(Dropped(text, reason) for text, reason in ungrounded.items())]
        if lost:
            self._keep(exchange, lost, failure)
        return replace(extraction, dropped=len(exchange.dropped), ungrounded=len(propositions) - len(grounded))

    def _ungrounded(self, chunk: ChunkInput, propositions: Sequence[FoundProposition]) -> dict[str, str]:
        """The propositions that the chunk does not say, with the reasons."""
        if self._ground == "off":
            return {}
        grounds = Grounds(chunk)
        reasons: dict[str, str] = {}
        for start in range(0, len(propositions), _MOST_JUDGED):
            part = propositions[start : start + _MOST_JUDGED]
            texts = [proposition.text for proposition in part]
            verdicts = None
            if self._ground == "chat":
                verdicts = ask_for_verdicts(
                    self._model, chunk, texts, stage="extract", max_tokens=self._max_tokens, usage=self.usage
                )
            if verdicts is None or isinstance(verdicts, str):  # words, also where the model's verdicts cannot be read
                objections = [grounds.objection(proposition.text, proposition.entities) for proposition in part]
            else:
                objections = ["" if each.is_accurate else each.reason or "not in the text" for each in verdicts]
            reasons |= {text: reason for text, reason in zip(texts, objections, strict=True) if reason}
        return reasons

    def _ask(self, name: str, messages: Messages, exchange: _Exchange, *, form: type[Reply]) -> Reply:
        """What can be read of the reply, or of a second one if a part of the first cannot be read."""
        prompt = version(name, self.domain)
        exchange.calls.append(prompt)
        partial: list[Salvaged[Reply]] = []

        def about(version: str) -> Asking:
            chunk = exchange.chunk
            purpose = Purpose(stage="extract", source=chunk.source, part=checksum(chunk.text), prompt=version)
            return self._model.about(purpose, accept=lambda text: is_readable(text, form), form=schema(form))

        def on_reply(completion: Completion) -> None:
            """Count a reply. Raises ReplyError if it is cut off even with more room: a part is never repaired."""
            self.usage.add(completion)
            exchange.replies.append(completion.text)
            if completion.is_cut:
                self._model.purse.check()  # raises if the budget was too small for more room: the chunk only waits
                room = self._max_tokens * (MORE_ROOM if completion.calls > 1 else 1)
                reason = f"the reply is cut off at {room} tokens; raise models.max_tokens"
                with contextlib.suppress(ReplyError):
                    partial.append(salvage(completion.text, form, cut=reason))
                raise ReplyError(reason)

        def read(completion: Completion) -> Reply:
            salvaged = salvage(completion.text, form)
            if salvaged.dropped:
                partial.append(salvaged)
            return whole(completion.text, form)

        try:
            return ask_and_repair(
                about, messages, version=prompt, max_tokens=self._max_tokens, read=read, on_reply=on_reply
            )
        except (ReplyError, ModelAnswerError):
            if not partial:
                raise
            best = max(partial, key=lambda salvaged: salvaged.size)
            exchange.dropped.extend(best.dropped)
            return best.reply

    def _is_given_up(self, failure: Quarantined | None) -> bool:
        if failure is None or failure.dropped or self._most_tries is None or failure.extractor != self.fingerprint:
            return False
        return failure.tries >= self._most_tries

    def _unasked(self, chunk: ChunkInput, reason: str, failure: Quarantined | None) -> Extraction:
        is_other = failure is not None and failure.extractor != self.fingerprint
        if failure is not None and is_other and not failure.dropped and self._most_tries is not None:
            # The store notes that the source waits for this extractor, so its failures must wait for it, too.
            self._quarantine.expect(failure, self.fingerprint)
        return _failed(chunk, reason)

    def _quarantined(self, exchange: _Exchange, reason: str, failure: Quarantined | None) -> Extraction:
        path = self._keep(exchange, reason, failure)
        where = f"its replies are in {path}" if path else "its replies could not be saved"
        return _failed(exchange.chunk, f"{reason}; {where}")

    def _keep(self, exchange: _Exchange, reason: str | Sequence[Dropped], failure: Quarantined | None) -> Path | None:
        # The source waits for the extractor of its ingest, even if a retry used another one.
        is_retry = self._most_tries is None and failure is not None
        return self._quarantine.keep(
            exchange.chunk,
            model=self._model.fingerprint,
            extractor=failure.extractor if is_retry and failure else self.fingerprint,
            call=exchange.calls[-1],
            reason=reason,
            replies=exchange.replies,
        )


def _failed(chunk: ChunkInput, reason: str, *, mend: str = "the next ingest retries it") -> Extraction:
    problem = f"chunk {chunk.position} was not extracted: {reason}; {mend}"
    return Extraction(problem=problem, is_failed=True)


# Replies corrected by a person, parsed as strictly as a model's.


class MendedCall(NamedTuple):
    """A call (the version of its prompt and its messages) and the corrected reply to it."""

    prompt: str
    messages: Messages
    reply: str


class Mended(NamedTuple):
    """The result of a corrected reply.

    Attributes
    ----------
    extraction : the extraction
    left_out : names that were left out, see :func:`hlgraph.extract.chat._extractor.to_extraction`
    calls : the two calls that the reply answers
    """

    extraction: Extraction
    left_out: tuple[str, ...]
    calls: tuple[MendedCall, MendedCall]


def mended(chunk: ChunkInput, reply: str, *, replies: Sequence[str], domain: Domain | None = None) -> Mended:
    """The extraction of a chunk from a corrected reply.

    The entities come from ``reply``, else from the last of ``replies`` that is a list of entities, else from the names in
    the propositions.

    Parameters
    ----------
    chunk : the chunk
    reply : the corrected reply
    replies : the model's own replies, in order
    domain : domain of the corpus; default None

    Returns
    -------
    Mended
        The extraction, and the calls that the reply answers.

    Raises
    ------
    ReplyError
        The reply has another form.
    """
    parsed = parse(reply, MendedReply)
    entities = _entities(parsed, replies)
    extraction, left_out = to_extraction(chunk, entities, parsed.propositions)
    first = _text(FoundEntities(entities=list(entities)))
    second = _text(FoundPropositions(propositions=parsed.propositions))
    calls = (
        MendedCall(version("entities", domain), ask_entities(chunk, domain), first),
        MendedCall(version("propositions", domain), ask_propositions(chunk, entities, domain=domain), second),
    )
    return Mended(extraction, left_out, calls)


def _entities(parsed: MendedReply, replies: Sequence[str]) -> Sequence[FoundEntity]:
    if parsed.entities is not None:
        return parsed.entities
    for own in reversed(replies):
        with contextlib.suppress(ReplyError):
            return salvage(own, FoundEntities).reply.entities
    names = dict.fromkeys(name for proposition in parsed.propositions for name in proposition.entities)
    return [FoundEntity(name=name) for name in names]


def _text(form: FoundEntities | FoundPropositions) -> str:
    return json.dumps(form.model_dump(), ensure_ascii=False)


# The judge of extractions: whether a chat model finds a statement in its chunk.


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
    ordered = sorted(verdicts, key=lambda verdict: verdict.number)
    return [Verdict(each.is_accurate, "" if each.is_accurate else " ".join(each.reason.split())) for each in ordered]


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
    read = partial(read_verdicts, count=len(statements))

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
            ask = partial(ask_for_verdicts, self._model, stage="quality", max_tokens=self._max_tokens, usage=self.usage)
            return self._model.run(lambda group: ask(*group), groups, step="judge")


# The calls that an extraction is expected to need.

# Tokens per token of the chunk: of the first reply, the second reply, and the names in the second request. Measured on
# extractions by gpt-4o-mini and Llama-3-70B from 1,500 encyclopaedia passages, written in the form of the prompts.
_ENTITIES, _PROPOSITIONS, _NAMES = 1.75, 5.0, 0.62


class NextCall(NamedTuple):
    """The next call for a chunk.

    Attributes
    ----------
    prompt : version of its prompt
    messages : its messages
    is_readable : whether a reply can be parsed
    """

    prompt: str
    messages: Messages
    is_readable: Callable[[str], bool]


def next_call(
    chunk: ChunkInput, *, kept: Callable[[str, Messages], str | None], domain: Domain | None = None
) -> NextCall | None:
    """The first of the two calls for a chunk that has no stored reply; None if both have one.

    Parameters
    ----------
    chunk : the chunk
    kept : maps a prompt version and messages to the stored reply, or None if there is none
    domain : domain of the corpus; default None

    Returns
    -------
    NextCall or None
        The call.
    """
    first, entities = ask_entities(chunk, domain), version("entities", domain)
    reply = _stored(kept, entities, first, form=FoundEntities)
    if reply is None:
        return NextCall(entities, first, lambda text: is_readable(text, FoundEntities))
    second, propositions = ask_propositions(chunk, reply.entities, domain=domain), version("propositions", domain)
    if _stored(kept, propositions, second, form=FoundPropositions) is None:
        return NextCall(propositions, second, lambda text: is_readable(text, FoundPropositions))
    return None


def _stored(
    kept: Callable[[str, Messages], str | None], prompt: str, messages: Messages, *, form: type[Reply]
) -> Reply | None:
    """The parsed stored reply; None if there is none, or if it cannot be read."""
    reply = kept(prompt, messages)
    try:
        return None if reply is None else whole(reply, form)
    except ReplyError:
        return None


class ExpectedCall(NamedTuple):
    """Forecast of one call.

    Attributes
    ----------
    prompt : version of its prompt
    input_tokens, output_tokens : estimated tokens of the request and the reply
    frame_tokens : input tokens of the prompt itself, equal for every chunk
    guessed_tokens : input tokens assumed for the names in the first reply
    is_kept : the reply is stored, so the call costs nothing
    """

    prompt: str
    input_tokens: int
    output_tokens: int
    frame_tokens: int
    guessed_tokens: int = 0
    is_kept: bool = False


def expected_calls(
    chunk: ChunkInput,
    *,
    max_tokens: int,
    kept: Callable[[str, Messages], str | None],
    domain: Domain | None = None,
) -> tuple[ExpectedCall, ExpectedCall]:
    """Forecasts of the two calls for a chunk; repair calls are not included.

    Parameters
    ----------
    chunk : the chunk
    max_tokens : maximum length of a reply, in tokens
    kept : maps a prompt version and messages to the stored reply, or None if there is none
    domain : domain of the corpus; default None

    Returns
    -------
    tuple
        The call for entities and the call for propositions.
    """
    text = estimated_tokens(chunk.text)
    first, entities = ask_entities(chunk, domain), version("entities", domain)
    reply = _stored(kept, entities, first, form=FoundEntities)
    names = int(_NAMES * text) if reply is None else 0
    second = ask_propositions(chunk, [] if reply is None else reply.entities, domain=domain)
    propositions = version("propositions", domain)
    is_kept = reply is not None and _stored(kept, propositions, second, form=FoundPropositions) is not None
    empty = ChunkInput("")
    return (
        ExpectedCall(
            entities,
            request_tokens(*first),
            min(max_tokens, int(_ENTITIES * text)),
            request_tokens(*ask_entities(empty, domain)),
            is_kept=reply is not None,
        ),
        ExpectedCall(
            propositions,
            request_tokens(*second) + names,
            min(max_tokens, int(_PROPOSITIONS * text)),
            request_tokens(*ask_propositions(empty, [], domain=domain)),
            guessed_tokens=names,
            is_kept=is_kept,
        ),
    )


def expected_domain(
    samples: Sequence[ChunkInput], *, model: str, max_tokens: int, kept: Callable[[str, Messages], str | None]
) -> tuple[ExpectedCall, Domain]:
    """Forecast of the call that infers the domain of a corpus, and the domain, to estimate the tokens of other calls.

    Parameters
    ----------
    samples : sample chunks of the corpus
    model : fingerprint of the model
    max_tokens : maximum length of the reply, in tokens
    kept : see :func:`expected_calls`

    Returns
    -------
    tuple
        The call, and the domain: from the stored reply if there is one, else a placeholder of typical length.
    """
    messages, name = ask_domain(samples), prompt("domain").version
    frame = request_tokens(*ask_domain([]))
    reply = kept(name, messages)
    domain = read_domain(reply, model=model) if reply is not None and is_readable(reply, FoundDomain) else None
    expected = ExpectedCall(
        name, request_tokens(*messages), min(max_tokens, DOMAIN_TOKENS), frame, is_kept=domain is not None
    )
    return expected, domain or GUESSED
