"""Coverage and faithfulness of the statements of a corpus.

Coverage is the share of the sentences of the sources that statements represent. Faithfulness is the share of statements that
their chunks support, on a sample, judged by words or by a chat model.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from hlgraph import progress
from hlgraph.errors import InputError, UnknownNameError
from hlgraph.evaluate.statistics import Share, wilson
from hlgraph.extract.extractor import ChunkInput
from hlgraph.extract.wording import objection
from hlgraph.ids import checksum
from hlgraph.ingest.delete import filtered, named, sources_of
from hlgraph.models.accounts.budget import Budget, Usage
from hlgraph.models.executor import Executor
from hlgraph.records import Chunk, Kind, Source, Statement, group_by
from hlgraph.sdk.arguments import checked
from hlgraph.settings import Settings
from hlgraph.stores.batches import batched
from hlgraph.stores.protocols import Scope, Stores, by_source, existing, find_records, read_records
from hlgraph.text import BlockKind, block_sentences, blocks, content_words

if TYPE_CHECKING:
    from hlgraph.extract.chat import ChatJudge

# Coverage of the sentences of a source by its statements. Pure functions.

_NO_SENTENCES = (BlockKind.HEADING, BlockKind.RULE)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a source that its statements do not cover.

    Attributes
    ----------
    text : the sentence
    chunk_id : the first chunk that contains it
    start : offset of its first character in the text of the source
    end : offset behind its last character
    share : largest share of its content words found in statements, from 0 to 1
    """

    text: str
    chunk_id: str
    start: int
    end: int
    share: float


@dataclass(frozen=True, slots=True)
class SourceCoverage:
    """How many sentences of a source its statements cover.

    Attributes
    ----------
    uri : of the source
    title : of the source
    sentences : number of sentences with a content word; headings and rules do not count
    covered : number of sentences that statements cover
    failed_chunks : number of chunks whose extraction failed; none of their sentences is covered
    uncovered : the uncovered sentences, in the order of the text
    """

    uri: str
    title: str
    sentences: int
    covered: int
    failed_chunks: int = 0
    uncovered: tuple[Sentence, ...] = ()

    @property
    def share(self) -> float:
        """Share of covered sentences, from 0 to 1; 1 if there are no sentences."""
        return self.covered / self.sentences if self.sentences else 1.0


def sentence_spans(chunk: Chunk) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence in the text of a chunk, without headings and rules."""
    for block in blocks(chunk.text):
        if block.kind not in _NO_SENTENCES:
            yield from block_sentences(chunk.text, block)


@dataclass(slots=True)
class _KnownSentence:
    """A sentence, its content words and the chunks that contain it; overlapping chunks may share one."""

    start: int
    end: int
    text: str
    words: frozenset[str]
    chunk_ids: list[str]


def cover(
    chunks: Iterable[Chunk], statements: Sequence[Statement], *, share: float, title: str = ""
) -> tuple[int, list[Sentence]]:
    """The number of sentences of a source, and those that its statements do not cover.

    A sentence with the set S of content words is covered if one of these holds:

    - The statements made from it contain together at least ``share`` of S (a model may split a long sentence). A statement
      is made from the sentence that shares most words with it, words of the title aside, among those that its span meets.
    - One statement of a chunk that contains the sentence contains at least ``(1 + share) / 2`` of S (a model may join two
      sentences). This bound is higher because the names that a text is about occur in every statement.
    - One statement of the source contains all of S: the same words were stated elsewhere.

    Words are compared as :func:`hlgraph.text.content_words` returns them, so a paraphrase in different words counts as missing.
    A sentence that the boundary of a chunk divides counts as two. O(sentences x statements) time per chunk.

    Parameters
    ----------
    chunks : the chunks of the source
    statements : the statements of the source
    share : share of content words that covers a sentence, above 0 and at most 1
    title : title of the source

    Returns
    -------
    tuple
        The number of sentences, and the uncovered ones in the order of the text.
    """
    known = _sentences(chunks)
    of_chunk, made_from = _words_of(statements, known, frozenset(content_words(title)))
    elsewhere: dict[str, set[int]] = {}
    for number, words in enumerate(frozenset(content_words(statement.text)) for statement in statements):
        for word in words:
            elsewhere.setdefault(word, set()).add(number)
    uncovered: list[Sentence] = []
    for number, sentence in enumerate(known):
        own = len(sentence.words & made_from.get(number, frozenset())) / len(sentence.words)
        near = [words for name in sentence.chunk_ids for words in of_chunk.get(name, ())]
        one = max((len(sentence.words & words) for words in near), default=0) / len(sentence.words)
        is_covered = own >= share or one >= (1 + share) / 2
        if not is_covered and not set.intersection(*(elsewhere.get(word, set()) for word in sentence.words)):
            uncovered.append(
                Sentence(sentence.text, sentence.chunk_ids[0], sentence.start, sentence.end, max(own, one))
            )
    return len(known), uncovered


def _sentences(chunks: Iterable[Chunk]) -> list[_KnownSentence]:
    """The sentences in the order of the source, each once; parts of a sentence that a chunk boundary divides are dropped."""
    by_span: dict[tuple[int, int], _KnownSentence] = {}
    for chunk in chunks:
        for start, end in sentence_spans(chunk):
            text = chunk.text[start:end]
            words = frozenset(content_words(text))
            if words:
                place = (chunk.start + start, chunk.start + end)
                by_span.setdefault(place, _KnownSentence(*place, text, words, [])).chunk_ids.append(chunk.id)
    ordered = sorted(by_span.values(), key=lambda sentence: (sentence.start, -sentence.end))
    kept: list[_KnownSentence] = []
    for sentence in ordered:
        if not (kept and sentence.end <= kept[-1].end):
            kept.append(sentence)
    return kept


def _words_of(
    statements: Sequence[Statement], known: Sequence[_KnownSentence], title: frozenset[str]
) -> tuple[dict[str, list[frozenset[str]]], dict[int, frozenset[str]]]:
    """The words of each statement by chunk, and the words of all statements by the number of their sentence."""
    of_chunk: dict[str, list[frozenset[str]]] = {}
    made_from: dict[int, frozenset[str]] = {}
    ends = [item.end for item in known]  # ascending, as no sentence lies inside another
    for item in statements:
        words = frozenset(content_words(item.text))
        of_chunk.setdefault(item.chunk_id, []).append(words)
        first = bisect.bisect_right(ends, item.start)
        last = first
        while last < len(known) and known[last].start < item.end:
            last += 1
        own = (words - title) or words
        shared = [len(own & known[number].words) for number in range(first, last)]
        if max(shared, default=0) > 0:
            home = first + shared.index(max(shared))
            made_from[home] = made_from.get(home, frozenset()) | words
    return of_chunk, made_from


JUDGES = ("auto", "model", "words")
SHARE = 0.5
_SOURCES_AT_ONCE = 200
_CHUNKS_AT_ONCE = 500
_BY_WORDS = "words/5"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage by source: the least covered first, then by uri.

    Attributes
    ----------
    sources : the sources with their counts
    threshold : share of a sentence's content words that its own statements must have
    """

    sources: tuple[SourceCoverage, ...]
    threshold: float

    @property
    def sentences(self) -> int:
        """Number of sentences in all sources."""
        return sum(source.sentences for source in self.sources)

    @property
    def covered(self) -> int:
        """Number of covered sentences in all sources."""
        return sum(source.covered for source in self.sources)

    @property
    def share(self) -> float:
        """Share of covered sentences; 1 if there are no sentences."""
        return self.covered / self.sentences if self.sentences else 1.0


@dataclass(frozen=True, slots=True)
class Offender:
    """A statement that its chunk does not support, with the reasons; its span covers the words that it was extracted from."""

    statement_id: str
    chunk_id: str
    uri: str
    text: str
    start: int
    end: int
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Faithfulness:
    """The share of accurate statements in a sample.

    Attributes
    ----------
    by : the judge: ``words/5``, or the version of the prompt and the model
    seed : of the sample
    statements : number of statements in the corpus
    sampled : number of statements that were judged
    accurate : their share, with its 95 % interval (Wilson)
    offenders : the inaccurate ones, by uri and place
    unjudged : statements of the sample without a usable verdict of the model, with the reason; no figure includes them
    usage : calls and tokens of the model; None by words
    """

    by: str
    seed: int
    statements: int
    sampled: int
    accurate: Share
    offenders: tuple[Offender, ...]
    unjudged: tuple[Offender, ...] = ()
    usage: Usage | None = None


class _Sampled(NamedTuple):
    """A statement of the sample, with its chunk and its source."""

    statement: Statement
    chunk: Chunk
    source: Source


@checked
@dataclass(frozen=True, slots=True)
class Quality:
    """Coverage and faithfulness of the statements of one corpus.

    Parameters
    ----------
    settings, stores : settings that name the corpus, and the open stores
    chat : makes the executor of the chat model for one check, within a budget; None without a chat model

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            print(graph.quality.coverage().share)
            for offender in graph.quality.faithfulness(sample=200).offenders:
                print(offender.text, offender.reasons)
    """

    settings: Settings
    stores: Stores
    chat: Callable[[Budget | None], Executor | None]

    def coverage(self, uris: Sequence[str] = (), *, share: float = SHARE) -> Coverage:
        """The share of sentences that statements represent, by source. Two reads per 200 sources.

        Parameters
        ----------
        uris : of the sources; none: all
        share : of its content words that make a sentence covered (default 0.5); see :func:`hlgraph.sdk.quality.cover`

        Returns
        -------
        Coverage

        Raises
        ------
        UnknownNameError : there is no such corpus or source
        InputError : ``share`` is not between 0 and 1
        """
        if not 0 < share <= 1:
            raise InputError(f"share is {share}; choose a number above 0, at most 1")
        existing(self.stores.graph, self.settings.corpus)
        graph, corpus = self.stores.graph, self.settings.corpus
        if uris:
            by_name = named(sources_of(uris, corpus=corpus, graph=graph), uris, corpus=corpus, did="measured")
            sources = list({item.id: item for items in by_name.values() for item in items}.values())
        else:
            sources = filtered(None, corpus=corpus, graph=graph)
        coverages: list[SourceCoverage] = []
        with progress.step("cover", len(sources), unit="sources"):
            for part in batched(sources, _SOURCES_AT_ONCE):
                coverages += self._covered(part, share)
                progress.advance("cover", _SOURCES_AT_ONCE)
        return Coverage(tuple(sorted(coverages, key=lambda item: (item.share, item.uri))), share)

    def faithfulness(
        self, *, sample: int = 200, seed: int = 0, by: str = "auto", budget: Budget | None = None
    ) -> Faithfulness:
        """The share of statements that their chunks support, on a random sample. Writes nothing to the graph.

        A statement is in the sample when the hash of its id and the seed is among the smallest: the same corpus gives the same
        sample on every store, and an edited one nearly the same.

        Parameters
        ----------
        sample : number of statements; all if there are fewer
        seed : of the sample
        by : ``model`` asks the chat model, ``words`` compares words (:func:`hlgraph.extract.wording.objection`), ``auto`` asks the
            model if there is one
        budget : of the model; repeating the call continues, and no call is paid for twice

        Returns
        -------
        Faithfulness

        Raises
        ------
        UnknownNameError : there is no such corpus or judge
        InputError : a number that cannot be used, or ``model`` without a chat model
        ModelError, BudgetError : the model answers no more calls

        References
        ----------
        HLG, appendix A, Table 6 (1,000 statements of each data set, judged by people).
        """
        if sample < 1:
            raise InputError(f"sample is {sample}; choose a number from 1")
        if by not in JUDGES:
            raise UnknownNameError(f"there is no judge {by!r}; choose one of {', '.join(JUDGES)}")
        calls = self.chat(budget) if by != "words" else None
        if calls is None and (by == "model" or budget is not None):
            raise InputError(
                "a judgement by the chat model needs one, and only that has a budget; name it in HLGRAPH_CHAT or "
                "models.chat (such as openai:gpt-4o-mini), or choose words without a budget"
            )
        existing(self.stores.graph, self.settings.corpus)
        with progress.step("read"):
            count, chosen = self._sample(sample, seed)
        judge = None
        unjudged: list[Offender] = []
        if calls is None:
            offenders = _by_words(chosen)
        else:
            from hlgraph.extract.chat import ChatJudge

            judge = ChatJudge(calls, max_tokens=self.settings.models.max_tokens)
            offenders, unjudged = _by_model(judge, chosen)
        sampled = len(chosen) - len(unjudged)
        return Faithfulness(
            by=_BY_WORDS if judge is None else judge.fingerprint,
            seed=seed,
            statements=count,
            sampled=sampled,
            accurate=wilson(sampled - len(offenders), sampled),
            offenders=tuple(offenders),
            unjudged=tuple(unjudged),
            usage=None if judge is None else judge.usage,
        )

    # Parts

    def _covered(self, sources: Sequence[Source], share: float) -> Iterator[SourceCoverage]:
        scope = Scope(self.settings.corpus, sources=tuple(source.id for source in sources))
        chunks = by_source(self.stores.graph.find(Kind.CHUNK, scope), Chunk)
        statements = by_source(self.stores.graph.find(Kind.STATEMENT, scope), Statement)
        for source in sources:
            own = chunks.get(source.id, [])
            count, uncovered = cover(own, statements.get(source.id, []), share=share, title=source.title)
            failed = sum(not chunk.fingerprint for chunk in own)
            yield SourceCoverage(source.uri, source.title, count, count - len(uncovered), failed, tuple(uncovered))

    def _sample(self, size: int, seed: int) -> tuple[int, list[_Sampled]]:
        """The number of statements, and the sample with its chunks and sources, by uri and place."""
        count = 0

        def keyed() -> Iterator[tuple[str, str, Statement]]:
            nonlocal count
            for statement in find_records(self.stores.graph, Statement, scope=Scope(self.settings.corpus)):
                count += 1
                yield checksum(str(seed), statement.id), statement.id, statement

        statements = [item for _, _, item in heapq.nsmallest(size, keyed())]
        chunks: dict[str, Chunk] = {}
        scope = Scope(self.settings.corpus)
        names = sorted({item.chunk_id for item in statements})
        for part in batched(names, _CHUNKS_AT_ONCE):
            chunks |= read_records(self.stores.graph, Chunk, ids=part, scope=scope)
        owners = sorted({item.source_id for item in statements})
        sources = read_records(self.stores.graph, Source, ids=owners, scope=scope)
        # A change that another process publishes in between may take a statement away; then it is not in the sample.
        sampled = [
            _Sampled(item, chunks[item.chunk_id], sources[item.source_id])
            for item in statements
            if item.chunk_id in chunks and item.source_id in sources
        ]
        return count, sorted(sampled, key=lambda one: (one.source.uri, one.statement.start, one.statement.id))


def _by_model(judge: ChatJudge, chosen: Sequence[_Sampled]) -> tuple[list[Offender], list[Offender]]:
    """The inaccurate statements of a sample, and those without a usable verdict, by a chat model."""
    groups = group_by(chosen, lambda sampled: sampled.chunk.id)
    asked: list[tuple[ChunkInput, list[str]]] = []
    for items in groups.values():
        _, chunk, source = items[0]
        context = ChunkInput(chunk.text, source.title, chunk.headings, source.uri, source=source.id)
        asked.append((context, [sampled.statement.text for sampled in items]))
    offenders: list[Offender] = []
    unjudged: list[Offender] = []
    for items, verdicts in zip(groups.values(), judge.judge(asked), strict=True):
        if isinstance(verdicts, str):
            unjudged += [_offender(sampled, [verdicts]) for sampled in items]
            continue
        offenders += [
            _offender(sampled, [verdict.reason] if verdict.reason else [])
            for sampled, verdict in zip(items, verdicts, strict=True)
            if not verdict.is_accurate
        ]
    return offenders, unjudged


def _by_words(chosen: Sequence[_Sampled]) -> list[Offender]:
    """The inaccurate statements of a sample, by words."""
    offenders: list[Offender] = []
    for sampled in chosen:
        # A statement of a table begins with the title and the headings.
        text = (sampled.chunk.text, sampled.source.title, *sampled.chunk.headings)
        fault = objection(sampled.statement.text, text)
        if fault:
            offenders.append(_offender(sampled, [fault]))
    return offenders


def _offender(sampled: _Sampled, reasons: Sequence[str]) -> Offender:
    statement = sampled.statement
    return Offender(
        statement.id,
        sampled.chunk.id,
        sampled.source.uri,
        statement.text,
        statement.start,
        statement.end,
        tuple(reasons),
    )
