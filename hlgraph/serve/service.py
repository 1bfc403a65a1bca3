"""The service layer: each call is authorised, runs on the caller's view of a corpus through the SDK, and returns plain data.

The faces of the server (REST, the interface of OpenAI, MCP, the page) call it, in threads, and add nothing but their protocol.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from hlgraph import __version__, telemetry
from hlgraph.errors import AccessError, CredentialError, InputError, StoreLockedError, UnknownNameError, WhereError
from hlgraph.progress import OnProgress, Progress
from hlgraph.records import Document, Kind
from hlgraph.sdk.client import HLGraph
from hlgraph.serve import shapes
from hlgraph.serve.access import LOCAL, Keys, Principal, StateFile, Tokens, now, stored_at
from hlgraph.serve.jobs import JobList, Once, Runner, unknown_job
from hlgraph.settings import ServeSettings, Settings, server_folder
from hlgraph.stores import files
from hlgraph.text import ACL

if TYPE_CHECKING:
    from hlgraph.ingest.report import Report
    from hlgraph.retrieve import SearchResult
    from hlgraph.sdk.contents import Entities, EntityDetails, SupportedFact

    _Came: TypeAlias = dict[str, tuple[SupportedFact, str] | None]

T = TypeVar("T")
_LANES: Final = 4  # ingests at once on servers; an embedded store has one writer
_WAIT_SECONDS: Final = 5.0  # that a write waits for the write lock
_BATCH_CHARACTERS: Final = 8_000_000  # of uploaded documents that are in memory at once
_MOST_OPENED, _MOST_FACTS = 200, 200  # entities that a search for a path opens, and facts of each
_NOT_ITS_GROUPS: Final = "its acl names groups that you are not in; name groups of yours, or none"
_LONGEST_NAME: Final = 200  # of a corpus
_MOST_IDS: Final = 20  # in a line of the audit
_VIEWS: Final = 256  # of corpora by callers that are kept: making one costs a tenth of a search


class Event(NamedTuple):
    """One event of an answer: ``plan``, ``evidence``, ``text``, ``sentence``, ``citation`` or ``done``, with its data."""

    name: str
    data: object


@dataclass(slots=True)
class Audit:
    """A file of lines in JSON: who did what to which corpus, with which ids, and how long it took. No texts.

    Attributes
    ----------
    path : the file
    """

    path: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, who: str, what: str, *, corpus: str, ids: Sequence[str] = (), start: float) -> None:
        """Append a line; a file that was moved away is created again.

        Parameters
        ----------
        who : the caller
        what : what was asked
        corpus : the corpus
        ids : of what was cited or changed
        start : monotonic time at which it began
        """
        line = {
            "at": now(),
            "who": who,
            "what": what,
            "corpus": corpus,
            "ids": list(ids[:_MOST_IDS]),
            "ms": round((time.monotonic() - start) * 1_000, 1),
            "request": telemetry.correlation_id(),
        }
        with self._lock, stored_at(self.path):
            files.reserve(self.path)
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                os.write(descriptor, json.dumps(line).encode() + b"\n")
            finally:
                os.close(descriptor)


class Service:
    """What a server can be asked. Thread-safe.

    Parameters
    ----------
    graph : the open store
    corpora : the corpora that it serves; None: all of the store
    is_open : whether a caller without a key may do everything; only for a server that this machine alone can reach

    Attributes
    ----------
    keys, jobs, audit : the keys, the jobs and the audit of the server
    records, ingests : the parts of the service that are about them
    """

    def __init__(self, graph: HLGraph, *, corpora: Sequence[str] | None = None, is_open: bool = False) -> None:
        self.graph = graph
        self._corpora = None if corpora is None else tuple(corpora)
        self._is_open = is_open
        settings = graph.settings
        self.settings: ServeSettings = settings.serve
        self._state = StateFile(server_folder(settings))
        self.keys = Keys(self._state)
        self.jobs = JobList(self._state)
        self._tokens = Tokens(self.settings) if self.settings.issuer else None
        with stored_at(self._state.folder):
            files.make_folder(self._state.folder)
        self.audit = Audit(self._state.folder / "audit.jsonl")
        lanes = 1 if settings.store.startswith("hlgraph://") else _LANES
        self.records = Records(self)
        self.ingests = Ingests(self)
        self._runner = Runner(self.jobs, self.ingests.run_job, lanes=lanes)
        self._view = lru_cache(_VIEWS)(self._viewed)

    def start(self) -> None:
        """Begin to run jobs."""
        self.jobs.begin()
        self._runner.start()

    def close(self, late: Callable[[], None] | None = None) -> None:
        """Stop the jobs, and close the store and the state.

        Parameters
        ----------
        late : called if a job goes on; to close the store is then to wait for it
        """
        if self._runner.ident is not None and not self._runner.stop() and late is not None:
            late()
        self.jobs.end()
        self.graph.close()
        self._state.close()

    # Who asks

    @property
    def needs_credentials(self) -> bool:
        """Whether a caller without a key is refused."""
        return not self._is_open or self._tokens is not None or self.keys.has_any

    def principal(self, credential: str | None) -> Principal:
        """Who asks, by a key or a bearer token; None: neither was sent.

        Raises
        ------
        CredentialError : it is not valid, or one is needed
        """
        if credential is None:
            if self.needs_credentials:
                raise CredentialError("this server needs a key; send it in the header Authorization: Bearer KEY")
            return LOCAL
        if self._tokens is not None and not credential.startswith("hlg_"):
            return self._tokens.principal(credential)
        if not self.needs_credentials:
            return LOCAL  # clients such as that of OpenAI always send some key
        return self.keys.principal(credential)

    def corpus(self, who: Principal, corpus: str, *, right: shapes.Right) -> HLGraph:
        """The corpus as the server itself sees it.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        right : what the caller needs

        Raises
        ------
        UnknownNameError : the caller may not know of it; the same error as for a corpus that does not exist
        AccessError : the caller lacks the right
        """
        if not who.sees(corpus) or (self._corpora is not None and corpus not in self._corpora):
            raise _unknown(corpus)
        who.check(right)
        return self._view(corpus, (), False)

    def _viewed(self, corpus: str, groups: tuple[str, ...], operates: bool) -> HLGraph:
        graph = self.graph.in_corpus(corpus)
        if groups:
            return graph.as_caller(set(groups))
        return graph.as_operator() if operates else graph

    def asked(self, who: Principal, corpus: str) -> HLGraph:
        """The corpus as the caller sees it.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        """
        self.corpus(who, corpus, right="read")
        return self._view(corpus, who.groups, who.has("operate"))

    def whole(self, who: Principal, corpus: str) -> HLGraph:
        """The corpus, for what lists all of it. Raises AccessError for a caller who may not see every source.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        """
        graph = self.corpus(who, corpus, right="read")
        stats = graph.stats(counts=False)
        if not stats:
            raise _unknown(corpus)
        if not who.has("operate") and (who.groups or ACL in stats[0].fields):
            raise AccessError(
                f"this is computed from all sources of corpus {corpus!r}, and {who.name} does not see all of them; search and "
                "answer, or list sources, entities and facts, which show what the caller may see"
            )
        return graph

    def state(self, who: Principal, corpus: str) -> str:
        """What identifies the present state of a corpus; empty for a caller who may not see every source of it.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        """
        if who.groups:
            return ""
        stats = self.corpus(who, corpus, right="read").stats(counts=False)
        if not stats or (ACL in stats[0].fields and not who.has("operate")):
            return ""
        return f"{stats[0].version}-{stats[0].state}".rstrip("-")

    @contextmanager
    def audited(self, who: Principal, what: str, *, corpus: str) -> Iterator[list[str]]:
        """A block whose end is a line of the audit, with the ids that the block adds to the list.

        Parameters
        ----------
        who : the caller
        what : what was asked
        corpus : the corpus
        """
        ids: list[str] = []
        start = time.monotonic()
        try:
            with _one_name(corpus):
                yield ids
        except BaseException:
            self.audit.write(who.name, f"{what}: failed", corpus=corpus, ids=ids, start=start)
            raise
        self.audit.write(who.name, what, corpus=corpus, ids=ids, start=start)

    # Corpora

    def corpora(self, who: Principal) -> shapes.Corpora:
        """The corpora that a caller may ask."""
        who.check("read")
        served = [
            stats
            for stats in self.graph.stats(everything=True, counts=who.has("operate"))
            if who.sees(stats.corpus) and (self._corpora is None or stats.corpus in self._corpora)
        ]
        return shapes.Corpora(
            corpora=tuple(
                shapes.shaped(
                    shapes.Corpus,
                    stats,
                    name=stats.corpus,
                    records={kind.value: count for kind, count in stats.records.items()},
                    fields=_fields(stats.fields),
                )
                if who.has("operate")
                else shapes.Corpus(name=stats.corpus)
                for stats in sorted(served, key=lambda stats: stats.corpus)
            )
        )

    def stats(self, who: Principal, corpus: str, *, asked: shapes.SourceAsked) -> shapes.Stats:
        """Counts of a corpus.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : the moment
        """
        (stats,) = self.whole(who, corpus).stats(as_of=asked.as_of)
        return shapes.shaped(
            shapes.Stats,
            stats,
            records={kind.value: count for kind, count in stats.records.items()},
            relationships={kind.value: count for kind, count in stats.relationships.items()},
            fields=_fields(stats.fields),
        )

    # Questions

    def search(self, who: Principal, corpus: str, *, asked: shapes.SearchAsked) -> shapes.Found:
        """Evidence for a question.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : the question
        """
        return self._searched(who, corpus, asked=asked, explain=False, shape=shapes.found_of)

    def explain(self, who: Principal, corpus: str, *, asked: shapes.SearchAsked) -> shapes.Explained:
        """Evidence for a question, with how it was found.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : the question
        """
        return self._searched(who, corpus, asked=asked, explain=True, shape=shapes.explained_of)

    def _searched(
        self,
        who: Principal,
        corpus: str,
        *,
        asked: shapes.SearchAsked,
        explain: bool,
        shape: Callable[[SearchResult], T],
    ) -> T:
        self._check(asked, asked.k)
        with _one_name(corpus):
            result = self.asked(who, corpus).search(
                asked.question, k=asked.k, mode=asked.mode, explain=explain, **_options(asked)
            )
            return shape(result)

    def answer(self, who: Principal, corpus: str, *, asked: shapes.AnswerAsked) -> shapes.Answered:
        """An answer with citations.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : the question
        """
        self._check(asked, asked.k)
        with self.audited(who, "answer", corpus=corpus) as ids:
            answer = self.asked(who, corpus).answer(asked.question, **_options(asked), **_answer_options(asked))
            ids += [citation.evidence.id for citation in answer.citations]
        return shapes.answered_of(answer)

    def answer_events(self, who: Principal, corpus: str, *, asked: shapes.AnswerAsked) -> Iterator[Event]:
        """The events of an answer. Invalid requests raise at once, all other errors with the events.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : the question
        """
        self._check(asked, asked.k)
        return self._answer_events(who, corpus, asked=asked, graph=self.asked(who, corpus))

    def _answer_events(
        self, who: Principal, corpus: str, *, asked: shapes.AnswerAsked, graph: HLGraph
    ) -> Iterator[Event]:
        from hlgraph.answer import AnswerEvidence, AnswerPiece

        with self.audited(who, "answer", corpus=corpus) as ids:
            for event in graph.answer_stream(asked.question, **_options(asked), **_answer_options(asked)):
                if isinstance(event, AnswerEvidence):
                    yield Event("plan", shapes.plan_of(event.explain))
                    yield Event("evidence", {"evidence": shapes.pieces_of(event.evidence)})
                elif isinstance(event, AnswerPiece):
                    yield Event("text", {"text": event.text})
                else:
                    ids += [citation.evidence.id for citation in event.citations]
                    answered = shapes.answered_of(event)
        # The answer is made: who reads no further has it all the same.
        yield from (Event("sentence", sentence) for sentence in answered.sentences)
        yield from (Event("citation", piece) for piece in answered.citations)
        yield Event("done", answered)

    def _check(self, asked: shapes.Asked, k: int | None) -> None:
        """Refuse what is beyond the bounds of this server."""
        from hlgraph.retrieve import STRATEGIES

        if len(asked.question) > self.settings.max_question:
            raise InputError(
                f"the question has {len(asked.question):,} characters; at most {self.settings.max_question:,} are allowed"
            )
        if k is not None and k > self.settings.max_k:
            raise InputError(f"k is {k}; this server allows at most {self.settings.max_k}")
        if asked.strategy not in STRATEGIES:
            raise InputError(f"there is no strategy {asked.strategy!r:.100}; choose one of {', '.join(STRATEGIES)}")

    # Probes

    def ready(self, who: Principal | None) -> shapes.Health:
        """Whether the stores can be used; the checks are for who operates."""
        health = self.graph.health()
        checks = [check._asdict() for check in health.checks]
        is_told = who is not None and who.has("operate")
        return shapes.Health(
            status="ok" if health.is_ready else "unavailable",
            version=__version__,
            checks=tuple(checks) if is_told else (),
        )


class Records:
    """What a corpus holds, and the decisions about it.

    Parameters
    ----------
    service : knows who may see what
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def _seen(self, who: Principal, corpus: str) -> HLGraph:
        """The corpus as a caller with groups sees it, and the whole corpus for others."""
        return (self._service.asked if who.groups else self._service.whole)(who, corpus)

    def communities(self, who: Principal, corpus: str, *, asked: shapes.CommunitiesAsked) -> shapes.CommunitiesFound:
        """The communities of a corpus.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : which of them
        """
        listed = self._seen(who, corpus).communities.find(
            level=asked.level, k=asked.limit, skip=asked.skip, names=asked.names
        )
        return shapes.CommunitiesFound(
            communities=tuple(
                shapes.shaped(shapes.CommunityNamed, community, names=tuple(listed.names.get(community.id, ())))
                for community in listed.communities
            ),
            total=listed.total,
            is_stale=listed.run is not None and listed.run.is_stale,
            has_more=asked.skip + asked.limit < listed.total,
        )

    def map(self, who: Principal, corpus: str, *, asked: shapes.MapAsked) -> shapes.MapFound:
        """The most linked entities of the communities, and the links between them.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : how many, and of which community
        """
        drawn = self._seen(who, corpus).communities.map(community=asked.community, k=asked.limit, edges=asked.edges)
        nodes = tuple(
            shapes.shaped(shapes.MapNode, node.entity, community_id=node.community_id, degree=node.degree)
            for node in drawn.nodes
        )
        return shapes.shaped(
            shapes.MapFound,
            drawn,
            nodes=nodes,
            edges=tuple(
                shapes.MapEdge(start=nodes[start].id, end=nodes[end].id, weight=weight)
                for start, end, weight in drawn.edges
            ),
            is_stale=drawn.run is not None and drawn.run.is_stale,
        )

    def summaries(self, who: Principal, corpus: str, *, asked: shapes.SummariesAsked) -> shapes.SummariesFound:
        """The summaries of the hierarchy of a corpus.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : which of them
        """
        listed = self._service.whole(who, corpus).hierarchy.find(level=asked.level, k=asked.limit + 1)
        return shapes.SummariesFound(
            summaries=tuple(
                shapes.shaped(shapes.SummaryNamed, summary, size=community.size)
                for summary, community in listed.summaries[: asked.limit]
            ),
            waiting=listed.waiting,
            is_stale=listed.run is not None and listed.run.is_stale,
            has_more=len(listed.summaries) > asked.limit,
        )

    def merges(self, who: Principal, corpus: str, *, asked: shapes.MergesAsked) -> shapes.Merged:
        """The decisions about entities of a corpus.

        Parameters
        ----------
        who : the caller
        corpus : the corpus
        asked : which of them
        """
        merges = self._service.whole(who, corpus).merges
        page = merges.page(asked.verdict, entity=asked.entity, k=asked.limit, skip=asked.skip)
        return shapes.Merged(
            decisions=tuple(_decision(decision, page.names) for decision in page.decisions),
            total=page.total,
            has_more=asked.skip + asked.limit < page.total,
        )

    def merge(self, who: Principal, corpus: str, *, asked: shapes.MergeAsked) -> shapes.Merged:
        """Decide that pairs of entities are the same, or are kept apart.

        Parameters
        ----------
        who : the caller, who operates
        corpus : the corpus
        asked : the pairs
        """
        graph = self._service.corpus(who, corpus, right="operate")
        with self._service.audited(who, "merge", corpus=corpus) as ids:
            decisions = graph.merges.apply(asked.pairs, keep_apart=asked.keep_apart, made_by=who.name, why=asked.why)
            ids += [decision.id for decision in decisions]
        return shapes.Merged(decisions=tuple(_decision(item, {}) for item in decisions))

    def undo_merge(self, who: Principal, corpus: str, *, id: str) -> shapes.Merged:  # noqa: A002
        """Remove a decision about two entities.

        Parameters
        ----------
        who : the caller, who operates
        corpus : the corpus
        id : id of the decision
        """
        graph = self._service.corpus(who, corpus, right="operate")
        with self._service.audited(who, "undo merge", corpus=corpus) as ids:
            decisions = graph.merges.undo(id)
            ids += [decision.id for decision in decisions]
        return shapes.Merged(decisions=tuple(_decision(item, {}) for item in decisions))

    def sources(self, who: Principal, corpus: str, *, asked: shapes.ListAsked) -> shapes.SourcesListed:
        """A page of the sources that a caller may see.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        asked : which of them
        """
        with _one_name(corpus):
            page = self._service.asked(who, corpus).sources.list(**msgspec.structs.asdict(asked))
        return shapes.SourcesListed(sources=tuple(map(shapes.source_of, page)), total=page.total, after=page.after)

    def source(self, who: Principal, corpus: str, *, id: str, asked: shapes.SourceAsked) -> shapes.SourceOpened:  # noqa: A002
        """A source with its text, chunks and statements.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        id : id of the source, or its uri
        asked : of which moment
        """
        with _one_name(corpus):
            return shapes.opened_source_of(self._service.asked(who, corpus).sources.open(id, as_of=asked.as_of))

    def entities(self, who: Principal, corpus: str, *, asked: shapes.EntitiesAsked) -> shapes.EntitiesListed:
        """A page of the entities that a caller may see, or of those with some words in their name.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        asked : which of them
        """
        with _one_name(corpus):
            page = self._service.asked(who, corpus).entities.list(
                match=asked.name, where=asked.where, limit=asked.limit, after=asked.after, as_of=asked.as_of
            )
        total = page.total if asked.name is None else None
        return shapes.EntitiesListed(entities=tuple(map(shapes.entity_of, page)), total=total, after=page.after)

    def entity(self, who: Principal, corpus: str, *, id: str, asked: shapes.OpenAsked) -> shapes.EntityOpened:  # noqa: A002
        """An entity with the facts about it, its neighbours and its merges.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        id : id of the entity, or one of its names
        asked : what is shown
        """
        with _one_name(corpus):
            part = self._service.asked(who, corpus).entities
            return shapes.opened_entity_of(part.open(id, **msgspec.structs.asdict(asked)))

    def facts(self, who: Principal, corpus: str, *, asked: shapes.ListAsked) -> shapes.FactsListed:
        """A page of the facts that a caller may see.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        asked : which of them
        """
        with _one_name(corpus):
            page = self._service.asked(who, corpus).facts.list(**msgspec.structs.asdict(asked))
        return shapes.FactsListed(
            facts=tuple(shapes.shaped(shapes.FactNamed, fact) for fact in page), total=page.total, after=page.after
        )

    def fact(self, who: Principal, corpus: str, *, id: str, asked: shapes.OpenAsked) -> shapes.FactOpened:  # noqa: A002
        """A fact with the statements that support it.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        id : id of the fact
        asked : what is shown
        """
        with _one_name(corpus):
            part = self._service.asked(who, corpus).facts
            return shapes.opened_fact_of(part.open(id, **msgspec.structs.asdict(asked)))

    def path(self, who: Principal, corpus: str, *, asked: shapes.PathAsked) -> shapes.PathFound:
        """The facts that lead from one entity to another: a shortest path, searched from both ends.

        Parameters
        ----------
        who, corpus : the caller and the corpus
        asked : the two entities
        """
        from hlgraph.sdk.contents import together

        with _one_name(corpus):
            part = self._service.asked(who, corpus).entities
            return together(part, lambda: _Walk(part, asked.where).between(asked))

    def delete_source(self, who: Principal, corpus: str, *, id: str) -> shapes.Removed:  # noqa: A002
        """Remove a source, and everything that only it asserts.

        Parameters
        ----------
        who : the caller, who may write
        corpus : the corpus
        id : id of the source
        """
        graph = self._service.corpus(who, corpus, right="write")
        with self._service.audited(who, "delete", corpus=corpus) as ids:
            where = {"source_id": id, **({ACL: list(who.groups)} if who.groups else {})}
            is_known = bool(graph.facts.records(Kind.SOURCE, [id]))
            try:
                report = graph.delete(where=where) if is_known else None
            except WhereError:  # no source names groups
                report = None
            if report is None or not report.sources_removed + report.sources_gone:
                raise UnknownNameError(f"corpus {corpus!r} has no source {id!r}; list its sources")
            ids.append(id)
        return shapes.Removed(report=_counted(shapes.report_of(report), who))


class _Walk:
    """A search for a path of facts, which opens one entity after another as the caller sees them."""

    def __init__(self, part: Entities, where: str | None) -> None:
        self._part = part
        self._where = where
        self._opened: dict[str, EntityDetails] = {}
        self._is_complete = True

    def between(self, asked: shapes.PathAsked) -> shapes.PathFound:
        """A shortest path; the ends of both searches grow by turns."""
        first, last = self._open(asked.start), self._open(asked.end)
        # By entity: the fact and the entity that it was reached by.
        came: tuple[_Came, _Came] = (dict.fromkeys(_one(first)), dict.fromkeys(_one(last)))
        edges = [[first.entity.id], [last.entity.id]]
        for _ in range(asked.hops):
            meeting = next((node for node in came[0] if node in came[1]), None)
            if meeting is not None or not all(edges):
                break
            side = 0 if len(edges[0]) <= len(edges[1]) else 1
            edges[side] = self._grown(edges[side], came[side])
        meeting = next((node for node in came[0] if node in came[1]), None)
        if meeting is None:
            return shapes.PathFound(entities=(), facts=(), is_complete=self._is_complete)
        before, after = _back(came[0], meeting), _back(came[1], meeting)
        nodes = [*(node for _, node in reversed(before)), meeting, *(node for _, node in after)]
        facts = [*(fact for fact, _ in reversed(before)), *(fact for fact, _ in after)]
        return shapes.PathFound(
            entities=tuple(shapes.entity_of(self._open(node).entity) for node in nodes),
            facts=tuple(map(shapes.opened_fact_of, facts)),
            is_complete=self._is_complete,
        )

    def _grown(self, edge: Sequence[str], came: _Came) -> list[str]:
        grown: list[str] = []
        for name in edge:
            if len(self._opened) >= _MOST_OPENED:
                self._is_complete = False
                break
            details = self._open(name)
            own = _one(details)
            for alias in own:
                came.setdefault(alias, came[name])
            for fact in details.facts:
                ends = (fact.fact.subject_id, fact.fact.object_id)
                other = next((end for end in ends if end is not None and end not in own), None)
                if other is not None and other not in came:
                    came[other] = fact, name
                    grown.append(other)
        return grown

    def _open(self, name: str) -> EntityDetails:
        if name not in self._opened:
            details = self._opened[name] = self._part.open(name, where=self._where, limit=_MOST_FACTS)
            self._opened[details.entity.id] = details
            self._is_complete &= details.fact_count <= _MOST_FACTS and not details.is_cut
        return self._opened[name]


def _one(details: EntityDetails) -> tuple[str, ...]:
    """The ids of an entity and of those that were merged with it."""
    return (details.entity.id, *(entity.id for entity in details.merged))


def _back(came: _Came, node: str) -> list[tuple[SupportedFact, str]]:
    """The facts and entities from a node back to where a search began."""
    steps = []
    while (step := came[node]) is not None:
        steps.append(step)
        node = step[1]
    return steps


class Ingests:
    """Ingests, which are jobs.

    Parameters
    ----------
    service : knows who may see what
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    def start(
        self,
        who: Principal,
        corpus: str,
        *,
        asked: shapes.IngestAsked,
        folder: Path,
        uploads: Mapping[str, str] | None = None,
        once: Once | None = None,
    ) -> shapes.Job:
        """Start a job that ingests documents, uploaded files, or paths of the server.

        Parameters
        ----------
        who : the caller, who may write
        corpus : the corpus; it begins with its first ingest
        asked : documents or paths, and options
        folder : the uploaded files; the job takes them
        uploads : uri of each uploaded file, by its path in the folder
        once : the repeatable write that it is

        Returns
        -------
        Job
            It is stored.
        """
        start = time.monotonic()
        graph = self._service.corpus(who, corpus, right="write")
        if len(corpus) > _LONGEST_NAME:
            raise InputError(
                f"the name of the corpus has {len(corpus):,} characters; give one of at most {_LONGEST_NAME}"
            )
        if sum(map(bool, (asked.documents, asked.paths, uploads))) != 1:
            raise InputError("give what to ingest in one way: documents, files, or paths of the server")
        paths = [self._under_root(path) for path in asked.paths]
        if paths and who.groups:  # their sources may be those of others
            raise AccessError(f"{who.name} has groups, and may not name paths of the server; send documents or files")
        options = asked.options
        if options.acl is None and who.groups:
            options = msgspec.structs.replace(options, acl=list(who.groups))
        if who.groups and not {*(options.acl or ()), *_groups_of(asked.documents)} <= set(who.groups):
            raise AccessError(f"{who.name} may give sources its own groups only; choose among {', '.join(who.groups)}")
        if asked.documents:
            with stored_at(folder), files.write_bytes(folder / "documents.json") as out:
                out.write(msgspec.json.encode(asked.documents))
        _ingest_arguments(options)  # refuses what cannot be used
        about = {"paths": paths, "uploads": dict(uploads or {}), "options": msgspec.to_builtins(options)}
        about["groups"] = who.groups
        job = self._service.jobs.start(graph.corpus, folder, owner=who.name, about=about, once=once)
        self._service.audit.write(who.name, "ingest", corpus=corpus, ids=[job.id], start=start)
        return job

    def find(self, who: Principal, id: str) -> shapes.Job:  # noqa: A002
        """A job. UnknownNameError for one that the caller may not see.

        Parameters
        ----------
        who : the caller: who started it, or who operates
        id : id of the job
        """
        job = self._service.jobs.find(id)
        if (
            job is None
            or not who.sees(job.corpus)
            or not (who.has("operate") or self._service.jobs.owner(id) == who.name)
        ):
            raise unknown_job(id)
        return _shown(job, who)

    def list(self, who: Principal, corpus: str, *, asked: shapes.PageAsked) -> shapes.Jobs:
        """The jobs of a corpus: those that the caller started, or all for who operates.

        Parameters
        ----------
        who : the caller, who may write
        corpus : the corpus
        asked : how many
        """
        self._service.corpus(who, corpus, right="write")
        owner = None if who.has("operate") else who.name
        jobs = self._service.jobs.list(corpus, owner=owner, limit=asked.limit)
        return shapes.Jobs(jobs=tuple(_shown(job, who) for job in jobs))

    def cancel(self, who: Principal, id: str) -> shapes.Job:  # noqa: A002
        """Cancel a job; what it has ingested stays.

        Parameters
        ----------
        who : the caller: who started it, or who operates
        id : id of the job
        """
        job, start = self.find(who, id), time.monotonic()
        self._service.jobs.cancel(id)
        self._service.audit.write(who.name, "cancel", corpus=job.corpus, ids=[id], start=start)
        return self.find(who, id)

    def _under_root(self, path: str) -> str:
        """A path of the server, if the operator allowed one of its roots."""
        refused = AccessError(
            f"{path!r:.200} is not under a root of this server; the operator names them in serve.roots, or with --root"
        )
        if any(mark in path for mark in "*?[]") or "\0" in path:
            raise refused
        if path.startswith("s3://"):
            parts = path.split("/")
            roots = [root.rstrip("/") for root in self._service.settings.roots if root.startswith("s3://")]
            if ".." in parts or not any(path == root or path.startswith(f"{root}/") for root in roots):
                raise refused
            return path
        folders = [Path(root).resolve() for root in self._service.settings.roots if not root.startswith("s3://")]
        real = Path(path).resolve()
        if not Path(path).is_absolute() or not any(real == folder or folder in real.parents for folder in folders):
            raise refused
        return str(real)

    def run_job(self, job: shapes.Job, folder: Path, *, on_progress: OnProgress) -> dict[str, Any]:
        """The work of a job; it may be done again.

        Parameters
        ----------
        job : the job
        folder : its files
        on_progress : called with its progress; its errors end the job
        """
        about = self._service.jobs.about(job.id)
        graph = self._service.graph.in_corpus(job.corpus)
        options = msgspec.convert(about["options"], shapes.IngestOptions)
        arguments = _ingest_arguments(options)
        arguments["seen_by"] = about.get("groups") or None
        start, total = time.monotonic(), None
        given: Iterator[list[str] | list[Document] | _Failed]
        if about["paths"]:
            given = iter([[self._under_root(path) for path in about["paths"]]])
        elif about["uploads"]:
            given = _uploaded(folder, about["uploads"], options=options)
        else:
            given = iter([_documents(folder / "documents.json")])
        failed: list[dict[str, str]] = []
        for sources in given:
            if isinstance(sources, _Failed):
                failed.append(sources._asdict())
                continue
            refused = _refused(sources, about.get("groups", ()))
            failed += [_Failed(uri, f"{uri}: {why}")._asdict() for uri, why in refused.items()]
            own = [each for each in sources if isinstance(each, str) or each.uri not in refused]
            work = partial(graph.ingest, own, on_progress=on_progress, **arguments)
            report = _patiently(work, on_progress)
            if total is None:
                total = report
            else:
                total.include(report)
        from hlgraph.ingest.report import Report

        tree = shapes.report_of(total or Report())
        tree["failed"] += failed
        self._service.audit.write(f"job:{job.id}", "ingested", corpus=job.corpus, ids=[], start=start)
        return tree


def opened(settings: Settings, **models: Any) -> HLGraph:
    """The store of a server, whose writes wait a few seconds for the lock, so that a job can be cancelled while it waits.

    Parameters
    ----------
    settings : name the store
    models : models in place of those of the settings
    """
    wait = _WAIT_SECONDS if settings.wait is None else min(settings.wait, _WAIT_SECONDS)
    return HLGraph(replace(settings, wait=wait), **models)


class _Failed(NamedTuple):
    """An uploaded file, or a row of one, that could not be read."""

    uri: str
    error: str


def _shown(job: shapes.Job, who: Principal) -> shapes.Job:
    """A job as the caller may see it: problems of models name addresses and folders of the server."""
    if who.has("operate"):
        return job
    problem, report = job.problem, None if job.report is None else _counted(job.report, who)
    if problem is not None:
        problem = msgspec.convert(problem, shapes.Problem).public().to_tree()
    if report is not None and report.get("problems"):
        heads = [(each["uri"], each["error"].partition(": ")[0]) for each in report["problems"]]
        mend = "who operates the server sees why; the next ingest retries it"
        report = {**report, "problems": [{"uri": uri, "error": f"{head}; {mend}"} for uri, head in heads]}
    return msgspec.structs.replace(job, problem=problem, report=report)


def _counted(report: dict[str, Any], who: Principal) -> dict[str, Any]:
    """A report as the caller may see it: records are shared, so their counts tell a caller with groups what others have."""
    return {**report, "added": {}, "removed": {}} if who.groups else report


def _refused(given: Sequence[str | Document], groups: Sequence[str]) -> dict[str, str]:
    """Why documents of a caller with groups are refused, by uri: they name other groups."""
    refused: dict[str, str] = {}
    for each in given if groups else ():
        with suppress(InputError):  # the ingest refuses what names no groups
            if isinstance(each, Document) and not _groups_of([each]) <= set(groups):
                refused[each.uri] = _NOT_ITS_GROUPS
    return refused


def _unknown(corpus: str) -> UnknownNameError:
    return UnknownNameError(f"there is no corpus {corpus!r:.200}; GET /v1/corpora lists those that you may ask")


@contextmanager
def _one_name(corpus: str) -> Iterator[None]:
    """Errors in words of the server: a corpus that the caller may not know of does not exist, and groups are those of a key."""
    try:
        yield
    except AccessError as error:
        if "a caller must be named" in str(error):
            raise AccessError(
                f"sources of corpus {corpus!r} name groups, and this key has none; ask with one that hlgraph keys add --group made"
            ) from error
        raise
    except UnknownNameError as error:
        if str(error).startswith("there is no corpus"):
            raise _unknown(corpus) from error
        raise


def _options(asked: shapes.Asked) -> dict[str, Any]:
    """The arguments that searches and answers share, where they are not None."""
    names = ("strategy", "unit", "where", "diversity", "tabular", "as_of")
    return {name: value for name in names if (value := getattr(asked, name)) is not None}


def _answer_options(asked: shapes.AnswerAsked) -> dict[str, Any]:
    names = "k mode search_mode context_tokens unsupported verify least_support choices style"
    return {name: getattr(asked, name) for name in names.split()}


def _ingest_arguments(options: shapes.IngestOptions) -> dict[str, Any]:
    """The arguments of :meth:`HLGraph.ingest`. Raises InputError for options that cannot be used together."""
    from hlgraph.ingest.options import IngestOptions
    from hlgraph.models.accounts.budget import Budget
    from hlgraph.read import ReadOptions

    ReadOptions(format=options.format, mapping=options.mapping, encoding=options.encoding)
    has_budget = options.max_tokens is not None or options.max_usd is not None
    budget = Budget(max_tokens=options.max_tokens, max_usd=options.max_usd) if has_budget else None
    arguments = {
        "acl": options.acl,
        "extract": options.extract,
        "is_chunked": options.is_chunked,
        "format": options.format,
        "mapping": options.mapping,
        "encoding": options.encoding,
        "budget": budget,
    }
    acl = None if options.acl is None else tuple(options.acl)
    IngestOptions(**{**arguments, "acl": acl})  # type: ignore[arg-type]
    return arguments


def _groups_of(documents: Sequence[shapes.GivenDocument | Document]) -> set[str]:
    from hlgraph.text import groups_of

    return {name for document in documents if ACL in document.metadata for name in groups_of(document.metadata[ACL])}


def _fields(fields: Mapping[str, frozenset[str]]) -> dict[str, list[str]]:
    return {name: sorted(kinds) for name, kinds in sorted(fields.items())}


def _decision(decision: Any, names: Mapping[str, str]) -> shapes.DecisionNamed:
    known = {name: names[name] for name in decision.pair if name in names}
    return shapes.shaped(
        shapes.DecisionNamed, decision, verdict=decision.verdict.value, by=decision.by.value, names=known
    )


def _documents(path: Path) -> list[Document]:
    given = msgspec.json.decode(path.read_bytes(), type=list[shapes.GivenDocument])
    return [
        Document(
            each.uri,
            each.text,
            each.title,
            {name: tuple(value) if isinstance(value, list) else value for name, value in each.metadata.items()},
        )
        for each in given
    ]


def _uploaded(
    folder: Path, uploads: Mapping[str, str], *, options: shapes.IngestOptions
) -> Iterator[list[Document] | _Failed]:
    """The documents of uploaded files, some at a time, under the uris of the files; and those that cannot be read."""
    from hlgraph.read import ReadFailure, ReadOptions, read, source_uri

    reading = ReadOptions(format=options.format, mapping=options.mapping, encoding=options.encoding)
    documents: list[Document] = []
    size = 0
    for name, uri in uploads.items():
        path = str(folder / name)
        own = source_uri(path)
        for each in read([path], reading):
            if isinstance(each, ReadFailure):
                yield _Failed(uri, str(each.error).replace(own, uri).replace(path, uri))
                continue
            documents.append(replace(each, uri=uri + each.uri.removeprefix(own)))
            size += len(each.text)
            if size > _BATCH_CHARACTERS:
                yield documents
                documents, size = [], 0
    if documents:
        yield documents


def _patiently(work: Callable[[], Report], on_progress: OnProgress) -> Report:
    """Write as soon as no other process does; the job may be cancelled meanwhile."""
    while True:
        try:
            return work()
        except StoreLockedError:
            on_progress(Progress("wait"))
            time.sleep(1.0)
