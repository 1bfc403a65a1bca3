"""Merges of entities that are the same: propose, judge by rule or chat model, apply, list and undo.

A merge is a decision about two entities, stored beside the graph (see :mod:`hlgraph.stores.protocols`). The extracted records do
not change, so undoing a merge only removes the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hlgraph import progress
from hlgraph.algorithms.merging import Pair
from hlgraph.errors import InputError, StoreError, UnknownNameError
from hlgraph.ids import entity_ids
from hlgraph.ingest.delete import Removals
from hlgraph.models.accounts.budget import Budget
from hlgraph.models.executor import Executor
from hlgraph.persist.journal import finish
from hlgraph.progress import OnProgress
from hlgraph.records import Entity
from hlgraph.resolve.candidates import CandidateQuery, Candidates, find_candidates
from hlgraph.resolve.decide import (
    RULE,
    Asked,
    JudgedMerges,
    ask_model,
    calls_for,
    check_merges,
    decision_of,
    now,
    settled_merges,
)
from hlgraph.sdk.arguments import check_not_negative, checked
from hlgraph.settings import Settings
from hlgraph.stores.protocols import (
    Decider,
    Decision,
    MergeStore,
    Scope,
    Stores,
    Verdict,
    existing,
    grouped,
    read_records,
)

BY = ("auto", "chat", "rules")


class Group(NamedTuple):
    """Entities that are the same.

    Attributes
    ----------
    canonical : the entity that names the group: the one that is not an alias; of several, the one with the longest name
    aliases : the others
    """

    canonical: Entity
    aliases: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class FoundMerges:
    """The stored decisions, and the groups that result from them.

    Attributes
    ----------
    decisions : the newest first, then by id
    groups : the largest first, then by id of the canonical entity
    contradictions : decisions that keep two entities apart which other decisions merge
    names : name of each entity, by id
    """

    decisions: tuple[Decision, ...] = ()
    groups: tuple[Group, ...] = ()
    contradictions: tuple[Decision, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """Some of the stored decisions.

    Attributes
    ----------
    decisions : the newest first
    total : number of all decisions that were asked for
    names : name of each of their entities, by id
    """

    decisions: tuple[Decision, ...]
    total: int
    names: Mapping[str, str] = field(default_factory=dict)


@checked
@dataclass(frozen=True, slots=True)
class Merges:
    """The merges of one corpus.

    Parameters
    ----------
    corpus, stores : the corpus, and the stores that hold it
    chat : makes the executor of the chat model for one command, within a budget; None without a chat model
    settings : name the folder in which undone decisions are recorded; None: an undo that was killed cannot be repeated

    Examples
    --------
    ::

        with hlgraph.connect("hlgraph://./my-graph") as graph:
            graph.merges.judge(by="rules")
            graph.merges.apply([("M. Quill", "Mara Quill")], made_by="Ada")
            for decision in graph.merges.list().decisions:
                graph.merges.undo(decision.id)
    """

    corpus: str
    stores: Stores
    chat: Callable[[Budget | None], Executor | None]
    settings: Settings | None = None

    def propose(self, query: CandidateQuery | None = None, *, on_progress: OnProgress | None = None) -> Candidates:
        """Undecided pairs of entities that may be the same, the certain ones first. Stores nothing.

        Parameters
        ----------
        query : which pairs are candidates; None: the defaults
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        Candidates

        Raises
        ------
        UnknownNameError : there is no such corpus
        """
        existing(self.stores.graph, self.corpus)
        decisions = self._decisions.decisions(self.corpus)
        with progress.listening(on_progress):
            return find_candidates(self.corpus, query or CandidateQuery(), stores=self.stores, decisions=decisions)

    def judge(
        self,
        query: CandidateQuery | None = None,
        *,
        by: str = "auto",
        budget: Budget | None = None,
        dry_run: bool = False,
        on_progress: OnProgress | None = None,
    ) -> JudgedMerges:
        """Merge the certain candidates, ask the chat model about the others, and store its verdicts.

        Verdicts of both kinds are stored, so that no pair is paid for twice. A merge that would join two entities that are kept
        apart is stored as open, and reported.

        Parameters
        ----------
        query : which candidates are judged; None: the defaults
        by : ``chat``, ``rules`` (only the certain ones are decided) or ``auto``: chat if there is a chat model
        budget : of the chat model; if it runs out, the verdicts so far are stored before the error is raised
        dry_run : ask and store nothing; report the merges by rule, and the number of calls
        on_progress : called with the :class:`hlgraph.Progress` of every step; default none

        Returns
        -------
        JudgedMerges

        Raises
        ------
        UnknownNameError : there is no such judge or corpus
        InputError : ``chat`` without a chat model
        StoreLockedError : another process is writing
        BudgetError, ModelError : the model answers no more calls; the verdicts so far are stored
        """
        calls = self._calls(by, budget, dry_run=dry_run)
        with progress.listening(on_progress):
            return self._judged(self.propose(query), by=by, calls=calls, dry_run=dry_run)

    def _judged(self, proposed: Candidates, *, by: str, calls: Executor | None, dry_run: bool) -> JudgedMerges:
        certain = [candidate for candidate in proposed.found if candidate.is_certain]
        rest = [candidate for candidate in proposed.found if not candidate.is_certain]
        if calls is None or dry_run:
            reason = "no model was asked: a dry run" if dry_run else "no model was asked: rules alone judge"
            asked = Asked(undecided=[(candidate, reason) for candidate in rest])
            asked.calls = calls_for(len(rest)) if calls is not None or by == "chat" else 0
        else:
            asked = ask_model(self.corpus, rest, calls=calls, stores=self.stores)
        ruled = [decision_of(candidate, Verdict.SAME, by=Decider.RULE, made_by=RULE) for candidate in certain]
        settled = self._settle([*ruled, *asked.decisions], dry_run=dry_run)
        if asked.end is not None:
            raise asked.end
        return replace(
            settled,
            undecided=tuple(asked.undecided),
            calls=asked.calls,
            left_out=proposed.left_out,
            is_dry_run=dry_run,
            names={
                side.id: side.name for candidate in proposed.found for side in (candidate.alias, candidate.canonical)
            },
        )

    def list(self, verdict: str | None = None, *, k: int | None = None) -> FoundMerges:
        """The stored decisions, and the groups that result from them.

        Parameters
        ----------
        verdict : ``same``, ``different`` or ``open``; None: all
        k : maximum number of decisions; None: all

        Returns
        -------
        FoundMerges

        Raises
        ------
        UnknownNameError : there is no such verdict or corpus
        InputError : ``k`` is negative
        """
        _verdict(verdict)
        check_not_negative(k=k)
        existing(self.stores.graph, self.corpus)
        every = self._decisions.decisions(self.corpus)
        groups = grouped(every)
        entities = self._entities({name for item in every for name in item.pair})
        chosen = [item for item in every if verdict in (None, item.verdict)]
        chosen.sort(key=lambda item: item.id)
        chosen.sort(key=lambda item: item.at, reverse=True)
        named = tuple(_group(some, every, entities) for some in groups.all() if all(name in entities for name in some))
        return FoundMerges(
            tuple(chosen[:k]),
            tuple(sorted(named, key=lambda item: (-len(item.aliases), item.canonical.id))),
            tuple(item for item in every if item.verdict is Verdict.DIFFERENT and groups.is_one(*item.pair)),
            {key: item.name for key, item in entities.items()},
        )

    def page(
        self, verdict: str | None = None, *, entity: str | None = None, k: int = 20, skip: int = 0
    ) -> DecisionPage:
        """Some of the stored decisions, the newest first: only these are read.

        Parameters
        ----------
        verdict : see :meth:`list`
        entity : id of an entity: only the decisions about it; None: about any
        k : maximum number of decisions
        skip : number of the first decisions that are left out

        Raises
        ------
        UnknownNameError : there is no such verdict or corpus
        InputError : a number is negative
        """
        chosen = _verdict(verdict)
        check_not_negative(k=k, skip=skip)
        existing(self.stores.graph, self.corpus)
        decisions, total = self._decisions.page(self.corpus, verdict=chosen, entity=entity, k=k, skip=skip)
        entities = self._entities({name for decision in decisions for name in decision.pair})
        return DecisionPage(decisions, total, {name: each.name for name, each in entities.items()})

    def apply(
        self, pairs: Iterable[tuple[str, str]], *, keep_apart: bool = False, made_by: str = "", why: str = ""
    ) -> tuple[Decision, ...]:
        """Merge pairs of entities: the first of each becomes an alias of the second. All pairs are written, or none.

        A decision that is already stored does not change. A different decision about the same pair is replaced.

        Parameters
        ----------
        pairs : names or ids of entities of the corpus
        keep_apart : decide that the two entities of each pair are different
        made_by, why : stored with the decision

        Returns
        -------
        tuple of Decision
            The decisions that were written.

        Raises
        ------
        UnknownNameError : the corpus has no such entity
        InputError : an entity of another corpus, a pair of the same entity, a pair that other merges already join, a cycle, or a
            pair that contradicts decisions about others
        StoreLockedError : another process is writing
        """
        existing(self.stores.graph, self.corpus)
        wanted = list(pairs)
        at = now()
        verdict = Verdict.DIFFERENT if keep_apart else Verdict.SAME
        with self._writing() as store:
            ends = self._find({name for pair in wanted for name in pair})
            decisions = {}
            for alias, canonical in wanted:
                ids = ends[alias].id, ends[canonical].id
                if ids[0] == ids[1]:
                    raise InputError(f"{alias!r} and {canonical!r} are the same entity; name two")
                item = Decision(self.corpus, *ids, verdict, Decider.PERSON, made_by, why, at=at)
                decisions[item.id] = item
            every = {item.id: item for item in store.decisions(self.corpus)}
            new = [item for key, item in decisions.items() if not _says_the_same(every.get(key), item)]
            self._check(new, every, names={item.id: item.name for item in ends.values()})
            if new:
                store.save(self.corpus, new)
        return tuple(new)

    def undo(self, ids: str | Sequence[str]) -> tuple[Decision, ...]:
        """Remove decisions by id, and restore the graph to its state without them.

        A pair whose decision is removed is a candidate again; :meth:`apply` with ``keep_apart`` keeps it apart.

        Returns the removed decisions, without those that an earlier call removed. Raises UnknownNameError for an id that was never
        stored, and then removes nothing; StoreLockedError while another process writes.
        """
        existing(self.stores.graph, self.corpus)
        wanted = list(dict.fromkeys([ids] if isinstance(ids, str) else ids))
        with self._writing() as store, ExitStack() as closing:
            removals = closing.enter_context(Removals(self.settings, "decision")) if self.settings else None
            noted = {} if removals is None else removals.of(wanted)
            stored = {decision.id: decision for decision in store.decisions(self.corpus)}
            for name in wanted:
                if name not in stored and name not in noted:
                    raise UnknownNameError(
                        f"corpus {self.corpus!r} has no decision {name!r}; hlgraph merges list shows their ids"
                    )
            gone = tuple(stored[name] for name in wanted if name in stored)
            if removals is not None:
                closing.enter_context(removals.removing({decision.id: [decision.id] for decision in gone}))
            store.drop(self.corpus, gone)
        return gone

    # Parts

    @property
    def _decisions(self) -> MergeStore:
        if self.stores.graph.merges is None:
            raise StoreError("this pair of stores keeps no merges; open it with hlgraph.connect")
        return self.stores.graph.merges

    @contextmanager
    def _writing(self) -> Iterator[MergeStore]:
        """The store under the write lock, after changes of interrupted runs are completed."""
        with self.stores.graph.lock(self.corpus) as pending:
            for change in pending:
                finish(change, self.stores)
            yield self._decisions

    def _calls(self, by: str, budget: Budget | None, *, dry_run: bool) -> Executor | None:
        if by not in BY:
            raise UnknownNameError(f"there is no judge {by!r}; choose one of {', '.join(BY)}")
        calls = self.chat(budget) if by != "rules" else None
        if by == "chat" and calls is None and not dry_run:
            raise InputError(
                "judging by a chat model needs one; name it in HLGRAPH_CHAT or models.chat (such as openai:gpt-4o-mini), "
                "or judge by rules"
            )
        return calls

    def _settle(self, decisions: Sequence[Decision], *, dry_run: bool) -> JudgedMerges:
        """Merge pairs that contradict no decision, and store all decisions."""
        if dry_run:
            return settled_merges(decisions, self._decisions.decisions(self.corpus))
        with self._writing() as store:
            # The lock is not held while pairs are judged: pairs that were removed or decided meanwhile are left out.
            every = store.decisions(self.corpus)
            decided = {decision.id for decision in every}
            there = self._entities({name for decision in decisions for name in decision.pair})
            settled = settled_merges(
                [
                    decision
                    for decision in decisions
                    if decision.id not in decided and all(name in there for name in decision.pair)
                ],
                every,
            )
            written = (*settled.merged, *settled.apart, *settled.held)
            if written:
                store.save(self.corpus, written)
            return settled

    def _entities(self, ids: Iterable[str]) -> dict[str, Entity]:
        return read_records(self.stores.graph, Entity, ids=sorted(ids), scope=Scope(self.corpus))

    def _find(self, names: Iterable[str]) -> dict[str, Entity]:
        """Entities by the caller's names for them: ids or names."""
        wanted = {name: (name, *entity_ids(self.corpus, name)) for name in names}
        entities = self._entities({key for keys in wanted.values() for key in keys})
        by_name: dict[str, Entity] = {}
        for name, keys in wanted.items():
            entity = next((entities[key] for key in keys if key in entities), None)
            if entity is None:
                raise UnknownNameError(
                    f"corpus {self.corpus!r} has no entity {name!r}; give a name as the texts write it, or an id"
                )
            by_name[name] = entity
        return by_name

    def _check(self, new: Sequence[Decision], every: Mapping[str, Decision], *, names: Mapping[str, str]) -> None:
        """Raise InputError for the first new decision that closes a cycle or contradicts one that stays."""
        for decision in new:
            earlier = every.get(decision.id)
            if earlier is not None and earlier.verdict is decision.verdict:
                a, b = names[decision.alias], names[decision.canonical]
                raise InputError(
                    f"{b!r} is already an alias of {a!r}, so this merge would form a cycle; undo that first"
                )
        replaced = {decision.id for decision in new}
        stays = [decision for key, decision in every.items() if key not in replaced]
        settled = check_merges(new, stays)
        if settled.known:
            a, b = _in_order(settled.known[0], new, names)
            raise InputError(f"{a!r} and {b!r} are one already by other merges; undo one of those to change them")
        if settled.conflicts:
            conflict = settled.conflicts[0]
            a, b = _in_order(conflict.pair, new, names)
            entities = self._entities(conflict.apart)
            c, d = (entities[name].name for name in conflict.apart)
            raise InputError(f"{a!r} and {b!r} cannot be one: {c!r} and {d!r} are kept apart; undo that decision first")
        groups = grouped([*stays, *new])
        for decision in new:
            if decision.verdict is Verdict.DIFFERENT and groups.is_one(*decision.pair):
                a, b = names[decision.alias], names[decision.canonical]
                raise InputError(f"{a!r} and {b!r} are one by other merges; undo one of those first")


def _verdict(name: str | None) -> Verdict | None:
    if name is not None and name not in set(Verdict):
        raise UnknownNameError(f"there is no verdict {name!r}; choose one of {', '.join(Verdict)}")
    return None if name is None else Verdict(name)


def _in_order(pair: Pair, new: Iterable[Decision], names: Mapping[str, str]) -> tuple[str, str]:
    """The names of a pair in the order in which they were given."""
    decision = next(decision for decision in new if decision.pair == pair)
    return names[decision.alias], names[decision.canonical]


def _says_the_same(stored: Decision | None, decision: Decision) -> bool:
    if stored is None or stored.verdict is not decision.verdict:
        return False
    return decision.verdict is Verdict.DIFFERENT or (stored.alias, stored.canonical) == (
        decision.alias,
        decision.canonical,
    )


def _group(ids: Sequence[str], every: Iterable[Decision], entities: Mapping[str, Entity]) -> Group:
    aliases = {item.alias for item in every if item.verdict is Verdict.SAME}
    heads = [entities[name] for name in ids if name not in aliases]
    canonical = min(heads, key=lambda item: (-len(item.name), item.id))
    return Group(canonical, tuple(entities[name] for name in ids if name != canonical.id))
