"""HLGraph, the SDK: one corpus of one store, open for use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from hlgraph import progress
from hlgraph.errors import AccessError, InputError, StoreConflictError
from hlgraph.ids import HISTORY
from hlgraph.ingest.options import IngestOptions
from hlgraph.records import SEARCH_K
from hlgraph.sdk import cypher
from hlgraph.sdk.arguments import check_database, checked, checking, parsed
from hlgraph.sdk.backup import back_up
from hlgraph.sdk.health import Health, health
from hlgraph.sdk.opening import Resources, settings_of
from hlgraph.settings import Settings
from hlgraph.stores.one_state import in_one_state, repeated
from hlgraph.stores.protocols import Scope
from hlgraph.stores.trace import hasty
from hlgraph.text import groups_of
from hlgraph.where import Caller

if TYPE_CHECKING:
    from hlgraph.answer import AnswerEvent, AnswerMode, AnswerRequest, AnswerStyle, Unsupported, Verify
    from hlgraph.answer.answering import Beside
    from hlgraph.answer.contradictions import Contradiction
    from hlgraph.evaluate.answering import ReaderOptions, Readers
    from hlgraph.evaluate.datasets import Question
    from hlgraph.evaluate.evaluation import EvaluationOptions, Layers
    from hlgraph.evaluate.judges.report import JudgeOptions
    from hlgraph.evaluate.recipes import RecipeReport
    from hlgraph.evaluate.report import Evaluation
    from hlgraph.ingest.exports import CorpusCopy
    from hlgraph.ingest.history import AsOf
    from hlgraph.ingest.plan import Plan
    from hlgraph.ingest.report import Report
    from hlgraph.ingest.run import AnySources, Ingestion
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.models.accounts.ledger import GroupBy, Spent
    from hlgraph.models.choose import AnyChat, AnyEmbedder, AnyReranker
    from hlgraph.models.executor import Executor
    from hlgraph.progress import OnProgress
    from hlgraph.read.table_mapping import AnyTableMapping
    from hlgraph.records import Answer
    from hlgraph.retrieve import Mode, Retriever, SearchRequest, SearchResult, Unit
    from hlgraph.sdk.align import Alignment
    from hlgraph.sdk.answers import Answers
    from hlgraph.sdk.batches import Batches
    from hlgraph.sdk.communities import Communities
    from hlgraph.sdk.contents import Entities, Sources
    from hlgraph.sdk.domain import CorpusDomain
    from hlgraph.sdk.embeddings import Embeddings
    from hlgraph.sdk.facts import Facts
    from hlgraph.sdk.failures import Failures
    from hlgraph.sdk.graph_formats import GraphFile, GraphFormat
    from hlgraph.sdk.groups import Groups
    from hlgraph.sdk.hierarchy import Hierarchy
    from hlgraph.sdk.history import History
    from hlgraph.sdk.merges import Merges
    from hlgraph.sdk.quality import Quality
    from hlgraph.sdk.questions import Questions
    from hlgraph.sdk.reconcile import Drift
    from hlgraph.sdk.retention import Holds, Receipts
    from hlgraph.stores.open import Opened
    from hlgraph.stores.protocols import Backup, CorpusStats, Finding, Stores
    from hlgraph.stores.queries import Limits, Query, Table
    from hlgraph.where import AnyWhere


@checked
class HLGraph:
    """One corpus of one store, open for use; a context manager.

    :func:`hlgraph.connect` opens it. All errors that it raises on purpose are kinds of :class:`hlgraph.HLGraphError`.

    Parameters
    ----------
    settings : the store, the corpus and the models
    embedder, reranker, chat : models instead of those of the settings: an object of ours or of LangChain, or its name

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.ingest(["docs/"])
            for evidence in graph.search("Who built the bridge?").evidence:
                print(evidence.text, evidence.source.title)
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: AnyEmbedder | None = None,
        reranker: AnyReranker | None = None,
        chat: AnyChat | None = None,
        _resources: Resources | None = None,
        _caller: Caller | None = None,
    ) -> None:
        self.settings = settings
        self.corpus = settings.corpus
        self._caller = _caller
        self._resources = _resources or Resources(settings, embedder=embedder, reranker=reranker, chat=chat)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self, *, timeout: float = 30.0) -> None:
        """Close the store and the models; a second call does nothing, and any other then raises StoreClosedError.

        Parameters
        ----------
        timeout : seconds to wait for running calls of other threads (default 30). Calls that take longer end with
            StoreClosedError
        """
        self._resources.close(timeout)

    def in_corpus(self, name: str) -> HLGraph:
        """Another corpus of the same database, else InputError, with the same models. Closing either object closes both."""
        check_database(self.settings, name)
        return HLGraph(replace(self.settings, corpus=name), _resources=self._resources, _caller=self._caller)

    def watched(self, watch: Callable[[Stores], Stores]) -> HLGraph:
        """The same corpus, with the stores wrapped by ``watch``. Closing either object closes both."""
        return HLGraph(self.settings, _resources=self._resources.watched(watch), _caller=self._caller)

    def as_caller(self, groups: Iterable[str]) -> HLGraph:
        """The corpus as a caller in these groups sees it, to be asked and listed.

        A source is seen if its metadata field ``acl`` names one of the groups; docs/explanation/access.md says what that means.
        Everything else needs the right to operate, and raises AccessError. Closing either object closes both.

        Parameters
        ----------
        groups : names of groups; a group that no source names admits nothing

        Raises
        ------
        InputError : a single text, no group, or a group that is not a text
        AccessError : the corpus is the history of another one, whose versions have groups of their own
        """
        if self.corpus.endswith(HISTORY):
            raise AccessError(
                f"corpus {self.corpus!r} is the history of corpus {self.corpus.removesuffix(HISTORY)!r}; a caller asks that one, "
                "with as_of"
            )
        return _CallerView(self.settings, _resources=self._resources, _caller=Caller.of(groups))

    def as_operator(self) -> HLGraph:
        """The corpus with every source, whatever its groups. Closing either object closes both."""
        return HLGraph(self.settings, _resources=self._resources, _caller=Caller(operates=True))

    def ingest(
        self,
        sources: AnySources = (),
        *,
        text: str | Sequence[str] | None = None,
        format: str | None = None,  # noqa: A002
        mapping: Mapping[str, str] | None = None,
        encoding: str | None = None,
        max_bytes: int | None = None,
        follow_links: bool = False,
        comments: bool = False,
        extract: Literal["local", "spacy", "precomputed", "chat"] = "local",
        spacy_model: str | None = None,
        extractions: Sequence[str] = (),
        missing: Literal["nothing", "local"] = "nothing",
        is_chunked: bool = False,
        delete_missing: bool = False,
        budget: Budget | None = None,
        adapt: bool = False,
        rows: AnyTableMapping | None = None,
        ground: Literal["words", "chat", "off"] | None = None,
        acl: str | Sequence[str] | None = None,
        acl_tag: str | None = None,
        seen_by: str | Sequence[str] | None = None,
        keep_history: bool = False,
        receipt: str | Path | None = None,
        receipt_uris: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Report:
        """Update the corpus to match these sources.

        Running it twice changes nothing. An edited source touches only the chunks that changed. After a crash, the same
        call completes the work. A source that fails is listed in the report and does not stop the others.

        Parameters
        ----------
        sources : paths, folders, globs, ``s3://`` addresses, ``-`` for standard input, documents, or ``sql:NAME`` for the
            result of the query that ``rows`` names. Rows: mappings, or a data frame of pandas, polars or Arrow. A row is a document
            if it has a column ``text`` (``mapping`` names another); ``title``, ``uri`` or ``id`` name it, a hash of the row if none
            does, and the others are metadata. Dates and decimals are kept, and what is missing (None, NaN) is left out. Values that
            metadata cannot hold, such as bytes, are left out with a warning that names their column
        text : texts, each a source that a hash of it names
        format, mapping, encoding, max_bytes, follow_links, comments : how files are read; see :class:`hlgraph.read.ReadOptions`
        extract : ``local`` (rules, default), ``spacy`` (rules and a pipeline of spaCy), ``precomputed`` (records of
            ``extractions``) or ``chat`` (the chat model)
        spacy_model : name of an installed model for ``spacy``; None: the one that the extra installs
        extractions : JSON lines files for ``precomputed``
        missing : how ``precomputed`` extracts a chunk without a record: ``nothing`` (default; the report lists it) or ``local``
        is_chunked : each document is one chunk already (a passage)
        delete_missing : remove stored sources under the given paths that no longer exist there
        budget : limit for ``chat``. When it is spent, the run stops and keeps what was extracted; the same call continues
        adapt : ``chat`` first infers the domain of a corpus that has none, by one call about five chunks
        rows : for tables: a mapping of their columns to entities and facts (a YAML file, or the same tree), in place of an
            extractor; see :func:`hlgraph.read.table_mapping.table_mapping`
        ground : how ``chat`` checks propositions against their chunk: ``words`` (names, numbers, dates, negations), ``chat``
            (the chat model judges them) or ``off``; None: the setting ``models.ground``. What fails is quarantined, not stored
        acl : groups of new sources that name none (:meth:`as_caller`); stored groups stay until the source names others
        acl_tag : key of the tag that names the groups of S3 objects; see :class:`hlgraph.read.ReadOptions`
        seen_by : groups of who writes: a document whose uri is that of a stored source of other groups is a failure; None: any
            source is replaced
        keep_history : keep every version of the sources from now on, for ``as_of`` of :meth:`search`; it stays on for the corpus
        receipt, receipt_uris : with ``delete_missing``: see :meth:`delete`
        on_progress : called with a :class:`hlgraph.Progress` when a step of a batch begins and ends, and at most ten times a
            second in between, also while texts are embedded; an error that it raises ends the ingest

        Returns
        -------
        Report
            Counts of sources and records, failures, seconds per step, and the usage of the chat model.

        Raises
        ------
        InputError : options that cannot be used, or no path of the call exists
        HoldError : ``delete_missing`` would delete a source under a hold; what was read is stored, and nothing is deleted
        StoreLockedError : another process is writing
        BudgetError : the budget was spent before everything was extracted; what was extracted is stored
        """
        from hlgraph.read.table_mapping import table_mapping

        options = IngestOptions(
            format=format,
            mapping=dict(mapping or {}),
            encoding=encoding,
            max_bytes=max_bytes,
            follow_links=follow_links,
            comments=comments,
            extract=extract,
            spacy_model=spacy_model,
            extractions=tuple(extractions),
            missing=missing,
            is_chunked=is_chunked,
            delete_missing=delete_missing,
            budget=budget,
            adapt=adapt,
            rows=None if rows is None else table_mapping(rows),
            ground=ground,
            acl=None if acl is None else groups_of(acl),
            acl_tag=acl_tag,
            seen_by=None if seen_by is None else groups_of(seen_by),
            keep_history=keep_history,
            receipt=None if receipt is None else Path(receipt),
            receipt_uris=receipt_uris,
        )
        return _ingested(self, sources, text, options=options, on_progress=on_progress)

    @property
    def ingestion(self) -> Ingestion:
        """The steps of an ingest, for running them elsewhere, as :mod:`hlgraph.integrations.ray` does."""
        from hlgraph.ingest.run import Ingestion

        return Ingestion(self.settings, self.corpus, self._opened, self._resources.models, self._executor)

    def plan(
        self,
        sources: AnySources,
        *,
        options: IngestOptions | None = None,
        on_progress: OnProgress | None = None,
    ) -> Plan:
        """The cost of :meth:`ingest` by the chat model in calls, tokens, money and time. Calls no model and writes nothing.

        Parameters
        ----------
        sources : see :meth:`ingest`
        options : how the sources would be read, chunked and extracted; None: the defaults
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Plan

        Raises
        ------
        InputError : options that cannot be used, or no chat model is named
        """
        return self.batches.plan(sources, options or IngestOptions(), on_progress=on_progress)

    @property
    def batches(self) -> Batches:
        """Extraction through batch files of a provider: ``export`` the calls, ``take`` the results."""
        from hlgraph.sdk.batches import Batches

        return Batches(self.settings, self._opened.stores, self._resources.models.chat_asked_for)

    def delete(
        self,
        uris: str | Sequence[str] = (),
        *,
        where: AnyWhere | None = None,
        everything: bool = False,
        history: bool = False,
        receipt: str | Path | None = None,
        receipt_uris: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Report:
        """Remove sources, and everything that only they assert. Repeating the call completes one that was killed.

        Parameters
        ----------
        uris : uris or paths of sources, or folders of them
        where : a filter over the metadata of sources, as for :meth:`search`
        everything : remove all sources of the corpus, and a domain that a model inferred; one that a person wrote stays
        history : remove all versions of these sources as well, also of sources that were removed before, if the history is kept;
            otherwise it keeps them. Implied by ``everything``
        receipt : file to which a receipt is appended, once it is verified that nothing is left: what was removed, as ids, hashes
            of uris and counts, and the hash of the receipt before it; see :func:`hlgraph.verify_receipts`. None: no receipt.
            With ``history``, the receipt of the versions is appended to ``FILE.history``
        receipt_uris : whether the receipt holds uris and the filter as text, which may be personal data
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Report
            What was removed, and the ``receipt``.

        Raises
        ------
        InputError : not exactly one of the three is given, the file cannot take the receipt, or a receipt is requested and the
            history would be kept; nothing is removed
        HoldError : a source is under a hold; nothing is removed
        UnknownNameError : a uri is not in the corpus, and was not removed by such a call before; nothing is removed
        WhereError : the filter names a field that no source has; nothing is removed
        """
        from hlgraph.ingest.delete import Deletion, receipt_options

        options = receipt_options(receipt, has_uris=receipt_uris)
        deletion = Deletion(self.settings, self._resources.opened, self._resources.models, on_progress, options)
        return deletion.run(uris, where=parsed(where), everything=everything, history=history)

    def search(
        self,
        question: str,
        *,
        strategy: str | Retriever = "auto",
        k: int = SEARCH_K,
        unit: Unit | None = None,
        where: AnyWhere | None = None,
        mode: Mode = "vector",
        diversity: float | None = None,
        tabular: bool = False,
        explain: bool = False,
        as_of: AsOf | None = None,
    ) -> SearchResult:
        """Evidence for a question, best first, with an explanation of how it was found.

        Parameters
        ----------
        question : the question, in natural language
        strategy : a name of :data:`hlgraph.retrieve.STRATEGIES`, or a retriever with parameters of your own
        k : number of pieces of evidence (1 to 10,000)
        unit : ``statement`` or ``chunk``; with the strategy ``hierarchy`` also ``summary``, or ``mixed``: chunks and summaries
            in one ranking, its default. None leaves it to the strategy
        where : filter over the metadata of sources, which holds on every hop: a text such as ``year >= 2023``, a mapping
            such as ``{"year": 2023, "category": ["tech", "science"]}``, or one made by :func:`hlgraph.field`
        mode : how seeds are searched: ``vector``, ``text`` or ``hybrid`` (rank fusion of both)
        diversity : drop evidence whose words repeat better evidence: TF-IDF cosine above 1 - diversity (0 keeps all);
            None takes the default of the strategy
        tabular : give statements with numbers the labels of their tables
        explain : record seeds, hops, paths and queries; ``result.explain.to_html()`` then draws them
        as_of : what was in the corpus then, if its history is kept: a date (the end of that day in UTC), a time, one of them as
            text, or the number of a version of the corpus, which a caller with groups cannot give. None: now

        Returns
        -------
        SearchResult
            ``evidence`` and ``explain``.

        Raises
        ------
        InputError : a question, filter, strategy or corpus that cannot be used
        """
        from hlgraph.retrieve import SearchRequest

        request = SearchRequest(question, self.corpus, k, unit, mode, parsed(where), diversity, tabular, explain)
        return _searched(self, _asked(self, request, as_of), strategy, calls=self._executor())

    def answer(
        self,
        question: str,
        *,
        strategy: str | Retriever = "auto",
        k: int | None = None,
        unit: Unit | None = None,
        where: AnyWhere | None = None,
        mode: AnswerMode = "short",
        search_mode: Mode = "vector",
        diversity: float | None = None,
        tabular: bool = False,
        explain: bool = False,
        as_of: AsOf | None = None,
        context_tokens: int = 8_000,
        unsupported: Unsupported = "flag",
        verify: Verify = "lexical",
        least_support: float | None = None,
        choices: Sequence[str] | None = None,
        style: AnswerStyle = "plain",
        budget: Budget | None = None,
    ) -> Answer:
        """An answer with citations: by the chat model if one is configured, otherwise quoted from the best evidence.

        Parameters
        ----------
        question, strategy, where, diversity, tabular, explain, as_of : as for :meth:`search`
        k : number of pieces of evidence that are considered; None: 20, for a report 200, with the strategy ``global`` all
            statements of the communities that it found
        unit : of the evidence, as for :meth:`search`; None: ``statement``, and for a chat model ``mixed`` if the strategy finds
            summaries
        mode : ``short`` answers from the best evidence; ``report`` combines many pieces, with the strategies ``global`` and
            ``hierarchy`` community by community: calls for the points of batches of communities, and one for the report. With a
            chat model and ``unit`` None, it also uses summaries of the hierarchy, if it was built
        search_mode : the ``mode`` of :meth:`search`
        context_tokens : tokens of evidence that one call of the chat model reads (at least 200)
        unsupported : ``flag`` marks sentences that their evidence does not support, ``drop`` removes them
        verify : who decides that: ``lexical`` compares words, ``chat`` asks the chat model in one more call
        least_support : evidence that covers a smaller share of the question, from 0 to 1, is ignored; None: 0.5 without a chat
            model if cosines are known, else 0
        choices : texts from which the answer is chosen; see ``Answer.choice``
        style : ``reason`` asks the chat model for its reason before the answer, ``aligned`` for the same by the prompt that
            ``hlgraph align`` trains models on; ``plain`` for the answer alone
        budget : for the calls of the search and of the answer together

        Returns
        -------
        Answer
            Sentences with citations, each with its source and characters.

        Raises
        ------
        InputError : options that cannot be used, and what :meth:`search` raises
        ModelError : the chat model cannot be used
        BudgetError : the budget does not cover the calls
        """
        from hlgraph.answer import AnswerRequest
        from hlgraph.answer.answering import last
        from hlgraph.retrieve import SearchRequest

        request = AnswerRequest(question=question, mode=mode, k=k, context_tokens=context_tokens, style=style)
        request = replace(request, unsupported=unsupported, verify=verify, least_support=least_support, choices=choices)
        search = SearchRequest(question, self.corpus, request.evidence_count, unit, search_mode, parsed(where))
        search = _asked(self, replace(search, diversity=diversity, tabular=tabular, explain=explain), as_of)
        return last(_events(self, request, search, strategy, budget=budget))

    def answer_stream(
        self,
        question: str,
        *,
        strategy: str | Retriever = "auto",
        k: int | None = None,
        unit: Unit | None = None,
        where: AnyWhere | None = None,
        mode: AnswerMode = "short",
        search_mode: Mode = "vector",
        diversity: float | None = None,
        tabular: bool = False,
        explain: bool = False,
        as_of: AsOf | None = None,
        context_tokens: int = 8_000,
        unsupported: Unsupported = "flag",
        verify: Verify = "lexical",
        least_support: float | None = None,
        choices: Sequence[str] | None = None,
        style: AnswerStyle = "plain",
        budget: Budget | None = None,
    ) -> Iterator[AnswerEvent]:
        """The answer of :meth:`answer` as events: the evidence, then pieces of the text, then the checked answer.

        With ``unsupported="drop"`` the final text is shorter than the pieces. If the model cannot stream, or a stored reply is
        used, the text is one piece. Closing the iterator ends the model call; the tokens so far are counted.

        Parameters
        ----------
        See :meth:`answer`.

        Returns
        -------
        Iterator of AnswerEvent
            One :class:`hlgraph.AnswerEvidence`, any number of :class:`hlgraph.AnswerPiece`, last the :class:`hlgraph.Answer`.

        Raises
        ------
        InputError : at once, for options that cannot be used; all other errors of :meth:`answer` are raised by the iterator
        """
        from hlgraph.answer import AnswerRequest
        from hlgraph.retrieve import SearchRequest

        request = AnswerRequest(question=question, mode=mode, k=k, context_tokens=context_tokens, style=style)
        request = replace(request, unsupported=unsupported, verify=verify, least_support=least_support, choices=choices)
        search = SearchRequest(question, self.corpus, request.evidence_count, unit, search_mode, parsed(where))
        search = _asked(self, replace(search, diversity=diversity, tabular=tabular, explain=explain), as_of)
        return _events(self, request, search, strategy, budget=budget, is_streamed=True)

    def contradictions(
        self, predicates: Sequence[str] = (), *, where: AnyWhere | None = None, as_of: AsOf | None = None
    ) -> tuple[Contradiction, ...]:
        """Facts that contradict each other, each with its sources and dates; nothing is overwritten.

        A predicate is functional if its subjects have one object at a time ("was born in"), or, as ``^leads``, its objects one
        subject. These are given, and measured: at least 10 subjects are named with the predicate by two sources, and at least 90 %
        of them have one object. Reads every fact. If a history is kept, past versions are read as well, unless ``as_of`` is given.

        Parameters
        ----------
        predicates : functional predicates, beside those of the setting ``functional``
        where, as_of : as for :meth:`search`

        Returns
        -------
        tuple of Contradiction
            By subject and predicate.

        Raises
        ------
        InputError : a predicate, filter or corpus that cannot be used
        """
        return _contradictions(self, predicates, where=where, as_of=as_of)

    def evaluate(
        self,
        data: str | Path | Sequence[Question],
        *,
        strategies: str | Sequence[str] | Mapping[str, Retriever] | None = None,
        sets: Sequence[str] = (),
        preset: str = "paper",
        baselines: bool = True,
        against: str | None = None,
        questions: str | Path | None = None,
        qrels: str | Path | None = None,
        runs: Mapping[str, str | Path] | None = None,
        subsets: Sequence[str] = (),
        limit: int | None = None,
        metrics: Sequence[str] = (),
        answers: bool = False,
        readers: Readers | None = None,
        closed_book: bool = False,
        gold_select: bool = False,
        hierarchy: Layers | None = None,
        claims: Literal["words", "chat"] | None = None,
        judging: JudgeOptions | None = None,
        budget: Budget | None = None,
        baseline: str | Path | Evaluation | None = None,
        on_progress: OnProgress | None = None,
    ) -> Evaluation:
        """How well strategies find what supports the answers of questions, with intervals and paired tests.

        The passages of a set are ingested into the corpus ``eval-NAME`` of this store, one chunk each, and reused if unchanged.
        Questions are asked of this corpus as it is; their gold are uris of sources, of which each counts once.

        Parameters
        ----------
        data : folder of an evaluation set, or questions
        strategies : names, or retrievers by a name of your own; None: those that ``sets`` name, otherwise every strategy that
            needs no chat model
        sets : ask a strategy again with other values of a parameter, such as ``path.jump_points=0,1``
        preset : parameters of the strategies, see :mod:`hlgraph.retrieve.strategies`
        baselines : also ask the plain searches over chunks ``bm25``, ``dense`` and ``rrf``
        against : the strategy that the others are compared with; None: the best
        questions, qrels : files in place of those of the set: questions, and supporting passages (TREC)
        runs : files of other systems (TREC) by a name for the tables
        subsets, limit : only questions of these subsets of the set, and only the first ``limit``
        metrics : further measures, such as ``nDCG@10``; with ``answers`` also those of texts, such as ``ROUGE-L``
        answers : also answer the questions that have gold answers
        readers : what the reader of each answer is given and how it answers, for all strategies or by name; None: the defaults
        closed_book : with ``answers``, also ask the chat model without any evidence
        gold_select : also ask the strategies that have a Select (``local``, ``global``) with a perfect one, which keeps exactly the
            statements of the supporting passages
        hierarchy : parameters of the layers that are built before the strategy ``hierarchy`` searches them, for all its
            variants or by name; None: the stored layers, otherwise the defaults
        claims : with ``answers``, the measures of RAGChecker, claims split and checked by words or by the chat model
        judging : with ``answers``, how a chat model judges them
        budget : for all calls of chat models together
        baseline : an earlier evaluation, or its file (:meth:`Evaluation.save`), that this one is compared with
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Evaluation
            Every outcome, its measures and tables; a notebook shows them. A question on which a strategy fails counts as one
            without results.

        Raises
        ------
        InputError : options that cannot be used, before the first question is asked
        ReadError : a file of the set, a run or the baseline cannot be read
        UnknownNameError : there is no such strategy, preset, measure, or corpus
        """
        from hlgraph.evaluate.evaluation import EvaluationOptions

        named, retrievers = (None, strategies) if isinstance(strategies, Mapping) else (strategies, None)
        options = EvaluationOptions(
            runs=tuple(f"{name}={path}" for name, path in (runs or {}).items()),
            strategies=named if named is None or isinstance(named, str) else ",".join(named),
            baseline=baseline if baseline is None or isinstance(baseline, str | Path) else baseline.run(),
        )
        options = replace(options, questions=questions, qrels=qrels, retrievers=retrievers, sets=tuple(sets))
        options = replace(options, subsets=tuple(subsets), limit=limit, preset=preset, against=against)
        options = replace(options, metrics=",".join(metrics), is_alone=not baselines, is_answered=answers)
        options = replace(options, readers=readers, closed_book=closed_book, gold_select=gold_select)
        options = replace(options, hierarchy=hierarchy, claims=claims or "", judging=judging, budget=budget)
        return _measured(self, data, options, on_progress=on_progress)

    def recipe(
        self,
        name: str,
        data: str | Path,
        *,
        preset: str = "paper",
        limit: int | None = None,
        readers: ReaderOptions | None = None,
        claims: Literal["words", "chat"] | None = None,
        judging: JudgeOptions | None = None,
        budget: Budget | None = None,
        on_progress: OnProgress | None = None,
    ) -> RecipeReport:
        """A table of a paper as far as the sets and models that are there allow, beside the published figures.

        Parameters
        ----------
        name : of the recipe, such as ``hlg-table-2``
        data : the folder of one set of the recipe, or the folder that holds the folders of its sets
        readers : what the reader of each answer is given, where a row of the recipe leaves it open
        preset, limit, claims, judging, budget, on_progress : as for :meth:`evaluate`

        Returns
        -------
        RecipeReport
            Its tables, what is missing and why; a notebook shows them.

        Raises
        ------
        InputError : there is no set of the recipe, or what :meth:`evaluate` raises
        UnknownNameError : there is no such recipe
        """
        options = {"preset": preset, "limit": limit, "readers": readers, "judging": judging, "budget": budget}
        return _recipe(self, name, data, on_progress, claims=claims or "", **options)

    def cypher(
        self,
        query: str,
        /,
        *,
        folder: str | Path | None = None,
        limits: Limits | None = None,
        as_of: AsOf | None = None,
        **params: object,
    ) -> Table:
        """The rows of a read-only query of ``cypher/analyst/``, or of your own folder.

        Parameters
        ----------
        query : the name of the query
        folder : where the query lies; None: the library
        limits : of rows, bytes and time
        as_of : what was true then, as for :meth:`search`, for queries with a parameter ``where``
        params : the parameters of the query, by name

        Raises
        ------
        UnknownNameError : no such query
        InputError : a parameter that is missing, unknown or out of bounds
        StoreError : the store has no Cypher, or refuses the query
        """
        return _rows(self, cypher.load(query, folder), params, limits=limits, as_of=as_of)

    def ledger(self, by: GroupBy = "stage") -> list[Spent]:
        """The cost of chat model calls so far, the most expensive group first.

        Parameters
        ----------
        by : the groups: ``stage``, ``source``, ``model``, ``day``, ... of this corpus, or ``corpus``, of all

        Returns
        -------
        list of Spent
            ``unpriced_calls`` counts calls without a known price. Deleted sources are listed by their ids.

        Raises
        ------
        InputError : no such group
        """
        from hlgraph.models.choose import spent

        return spent(self.settings, by, corpus=self.corpus, graph=self._opened.stores.graph)

    def stats(
        self, *, everything: bool = False, counts: bool = True, as_of: AsOf | None = None
    ) -> tuple[CorpusStats, ...]:
        """Counts of the records and relationships of this corpus; empty before its first ingest.

        Parameters
        ----------
        everything : every corpus of the store
        counts : count; False leaves the counts out, which is quicker
        as_of : counts of the records that were there then, as for :meth:`search`; not with ``everything``

        Returns
        -------
        tuple of CorpusStats
        """
        return _stats(self, everything=everything, has_counts=counts, as_of=as_of)

    def check(self) -> list[Finding]:
        """Whether the stored data is consistent and as it was written: constraints, links, counts, content, checksums.

        Compares the content of records with their ids and rows: on servers 500 of each kind and corpus, otherwise all.
        """
        return list(self._opened.check())

    def health(self, *, timeout: float = 5.0) -> Health:
        """Whether the stores respond and are usable, for service probes. Reads little, changes nothing.

        Parameters
        ----------
        timeout : seconds after which a store counts as down, default 5

        Returns
        -------
        Health
            A store that does not answer is a failed check, not an error.

        Raises
        ------
        InputError : the timeout is not above 0
        """
        return health(self.settings, timeout=timeout)

    def reconcile(self, *, repair: bool = False, on_progress: OnProgress | None = None) -> tuple[Drift, Drift]:
        """The differences between the graph and the vectors of this corpus, and from what was written.

        Parameters
        ----------
        repair : repair the drift: lost or altered vectors and full text are rebuilt from the records, lost records and altered
            links by the local extractor from the stored chunks. Sources with a lost or altered chunk are listed; the next
            ingest of their documents reads them again
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        (found, left)
            The drift before and after; the same without ``repair``.

        Raises
        ------
        StoreLockedError : another process is writing
        ModelMismatchError : with ``repair``, if there is drift and the corpus was embedded by another model
        """
        from hlgraph.sdk.reconcile import reconcile

        models, opened = self._resources.models, self._opened
        return reconcile(self.corpus, opened=opened, models=models, repair=repair, on_progress=on_progress)

    def backup(self, target: str | Path, *, on_progress: OnProgress | None = None) -> Backup:
        """Update a backup of the store, with all its corpora, to one state; others may read and write meanwhile.

        Only what changed is written: blocks of an embedded store, corpora of servers. The copy of an embedded store is checked like
        :meth:`check` before it replaces the previous backup. After a kill the previous backup remains, and the same call continues.
        :func:`hlgraph.restore` makes a store from it.

        Parameters
        ----------
        target : folder of the backup: a new one, an empty one, or that of an earlier backup of this store
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Backup
            The content of the backup, and what was written.

        Raises
        ------
        InputError : the folder cannot be used, or there is no store yet
        StoreLockedError : another backup or restore uses the folder
        StoreCorruptError : the store is damaged; the previous backup remains
        StoreUnavailableError : a disk is full, or a file cannot be read or written
        """
        self._opened  # noqa: B018 - raises once the graph is closed
        return back_up(self.settings, Path(target), on_progress=on_progress)

    def export_corpus(self, folder: str | Path, *, on_progress: OnProgress | None = None) -> CorpusCopy:
        """Write the corpus to a folder that any store can import. Writers of the corpus wait meanwhile; searches go on.

        Two exports of the same content have equal bytes. After a kill the same call starts again.

        Parameters
        ----------
        folder : the folder to make; a complete export of the same corpus is replaced
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        CorpusCopy
            What was exported; ``left_out`` names what is not in it: the history, a corpus of its own, and the holds.

        Raises
        ------
        UnknownNameError : there is no such corpus
        InputError : the folder exists, and is no export of this corpus
        StoreCorruptError : the store was altered since it was written
        StoreUnavailableError : the disk is full
        """
        from hlgraph.ingest.delete import holds_of
        from hlgraph.ingest.exports import export_corpus
        from hlgraph.ingest.history import is_kept

        stores = self._opened.stores
        with progress.listening(on_progress):
            done = export_corpus(stores, self.corpus, folder=Path(folder))
        beside = {"history": is_kept(stores, self.corpus), "holds": bool(holds_of(self.corpus, stores))}
        return replace(done, left_out=tuple(name for name, is_there in beside.items() if is_there))

    def export_graph(
        self,
        path: str | Path,
        *,
        format: GraphFormat,  # noqa: A002
        where: AnyWhere | None = None,
        as_of: AsOf | None = None,
        on_progress: OnProgress | None = None,
    ) -> GraphFile:
        """Write the graph to a file of other tools, as the caller sees it; memory does not grow with the corpus.

        Parameters
        ----------
        path : the file, or for Parquet the folder; an earlier export is replaced once the new one is complete
        format : ``graphml`` or ``gexf`` (Gephi): entities, and facts as edges; ``parquet``: nodes, edges and vectors as tables
            (extra ``frames``); ``jsonld``: all nodes, with PROV-O for what was derived from what
        where : filter over the metadata of the sources to export
        as_of : the moment, as for :meth:`search`
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        GraphFile
            What was written.

        Raises
        ------
        UnknownNameError : there is no such corpus
        WhereError : the filter names a field that no source has
        AccessError : a source names groups, and no caller is named
        StoreConflictError : the corpus was changed during each of four attempts
        StoreUnavailableError : the file cannot be written
        """
        from hlgraph.sdk.graph_formats import GraphFiles

        writer = GraphFiles(self.corpus, self._opened.stores, self._caller)
        return writer.write(Path(path), format, where=where, as_of=as_of, on_progress=on_progress)

    def import_corpus(self, folder: str | Path, *, on_progress: OnProgress | None = None) -> CorpusCopy:
        """Make the corpus from an export of any store. It appears as a whole or not at all.

        No model is called: vectors are part of the export. After a kill the same call continues, or starts again. If the exported
        corpus has another name, all ids are computed anew, and communities and summaries are left out.

        Parameters
        ----------
        folder : folder of the export
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        CorpusCopy
            What was imported.

        Raises
        ------
        InputError : the corpus is not empty, or the folder is no export
        MigrationError : a newer hlgraph made the export
        StoreCorruptError : a part of the export is missing or was altered
        StoreUnavailableError : a disk is full, or a server does not answer
        """
        from hlgraph.ingest.imports import import_corpus

        with progress.listening(on_progress):
            return import_corpus(self._opened.stores, self.corpus, folder=Path(folder))

    @property
    def answers(self) -> Answers:
        """Answers by the chat model: ``plan`` their cost, ask it ``closed_book``, or ``judge`` those of an evaluation."""
        from hlgraph.sdk.answers import Answers

        return Answers(self.settings, self._opened.stores, self._resources.models, chat=self._executor)

    @property
    def communities(self) -> Communities:
        """The communities of the corpus: ``build`` and ``find`` them, or draw the ``map`` of their entities."""
        from hlgraph.sdk.communities import Communities

        return Communities(self.corpus, self._opened.stores, self._caller)

    @property
    def hierarchy(self) -> Hierarchy:
        """The summaries above the chunks, which the strategy ``hierarchy`` searches: ``plan``, ``build`` and ``find`` them."""
        from hlgraph.sdk.hierarchy import Hierarchy

        return Hierarchy(self.corpus, self._opened.stores, self._resources.models, self._executor, self.settings)

    @property
    def merges(self) -> Merges:
        """Entities that are the same: ``propose``, ``judge``, ``list``, ``apply`` and ``undo`` merges."""
        from hlgraph.sdk.merges import Merges

        return Merges(self.corpus, self._opened.stores, chat=self._executor, settings=self.settings)

    @property
    def holds(self) -> Holds:
        """Holds on sources, which refuse that they are deleted or replaced: ``add``, ``list`` and ``release`` them."""
        from hlgraph.sdk.retention import Holds

        return Holds(self.corpus, self._opened.stores)

    @property
    def receipts(self) -> Receipts:
        """Receipts of deletions: ``verify`` a file of them against the store."""
        from hlgraph.sdk.retention import Receipts

        return Receipts(self.corpus, self._opened.stores)

    @property
    def domain(self) -> CorpusDomain:
        """The entity kinds and topics that prompts name: ``find``, ``infer``, ``set`` and ``clear`` them."""
        from hlgraph.sdk.domain import CorpusDomain

        return CorpusDomain(self.settings, self._opened.stores, chat=self._executor)

    @property
    def failures(self) -> Failures:
        """The chunks that a chat model could not extract: ``find``, ``retry``, ``accept`` and ``drop`` them."""
        from hlgraph.sdk.failures import Failures

        return Failures(self.settings, self._opened.stores, models=self._resources.models, chat=self._executor)

    @property
    def quality(self) -> Quality:
        """How well the statements represent the text: ``coverage`` and ``faithfulness``."""
        from hlgraph.sdk.quality import Quality

        return Quality(self.settings, self._opened.stores, chat=self._executor)

    @property
    def align(self) -> Alignment:
        """Preference alignment: ``make`` and ``plan`` pairs of answers, ``audit`` them, ``train`` on them, and ``compare``."""
        from hlgraph.sdk.align import Alignment

        return Alignment(self)

    @property
    def questions(self) -> Questions:
        """Evaluation questions of the corpus: ``make``, ``plan``, ``check`` and ``export`` them."""
        from hlgraph.sdk.questions import Questions

        return Questions(self)

    @property
    def embeddings(self) -> Embeddings:
        """Another embedding model, while searches go on: ``plan``, ``build``, ``verify``, ``switch``, ``rollback`` and ``drop``."""
        from hlgraph.sdk.embeddings import Embeddings

        return Embeddings(self.corpus, self._opened.stores, models=self._resources.models, settings=self.settings)

    @property
    def groups(self) -> Groups:
        """The groups of the sources: ``list``, ``set`` and ``clear`` them. See :meth:`as_caller`."""
        from hlgraph.sdk.groups import Groups

        return Groups(self.corpus, self._opened.stores)

    @property
    def history(self) -> History:
        """The versions of the sources: ``keep`` them, list the ``versions`` of one, and the ``diff`` between two moments."""
        from hlgraph.sdk.history import History

        return History(self.corpus, self._opened.stores)

    @property
    def sources(self) -> Sources:
        """The sources: ``list`` them page by page, or ``each`` of them, and ``open`` one with its text, chunks and statements."""
        from hlgraph.sdk.contents import Sources

        return Sources(self.corpus, self._opened.stores, self._caller)

    @property
    def entities(self) -> Entities:
        """The entities: ``list`` them page by page, or ``each`` of them, and ``open`` one with its facts and neighbours."""
        from hlgraph.sdk.contents import Entities

        return Entities(self.corpus, self._opened.stores, self._caller)

    @property
    def facts(self) -> Facts:
        """The facts: ``list`` them page by page, or ``each`` of them, ``open`` one with its statements, or ``read`` all."""
        from hlgraph.sdk.facts import Facts

        return Facts(self.corpus, self._opened.stores, self._caller)

    @property
    def _opened(self) -> Opened:
        return self._resources.current()

    def _executor(self, budget: Budget | None = None) -> Executor | None:
        """The executor of the chat model for one command; None without a chat model."""
        return self._resources.executor(self.settings, budget)


def _asked(graph: HLGraph, request: SearchRequest, as_of: AsOf | None, *, of_all: bool = False) -> SearchRequest:
    """The request of the caller of a graph, about a moment; of the present, or, if a history is kept, of all versions."""
    caller, corpus, stores = graph._caller, graph.corpus, graph._opened.stores
    if as_of is not None or of_all:
        from hlgraph.ingest.history import mark_of, past_of

        if as_of is not None or mark_of(stores, corpus) is not None:
            past = past_of(corpus, caller, stores=stores, where=request.where, as_of=as_of)
            return replace(request, corpus=past.corpus, as_of=past.moment, caller=past.caller)
    return replace(request, caller=caller)


def _searched(
    graph: HLGraph, request: SearchRequest, strategy: str | Retriever, *, calls: Executor | None
) -> SearchResult:
    from hlgraph.retrieve import search

    stores, models = graph._opened.stores, graph._resources.models
    return search(request, strategy, stores=stores, embedder=models.by_corpus, reranker=models.reranker, chat=calls)


def _rows(
    graph: HLGraph, query: Query, params: dict[str, object], *, limits: Limits | None, as_of: AsOf | None
) -> Table:
    stores = graph._opened.stores
    if as_of is not None:
        params = cypher.then(query, params, stores=stores, corpus=graph.corpus, as_of=as_of)
    return cypher.run(query, params, graph=stores.graph, corpus=graph.corpus, limits=limits)


def _stats(graph: HLGraph, *, everything: bool, has_counts: bool, as_of: AsOf | None) -> tuple[CorpusStats, ...]:
    corpus, stores = None if everything else graph.corpus, graph._opened.stores
    if as_of is None:
        return in_one_state(stores, corpus, read=lambda: stores.graph.stats(corpus, has_counts=has_counts))
    if everything:
        raise InputError("as_of is a moment of one corpus; leave everything out")
    from hlgraph.sdk.history import counts_at

    return (counts_at(stores, graph.corpus, as_of=as_of),)


def _contradictions(
    graph: HLGraph, predicates: Sequence[str], *, where: AnyWhere | None, as_of: AsOf | None
) -> tuple[Contradiction, ...]:
    from hlgraph.answer.contradictions import contradictions, predicates_of
    from hlgraph.retrieve import SearchRequest
    from hlgraph.retrieve.search import checked_corpus

    stores, given = graph._opened.stores, predicates_of((*graph.settings.functional, *predicates))
    request = SearchRequest("contradictions", graph.corpus, where=parsed(where))
    request = _asked(graph, request, as_of, of_all=True)

    def read() -> tuple[Contradiction, ...]:
        checked_corpus(request, stores)
        return contradictions(stores, Scope(request.corpus, request.where), given=given)

    return in_one_state(stores, request.corpus, read=read)


def _events(
    graph: HLGraph,
    request: AnswerRequest,
    search: SearchRequest,
    strategy: str | Retriever,
    *,
    budget: Budget | None,
    is_streamed: bool = False,
) -> Iterator[AnswerEvent]:
    """The events of an answer."""
    from hlgraph.answer.answering import Beside, answering, finding
    from hlgraph.answer.contradictions import Contradicting, predicates_of
    from hlgraph.answer.tables import TableReader

    calls, stores = graph._executor(budget), graph._opened.stores
    run = partial(_searched, graph, calls=calls)
    find = finding(request, search, strategy=strategy, run=run, stores=stores, chat=calls)
    reader = TableReader(stores.graph, search.corpus, where=search.where)
    known = stores.graph.known(search.corpus)
    stats = stores.graph.stats(search.corpus, has_counts=False) if known is None else (known,)
    contradicting = Contradicting(stores, Scope(search.corpus, search.where), predicates_of(graph.settings.functional))
    beside = Beside(reader, graph._resources.models.embedder_of(stats), contradicting)
    tokens = graph.settings.models.max_tokens
    begin = partial(answering, request, find=find, chat=calls, max_tokens=tokens, is_streamed=is_streamed)
    return _begun(begin, beside, stores=stores, corpus=search.corpus, has_chat=calls is not None)


def _begun(
    begin: Callable[..., Iterator[AnswerEvent]], beside: Beside, *, stores: Stores, corpus: str, has_chat: bool
) -> Iterator[AnswerEvent]:
    """The events of an answer. What a chat model writes is of the evidence; without one, all that is read is of one state."""

    def read(own: Beside | None) -> tuple[AnswerEvent, Iterator[AnswerEvent]]:
        events = begin(beside=own)
        return next(events), events if has_chat else iter(tuple(events))

    with stores.snapshot() as is_pinned:
        if is_pinned or has_chat:
            first, rest = read(beside)
    if not (is_pinned or has_chat):
        known = stores.graph.known(corpus)
        likely: tuple[CorpusStats, ...] | None = None if known is None else (known,)
        state = partial(stores.graph.stats, corpus, has_counts=False)
        try:
            with hasty():
                first, rest = repeated(state, lambda _: read(beside), corpus=corpus, first=likely)
        except StoreConflictError:  # writers were faster: the evidence alone is of one state
            first, rest = read(None)
    yield first
    yield from rest


def _ingested(
    graph: HLGraph,
    sources: AnySources,
    text: str | Sequence[str] | None,
    *,
    options: IngestOptions,
    on_progress: OnProgress | None,
) -> Report:
    """See :meth:`HLGraph.ingest`; the rows become documents first, and those that cannot are failures of the report."""
    from hlgraph.ingest.run import given

    got = given(sources, text=text, mapping=options.mapping)
    if got.has_rows and not got.has_paths:
        options = replace(options, mapping={})
    report = graph.ingestion.bring(got.sources, options, on_progress=on_progress)
    report.failed.extend(got.failed)
    report.warnings.extend(got.warnings)
    return report


def _measured(
    graph: HLGraph, data: str | Path | Sequence[Question], options: EvaluationOptions, *, on_progress: OnProgress | None
) -> Evaluation:
    from hlgraph.evaluate.evaluation import run_evaluation

    reranker = graph._resources.models.reranker.fingerprint
    return run_evaluation(graph, data, options=options, reranker=reranker, on_progress=on_progress)


def _recipe(
    graph: HLGraph, name: str, data: str | Path, on_progress: OnProgress | None, **options: Any
) -> RecipeReport:
    """See :meth:`HLGraph.recipe`."""
    from hlgraph.evaluate.evaluation import EvaluationOptions
    from hlgraph.evaluate.recipes import run_recipe

    measure = partial(_measured, graph, on_progress=on_progress)
    where = "folder" if any(Path(data).glob("corpus.jsonl*")) else "data"
    return run_recipe(
        name, EvaluationOptions(**options), measure=measure, has_chat=bool(graph.answers.model), **{where: str(data)}
    )


class _CallerView(HLGraph):
    """See :meth:`HLGraph.as_caller`. All that is not in ``_FOR_CALLERS`` needs the right to operate."""


_FOR_CALLERS = frozenset(
    {
        "answer",
        "answer_stream",
        "close",
        "communities",
        "contradictions",
        "entities",
        "export_graph",
        "facts",
        "search",
        "sources",
    }
)


def _refused(name: str) -> property:
    def refuse(self: HLGraph) -> NoReturn:  # noqa: ARG001
        raise AccessError(
            f"{name} needs the right to operate; a caller with groups can {', '.join(sorted(_FOR_CALLERS))}. Use the graph that "
            "as_caller() was called on"
        )

    return property(refuse)


for _name in [name for name in vars(HLGraph) if not name.startswith("_") and name not in _FOR_CALLERS]:
    setattr(_CallerView, _name, _refused(_name))


@checking
def connect(
    target: str | Path | Settings | None = None,
    *,
    vectors: str | None = None,
    corpus: str | None = None,
    embedder: AnyEmbedder | None = None,
    reranker: AnyReranker | None = None,
    chat: AnyChat | None = None,
) -> HLGraph:
    """Open a store. Nothing is created before the first ingest.

    Parameters
    ----------
    target : a url (``hlgraph://./folder``, ``neo4j://host:7687``), the folder of an embedded store (``./folder``), a settings file
        (``hlgraph.yaml``), settings, or None: what the environment says; passwords come from the environment or the file
    vectors : the url of the vector store if ``target`` is a graph server, such as ``https://localhost:9200``
    corpus : the corpus, if not that of the settings
    embedder, reranker, chat : see :class:`HLGraph`

    Returns
    -------
    HLGraph
        A context manager.

    Raises
    ------
    SettingsError : a file or variable that cannot be used
    UnknownNameError : a url with an unknown scheme
    """
    settings = settings_of(target)
    if vectors is not None:
        settings = replace(settings, vectors=vectors)
    chosen = settings if corpus is None else replace(settings, corpus=corpus)
    return HLGraph(chosen, embedder=embedder, reranker=reranker, chat=chat)
