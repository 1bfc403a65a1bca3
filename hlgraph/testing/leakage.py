"""The leakage kit: whether a caller learns anything about sources that the caller may not see.

Its oracle is the same call on a store that never had the hidden sources. Ids, texts, names, metadata, counts, order and scores must
be equal, whatever was ingested, edited, merged, deleted or opened to other groups before. The text of each source also has a word
of its own, which must not occur in any result for a caller who may not see the source. Of a moment of the past, a caller gets what
a store gives whose history never had the sources that the caller may not see today.

Its calls, each with every filter of the kit or one of them:

- :func:`questions`: ``search`` by every strategy and mode, with its explanation; ``answer``; searches of summaries
- :func:`listings`: ``sources``, ``entities`` and ``facts`` in pages, and their records opened
- :func:`contradictions`: of one moment of the past, and of all versions
- :func:`exports`: ``export_graph`` in every format
- :func:`refusals`: all that needs the right to operate, such as ``stats``, ``communities`` and their map, ``history.diff``, and
  ``cypher``: it is refused, in the same words. A member that callers may use and no call covers is an AssertionError

The calls of a face, such as REST or MCP, are given as :class:`Call`. The tests of hlgraph do that for REST (``test_serve.py``), for
the tools and resources of MCP (``test_serve_mcp.py``), and for each command that names a caller (``test_access.py``); there a
watched folder is a history, too.

::

    from hlgraph.testing.leakage import History, leaks, past_leaks

    history = History.of(seed=7)
    with my_store() as graph:
        moments = history.run(graph)
        assert not list(leaks(graph, history, opened=another_empty_store))
        assert not list(past_leaks(graph, history, opened=another_empty_store, moments=moments))
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

from hlgraph.answer.contradictions import Contradiction
from hlgraph.errors import AccessError, HLGraphError, StoreConflictError
from hlgraph.ids import entity_id
from hlgraph.ingest.history import AsOf
from hlgraph.records import Answer, Document, Evidence, Source
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.request import SearchResult
from hlgraph.sdk.client import HLGraph
from hlgraph.sdk.contents import Page
from hlgraph.sdk.graph_formats import GraphFormat
from hlgraph.stores.protocols import Decider, Decision, Verdict
from hlgraph.text import ACL

GROUPS = ("board", "finance", "public", "works")
CALLERS = (frozenset({"finance"}), frozenset({"public", "works"}), frozenset({"no such group", "board"}))
"""Callers of the kit, by their groups."""
FILTERS = (None, "year >= 2010", "kind = 'report' or not exists year")
"""Filters of the kit."""
ASKED = "Word3"
"""The word of a source that calls may name: a reply may repeat it."""
_NAMES = ("Mara Quill", "Quill Mara", "Ivo Brandt", "Tessing", "Gannow", "Halfmoon Bridge", "Orsel Works", "Petra Voss")
_VERBS = ("designed", "visited", "sold", "paid", "left")
_MERGED = ("Mara Quill", "Orsel Works", "Petra Voss")  # the first and the last only by way of the second
_FUNCTIONAL = [*_VERBS, *(f"^{verb}" for verb in _VERBS)]
_DIGITS = 6


_Run: TypeAlias = Callable[[Any, AsOf | None], SearchResult | Answer | Mapping[str, object]]


class Call(NamedTuple):
    """One call of a caller.

    Attributes
    ----------
    name : how a leak names it
    run : takes what :meth:`hlgraph.HLGraph.as_caller` returned, and a moment or None; gives what the caller can read
    has_oracle : whether another store must give the same; False: only words of hidden sources are looked for
    """

    name: str
    run: _Run
    has_oracle: bool = True


class Leak(NamedTuple):
    """One difference between what a caller gets and what the oracle gives.

    Attributes
    ----------
    call : strategy or method, mode, filter and groups
    part : what differs
    given, expected : what the caller got, and what the oracle gave
    """

    call: str
    part: str
    given: object
    expected: object


Step: TypeAlias = Callable[[HLGraph, Callable[[str], bool]], object]
"""A change of the sources whose uris the function admits."""


@dataclass(slots=True)
class History:
    """What happens to a corpus, and what it holds in the end.

    Attributes
    ----------
    steps : changes of an operator, in order
    documents : the documents at the end, by uri, with the groups that hold then
    groups : the last groups of every document that was ever there, by uri
    """

    steps: list[Step] = field(default_factory=list)
    documents: dict[str, Document] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, seed: int, *, sources: int = 8, names: int = 0) -> History:
        """A random history: sources are ingested, edited, moved to other groups, deleted, and names merged.

        Parameters
        ----------
        seed : chooses it
        sources : number of sources at the start, at least 4
        names : number of further names, each in a statement with the first name of the kit. A corpus of 128 names has fitted
            thresholds, and a name of 25 statements is matched by the store
        """
        chance, history = random.Random(seed), cls()  # noqa: S311
        more = [f"{_NAMES[0]} visited {_name(number)}." for number in range(names)]
        first = [_document(chance, number, more[number::sources]) for number in range(sources)]
        history._put(first)
        for number in chance.sample(range(sources), 2):
            groups = history.groups[first[number].uri]
            edited = _document(chance, number, more[number::sources])
            rest = {name: value for name, value in edited.metadata.items() if name != ACL}
            history._put([replace(edited, metadata=rest)])  # silent about its groups: they stay
            history._hold(edited.uri, groups)
        moved, gone = chance.sample(first, 2)
        history._move(moved.uri, chance.choice(GROUPS))
        history.steps.append(lambda graph, admits: admits(gone.uri) and graph.delete(gone.uri))
        del history.documents[gone.uri]
        return history

    def run(self, graph: HLGraph) -> list[datetime]:
        """Take the steps on an empty corpus, with its history kept; then merge names, and build communities and layers.

        Returns
        -------
        list of datetime
            A moment after each step.
        """
        moments = self.replay(graph, lambda _: True)
        _merge(graph)
        graph.communities.build()
        graph.hierarchy.build()
        return moments

    def replay(self, graph: HLGraph, admits: Callable[[str], bool]) -> list[datetime]:
        """Take the steps of some sources alone on an empty corpus; returns a moment after each step.

        Parameters
        ----------
        graph : the corpus
        admits : whether a source of this uri is there
        """
        graph.history.keep()
        moments = []
        for step in self.steps:
            step(graph, admits)
            moments.append(datetime.now(UTC))
        return moments

    def seen_by(self, groups: frozenset[str]) -> list[Document]:
        """The documents that a caller in these groups may see, by uri."""
        return [one for _, one in sorted(self.documents.items()) if groups.intersection(_groups(one))]

    def _put(self, documents: Sequence[Document]) -> None:
        def ingest(graph: HLGraph, admits: Callable[[str], bool]) -> None:
            if there := [document for document in documents if admits(document.uri)]:
                graph.ingest(there)

        self.steps.append(ingest)
        self.documents |= {document.uri: document for document in documents}
        self.groups |= {document.uri: _groups(document) for document in documents}

    def _move(self, uri: str, group: str) -> None:
        self.steps.append(lambda graph, admits: admits(uri) and graph.groups.set(group, uris=uri))
        self._hold(uri, (group,))

    def _hold(self, uri: str, groups: tuple[str, ...]) -> None:
        document = self.documents[uri]
        metadata = {name: value for name, value in document.metadata.items() if name != ACL}
        self.documents[uri] = replace(document, metadata={**metadata, ACL: groups} if groups else metadata)
        self.groups[uri] = groups


def _groups(document: Document) -> tuple[str, ...]:
    groups = document.metadata.get(ACL, ())
    return groups if isinstance(groups, tuple) else ()


def _name(number: int) -> str:
    """A name that shares no word with another one."""
    syllables = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su")
    return "".join(syllables[int(digit)] for digit in f"{number:03}").capitalize() + "th"


def _document(chance: random.Random, number: int, more: Sequence[str]) -> Document:
    """A document with a word of its own, ``WordN``, names in two spellings, and more sentences."""

    def name() -> str:
        chosen = chance.choice(_NAMES)
        return chosen.upper() if chance.random() < 0.3 else chosen

    said = [
        f"{name()} {chance.choice(_VERBS)} {name()} in {chance.randint(1900, 1999)}."
        for _ in range(chance.randint(2, 6))
    ]
    table = f"| item | cost |\n|---|---|\n| Word{number} | {chance.randint(1, 99)} |"
    text = (
        f"# {chance.choice(('Trade', 'Repairs'))}\n\n{' '.join((*said, *more))} {name()} left Word{number}.\n\n{table}"
    )
    metadata: dict[str, Any] = {"kind": chance.choice(("report", "note"))}
    if chance.random() < 0.7:
        metadata["year"] = chance.randint(2000, 2020)
    if groups := chance.sample(GROUPS, chance.randint(0, 2)):
        metadata[ACL] = tuple(sorted(groups))
    return Document(f"papers:#{number}", text, f"Paper {number}", metadata)


def _merge(graph: HLGraph) -> None:
    """Decide that names are one, pair by pair, if both are there."""
    stores = graph.ingestion.opened.stores
    for names in itertools.pairwise(_MERGED):
        pair = (entity_id(graph.corpus, names[0]), entity_id(graph.corpus, names[1]))
        decision = Decision(graph.corpus, *pair, Verdict.SAME, Decider.PERSON, at="2026-01-02T03:04:05+00:00")
        with (
            stores.graph.lock(graph.corpus),
            contextlib.suppress(StoreConflictError),
        ):  # unless a source has only one of them
            if stores.graph.merges is not None:
                stores.graph.merges.save(graph.corpus, [decision])


def leaks(
    graph: HLGraph,
    history: History,
    *,
    opened: Callable[[], AbstractContextManager[HLGraph]],
    calls: Sequence[Call] | None = None,
) -> Iterator[Leak]:
    """What callers get of hidden sources by any call; none if nothing.

    Parameters
    ----------
    graph : the store that the history was run on
    history : the history
    opened : opens an empty store of the same corpus name and embedder
    calls : of callers; None: those of :func:`every_call`

    Returns
    -------
    iterator of Leak
        each as soon as it is seen
    """
    calls = every_call() if calls is None else calls
    for groups in CALLERS:
        seen = history.seen_by(groups)
        hidden = _hidden(history.documents.keys() - {one.uri for one in seen})
        with opened() as oracle:
            oracle.ingest([Document("doc:unseen", "Nothing.", metadata={ACL: "no other group"})])
            if seen:
                oracle.ingest(seen)
            _merge(oracle)
            ours, theirs = graph.as_caller(groups), oracle.as_caller(groups)
            for call in calls:
                name = f"{call.name} as {', '.join(sorted(groups))}"
                given = _parts(call, ours)
                yield from _differences(name, given, _parts(call, theirs) if call.has_oracle else given, hidden=hidden)


def past_leaks(
    graph: HLGraph,
    history: History,
    *,
    opened: Callable[[], AbstractContextManager[HLGraph]],
    moments: Sequence[datetime],
    calls: Sequence[Call] | None = None,
) -> Iterator[Leak]:
    """What callers get of the past of hidden sources; none if nothing.

    The oracle is a store in which the history was run without the sources that the caller may not see today.

    Parameters
    ----------
    graph, history, opened : as for :func:`leaks`
    moments : those that :meth:`History.run` returned
    calls : each is asked of one of the moments; None: those of :func:`every_call`, and :func:`contradictions`

    Returns
    -------
    iterator of Leak
        each as soon as it is seen
    """
    if calls is None:
        calls = [*every_call(modes=("vector",)), *contradictions()]
    for groups in CALLERS:
        seen = {uri for uri, named in history.groups.items() if groups.intersection(named)}
        hidden = _hidden(history.groups.keys() - seen)
        with opened() as oracle:
            oracle.history.keep()
            oracle.ingest([Document("doc:unseen", "Nothing.", metadata={ACL: "no other group"})])
            then = history.replay(oracle, seen.__contains__)
            ours, theirs = graph.as_caller(groups), oracle.as_caller(groups)
            for number, call in enumerate(call for call in calls if call.has_oracle):
                at = number % len(then)
                given, expected = _parts(call, ours, as_of=moments[at]), _parts(call, theirs, as_of=then[at])
                name = f"{call.name} after step {at + 1} as {', '.join(sorted(groups))}"
                yield from _differences(name, given, expected, hidden=hidden)


def _hidden(uris: Iterable[str]) -> list[str]:
    """The words of hidden sources, but for the one that questions name."""
    words = {f"Word{uri.partition('#')[2]}" for uri in uris}
    return sorted(words - {ASKED})


def _differences(
    call: str, given: Mapping[str, object], expected: Mapping[str, object], *, hidden: Sequence[str]
) -> list[Leak]:
    parts = sorted(given.keys() | expected.keys())
    leaks = [
        Leak(call, part, given.get(part), expected.get(part)) for part in parts if given.get(part) != expected.get(part)
    ]
    return leaks + [Leak(call, "text", word, "") for word in hidden if word in repr(given)]


def every_call(
    *, strategies: Sequence[str] = (), modes: Sequence[Any] = ("vector", "text", "hybrid"), seed: int = 0
) -> list[Call]:
    """All calls of the kit but for contradictions, of which a corpus with a history also tells those of its past.

    Parameters
    ----------
    strategies, modes, seed : see :func:`questions`
    """
    asked = questions(strategies=strategies, modes=modes, seed=seed)
    return [*asked, *listings(), *exports(seed), *refusals()]


def questions(
    *, strategies: Sequence[str] = (), modes: Sequence[Any] = ("vector", "text", "hybrid"), seed: int = 0
) -> Iterator[Call]:
    """Searches, answers, and searches of summaries, which have no oracle: a smaller corpus has other summaries.

    Parameters
    ----------
    strategies : names; empty: all that need no summaries
    modes : of the searches
    seed : chooses the questions
    """
    every, chance = tuple(strategies) or tuple(sorted(set(STRATEGIES) - {"hierarchy"})), random.Random(seed)  # noqa: S311
    for strategy, mode, where in itertools.product(every, modes, FILTERS):
        question = f"Who {chance.choice(_VERBS)} {chance.choice(_NAMES)}, and who {chance.choice(_VERBS)} {ASKED}?"
        search = _asking("search", question, strategy=strategy, mode=mode, where=where, explain=True)
        yield Call(f"search --strategy {strategy} --mode {mode} --where {where}", search)
    for where in (*FILTERS, "no_such_field = 1"):
        for text in (f"How many papers mention {ASKED}?", "What is the sum of cost?", f"Who visited {_NAMES[0]}?"):
            yield Call(f"answer --where {where} {text}", _asking("answer", text, where=where))
    for unit in ("mixed", "summary"):
        search = _asking("search", "Trade", strategy="hierarchy", unit=unit, explain=True)
        yield Call(f"search --strategy hierarchy --unit {unit}", search, has_oracle=False)


def _asking(method: str, question: str, **options: Any) -> _Run:
    return lambda graph, as_of: getattr(graph, method)(question, **options, as_of=as_of)


def listings() -> Iterator[Call]:
    """Lists of sources, entities and facts, some of their records opened, and the communities and their map."""
    for where in FILTERS:
        yield Call(f"sources, entities, facts --where {where}", functools.partial(_contents, where=where))
    yield Call("communities", _communities)


def contradictions() -> Iterator[Call]:
    """Contradictions of functional predicates at a moment, and those of all versions."""
    for where, is_then in itertools.product(FILTERS, (True, False)):

        def show(graph: HLGraph, as_of: AsOf | None, chosen: Any = (where, is_then)) -> Mapping[str, object]:
            listed = graph.contradictions(_FUNCTIONAL, where=chosen[0], as_of=as_of if chosen[1] else None)
            return {"contradictions": [_contradiction(one) for one in listed]}

        yield Call(f"contradictions --where {where}{'' if is_then else ' of all versions'}", show)


def exports(seed: int = 0) -> Iterator[Call]:
    """Files of the graph, in each format.

    Parameters
    ----------
    seed : chooses the filter of each
    """
    for number, form in enumerate(get_args(GraphFormat), seed):
        where = FILTERS[number % len(FILTERS)]
        yield Call(f"export --format {form} --where {where}", functools.partial(_exported, form=form, where=where))


def _exported(graph: HLGraph, as_of: AsOf | None, *, form: Any, where: str | None) -> Mapping[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        written = graph.export_graph(path, format=form, where=where, as_of=as_of)
        parts = [("file", path)] if path.is_file() else [(part.name, part) for part in path.iterdir()]
        read = {name: part.read_text("utf-8") if path.is_file() else _rows(part) for name, part in parts}
        return {**read, "counts": (written.nodes, written.edges)}


def _rows(path: Path) -> object:
    from pyarrow import parquet  # export_graph has said what to install if it is missing

    return _rounded(parquet.read_table(path).to_pylist())


_COVERED = frozenset(
    {"answer", "communities", "contradictions", "entities", "export_graph", "facts", "search", "sources"}
)
_COVERED |= {"answer_stream", "close"}  # the events of answer; nothing


def refusals() -> Iterator[Call]:
    """What callers may not do. AssertionError: callers may use a member that no call of the kit covers."""

    def refused(graph: HLGraph, as_of: AsOf | None) -> Mapping[str, object]:  # noqa: ARG001
        names = {name for name in dir(type(graph)) if not name.startswith("_")} - _COVERED
        return {name: _refusal(graph, name) for name in sorted(names)}

    yield Call("what needs the right to operate", refused)


def _refusal(graph: HLGraph, name: str) -> str:
    try:
        getattr(graph, name)
    except AccessError as error:
        return str(error)
    raise AssertionError(f"callers may use {name}, and no call of the kit covers it")


def _communities(graph: HLGraph, as_of: AsOf | None) -> Mapping[str, object]:
    if as_of is not None:  # there are none of the past
        return {}
    listed, drawn = graph.communities.find(names=4), graph.communities.map(k=9, edges=20)
    return {"communities": _rounded(listed), "map": _rounded(drawn)}


def _contents(graph: HLGraph, as_of: AsOf | None, *, where: Any) -> Mapping[str, object]:
    """Everything that a caller can list, in pages, and some records of each list opened: on servers each takes many requests."""
    sources, entities, facts = (
        list(_pages(functools.partial(part.list, where=where, limit=limit, as_of=as_of)))
        for part, limit in ((graph.sources, 2), (graph.entities, 12), (graph.facts, 12))
    )
    listed = {"sources": sources, "entities": entities, "facts": facts}
    opened = {
        "texts": [graph.sources.open(source.uri, as_of=as_of) for source in sources[0]],
        "around": [graph.entities.open(entity.id, where=where, limit=9, as_of=as_of) for entity in entities[-1][:2]],
        "support": [graph.facts.open(fact.id, where=where, as_of=as_of) for fact in facts[-1][:2]],
    }
    return {name: _rounded(each) for name, each in {**listed, **opened}.items()}


def _pages(page: Callable[..., Page[Any]]) -> Iterator[Page[Any]]:
    after: str | None = None
    while True:
        yield (records := page(after=after))
        after = records.after
        if after is None:
            return


def _parts(call: Call, graph: HLGraph, *, as_of: AsOf | None = None) -> Mapping[str, object]:
    """What a caller can read of a result, without times; of an error its text."""
    try:
        result = call.run(graph, as_of)
    except HLGraphError as error:
        return {"error": repr(error)}
    if isinstance(result, Mapping):
        return result
    if isinstance(result, Answer):
        cited = [_piece(citation.evidence) for citation in result.citations]
        return {"text": result.text, "citations": cited, "sentences": [one.is_supported for one in result.sentences]}
    explain = result.explain
    return {
        "evidence": [[_piece(one), *map(_piece, one.rests_on)] for one in result.evidence],
        "communities": result.communities,
        "calibration": result.calibration,
        "steps": [(step.name, step.count, step.details) for step in explain.steps],
        "seeds": _rounded([(seeds.kind, seeds.origin, seeds.count, seeds.best) for seeds in explain.seeds]),
        "hops": _rounded([(hop.expanded, hop.kept, dict(hop.pruned), hop.best) for hop in explain.hops]),
        "paths": _rounded([(path.nodes, path.joined_by) for path in explain.paths]),
        "picture": _rounded((explain.graph.nodes, explain.graph.edges)),
        "costs": (explain.round_trips, explain.version, explain.calls, explain.stores),
    }


def _contradiction(one: Contradiction) -> tuple[object, ...]:
    objects = [
        (each.name, sorted((said.text, said.start, said.end, said.source.uri, said.date) for said in each.assertions))
        for each in one.objects
    ]
    return one.subject, one.predicate, sorted(objects)


def _piece(evidence: Evidence) -> tuple[object, ...]:
    why = _rounded(sorted(evidence.why.items()))
    return evidence.id, evidence.text, round(evidence.score, _DIGITS), evidence.labels, _rounded(evidence.source), why


def _rounded(value: object) -> object:
    """The value with rounded numbers; a source without clock and version, which counts the edits that the caller sees."""
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    if isinstance(value, Source):
        value = replace(value, version=1, valid_from=None, valid_to=None)
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    fields = getattr(value, "__dataclass_fields__", None)
    return {name: _rounded(getattr(value, name)) for name in fields} if fields else value
