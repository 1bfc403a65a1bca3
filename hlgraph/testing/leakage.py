"""The leakage kit: whether a caller learns anything about sources that the caller may not see.

Its oracle is the same call on a store that never had the hidden sources. Ids, texts, names, metadata, counts, order and scores must
be equal, whatever was ingested, edited, merged, deleted or opened to other groups before. The text of each source also has a word
of its own, which must not occur in any result for a caller who may not see the source. Of a moment of the past, a caller gets what
a store gives whose history never had the sources that the caller may not see today.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from hlgraph.answer.contradictions import Contradiction
from hlgraph.errors import HLGraphError, StoreConflictError
from hlgraph.ids import entity_id
from hlgraph.ingest.history import AsOf
from hlgraph.records import Answer, Document, Evidence, Source
from hlgraph.retrieve import STRATEGIES
from hlgraph.retrieve.request import SearchResult, Unit
from hlgraph.sdk.client import HLGraph
from hlgraph.sdk.contents import Page
from hlgraph.stores.protocols import Decider, Decision, Verdict
from hlgraph.text import ACL

GROUPS = ("board", "finance", "public", "works")
CALLERS = (frozenset({"finance"}), frozenset({"public", "works"}), frozenset({"no such group", "board"}))
"""Callers of the kit, by their groups."""
FILTERS = (None, "year >= 2010", "kind = 'report' or not exists year")
"""Filters of the kit."""
_NAMES = ("Mara Quill", "Quill Mara", "Ivo Brandt", "Tessing", "Gannow", "Halfmoon Bridge", "Orsel Works", "Petra Voss")
_VERBS = ("designed", "visited", "sold", "paid", "left")
_MERGED = ("Mara Quill", "Orsel Works", "Petra Voss")  # the first and the last only by way of the second
_Run: TypeAlias = Callable[[HLGraph, AsOf | None], SearchResult | Answer | Mapping[str, object]]
_FUNCTIONAL = [*_VERBS, *(f"^{verb}" for verb in _VERBS)]
_DIGITS = 6
_ASKED = "3"


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
    strategies: Sequence[str] = (),
    modes: Sequence[Any] = ("vector", "text", "hybrid"),
    seed: int = 0,
) -> Iterator[Leak]:
    """What callers get of hidden sources, by any strategy, mode and filter; none if nothing.

    Parameters
    ----------
    graph : the store that the history was run on
    history : the history
    opened : opens an empty store of the same corpus name and embedder
    strategies : names; empty: all that need no summaries
    modes : of the searches
    seed : chooses the questions

    Returns
    -------
    iterator of Leak
        each as soon as it is seen
    """
    every = tuple(strategies) or tuple(sorted(set(STRATEGIES) - {"hierarchy"}))
    chance = random.Random(seed)  # noqa: S311
    for groups in CALLERS:
        seen = history.seen_by(groups)
        numbers = {uri.partition("#")[2] for uri in history.documents.keys() - {one.uri for one in seen}}
        hidden = [f"Word{number}" for number in sorted(numbers - {_ASKED})]
        with opened() as oracle:
            oracle.ingest([Document("doc:unseen", "Nothing.", metadata={ACL: "no other group"})])
            if seen:
                oracle.ingest(seen)
            _merge(oracle)
            ours, theirs = graph.as_caller(groups), oracle.as_caller(groups)
            for call, run in _calls(every, modes, chance):
                name = f"{call} as {', '.join(sorted(groups))}"
                yield from _differences(name, _parts(run, ours), _parts(run, theirs), hidden=hidden)
        yield from _summarised(graph.as_caller(groups), hidden)


def past_leaks(
    graph: HLGraph,
    history: History,
    *,
    opened: Callable[[], AbstractContextManager[HLGraph]],
    moments: Sequence[datetime],
    strategies: Sequence[str] = (),
    seed: int = 0,
) -> Iterator[Leak]:
    """What callers get of the past of hidden sources; none if nothing.

    The oracle is a store in which the history was run without the sources that the caller may not see today.

    Parameters
    ----------
    graph, history, opened, strategies, seed : as for :func:`leaks`
    moments : those that :meth:`History.run` returned

    Returns
    -------
    iterator of Leak
        each as soon as it is seen
    """
    every = tuple(strategies) or tuple(sorted(set(STRATEGIES) - {"hierarchy"}))
    chance = random.Random(seed)  # noqa: S311
    for groups in CALLERS:
        seen = {uri for uri, named in history.groups.items() if groups.intersection(named)}
        hidden = [f"Word{uri.partition('#')[2]}" for uri in sorted(history.groups.keys() - seen)]
        hidden = [word for word in hidden if word != f"Word{_ASKED}"]
        with opened() as oracle:
            oracle.history.keep()
            oracle.ingest([Document("doc:unseen", "Nothing.", metadata={ACL: "no other group"})])
            then = history.replay(oracle, seen.__contains__)
            ours, theirs = graph.as_caller(groups), oracle.as_caller(groups)
            for number, (call, run) in enumerate((*_calls(every, ("vector",), chance), *_contradicted())):
                at = number % len(then)
                given, expected = _parts(run, ours, as_of=moments[at]), _parts(run, theirs, as_of=then[at])
                name = f"{call} after step {at + 1} as {', '.join(sorted(groups))}"
                yield from _differences(name, given, expected, hidden=hidden)


def _differences(
    call: str, given: Mapping[str, object], expected: Mapping[str, object], *, hidden: Sequence[str]
) -> list[Leak]:
    parts = sorted(given.keys() | expected.keys())
    leaks = [
        Leak(call, part, given.get(part), expected.get(part)) for part in parts if given.get(part) != expected.get(part)
    ]
    return leaks + [Leak(call, "text", word, "") for word in hidden if word in repr(given)]


def _summarised(graph: HLGraph, hidden: Sequence[str]) -> Iterator[Leak]:
    """Words of hidden sources in summaries and what they rest on. A smaller corpus has other summaries, so there is no oracle."""
    units: tuple[Unit, ...] = ("mixed", "summary")
    for unit in units:

        def run(graph: HLGraph, as_of: AsOf | None, unit: Unit = unit) -> SearchResult:
            return graph.search("Trade", strategy="hierarchy", unit=unit, explain=True, as_of=as_of)

        given = repr(_parts(run, graph))
        yield from (
            Leak(f"search --strategy hierarchy --unit {unit}", "text", word, "") for word in hidden if word in given
        )


def _calls(strategies: Sequence[str], modes: Sequence[Any], chance: random.Random) -> Iterator[tuple[str, _Run]]:
    for strategy, mode, where in itertools.product(strategies, modes, FILTERS):
        question = f"Who {chance.choice(_VERBS)} {chance.choice(_NAMES)}, and who {chance.choice(_VERBS)} Word{_ASKED}?"

        def run(graph: HLGraph, as_of: AsOf | None, chosen: Any = (question, strategy, mode, where)) -> SearchResult:
            text, name, how, only = chosen
            return graph.search(text, strategy=name, mode=how, where=only, explain=True, as_of=as_of)

        yield f"search --strategy {strategy} --mode {mode} --where {where}", run
    for where in (*FILTERS, "no_such_field = 1"):
        for text in (f"How many papers mention Word{_ASKED}?", "What is the sum of cost?", f"Who visited {_NAMES[0]}?"):

            def reply(graph: HLGraph, as_of: AsOf | None, chosen: Any = (text, where)) -> Answer:
                return graph.answer(chosen[0], where=chosen[1], as_of=as_of)

            yield f"answer --where {where} {text}", reply
    for where in FILTERS:

        def look(graph: HLGraph, as_of: AsOf | None, where: Any = where) -> Mapping[str, object]:
            return _contents(graph, where, as_of=as_of)

        yield f"sources, entities, facts --where {where}", look


def _contents(graph: HLGraph, where: Any, *, as_of: AsOf | None) -> Mapping[str, object]:
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


def _contradicted() -> Iterator[tuple[str, _Run]]:
    for where, is_then in itertools.product(FILTERS, (True, False)):

        def show(graph: HLGraph, as_of: AsOf | None, chosen: Any = (where, is_then)) -> Mapping[str, object]:
            listed = graph.contradictions(_FUNCTIONAL, where=chosen[0], as_of=as_of if chosen[1] else None)
            return {"contradictions": [_contradiction(one) for one in listed]}

        yield f"contradictions --where {where}{'' if is_then else ' of all versions'}", show


def _parts(run: _Run, graph: HLGraph, *, as_of: AsOf | None = None) -> Mapping[str, object]:
    """What a caller can read of a result, without times; of an error its text."""
    try:
        result = run(graph, as_of)
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
