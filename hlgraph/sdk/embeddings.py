"""Another embedding model for a corpus, while searches go on: a second set of vectors, checked, and exchanged in one transaction.

The set of another model is built beside the current one, and no search reads it. :meth:`Embeddings.switch` exchanges both: the
vectors, the scale of their cosines, the synonyms and the vectors of summaries become those of the new model together with the
name of the model, so a search is wholly of one or of the other. The history of a corpus has the same sets, and is switched
together with it.

What is ingested while there are two sets gets vectors of the current model only, so its rows are missing in the other set until
the next :meth:`Embeddings.build`; a set with missing rows cannot be switched to. What is deleted or replaced leaves both sets.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hlgraph import progress
from hlgraph.change import VectorBlock
from hlgraph.errors import InputError, StoreConflictError, StoreError
from hlgraph.ids import checksum, content_id
from hlgraph.index.embed import indexed, whole_calibration
from hlgraph.ingest.history import history_of, refuse_history
from hlgraph.models.accounts.budget import Purse, price_of
from hlgraph.models.prompts import estimated_tokens
from hlgraph.models.protocols import Embedder, question_vector
from hlgraph.persist.assemble import links_about, topic_rows
from hlgraph.persist.journal import resume
from hlgraph.records import Hit, Kind, Source
from hlgraph.resolve.candidates import all_synonyms, least_synonym
from hlgraph.sdk.arguments import check_not_negative, checked
from hlgraph.sdk.reconcile import rows_of
from hlgraph.settings import Price, Settings
from hlgraph.stores.batches import batched
from hlgraph.stores.derived import Rebinding, RebindingStore
from hlgraph.stores.protocols import (
    CorpusStats,
    Damage,
    Neighbours,
    Row,
    Scope,
    Stores,
    VectorBatch,
    VectorQuery,
    VectorSet,
    VectorSets,
    VectorStore,
    existing,
    find_records,
    set_name,
)

if TYPE_CHECKING:
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.choose import AnyEmbedder, ChosenModels
    from hlgraph.progress import OnProgress


State: TypeAlias = Literal["current", "next", "previous"]
"""What a set is: the one that searches use, one that was built beside it, or the one that was current before."""

_KINDS = (Kind.ENTITY, Kind.STATEMENT, Kind.CHUNK, Kind.TOPIC)
"""In this order: the vector of a topic lies between its name and its statements."""
_BATCH = 1_000
_PASSES = 5  # times that a build looks for rows that others have added meanwhile
_TRIED = 32  # texts that a plan embeds to measure the time
_TOP = 10
_SAME = 0.999  # least cosine of a stored vector and one that is computed again, which a model may batch otherwise
_FREE = Price(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class EmbeddingSet:
    """One set of vectors of a corpus, and of its history.

    Attributes
    ----------
    embedding, dimensions : fingerprint of the model, and length of its vectors
    model : name by which the model can be chosen; empty: it was given as an object, or the set is older than such names
    state : see :data:`State`
    rows, missing : numbers of records with and without a vector
    bytes : size of the vectors
    at : when it was begun, ISO 8601 in UTC; empty: with the corpus
    """

    embedding: str
    dimensions: int
    model: str
    state: State
    rows: int
    missing: int
    bytes: int
    at: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddingPlan:
    """What a build would do.

    Attributes
    ----------
    embedding, dimensions : fingerprint of the model, and length of its vectors
    rows : records that lack a vector of this model
    texts : different texts to embed
    tokens : of these texts, estimated
    usd : price of these tokens; None: it is not known
    seconds : time to embed them, at the speed of 32 of them; None: there is nothing to embed
    bytes : size of the vectors to write; an embedded store and OpenSearch index the texts of the rows once more as well
    """

    embedding: str
    dimensions: int
    rows: int
    texts: int
    tokens: int
    usd: float | None
    seconds: float | None
    bytes: int


@dataclass(frozen=True, slots=True)
class BuiltSet:
    """What a build did.

    Attributes
    ----------
    embedding, dimensions : fingerprint of the model, and length of its vectors
    written : rows that were written
    texts : different texts that were embedded for them
    tokens, usd : of these texts, estimated; ``usd`` is None without a price
    removed : rows without a record that were removed
    missing : rows that are still missing, since others write to the corpus; build again
    """

    embedding: str
    dimensions: int
    written: int = 0
    texts: int = 0
    tokens: int = 0
    usd: float | None = None
    removed: int = 0
    missing: int = 0


@dataclass(frozen=True, slots=True)
class VerifiedSet:
    """What was found in a set.

    Attributes
    ----------
    embedding : fingerprint of its model
    rows, missing, strays : rows; records without one; rows without a record
    damaged : rows whose vector or text is not what was written, or has another length
    compared, differing : vectors that were computed again, and those of them that differ
    overlap : mean share of the 10 nearest statements that both sets have in common, by question; None: no questions were given
    """

    embedding: str
    rows: int
    missing: int
    strays: int
    damaged: int
    compared: int
    differing: int
    overlap: float | None = None

    @property
    def is_fine(self) -> bool:
        """Whether the set can be switched to."""
        return not (self.missing or self.strays or self.damaged or self.differing)


@dataclass(frozen=True, slots=True)
class SwitchedSet:
    """What a switch or a rollback did.

    Attributes
    ----------
    embedding, model : the model from now on
    previous : fingerprint of the model before
    synonyms : number of synonyms, by the vectors from now on
    summaries : summaries that were embedded again
    outdated : runs that were clustered by the vectors before: ``hierarchy``, and names of communities
    is_unchanged : True if the set was current already, and nothing was done
    """

    embedding: str
    model: str
    previous: str
    synonyms: int
    summaries: int
    outdated: tuple[str, ...]
    is_unchanged: bool = False


class DroppedSet(NamedTuple):
    """The model of a removed set, and the number of rows that were removed; an empty name: there was no other set."""

    embedding: str
    rows: int


class _OfSet(VectorStore):
    """One set of vectors in the place of the current one of each corpus, for functions that take the name of a corpus."""

    def __init__(self, inner: VectorStore, names: Mapping[str, str]) -> None:
        self._inner = inner
        self._names = names

    def vectors(
        self, kind: Kind, corpus: str, *, ids: Sequence[str], state: str = ""
    ) -> tuple[list[str], NDArray[np.float32]]:
        return self._inner.vectors(kind, self._names[corpus], ids=ids, state=state)

    def neighbours(self, kind: Kind, corpus: str, *, vectors: NDArray[np.float32], threshold: float) -> Neighbours:
        return self._inner.neighbours(kind, self._names[corpus], vectors=vectors, threshold=threshold)

    def ids(self, kind: Kind, corpus: str, *, among: Sequence[str] | None = None) -> set[str]:
        return self._inner.ids(kind, self._names[corpus], among=among)

    def search(self, query: VectorQuery) -> list[Hit]:
        return self._inner.search(replace(query, corpus=self._names[query.corpus]))

    def upsert(self, batch: VectorBatch) -> None:
        self._inner.upsert(replace(batch, corpus=self._names[batch.corpus]))

    def delete(self, corpus: str, ids: Mapping[str, Iterable[str]]) -> int:
        return self._inner.delete(self._names[corpus], ids)

    def examine(
        self, kind: Kind, corpus: str, *, rows: Iterable[Row], dimensions: int = 0, repair: bool = False
    ) -> Damage:
        return self._inner.examine(kind, self._names[corpus], rows=rows, dimensions=dimensions, repair=repair)


class _Scan(NamedTuple):
    """The records of a kind that lack a row in a set, and the rows that lack a record."""

    missing: list[str]
    strays: list[str]
    rows: int


@dataclass(slots=True)
class _Set:
    """A set beside the current one, of a corpus and of its history.

    Attributes
    ----------
    stores : with the vectors of this set alone
    place : by the hash of a text, a row that has its vector
    """

    name: VectorSet
    corpora: tuple[str, ...]
    current: Stores
    stores: Stores = field(init=False)
    place: dict[str, tuple[Kind, str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = {corpus: set_name(corpus, self.name.id) for corpus in self.corpora}
        self.stores = self.current._replace(vectors=_OfSet(self.current.vectors, names))

    def scan(self, kind: Kind, corpus: str) -> _Scan:
        """Compare the rows of a kind with the records, and learn which texts have a vector.

        Parameters
        ----------
        kind : kind of the records
        corpus : the corpus
        """
        stored = self.stores.vectors.ids(kind, corpus)
        missing: list[str] = []
        count = 0
        for row in _rows(self.stores, kind, corpus):
            if row.id not in stored:
                missing.append(row.id)
                continue
            count += 1
            stored.discard(row.id)
            if kind is not Kind.TOPIC:
                self.place.setdefault(checksum(row.text), (kind, corpus, row.id))
        return _Scan(missing, sorted(stored), count)

    def known(self, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors of those texts that a row of the set has already."""
        wanted: dict[tuple[Kind, str], dict[str, str]] = {}
        for text in texts:
            if (place := self.place.get(checksum(text))) is not None:
                wanted.setdefault(place[:2], {})[place[2]] = text
        vectors: dict[str, NDArray[np.float32]] = {}
        for (kind, corpus), ids in wanted.items():
            names, matrix = self.stores.vectors.vectors(kind, corpus, ids=list(ids))
            vectors.update((ids[name], row) for name, row in zip(names, matrix, strict=True))
        return vectors

    def check(self, corpus: str) -> None:
        """Raise StoreConflictError unless this set is still the other one of a corpus, whose lock the caller holds."""
        sets = self.current.graph.vector_sets(corpus)
        if sets is None or sets.other is None or sets.other.id != self.name.id:
            raise StoreConflictError(
                f"corpus {corpus!r}: the set of vectors of {self.name.embedding} was dropped or switched to meanwhile; see: "
                "hlgraph embeddings list"
            )


def _rows(stores: Stores, kind: Kind, corpus: str) -> Iterator[Row]:
    """The rows that a set should have for the records of a kind."""
    titles: dict[str, str] = {}
    if kind is Kind.CHUNK:
        titles = {source.id: source.title for source in find_records(stores.graph, Source, scope=Scope(corpus))}
    return indexed(stores.graph.find(kind, Scope(corpus)), titles)


class _Build:
    """One build of a set: embeds what is missing, batch by batch."""

    def __init__(self, chosen: _Set, embedder: Embedder, *, purse: Purse) -> None:
        self._set = chosen
        self._embedder = embedder
        self._purse = purse
        self.written = self.texts = self.removed = 0

    def run(self) -> int:
        """Write all missing rows; returns how many are still missing, since others write to the corpora."""
        missing = 0
        for _ in range(_PASSES):
            missing = self._pass()
            if not missing:
                break
        return missing

    def _pass(self) -> int:
        count = 0
        for corpus in self._set.corpora:
            for kind in _KINDS:
                scan = self._set.scan(kind, corpus)
                self._remove(kind, corpus, scan.strays)
                with progress.step(f"embed {kind.value}", len(scan.missing), unit="rows"):
                    for batch in batched(scan.missing, _BATCH):
                        self._write(kind, corpus, batch)
                        progress.advance(f"embed {kind.value}", len(batch))
                count += len(scan.missing)
        return count

    def _remove(self, kind: Kind, corpus: str, ids: Sequence[str]) -> None:
        if not ids:
            return
        with self._set.current.graph.lock(corpus):
            self._set.check(corpus)
            there = {record.id for record in self._set.stores.graph.records(kind, ids, scope=Scope(corpus))}
            strays = [name for name in ids if name not in there]
            self.removed += self._set.stores.vectors.delete(corpus, {kind.value: strays})

    def _write(self, kind: Kind, corpus: str, ids: Sequence[str]) -> None:
        stores = self._set.stores
        rows = self._read(kind, corpus, ids)
        vectors = self._embedded([row.text for row in rows])
        with stores.graph.lock(corpus) as pending:
            resume(pending, self._set.current, corpus=corpus)
            self._set.check(corpus)
            # What was deleted or replaced meanwhile gets no row: nothing of it may stay.
            left = set(self._read(kind, corpus, ids))
            rows = [row for row in rows if row in left]
            if not rows:
                return
            block = VectorBlock.of(kind, rows, matrix=np.stack([vectors[row.text] for row in rows]))
            if kind is Kind.TOPIC:
                about = links_about(block.ids, corpus, graph=stores.graph)
                wanted = sorted({name for some in about.values() for name in some})
                stored = stores.vectors.ids(Kind.STATEMENT, corpus, among=wanted)
                block = block.only([name for name in block.ids if about.get(name, set()) <= stored])
                if not block.ids:
                    return
                block = topic_rows(block, about, corpus=corpus, vectors=stores.vectors)
            change = content_id("vectors", corpus, self._set.name.id)
            stores.vectors.upsert(VectorBatch(corpus, change, blocks=(block,)))
        self.written += len(block.ids)
        if kind is not Kind.TOPIC:
            for row in rows:
                self._set.place.setdefault(checksum(row.text), (kind, corpus, row.id))

    def _read(self, kind: Kind, corpus: str, ids: Sequence[str]) -> list[Row]:
        stores = self._set.stores
        return list(rows_of(stores.graph.records(kind, ids, scope=Scope(corpus)), corpus, stores=stores))

    def _embedded(self, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors of texts; those that a row of the set has are not computed again."""
        vectors = self._set.known(dict.fromkeys(texts))
        fresh = [text for text in dict.fromkeys(texts) if text not in vectors]
        if fresh:
            tokens = sum(map(estimated_tokens, fresh))
            admission = self._purse.admit(tokens)
            try:
                matrix = self._embedder.embed(fresh)
            except BaseException:
                self._purse.settle(admission, is_paid=False)
                raise
            self._purse.settle(admission, tokens)
            self.texts += len(fresh)
            vectors.update(zip(fresh, matrix, strict=True))
        return vectors


@checked
@dataclass(frozen=True, slots=True)
class Embeddings:
    """The embedding model of one corpus: build the vectors of another one beside the current ones, and switch to it.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it
    models : the embedder in use
    settings : prices of models

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.embeddings.build("openai:text-embedding-3-small")
            if graph.embeddings.verify().is_fine:
                graph.embeddings.switch()
    """

    corpus: str
    stores: Stores
    models: ChosenModels
    settings: Settings = field(default_factory=Settings)

    def list(self) -> tuple[EmbeddingSet, ...]:
        """The sets of the corpus, the current one first. Raises UnknownNameError if there is no such corpus."""
        existing(self.stores.graph, self.corpus)
        stats = self.stores.graph.stats(self.corpus, has_relationships=False)[0]
        if not stats.embedding:
            return ()
        sets = _sets_of(stats)
        shown: list[tuple[VectorSet, State]] = [(sets.current, "current")]
        if sets.other is not None:
            shown.append((sets.other, "previous" if sets.is_previous else "next"))
        return tuple(self._shown(one, state) for one, state in shown)

    def _shown(self, one: VectorSet, state: State) -> EmbeddingSet:
        rows = missing = 0
        for corpus in self._corpora():
            counts = self.stores.graph.stats(corpus, has_relationships=False)[0].records
            for kind in _KINDS:
                stored = len(self.stores.vectors.ids(kind, set_name(corpus, one.id)))
                rows, missing = rows + stored, missing + max(0, counts.get(kind, 0) - stored)
        size = 4 * one.dimensions * rows
        return EmbeddingSet(one.embedding, one.dimensions, one.model, state, rows, missing, size, one.at)

    def plan(self, model: AnyEmbedder, *, on_progress: OnProgress | None = None) -> EmbeddingPlan:
        """What :meth:`build` would embed and write. Embeds at most 32 texts, to measure the time, and writes nothing.

        Parameters
        ----------
        model : the other model, see :meth:`build`
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Raises
        ------
        InputError : the corpus has this model already, or another one is being built
        UnknownNameError : there is no such corpus
        """
        with progress.listening(on_progress):
            embedder = self.models.chosen(model)
            stats = self._bound()
            chosen = self._chosen(_planned(_sets_of(stats), embedder, model))
            tried: list[str] = []
            seen: set[str] = set()
            rows = tokens = 0
            for corpus in chosen.corpora:
                for kind in _KINDS:
                    scan = chosen.scan(kind, corpus)
                    rows += len(scan.missing)
                    missing = set(scan.missing)
                    for row in _rows(self.stores, kind, corpus) if missing else ():
                        key = checksum(row.text)
                        if row.id not in missing or key in seen or key in chosen.place:
                            continue
                        seen.add(key)
                        tokens += estimated_tokens(row.text)
                        if len(seen) % 7 == 1 and len(tried) < _TRIED:
                            tried.append(row.text)
            seconds = _measured(embedder, tried, tokens) if tried else None
            price = _price(embedder, self.settings)
            usd = None if price is None else price.cost(tokens, 0)
            size = 4 * embedder.dimensions * rows
            return EmbeddingPlan(embedder.fingerprint, embedder.dimensions, rows, len(seen), tokens, usd, seconds, size)

    def build(
        self, model: AnyEmbedder, *, budget: Budget | None = None, on_progress: OnProgress | None = None
    ) -> BuiltSet:
        """Write the vectors of all records by another model into a second set, which no search reads.

        Searches and writers go on; each batch takes the lock of the corpus for a moment. After a kill, or when sources were added,
        the same call writes what is missing. A text that has a vector in the set is not embedded again.

        Parameters
        ----------
        model : the other model: an object of ours or of LangChain, or a name, as for :func:`hlgraph.connect`
        budget : limit on the estimated tokens, and their price; what is written stays
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        BuiltSet

        Raises
        ------
        InputError : the corpus has this model already, or another set is there, which must be dropped first
        UnknownNameError : there is no such corpus
        BudgetError : the budget does not cover the rest
        StoreConflictError : the set was dropped or switched to meanwhile
        StoreLockedError : another process is writing
        """
        with progress.listening(on_progress):
            embedder = self.models.chosen(model)
            purse = Purse(budget, price=_price(embedder, self.settings), model=embedder.fingerprint)
            self._bound()
            with self._locked():
                planned = _planned(_sets_of(self._bound()), embedder, model)
                for corpus in self._corpora():
                    self._register(corpus, planned)
            build = _Build(self._chosen(planned), embedder, purse=purse)
            missing = build.run()
            usd = None if _price(embedder, self.settings) is None else purse.usd
            counts = (build.written, build.texts, purse.tokens, usd, build.removed, missing)
            return BuiltSet(embedder.fingerprint, embedder.dimensions, *counts)

    def _register(self, corpus: str, planned: VectorSet) -> None:
        """Record the set in the graph store before it has a row, so that what is deleted leaves it from the beginning."""
        sets = _sets_of(existing(self.stores.graph, corpus))
        if sets.other is None:
            current = sets.current
            asked = self.models.embedder_asked_for
            if not current.model and isinstance(asked, str) and self.models.embedder.fingerprint == current.embedding:
                current = replace(current, model=asked)
            self._rebinding.save(corpus, replace(sets, current=current, other=planned, is_previous=False))

    def verify(
        self, *, questions: Sequence[str] = (), sample: int = 100, on_progress: OnProgress | None = None
    ) -> VerifiedSet:
        """Check the set beside the current one: every record has a row of the right length, and a sample is computed again.

        Parameters
        ----------
        questions : questions for which both models should find similar statements; embedded by both
        sample : number of vectors of each kind to compute again
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        VerifiedSet

        Raises
        ------
        InputError : there is no other set
        """
        check_not_negative(sample=sample)
        with progress.listening(on_progress):
            stats = self._bound()
            other = _other(stats, "verify")
            chosen = self._chosen(other)
            embedder = self._model_of(other)
            rows = missing = strays = damaged = compared = differing = 0
            for corpus in chosen.corpora:
                for kind in _KINDS:
                    scan = chosen.scan(kind, corpus)
                    rows, missing, strays = rows + scan.rows, missing + len(scan.missing), strays + len(scan.strays)
                    damage = chosen.stores.vectors.examine(
                        kind, corpus, rows=_rows(self.stores, kind, corpus), dimensions=other.dimensions
                    )
                    damaged += len(damage.vectors | damage.texts) + damage.strays
                    some, wrong = _compared(chosen, embedder, kind=kind, corpus=corpus, sample=sample)
                    compared, differing = compared + some, differing + wrong
            overlap = self._overlap(stats, other, questions) if questions else None
            return VerifiedSet(other.embedding, rows, missing, strays, damaged, compared, differing, overlap)

    def _overlap(self, stats: CorpusStats, other: VectorSet, questions: Sequence[str]) -> float:
        """The mean share of nearest statements that both sets have in common."""
        pairs = [
            (stats.vectors, self.models.embedder_of([stats])),
            (set_name(self.corpus, other.id), self._model_of(other)),
        ]
        shares = []
        for question in questions:
            hits = [
                self.stores.vectors.search(VectorQuery(Kind.STATEMENT, name, _TOP, question_vector(model, question)))
                for name, model in pairs
            ]
            before, after = ({hit.id for hit in some} for some in hits)
            shares.append(len(before & after) / max(len(before), len(after), 1))
        return sum(shares) / len(shares)

    def switch(self, *, on_progress: OnProgress | None = None) -> SwitchedSet:
        """Make the set that was built the current one, in one transaction. Writers wait; searches go on, before and after it.

        Searches of all processes that used the model before use the new one from then on, if they can create it.

        Parameters
        ----------
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        SwitchedSet
            ``outdated`` names what should be built again: it was clustered by the vectors before.

        Raises
        ------
        InputError : there is no set to switch to, or it lacks rows; nothing is changed
        StoreLockedError : another process is writing
        """
        return self._exchanged("switch to", is_back=False, on_progress=on_progress)

    def rollback(self, *, on_progress: OnProgress | None = None) -> SwitchedSet:
        """Return to the set that was current before the last switch, as long as it was not dropped; as :meth:`switch` otherwise.

        Parameters
        ----------
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Raises
        ------
        InputError : there is no previous set, or it lacks rows that were added since; nothing is changed
        """
        return self._exchanged("return to", is_back=True, on_progress=on_progress)

    def _exchanged(self, verb: str, *, is_back: bool, on_progress: OnProgress | None) -> SwitchedSet:
        with progress.listening(on_progress), self._locked():
            stats = self._bound()
            other, sets = _other(stats, verb), _sets_of(stats)
            if sets.is_previous is not is_back:
                if is_back and other.embedding not in sets.past:
                    raise InputError(
                        f"corpus {self.corpus!r}: the other set, of {other.embedding}, was never current; to make it so: "
                        "hlgraph embeddings switch"
                    )
                # It was done before, perhaps by a run that was killed before it could tell.
                current = sets.current
                return SwitchedSet(current.embedding, current.model, other.embedding, 0, 0, (), is_unchanged=True)
            chosen = self._chosen(other)
            missing = sum(len(chosen.scan(kind, corpus).missing) for corpus in chosen.corpora for kind in _KINDS)
            if missing:
                raise InputError(
                    f"corpus {self.corpus!r}: {missing} records lack a vector of {other.embedding}; they were added since it "
                    f"was built; run: hlgraph embeddings build {other.model or 'MODEL'} --corpus {self.corpus}"
                )
            with progress.step("switch", unit="corpora"):
                rebindings = [self._rebinding_of(corpus, chosen, is_back=is_back) for corpus in chosen.corpora]
            self._rebinding.rebind(rebindings)
            runs = () if self.stores.graph.derived is None else self.stores.graph.derived.runs(self.corpus)
            return SwitchedSet(
                other.embedding,
                other.model,
                sets.current.embedding,
                len(rebindings[0].synonyms),
                len(rebindings[0].summaries),
                tuple(run.name for run in runs),
            )

    def _rebinding_of(self, corpus: str, chosen: _Set, *, is_back: bool) -> Rebinding:
        """What a corpus becomes with the chosen set; the scale of the cosines of a history is that of its corpus."""
        stats = self.stores.graph.stats(corpus, has_relationships=False)[0]
        names = self.stores.graph.stats(self.corpus, has_relationships=False)[0].records.get(Kind.ENTITY, 0)
        calibration = whole_calibration(self.corpus, names, stores=chosen.stores)
        synonyms = tuple(all_synonyms(corpus, chosen.stores, least=least_synonym(calibration)))
        sets = _sets_of(stats)
        past = tuple(dict.fromkeys((*sets.past, sets.current.embedding)))
        exchanged = VectorSets(chosen.name, sets.current, is_previous=not is_back, past=past)
        calibration = calibration if corpus == self.corpus else None
        summaries = self._summaries(corpus, chosen.name)
        return Rebinding(corpus, stats.version, stats.embedding, exchanged, calibration, synonyms, summaries)

    def _summaries(self, corpus: str, other: VectorSet) -> dict[str, NDArray[np.float32]]:
        """The vectors of all summaries of a corpus by the model of a set."""
        derived = self.stores.graph.derived
        items = (
            []
            if derived is None
            else [row.summary for run in derived.runs(corpus) for row in derived.summaries(corpus, run.name).items]
        )
        if not items:
            return {}
        embedder = self._model_of(other)
        texts = list(dict.fromkeys(summary.text for summary in items))
        by_text = dict(zip(texts, embedder.embed(texts), strict=True))
        embedder.forget(texts)  # the store keeps the vectors and deletes them together with the summaries
        return {summary.id: by_text[summary.text] for summary in items}

    def drop(self, *, on_progress: OnProgress | None = None) -> DroppedSet:
        """Remove the set beside the current one, with all its bytes. After a kill the same call continues.

        Parameters
        ----------
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        DroppedSet
        """
        with progress.listening(on_progress), self._locked():
            other = _sets_of(existing(self.stores.graph, self.corpus)).other
            if other is None:
                return DroppedSet("", 0)
            count = 0
            for corpus in self._corpora():
                sets = _sets_of(existing(self.stores.graph, corpus))
                name = set_name(corpus, other.id)
                for kind in _KINDS:
                    ids = sorted(self.stores.vectors.ids(kind, name))
                    count += self.stores.vectors.delete(name, {kind.value: ids}) if ids else 0
                self._rebinding.save(corpus, replace(sets, other=None, is_previous=False))
            return DroppedSet(other.embedding, count)

    @property
    def _rebinding(self) -> RebindingStore:
        if self.stores.graph.rebinding is None:
            raise StoreError("these stores keep one set of vectors of a corpus; open them with hlgraph.connect")
        return self.stores.graph.rebinding

    def _corpora(self) -> tuple[str, ...]:
        """The corpus, and its history if that has vectors."""
        history = history_of(self.corpus)
        has_history = any(stats.embedding for stats in self.stores.graph.stats(history, has_counts=False))
        return (self.corpus, history) if has_history else (self.corpus,)

    def _bound(self) -> CorpusStats:
        """The statistics of the corpus, which has vectors."""
        refuse_history(self.corpus)
        stats = existing(self.stores.graph, self.corpus)
        if not stats.embedding:
            raise InputError(f"corpus {self.corpus!r} has no vectors; ingest something first, by any model")
        return stats

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the corpus, or, as a thread locks one corpus or all, of the whole store if it has a history."""
        corpora = self._corpora()
        corpus = self.corpus if len(corpora) == 1 else None
        with self.stores.graph.lock(corpus) as pending:
            resume(pending, self.stores, corpus=corpus)
            yield

    def _chosen(self, name: VectorSet) -> _Set:
        return _Set(name, self._corpora(), self.stores)

    def _model_of(self, one: VectorSet) -> Embedder:
        """The model of a set. Raises ModelMismatchError if it cannot be created here."""
        return self.models.of_set(self.corpus, one)


def _sets_of(stats: CorpusStats) -> VectorSets:
    """The sets of a corpus, also of one that never had a second one."""
    current = VectorSet("", stats.embedding, stats.dimensions) if stats.sets is None else stats.sets.current
    if current.embedding != stats.embedding:  # it was emptied, and is filled by another model
        current = VectorSet(current.id, stats.embedding, stats.dimensions)
    return VectorSets(current) if stats.sets is None else replace(stats.sets, current=current)


def _other(stats: CorpusStats, verb: str) -> VectorSet:
    """The set beside the current one. Raises InputError if there is none."""
    other = _sets_of(stats).other
    if other is None:
        raise InputError(
            f"corpus {stats.corpus!r} has one set of vectors, of {stats.embedding}; there is no other one to {verb}; to build one: "
            "hlgraph embeddings build MODEL"
        )
    return other


def _planned(sets: VectorSets, embedder: Embedder, model: AnyEmbedder) -> VectorSet:
    """The set that a build fills: the one that is there, or a new one."""
    if sets.current.embedding == embedder.fingerprint:
        raise InputError(f"the corpus has vectors of {embedder.fingerprint} already; name another model")
    if sets.other is None:
        name = model if isinstance(model, str) else ""
        name = str(Path(name).absolute()) if name and Path(name).is_dir() else name
        at = datetime.now(UTC).isoformat(timespec="seconds")
        ids = (content_id("vectors", embedder.fingerprint, str(number))[:8] for number in itertools.count())
        set_id = next(one for one in ids if one != sets.current.id)
        return VectorSet(set_id, embedder.fingerprint, embedder.dimensions, name, at)
    if sets.other.embedding != embedder.fingerprint:
        raise InputError(
            f"the corpus has a second set of vectors, of {sets.other.embedding}, and keeps no third one; continue that one, or "
            "remove it: hlgraph embeddings drop"
        )
    return sets.other


def _price(embedder: Embedder, settings: Settings) -> Price | None:
    """The price of a model; local models, whose names have no provider, cost nothing."""
    name = embedder.fingerprint
    return price_of(name, settings.models.prices) if ":" in name else _FREE


def _measured(embedder: Embedder, texts: Sequence[str], tokens: int) -> float:
    """Seconds for texts of this many tokens, at the speed of some of them."""
    embedder.embed(texts[:1])  # loads the model
    start = time.perf_counter()
    embedder.embed(texts)
    share = sum(map(estimated_tokens, texts)) / max(tokens, 1)
    return (time.perf_counter() - start) / max(share, 1e-9)


def _compared(chosen: _Set, embedder: Embedder, *, kind: Kind, corpus: str, sample: int) -> tuple[int, int]:
    """How many vectors of a kind were computed again, and how many of them differ: those of the lowest ids, which are hashes."""
    stores = chosen.stores
    rows = list(itertools.islice(_rows(stores, kind, corpus), sample))
    if not rows:
        return 0, 0
    block = VectorBlock.of(kind, rows, matrix=embedder.embed([row.text for row in rows]))
    if kind is Kind.TOPIC:
        about = links_about(block.ids, corpus, graph=stores.graph)
        block = topic_rows(block, about, corpus=corpus, vectors=stores.vectors)
    expected = dict(zip(block.ids, block.matrix(), strict=True))
    ids, matrix = stores.vectors.vectors(kind, corpus, ids=list(block.ids))
    cosines = [float(row @ expected[name]) for name, row in zip(ids, matrix, strict=True)]
    return len(cosines), sum(not cosine >= _SAME for cosine in cosines)  # also a cosine that is no number
