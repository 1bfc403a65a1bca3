"""Candidates of questions, by kind: paths of two facts from different sources, worded by templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from hlgraph.evaluate.questions.askable import AGENT, THING, Askable, singular
from hlgraph.evaluate.questions.asserted import Clause
from hlgraph.evaluate.questions.record import QuestionKind
from hlgraph.ids import checksum

TEMPLATES = "templates/1"
_MOST_PAIRS = 40  # of one entity: the others would ask the same with other words
_OF_THINGS = frozenset({"on", "in", "into", "at", "through"})
_NEAREST = 4
_COMMON = 1  # entities that two documents share whose facts are compared or mixed
_AUXILIARY = frozenset(
    ["is", "are", "was", "were", "has", "have", "had", "will", "can", "could", "would", "be", "been"]
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that may be asked.

    Attributes
    ----------
    kind : its kind
    text : the question
    answer_id : the entity that it asks for; empty for a null question
    clauses : the clauses of its path, in the order of the hops
    about : the entities of the path beside the answer: the middle of a bridge, the other one of a comparison
    """

    kind: QuestionKind
    text: str
    answer_id: str
    clauses: tuple[Clause, Clause]
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paths:
    """The clauses of a corpus, by subject, with what the templates ask about them.

    Attributes
    ----------
    by_subject : clauses by the group of their subject, in the order in which they are tried
    links, by_object : clauses that can end with their object, by the group of their subject, and of their object
    told_of : facts with a subject that can be named, each with a statement, whether or not its words make a clause
    askable : the entities
    document : the document of a clause, by the id of its source
    names : the main name of an entity, by id
    named_in : the groups of the entities whose facts a document holds
    seed : of the order
    """

    by_subject: Mapping[str, Sequence[Clause]]
    links: Mapping[str, Sequence[Clause]]
    by_object: Mapping[str, Sequence[Clause]]
    told_of: Sequence[Clause]
    askable: Askable
    document: Callable[[str], str]
    names: Mapping[str, str]
    named_in: Mapping[str, frozenset[str]]
    seed: int

    def group(self, clause: Clause) -> str:
        """The group of the subject of a clause."""
        return self.askable.group(clause.subject_id)

    def object_of(self, clause: Clause) -> str:
        """The group of the object that a clause can end with; empty without one."""
        return self.askable.group(clause.fact.object_id) if clause.ahead and clause.fact.object_id else ""

    def told(self, clause: Clause) -> str:
        """A clause with its subject and without its object: "the FTC sued"."""
        name = self.named(clause)
        ahead = clause.ahead.replace(" also ", " ") if name.endswith("s") else singular(clause.ahead)
        return f"{name} {ahead}"

    def referred(self, middle: str, first: Clause, *, told: str = "") -> str:
        """The words for the middle of a bridge behind the first clause: one sells on a thing, not on a person.

        Parameters
        ----------
        middle : the entity
        first : the clause that ends with it
        told : the clause that follows
        """
        is_place = first.ahead.rpartition(" ")[2] in _OF_THINGS
        found = self.askable.referred(middle, told)
        return THING if is_place and found == AGENT else found

    def named(self, clause: Clause) -> str:
        """The name of the subject of a clause, with "the" where its sentence has it."""
        return f"{'the ' if clause.has_article else ''}{self.names[clause.subject_id]}"

    def is_apart(self, one: Clause, other: Clause) -> bool:
        """Whether two clauses come from different documents and say different things.

        Parameters
        ----------
        one, other : the clauses
        """
        if self.document(one.statement.source_id) == self.document(other.statement.source_id):
            return False
        return len({*one.key} & {*other.key}) * 2 < min(len(one.key), len(other.key))

    def are_comparable(self, one: Clause, other: Clause) -> bool:
        """Whether two clauses of different documents ask for the same kind of thing, and the documents name two common things.

        Parameters
        ----------
        one, other : the clauses
        """
        documents = [self.document(item.statement.source_id) for item in (one, other)]
        if documents[0] == documents[1] or one.key == other.key:
            return False
        kinds = [self.askable.asked(item.subject_id, item.text) for item in (one, other)]
        return kinds[0] == kinds[1] and self.nearness(one, other) >= _COMMON

    def nearness(self, one: Clause, other: Clause) -> int:
        """Number of entities that the documents of two clauses have in common.

        Parameters
        ----------
        one, other : the clauses
        """
        held = [self.named_in[self.document(item.statement.source_id)] for item in (one, other)]
        return len(held[0] & held[1])

    def order(self, *parts: str) -> str:
        """A key that puts candidates in a random order, the same for the same seed."""
        return checksum(str(self.seed), *parts)


Template: TypeAlias = Callable[[Paths], Iterator[Candidate]]


def bridges(paths: Paths) -> Iterator[Candidate]:
    """A -r1-> B -r2-> C, or A -r1-> B <-r2- C: "Who sued the company that bought iRobot?"; B is not named, and A is the answer."""
    for group, clauses in paths.links.items():
        for first in clauses:
            middle = paths.object_of(first)
            if not middle or middle == group:
                continue
            asked = paths.askable.asked(first.subject_id, first.ahead)
            asking = f"{asked} {singular(first.ahead)}"
            for second in paths.by_subject.get(middle, ())[:_MOST_PAIRS]:
                if paths.is_apart(first, second):
                    text = f"{asking} {paths.referred(middle, first, told=second.text)} {singular(second.text)}?"
                    yield Candidate("bridge", text, group, (first, second), (middle,))
            for second in paths.by_object.get(middle, ())[:_MOST_PAIRS]:
                if paths.group(second) not in (group, middle) and paths.is_apart(first, second):
                    text = f"{asking} {_that(paths.referred(middle, first))} {paths.told(second)}?"
                    yield Candidate("bridge", text, group, (first, second), (middle,))


def intersections(paths: Paths) -> Iterator[Candidate]:
    """The entity that fits two facts: "Who sued Amazon, and also fined Meta?", "Who fined Meta, and is also whom Kea sued?"."""
    for group, clauses in paths.by_subject.items():
        pairs = [pair for pair in combinations(clauses, 2) if paths.is_apart(*pair)]
        for first, second in pairs[: _MOST_PAIRS * 2]:
            asked = paths.askable.asked(group, first.text, second.text)
            text = f"{asked} {singular(first.text)}, and also {singular(second.text)}?"
            yield Candidate("intersection", text, group, (first, second))
        for first in clauses:
            for second in paths.by_object.get(group, ())[:_MOST_PAIRS]:
                if paths.group(second) != group and paths.is_apart(first, second):
                    asked = paths.askable.asked(group, first.text)
                    referred = _that(paths.askable.referred(group))
                    text = f"{asked} {singular(first.text)}, and is also {referred} {paths.told(second)}?"
                    yield Candidate("intersection", text, group, (first, second))


def comparisons(paths: Paths) -> Iterator[Candidate]:
    """Two entities with one predicate, or one object: "Which of the two sued Amazon: the FTC or the EU?"."""
    alike: dict[str, list[Clause]] = {}
    for told in paths.told_of:
        alike.setdefault(f"predicate {_verb(told)}", []).append(told)
        if told.fact.object_id:
            alike.setdefault(f"object {paths.askable.group(told.fact.object_id)}", []).append(told)
    for group, clauses in paths.by_subject.items():
        for clause in clauses:
            near = f"object {paths.askable.group(clause.fact.object_id)}" if clause.fact.object_id else ""
            others = {
                item.fact.id: item for name in (f"predicate {_verb(clause)}", near) for item in alike.get(name, ())
            }
            fits = [
                item for item in others.values() if paths.group(item) != group and paths.are_comparable(clause, item)
            ]
            for second in sorted(fits, key=lambda item: (-paths.nearness(clause, item), item.fact.id))[:_NEAREST]:
                pair = sorted((clause, second), key=lambda item: paths.order(clause.fact.id, paths.group(item)))
                listed = " or ".join(paths.named(item) for item in pair)
                text = f"Which of the two {singular(clause.text)}: {listed}?"
                yield Candidate("comparison", text, group, (clause, second), (paths.group(second),))


def nulls(paths: Paths) -> Iterator[Candidate]:
    """Facts of two different subjects, asked of one: "Who sued Amazon, and also wrote Emma?"."""
    held = [(group, clause) for group, clauses in paths.by_subject.items() for clause in clauses]
    ordered = sorted(held, key=lambda item: paths.order("null", item[1].fact.id))
    for place, (group, first) in enumerate(ordered):
        fits = [item for item in ordered[place + 1 :] if item[0] != group and paths.are_comparable(first, item[1])]
        near = sorted(fits, key=lambda item: -paths.nearness(first, item[1]))
        for other, second in near[:_NEAREST]:
            asked = paths.askable.asked(first.subject_id, first.text)
            text = f"{asked} {singular(first.text)}, and also {singular(second.text)}?"
            yield Candidate("null", text, "", (first, second), (group, other))


def _verb(clause: Clause) -> str:
    """The predicate that a comparison shares: its verb, and for "is" or "has" all of its words."""
    parts = clause.fact.predicate.lower().split()
    return " ".join(parts) if parts[0] in _AUXILIARY else parts[0]


def _that(text: str) -> str:
    """The words before a clause whose object is missing: "the person that", since "who" would be the subject."""
    return f"{text.removesuffix(' who')} that" if text.endswith(" who") else text


BY_KIND: dict[QuestionKind, Template] = {
    "bridge": bridges,
    "comparison": comparisons,
    "intersection": intersections,
    "null": nulls,
}
