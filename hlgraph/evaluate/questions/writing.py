"""Make questions with a chat model: the pipeline of HLG, abstract questions as in ToPG, and questions without an answer.

References
----------
HLG, section 5.2: topic collection, chunk selection, query generation, critiquing and refinement by a second model, and validation:
a question is kept only if that model reconstructs the answer from the snippets that a retriever finds for it. ToPG, appendix C
(after LightRAG): users of the corpus, tasks of each user, questions of each task.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from hlgraph import progress
from hlgraph.algorithms.calibration import fitted_cosine
from hlgraph.answer.plan import Rehearsal
from hlgraph.errors import HLGraphError, InputError, ModelAnswerError, ModelError
from hlgraph.evaluate.questions.checking import AloneReport, Finding, check_corpus, duplicates, holds
from hlgraph.evaluate.questions.making import documents, names_in, passage_of
from hlgraph.evaluate.questions.record import NO_ANSWER, MadeQuestion, QuestionKind, QuestionSet
from hlgraph.extract.chat.messages import Name, ReplyError, ReplyPart, Words, parse, schema
from hlgraph.ids import checksum, content_id
from hlgraph.ingest.plan import NamedChat
from hlgraph.models.accounts.budget import Purse, Usage
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.choose import chosen_chat, executor_of
from hlgraph.models.executor import Executor, Request
from hlgraph.models.prompts import Prompt, delimited, read_prompt
from hlgraph.records import Chunk, Kind
from hlgraph.settings import Price
from hlgraph.text import content_words

if TYPE_CHECKING:
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings


# Groups of chunks of three to five documents on related topics; a chat model writes a question about each.


LEAST, MOST = 3, 5
"""Number of documents in a group, and the largest number of its chunks."""
RELATED = 0.5
"""Minimum cosine of related topics, for the shipped embedder; fitted to the corpus."""


@dataclass(frozen=True, slots=True)
class ChunkGroup:
    """Chunks of different documents.

    Attributes
    ----------
    subject : name of the seed topic
    chunk_ids : the chunks, those of the seed topic first
    """

    subject: str
    chunk_ids: tuple[str, ...]


def chunk_groups(graph: HLGraph, *, document: Callable[[str], str], seed: int) -> Iterator[ChunkGroup]:
    """Groups of three to five chunks of at least three documents, no two with the same chunks, in a seeded order.

    For each topic that is in no earlier group, the related topics of the closest five documents are collected. Their chunks are
    chosen in turns: one of each document before a second one of any, the closest topic first. O(topics log topics) for a group.

    Parameters
    ----------
    graph : the corpus
    document : the document of a source, by id
    seed : of the order of the seed topics

    References
    ----------
    HLG, section 5.2, steps 1 and 2.
    """
    chunks = {topic.id: (topic, ids) for topic, ids in graph.facts.topic_chunks().items() if ids}
    ids, vectors = graph.facts.stores.vectors.vectors(Kind.TOPIC, graph.corpus, ids=list(chunks))
    calibration = next((stats.calibration for stats in graph.stats() if stats.corpus == graph.corpus), None)
    least = fitted_cosine(RELATED, Kind.TOPIC, calibration=calibration)
    used: set[str] = set()
    seen: set[frozenset[str]] = set()
    for at in sorted(range(len(ids)), key=lambda at: checksum(str(seed), "group", ids[at])):
        if ids[at] in used:
            continue
        cosines = vectors @ vectors[at]
        cosines[at] = np.inf
        near = [ids[other] for other in np.argsort(-cosines, kind="stable") if cosines[other] >= least]
        of_documents: dict[str, list[str]] = {}
        for topic, chunk_ids in (chunks[name] for name in near):
            of_documents.setdefault(document(topic.source_id), []).extend(chunk_ids)
        turns = zip_longest(*list(of_documents.values())[:MOST])
        chosen = tuple(dict.fromkeys(chunk for turn in turns for chunk in turn if chunk))[:MOST]
        used.update(name for name in near if {*chunks[name][1]} <= {*chosen})
        if len(of_documents) >= LEAST and frozenset(chosen) not in seen:
            seen.add(frozenset(chosen))
            yield ChunkGroup(chunks[ids[at]][0].name, chosen)


# The forms of the replies of a chat model that writes and checks questions.
#
# The docstrings are part of the JSON schemas that providers get: to change one is to change a prompt.


class _Part(ReplyPart, extra="ignore"):
    pass


class Draft(_Part):
    """A question, its answer, and the numbers of the snippets that it needs."""

    question: Words
    answer: Words
    snippets: list[int]


class Critique(Draft):
    """Whether a question can be used, and the question, the answer and the snippets as they should be."""

    is_usable: bool
    reason: str = ""


class Answered(_Part):
    """The answer that the snippets give; null if they give none."""

    answer: str | None


class Agreement(_Part):
    """Whether the second answer says what the first one says."""

    agrees: bool


class Asked(_Part):
    """A question."""

    question: Words


class User(_Part):
    """A user of the collection and what they want to do."""

    user: Name
    tasks: list[Name]


class Users(_Part):
    """Users of the collection."""

    users: list[User]


class Questions(_Part):
    """Questions of a user."""

    questions: list[Words]


# The calls of a chat model that writes and checks questions, each with its prompt, its form and its purpose.


STAGE = "questions"
_PROMPTS = Path(__file__).parent / "prompts"
_Reply = TypeVar("_Reply", bound=ReplyPart)
_Item = TypeVar("_Item")
_T = TypeVar("_T")


class DropError(Exception):
    """A question is dropped; equal messages are counted together."""


def prompt(name: str) -> Prompt:
    """The prompt of this name."""
    return read_prompt(_PROMPTS / f"{name}.md")


class QuestionCalls:
    """Asks a chat model for one reply of a form. Thread-safe.

    Every reply is stored, even one that cannot be parsed, so a repeated run gives the same questions and pays for nothing twice.

    Parameters
    ----------
    model : executor of the chat model, with its ledger, stored replies and budget
    max_tokens : maximum length of a reply, in tokens

    Attributes
    ----------
    usage : calls and tokens so far
    unreadable : number of replies that could not be read, by prompt
    """

    def __init__(self, model: Executor, *, max_tokens: int) -> None:
        self.model = model
        self.usage = Usage()
        self.unreadable: Counter[str] = Counter()
        self._max_tokens = max_tokens
        self._lock = threading.Lock()

    def ask(self, name: str, form: type[_Reply], *, values: Mapping[str, str]) -> _Reply:
        """The reply to a prompt.

        Parameters
        ----------
        name : name of the prompt
        form : form of the reply
        values : of the placeholders

        Raises
        ------
        DropError
            The reply cannot be read, or the provider refused the request; both are counted.
        ModelError
            The model no longer answers, or the budget is spent.
        """
        chosen = prompt(name)
        asking = self.model.about(Purpose(stage=STAGE, prompt=chosen.version), form=schema(form))
        try:
            reply = asking.complete(chosen.system, chosen.filled(values), max_tokens=self._max_tokens)
            self.usage.add(reply)
            return parse(reply.text, form)
        except (ReplyError, ModelAnswerError) as error:
            with self._lock:
                self.unreadable[name] += 1
            raise DropError(f"the reply to the prompt {name} cannot be read") from error

    def answered(self, question: str, snippets: Sequence[str]) -> str:
        """The answer of the model from snippets alone; empty if they give none.

        Parameters
        ----------
        question : the question
        snippets : texts
        """
        values = {"question": delimited("question", question), "snippets": listed(snippets)}
        return (self.ask("answer", Answered, values=values).answer or "").strip()

    def agrees(self, question: str, gold: str, *, found: str) -> bool:
        """Whether an answer says what the gold answer says.

        Parameters
        ----------
        question, gold : the question and its answer
        found : the other answer; an empty one never agrees, and needs no call
        """
        if not found:
            return False
        values = {
            name: delimited(name, text)
            for name, text in zip(("question", "gold", "found"), (question, gold, found), strict=True)
        }
        return self.ask("agree", Agreement, values=values).agrees


def _run_all(
    action: Callable[[_Item], _T], items: Sequence[_Item], model: Executor, *, step: str = ""
) -> tuple[list[_T], list[str], ModelError | None]:
    """Run an action on each item: the results in order, why items were dropped, and the error of the model that ended the run."""
    results: dict[int, _T] = {}
    reasons: list[str] = []

    def one(numbered: tuple[int, _Item]) -> None:
        try:
            results[numbered[0]] = action(numbered[1])
        except DropError as error:
            reasons.append(str(error))

    stopped = None
    try:
        model.run(one, list(enumerate(items)), step=step)
    except ModelError as error:
        stopped = error
    return [results[at] for at in sorted(results)], reasons, stopped


def listed(snippets: Sequence[str]) -> str:
    """Snippets between marks, numbered from 1."""
    return "\n".join(f"[{number}]\n{delimited('snippet', text)}" for number, text in enumerate(snippets, 1))


CHAT_KINDS: tuple[QuestionKind, ...] = ("synthesis", "null", "abstract")
USERS = TASKS = QUESTIONS = 5
"""Users, tasks of each, questions of each task (ToPG, appendix C)."""
_GOLD_WORDS = 3  # minimum of content words that a gold statement shares with question and answer
_EVIDENCE = 10
_TITLES, _TOPICS = 100, 200


@dataclass(frozen=True, slots=True)
class Shown:
    """A group of chunks as it appears in a prompt.

    Attributes
    ----------
    subject : what the chunks share
    topics : topics of the chunks
    chunks : the chunks
    snippets : their texts, each after the title of its source
    """

    subject: str
    topics: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    snippets: tuple[str, ...]


def write(
    graph: HLGraph,
    wanted: Mapping[QuestionKind, int],
    *,
    writer: Executor,
    validator: Executor | None = None,
    seed: int = 0,
    by: str = "",
) -> QuestionSet:
    """Write questions about a corpus with a chat model.

    Repeating the call pays for no reply twice: after an interruption or a spent budget, it gives the same questions.

    Parameters
    ----------
    graph : the corpus
    wanted : number of questions of each kind: ``synthesis``, ``null``, ``abstract``
    writer : writes questions
    validator : criticises, answers and compares; default: the writer, which is a weaker check
    seed : of the order in which groups of chunks are used
    by : metadata field that names the document of a source; default: each source is a document

    Returns
    -------
    QuestionSet
        With ``stopped`` set if a budget or the provider ended the run; it has the questions finished so far.

    Raises
    ------
    UnknownNameError
        There is no such corpus.
    InputError
        A kind is unknown, no source has the field, or no topic has related topics in three documents.
    """
    unknown = [kind for kind in wanted if kind not in CHAT_KINDS]
    if unknown:
        raise InputError(f"a chat model makes no {unknown[0]} questions; choose among {', '.join(CHAT_KINDS)}")
    writing = Writing(graph, writer, validator=validator or writer, seed=seed, by=by)
    for kind, count in wanted.items():
        if writing.stopped is None:
            writing.run(kind, count)
    return replace(writing.result(), wanted=dict(wanted))


class Writing:
    """One run of the pipeline.

    Parameters
    ----------
    graph : the corpus
    writer, validator : executors of the two models
    seed, by : see :func:`write`
    """

    def __init__(self, graph: HLGraph, writer: Executor, *, validator: Executor, seed: int, by: str) -> None:
        limit = graph.settings.models.max_tokens
        self.stopped: HLGraphError | None = None
        self._graph = graph
        self._writer = QuestionCalls(writer, max_tokens=limit)
        self._validator = self._writer if validator is writer else QuestionCalls(validator, max_tokens=limit)
        self._stored = graph.facts.read()
        self._document = documents(self._stored, by)
        self._seed = seed
        self._dropped: Counter[str] = Counter()
        self._found: list[MadeQuestion] = []

    def run(self, kind: QuestionKind, count: int) -> None:
        """Make questions of a kind, until there are enough or nothing is left to write about.

        Parameters
        ----------
        kind : the kind
        count : number of questions
        """
        if kind == "abstract":
            self._write_abstract(count)
            return
        groups = self._groups()
        action = self._synthesis if kind == "synthesis" else self._null
        missing = count
        with progress.step(f"write {kind}", count, unit="questions"):
            # A wave depends only on the outcomes of earlier waves, so a repeated run makes the same calls.
            while self.stopped is None and (wave := list(islice(groups, missing))):
                taken = self._take(self._each(action, self._shown(wave), self._writer.model), most=missing)
                missing -= taken
                progress.advance(f"write {kind}", taken)

    def result(self) -> QuestionSet:
        """What was made so far."""
        others = self._validator.unreadable if self._validator is not self._writer else Counter[str]()
        unreadable = self._writer.unreadable + others
        dropped = dict(sorted(self._dropped.items(), key=lambda item: (-item[1], item[0])))
        return QuestionSet(tuple(self._found), {}, dropped, dict(sorted(unreadable.items())), self.stopped)

    # Kinds

    def _synthesis(self, shown: Shown) -> MadeQuestion:
        values = {"subject": shown.subject, "topics": "; ".join(shown.topics), "snippets": listed(shown.snippets)}
        draft = self._writer.ask("synthesis", Draft, values=values)
        asked = {"question": delimited("question", draft.question), "answer": delimited("answer", draft.answer)}
        critique = self._validator.ask("critique", Critique, values={**asked, "snippets": values["snippets"]})
        if not critique.is_usable:
            raise DropError("the critique rejects it")
        needed = sorted({number - 1 for number in critique.snippets if 1 <= number <= len(shown.chunks)})
        if len({self._document(shown.chunks[at].source_id) for at in needed}) < LEAST:
            raise DropError(f"it needs fewer than {LEAST} sources")
        snippets = [shown.snippets[at] for at in needed]
        reply = self._validator.answered(critique.question, self._retrieved(critique.question, shown, needed))
        if not self._validator.agrees(critique.question, critique.answer, found=reply):
            raise DropError("the snippets do not give the answer")
        for snippet in snippets:
            alone = self._validator.answered(critique.question, [snippet])
            if self._validator.agrees(critique.question, critique.answer, found=alone):
                raise DropError("one source alone answers it")
        return self._question(
            "synthesis", critique.question, chunks=[shown.chunks[at] for at in needed], answer=critique.answer
        )

    def _retrieved(self, question: str, shown: Shown, needed: Sequence[int]) -> list[str]:
        """The snippets that the default search finds for a question; a plan, whose questions are made up, finds all."""
        reached = {shown.chunks[at].id for at in needed}
        if not isinstance(self._validator.model, ForecastExecutor):
            reached &= {piece.chunk_id for piece in self._graph.search(question, k=_EVIDENCE, unit="chunk").evidence}
        if not reached:
            raise DropError("the retriever finds none of its snippets")
        return [shown.snippets[at] for at in needed if shown.chunks[at].id in reached]

    def _null(self, shown: Shown) -> MadeQuestion:
        values = {"subject": shown.subject, "topics": "; ".join(shown.topics), "snippets": listed(shown.snippets)}
        question = self._writer.ask("unanswerable", Asked, values=values).question
        evidence = self._graph.search(question, k=_EVIDENCE, unit="chunk", strategy="chunk").evidence
        seen = (shown.snippets, [item.text for item in evidence])
        if any(self._validator.answered(question, texts) for texts in seen):
            raise DropError("the corpus answers it, though it should not")
        return self._question("null", question)

    def _write_abstract(self, count: int) -> None:
        collection = delimited("collection", self._collection())
        calls = self._writer

        def tasks() -> list[tuple[str, str]]:
            values = {"users": str(USERS), "tasks": str(TASKS), "collection": collection}
            users = calls.ask("users", Users, values=values).users[:USERS]
            return [(each.user, task) for each in users for task in each.tasks[:TASKS]]

        def ask(pair: tuple[str, str]) -> list[str]:
            user, task = (delimited(name, text) for name, text in zip(("user", "task"), pair, strict=True))
            values = {"count": str(QUESTIONS), "user": user, "task": task, "collection": collection}
            return calls.ask("abstract", Questions, values=values).questions[:QUESTIONS]

        with progress.step("write abstract", count, unit="questions"):
            pairs = [pair for group in self._each(lambda _: tasks(), [None], calls.model) for pair in group]
            left = count
            for start in range(0, len(pairs), max(1, -(-count // QUESTIONS))):
                if not left or self.stopped is not None:
                    break
                part = pairs[start : start + max(1, -(-count // QUESTIONS))]
                texts = [text for group in self._each(ask, part, calls.model) for text in group]
                left -= self._take([self._question("abstract", text) for text in texts], most=left)

    # Parts

    def _each(self, action: Callable[[_Item], _T], items: Sequence[_Item], model: Executor) -> list[_T]:
        """The results of an action for the items that are not dropped, in order; an error of the model ends the run."""
        results, reasons, error = _run_all(action, items, model)
        self.stopped = error or self.stopped
        self._dropped.update(reasons)
        return results

    def _take(self, items: Sequence[MadeQuestion], *, most: int) -> int:
        """Keep questions that are not near duplicates of earlier ones, and return their number."""
        taken = 0
        for item in items:
            if taken == most:
                break
            if [each for each in duplicates([*self._found, item]) if each.question_id == item.id]:
                self._dropped["another question is nearly the same"] += 1
                continue
            self._found.append(item)
            taken += 1
        return taken

    def _groups(self) -> Iterator[ChunkGroup]:
        groups = chunk_groups(self._graph, document=self._document, seed=self._seed)
        first = next(groups, None)
        if first is None:
            raise InputError(
                f"no topic of corpus {self._stored.corpus!r} has related topics in {LEAST} documents, so there is nothing to join; "
                "ingest more documents about the same things"
            )
        return chain((first,), groups)

    def _shown(self, groups: Sequence[ChunkGroup]) -> list[Shown]:
        """Groups with their texts and topics: two reads for all of them."""
        ids = [name for group in groups for name in group.chunk_ids]
        records = self._graph.facts.records(Kind.CHUNK, ids)
        topics = self._graph.facts.topics(ids)
        result = []
        for group in groups:
            chunks = [item for name in group.chunk_ids if isinstance(item := records.get(name), Chunk)]
            titles = [self._stored.sources[item.source_id].title for item in chunks]
            snippets = tuple(f"{title}\n{item.text}" for title, item in zip(titles, chunks, strict=True))
            about = dict.fromkeys(name for item in chunks for name in topics.get(item.id, ()))
            result.append(Shown(group.subject, tuple(about), tuple(chunks), snippets))
        return result

    def _collection(self) -> str:
        """A substitute for a summary of the corpus: titles of sources, and the subjects of the most facts."""
        titles = sorted({item.title for item in self._stored.sources.values() if item.title})
        step = max(1, len(titles) // _TITLES)
        counts = Counter(self._stored.entities[fact.subject_id].name for fact, _ in self._stored.facts)
        names = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_TOPICS]]
        return "\n".join((*titles[::step][:_TITLES], f"Subjects: {'; '.join(names)}"))

    def _question(
        self, kind: QuestionKind, text: str, *, chunks: Sequence[Chunk] = (), answer: str = ""
    ) -> MadeQuestion:
        stored = self._stored
        said = {*content_words(f"{text} {answer}")}
        ids = {item.id for item in chunks}
        near = (each for each in stored.statements.values() if each.chunk_id in ids)
        statements = [each for each in near if len(said & {*content_words(each.text)}) >= _GOLD_WORDS]
        names = ("synthesis", "critique", "answer", "agree") if kind == "synthesis" else ("unanswerable", "answer")
        used = names if kind != "abstract" else ("users", "abstract")
        models = dict.fromkeys((self._writer.model.fingerprint, self._validator.model.fingerprint))
        return MadeQuestion(
            id=content_id("question", stored.corpus, kind, text),
            question=text,
            answers=(answer,) if answer else (NO_ANSWER,) if kind == "null" else (),
            type=kind,
            hops=len({self._document(item.source_id) for item in chunks}),
            entities=names_in(text),
            source_ids=tuple(dict.fromkeys(item.source_id for item in chunks)),
            chunk_ids=tuple(item.id for item in chunks),
            statement_ids=tuple(item.id for item in statements),
            supporting_passage_ids=tuple(
                dict.fromkeys(passage_of(stored.sources[item.source_id], item.id) for item in chunks)
            ),
            evidence=tuple(item.text for item in statements),
            corpus=stored.corpus,
            fingerprint=stored.fingerprint,
            made_by=f"{'+'.join(prompt(name).version for name in used)}, {' and '.join(models)}, seed {self._seed}",
        )


# Leakage: whether a chat model answers a question from one gold source alone (HLG, section 5.2).


def answer_alone(graph: HLGraph, questions: Sequence[MadeQuestion], *, model: Executor) -> AloneReport:
    """The questions that a chat model answers from the gold chunks of one source: one or two calls for each source.

    Parameters
    ----------
    graph : the corpus of the questions
    questions : the questions; null and abstract ones have no gold source and are skipped
    model : executor of the chat model

    Raises
    ------
    InputError
        The questions are of another corpus.
    """
    check_corpus(questions, graph.corpus)
    asked = [item for item in questions if item.chunk_ids]
    calls = QuestionCalls(model, max_tokens=graph.settings.models.max_tokens)
    records = graph.facts.records(Kind.CHUNK, [name for item in asked for name in item.chunk_ids])

    def leak(item: MadeQuestion) -> Finding | None:
        chunks = [chunk for name in item.chunk_ids if isinstance(chunk := records.get(name), Chunk)]
        return _leak(calls, item, chunks)

    with progress.step("answer alone", len(asked), unit="questions"):
        outcomes, _, stopped = _run_all(leak, asked, model, step="answer alone")
    findings = tuple(filter(None, outcomes))
    return AloneReport(findings, len(outcomes), sum(calls.unreadable.values()), stopped)


def _leak(calls: QuestionCalls, item: MadeQuestion, chunks: Sequence[Chunk]) -> Finding | None:
    for source in dict.fromkeys(chunk.source_id for chunk in chunks):
        answer = calls.answered(item.question, [chunk.text for chunk in chunks if chunk.source_id == source])
        is_gold = bool(answer) and any(holds(gold, answer) for gold in item.answers)
        if is_gold or calls.agrees(item.question, "; ".join(item.answers), found=answer):
            return Finding(item.id, "leak", f"{calls.model.fingerprint} answers it from source {source} alone")
    return None


def even(count: int, kinds: Sequence[QuestionKind] = ()) -> dict[QuestionKind, int]:
    """The number of questions of each kind: divided evenly, with the remainder going to the first kinds.

    Parameters
    ----------
    count : number of questions
    kinds : the kinds; default: all but ``abstract``

    Raises
    ------
    InputError
        The number is below 1.
    """
    if count < 1:
        raise InputError(f"count is {count}; ask for at least one question")
    chosen = tuple(dict.fromkeys(kinds)) or tuple(kind for kind in CHAT_KINDS if kind != "abstract")
    return {kind: count // len(chosen) + (place < count % len(chosen)) for place, kind in enumerate(chosen)}


# The two chat models that make questions, one that writes and one that validates, with one budget for both.


@contextmanager
def two_models(
    settings: Settings, *, validator: str = "", budget: Budget | None = None, is_planned: bool = False
) -> Iterator[tuple[Executor, Executor]]:
    """The executors of writer and validator: the same one if only one model is named.

    A budget in dollars counts the calls of both at the higher of the two prices, so that it is never exceeded.

    Parameters
    ----------
    settings : all settings; ``models.chat`` writes
    validator : name of the second model, such as ``openai:gpt-4o``; default: ``models.judge``, else the first
    budget : of both together
    is_planned : whether they are only used for planning: then a name is enough, and no key is needed

    Yields
    ------
    tuple of Executor

    Raises
    ------
    InputError
        No chat model is named, or a price is not known and the budget is in dollars.
    """
    models = settings.models
    if not models.chat:
        raise InputError(
            "questions by a chat model need one; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), or "
            "make them from facts"
        )
    second = validator or models.judge or models.chat
    urls = {models.chat: models.chat_url}
    urls.setdefault(second, models.judge_url if second == models.judge else "")
    executors = [
        executor_of(
            NamedChat(name) if is_planned else chosen_chat(name, replace(models, chat_url=url)),
            settings,
            corpus=settings.corpus,
        )
        for name, url in urls.items()
    ]
    try:
        prices = [item.accounts.price for item in executors]
        known = [price for price in prices if price is not None]
        highest = Price(max(item.input for item in known), max(item.output for item in known)) if known else None
        unknown = [item.fingerprint for item in executors if item.accounts.price is None]
        purse = Purse(budget, price=None if unknown else highest, model=", ".join(unknown))
        ready = [item.begin(purse=purse) for item in executors]
        yield ready[0], ready[-1]
    finally:
        for item in executors:
            item.close()


# Planning: run the pipeline with made-up replies, and count the calls that it would make.

KEPT = 0.57
"""Share of drafts that are kept: 674 of 1,173 in HLG, section 5.3."""
_WORDS = "word " * 20
_COUNT = re.compile(r"(?:Number of users|Number of questions): (\d+)")
_SNIPPET = re.compile(r"^\[(\d+)\]$", re.MULTILINE)


class ForecastExecutor(Rehearsal):
    """An executor for dry runs of the pipeline: it calls no model, writes nothing, and counts the calls that would be paid for.

    Of the made-up critiques 57 % keep the question, as in HLG.
    """

    def made_up(self, request: Request, *, length: int | None) -> str:  # noqa: ARG002 - the forms have fixed lengths
        """A reply in the form that the prompt asks for, different for different requests.

        Parameters
        ----------
        request : the request
        length : not used
        """
        name = request.purpose.prompt.partition("/")[0]
        mark = checksum(request.key("forecast"))
        shown = len(_SNIPPET.findall(request.user))
        count = int(match[1]) if (match := _COUNT.search(request.user)) else 1
        different = [_distinct(mark, at) for at in range(count)]
        draft: Mapping[str, object] = {
            "question": f"Who {different[0]}?",
            "answer": f"{_WORDS}{_WORDS}",
            "snippets": [*range(1, shown + 1)],
        }
        users = [{"user": f"user {at}", "tasks": [f"task {at} {n}" for n in range(count)]} for at in range(count)]
        replies: dict[str, object] = {
            "synthesis": draft,
            "critique": {**draft, "is_usable": int(mark[:4], 16) < KEPT * 16**4, "reason": ""},
            "question_answer": {"answer": _WORDS if shown > 1 else None},
            "agree": {"agrees": True},
            "unanswerable": {"question": f"Who {different[0]}?"},
            "users": {"users": users},
            "abstract": {"questions": [f"Why {each}?" for each in different]},
        }
        return json.dumps(replies[name])


def _distinct(mark: str, number: int) -> str:
    """Words that are in no other reply, so that made-up questions are not dropped as duplicates."""
    digest = checksum(mark, str(number))
    return " ".join(digest[at : at + 8] for at in range(0, len(digest), 8))
