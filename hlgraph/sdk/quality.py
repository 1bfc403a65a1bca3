"""Coverage and faithfulness of a corpus: reads the store in batches, counts, and asks the judge, if there is one."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hlgraph import progress
from hlgraph.algorithms.intervals import Share, wilson
from hlgraph.answer.support import objection
from hlgraph.errors import InputError, UnknownNameError
from hlgraph.extract.seam import ChunkInput
from hlgraph.ids import checksum
from hlgraph.ingest.sources import named
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.accounts.usage import Usage
from hlgraph.models.executor import Executor
from hlgraph.quality.coverage import SourceCoverage, cover
from hlgraph.records import Chunk, Kind, Source, Statement
from hlgraph.sdk.given import checked
from hlgraph.settings import Settings
from hlgraph.stores.protocols import Scope, Stores

__all__ = ["JUDGES", "Coverage", "Faithfulness", "Offender", "Quality"]

JUDGES = ("auto", "model", "words")
SHARE = 0.5
_SOURCES_AT_ONCE = 200
_CHUNKS_AT_ONCE = 500
_BY_WORDS = "words/2"


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
        return sum(item.sentences for item in self.sources)

    @property
    def covered(self) -> int:
        """Number of covered sentences in all sources."""
        return sum(item.covered for item in self.sources)

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
    by : the judge: ``words/2``, or the version of the prompt and the model
    seed : of the sample
    statements : number of statements in the corpus
    sampled : number of statements that were judged
    accurate : their share, with its 95 % interval (Wilson)
    offenders : the inaccurate ones, by uri and place
    unjudged : statements of the sample without a usable verdict of the model, with the reason; they count nowhere
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
class Quality:
    """Coverage and faithfulness of the statements of one corpus.

    Parameters
    ----------
    settings, stores : where they are
    chat : makes the executor of the chat model for one check, within a budget; None without a chat model

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            print(graph.quality.coverage().share)
            for offender in graph.quality.faithfulness(sample=200).offenders:
                print(offender.text, offender.reasons)
    """

    def __init__(self, settings: Settings, stores: Stores, *, chat: Callable[[Budget | None], Executor | None]) -> None:
        self._settings = settings
        self._corpus = settings.corpus
        self._stores = stores
        self._chat = chat

    def coverage(self, uris: Sequence[str] = (), *, share: float = SHARE) -> Coverage:
        """The share of sentences that statements represent, by source. Two reads for every 200 sources.

        Parameters
        ----------
        uris : of the sources; none: all
        share : of its content words that make a sentence covered (default 0.5); see :func:`hlgraph.quality.coverage.cover`

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
        self._check_corpus()
        graph = self._stores.graph
        held = [item for item in graph.find(Kind.SOURCE, Scope(self._corpus)) if isinstance(item, Source)]
        if uris:
            by_name = named(held, uris, corpus=self._corpus, did="measured")
            held = list({item.id: item for items in by_name.values() for item in items}.values())
        found: list[SourceCoverage] = []
        with progress.step("cover", len(held), unit="sources"):
            for start in range(0, len(held), _SOURCES_AT_ONCE):
                found += self._covered(held[start : start + _SOURCES_AT_ONCE], share)
                progress.advance("cover", _SOURCES_AT_ONCE)
        return Coverage(tuple(sorted(found, key=lambda item: (item.share, item.uri))), share)

    def faithfulness(
        self, *, sample: int = 200, seed: int = 0, by: str = "auto", budget: Budget | None = None
    ) -> Faithfulness:
        """The share of statements that their chunks support, on a random sample. Writes nothing to the graph.

        A statement is in the sample when the hash of its id and the seed is among the smallest: the same corpus gives the same
        sample on every store, and an edited one nearly the same.

        Parameters
        ----------
        sample : number of statements; all, where there are fewer
        seed : of the sample
        by : ``model`` asks the chat model, ``words`` compares words (:func:`hlgraph.answer.support.objection`), ``auto`` asks the
            model where there is one
        budget : of the model; the same call again goes on, and pays for nothing twice

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
        calls = self._chat(budget) if by != "words" else None
        if calls is None and (by == "model" or budget is not None):
            raise InputError(
                "a judgement by the chat model needs one, and only that has a budget; name it in HLGRAPH_CHAT or "
                "models.chat (such as openai:gpt-4o-mini), or choose words without a budget"
            )
        self._check_corpus()
        with progress.step("read"):
            count, chosen = self._sample(sample, seed)
        return _by_words(chosen, count, seed) if calls is None else self._by_model(calls, chosen, count, seed=seed)

    # Parts

    def _check_corpus(self) -> None:
        if not self._stores.graph.stats(self._corpus, has_counts=False):
            raise UnknownNameError(f"there is no corpus {self._corpus!r}; ingest something first")

    def _covered(self, sources: Sequence[Source], share: float) -> Iterator[SourceCoverage]:
        scope = Scope(self._corpus, sources=tuple(item.id for item in sources))
        chunks: dict[str, list[Chunk]] = {}
        statements: dict[str, list[Statement]] = {}
        for record in self._stores.graph.find(Kind.CHUNK, scope):
            if isinstance(record, Chunk):
                chunks.setdefault(record.source_id, []).append(record)
        for record in self._stores.graph.find(Kind.STATEMENT, scope):
            if isinstance(record, Statement):
                statements.setdefault(record.source_id, []).append(record)
        for item in sources:
            own = chunks.get(item.id, [])
            count, uncovered = cover(own, statements.get(item.id, []), share=share, title=item.title)
            failed = sum(not chunk.fingerprint for chunk in own)
            yield SourceCoverage(item.uri, item.title, count, count - len(uncovered), failed, tuple(uncovered))

    def _sample(self, size: int, seed: int) -> tuple[int, list[_Sampled]]:
        """The number of statements, and the sample with its chunks and sources, by uri and place."""
        count = 0

        def keyed() -> Iterator[tuple[str, str, Statement]]:
            nonlocal count
            for record in self._stores.graph.find(Kind.STATEMENT, Scope(self._corpus)):
                if isinstance(record, Statement):
                    count += 1
                    yield checksum(str(seed), record.id), record.id, record

        statements = [item for _, _, item in heapq.nsmallest(size, keyed())]
        chunks: dict[str, Chunk] = {}
        scope = Scope(self._corpus)
        names = sorted({item.chunk_id for item in statements})
        for start in range(0, len(names), _CHUNKS_AT_ONCE):
            part = names[start : start + _CHUNKS_AT_ONCE]
            for record in self._stores.graph.records(Kind.CHUNK, part, scope=scope):
                if isinstance(record, Chunk):
                    chunks[record.id] = record
        owners = sorted({item.source_id for item in statements})
        held = self._stores.graph.records(Kind.SOURCE, owners, scope=scope)
        sources = {item.id: item for item in held if isinstance(item, Source)}
        # A change that another process publishes in between may take a statement away; then it is not in the sample.
        found = [
            _Sampled(item, chunks[item.chunk_id], sources[item.source_id])
            for item in statements
            if item.chunk_id in chunks and item.source_id in sources
        ]
        return count, sorted(found, key=lambda one: (one.source.uri, one.statement.start, one.statement.id))

    def _by_model(self, calls: Executor, chosen: Sequence[_Sampled], count: int, *, seed: int) -> Faithfulness:
        from hlgraph.extract.chat import ChatJudge

        groups: dict[str, list[_Sampled]] = {}
        for item in chosen:
            groups.setdefault(item.chunk.id, []).append(item)
        judge = ChatJudge(calls, max_tokens=self._settings.models.max_tokens)
        asked = [(_context(items[0]), [item.statement.text for item in items]) for items in groups.values()]
        offenders, unjudged, accurate = [], [], 0
        for items, verdicts in zip(groups.values(), judge.judge(asked), strict=True):
            if isinstance(verdicts, str):
                unjudged += [_offender(item, [verdicts]) for item in items]
                continue
            accurate += sum(verdict.is_accurate for verdict in verdicts)
            offenders += [
                _offender(item, [verdict.reason] if verdict.reason else [])
                for item, verdict in zip(items, verdicts, strict=True)
                if not verdict.is_accurate
            ]
        return Faithfulness(
            by=judge.fingerprint,
            seed=seed,
            statements=count,
            sampled=accurate + len(offenders),
            accurate=wilson(accurate, accurate + len(offenders)),
            offenders=tuple(offenders),
            unjudged=tuple(unjudged),
            usage=judge.usage,
        )


def _by_words(chosen: Sequence[_Sampled], count: int, seed: int) -> Faithfulness:
    offenders: list[Offender] = []
    for item in chosen:
        text = (item.chunk.text, item.source.title, *item.chunk.headings)  # a statement of a table begins with these
        fault = objection(item.statement.text, text)
        if fault:
            offenders.append(_offender(item, [fault]))
    return Faithfulness(
        by=_BY_WORDS,
        seed=seed,
        statements=count,
        sampled=len(chosen),
        accurate=wilson(len(chosen) - len(offenders), len(chosen)),
        offenders=tuple(offenders),
    )


def _context(item: _Sampled) -> ChunkInput:
    return ChunkInput(item.chunk.text, item.source.title, item.chunk.headings, item.source.uri, source=item.source.id)


def _offender(item: _Sampled, reasons: Sequence[str]) -> Offender:
    statement = item.statement
    return Offender(
        statement.id, item.chunk.id, item.source.uri, statement.text, statement.start, statement.end, tuple(reasons)
    )
