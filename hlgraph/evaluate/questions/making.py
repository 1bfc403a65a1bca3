"""Make questions without a model: build candidates from paths of facts, reject ambiguous ones, and choose by quotas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from hlgraph import progress
from hlgraph.errors import InputError
from hlgraph.evaluate.questions.askable import AGENT, THING, Askable, Clause, clause_of, hubs, is_finite_verb, singular
from hlgraph.evaluate.questions.record import NO_ANSWER, TEMPLATE_KINDS, MadeQuestion, QuestionKind, QuestionSet
from hlgraph.evaluate.runner import PREFIX
from hlgraph.ids import checksum, content_id
from hlgraph.records import Chunk, Source, group_by
from hlgraph.text import content_words, words

if TYPE_CHECKING:
    from hlgraph.sdk.client import HLGraph
    from hlgraph.sdk.facts import StoredFacts


# Leaks: whether one source alone answers a question, by its words; then the question needs no second source.

SHARE = 0.8
"""Minimum share of a question's content words that one source must contain to count as answering it alone."""
_NAME = re.compile(r"[^\W\d_a-z][\w’'.&-]*(?: [^\W\d_a-z][\w’'.&-]*)*")


@dataclass(frozen=True, slots=True)
class SourceWords:
    """The words of one source, indexed for the search of names and content words.

    Attributes
    ----------
    source_id : the source
    line : its words in order, separated and surrounded by spaces
    content : its set of words
    """

    source_id: str
    line: str
    content: frozenset[str]

    def has(self, name: str) -> bool:
        """Whether the source contains the words of a name consecutively."""
        wanted = " ".join(words(name))
        return bool(wanted) and f" {wanted} " in self.line


def words_of(chunks: Iterable[Chunk]) -> list[SourceWords]:
    """The words of each source, collected from its chunks; sources and words keep the order of the chunks."""
    parts: dict[str, list[str]] = {}
    for chunk in chunks:
        parts.setdefault(chunk.source_id, []).extend(words(" ".join((*chunk.headings, chunk.text))))
    return [SourceWords(name, f" {' '.join(tokens)} ", frozenset(tokens)) for name, tokens in parts.items()]


def names_in(text: str) -> tuple[str, ...]:
    """The capitalised names in a text, except at its start, where every question has a capital.

    Examples
    --------
    >>> names_in("Who sued Amazon, and also met Lina Khan?")
    ('Amazon', 'Lina Khan')
    """
    names = (match[0].strip(".'’") for match in _NAME.finditer(text) if match.start())
    return tuple(dict.fromkeys(name for name in names if name))


def answers_alone(source: SourceWords, question: str, *, answers: Sequence[str]) -> bool:
    """Whether a source contains an answer, all names of the question, and four fifths of its content words.

    The check overestimates: a source that contains the words with another meaning also counts.

    Parameters
    ----------
    source : words of the source
    question : text of the question
    answers : accepted answers; empty for a null question: then the answer is not checked
    """
    if answers and not any(source.has(name) for name in answers):
        return False
    if not all(source.has(name) for name in names_in(question)):
        return False
    wanted = set(content_words(question))
    return len(wanted & source.content) >= SHARE * len(wanted)


# Candidate questions by kind: templates over paths of two facts from different sources.


TEMPLATES = "templates/1"
_MOST_PAIRS = 40  # per entity; more pairs would only rephrase the same question
_OF_THINGS = frozenset({"on", "in", "into", "at", "through"})
_NEAREST = 4
_COMMON = 1  # minimum number of entities that two documents share before their facts are compared or combined
_AUXILIARY = frozenset(
    ["is", "are", "was", "were", "has", "have", "had", "will", "can", "could", "would", "be", "been"]
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate question.

    Attributes
    ----------
    kind : kind of question
    text : the question
    answer_id : id of the entity that it asks for; empty for a null question
    clauses : the clauses of its path, in the order of the hops
    about : ids of the other entities of the path: the middle of a bridge, the alternative of a comparison
    """

    kind: QuestionKind
    text: str
    answer_id: str
    clauses: tuple[Clause, Clause]
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paths:
    """The clauses of a corpus, indexed for the templates.

    Attributes
    ----------
    by_subject : clauses by the group of their subject, in the order in which they are tried
    links, by_object : clauses that can end with their object, by the group of their subject and of their object
    told_of : facts whose subject can be named, each as a clause with one statement, even if the statement gives no clause
    askable : the entities
    document : maps the id of a source to its document
    names : main name of each entity, by id
    named_in : groups of the entities in the facts of each document
    seed : seed of the order
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
        """A clause with its subject but without its object, such as "the FTC sued"."""
        name = self.named(clause)
        ahead = clause.ahead.replace(" also ", " ") if name.endswith("s") else singular(clause.ahead)
        return f"{name} {ahead}"

    def referred(self, middle: str, first: Clause, *, following: str = "") -> str:
        """The noun phrase for the middle of a bridge after the first clause; after "on", "at" or "in" it is a thing.

        Parameters
        ----------
        middle : id of the middle entity
        first : the clause that ends with the middle
        following : the next clause
        """
        is_place = first.ahead.rpartition(" ")[2] in _OF_THINGS
        wording = self.askable.referred(middle, following)
        return THING if is_place and wording == AGENT else wording

    def named(self, clause: Clause) -> str:
        """The name of the subject of a clause, with "the" if the sentence has it."""
        return f"{'the ' if clause.has_article else ''}{self.names[clause.subject_id]}"

    def is_apart(self, one: Clause, other: Clause) -> bool:
        """Whether two clauses come from different documents and share fewer than half of their content words.

        Parameters
        ----------
        one, other : the clauses
        """
        if self.document(one.statement.source_id) == self.document(other.statement.source_id):
            return False
        return len({*one.key} & {*other.key}) * 2 < min(len(one.key), len(other.key))

    def are_comparable(self, one: Clause, other: Clause) -> bool:
        """Whether two clauses of different documents ask for the same kind of entity, and the documents share an entity.

        Parameters
        ----------
        one, other : the clauses
        """
        documents = [self.document(item.statement.source_id) for item in (one, other)]
        if documents[0] == documents[1] or self.nearness(one, other) < _COMMON or one.key == other.key:
            return False
        kinds = [self.askable.asked(item.subject_id, item.text) for item in (one, other)]
        return kinds[0] == kinds[1]

    def nearness(self, one: Clause, other: Clause) -> int:
        """Number of entities that the documents of two clauses share.

        Parameters
        ----------
        one, other : the clauses
        """
        named = [self.named_in[self.document(item.statement.source_id)] for item in (one, other)]
        return len(named[0] & named[1])

    def order(self, *parts: str) -> str:
        """A sort key for a pseudorandom order, which depends only on the seed and the parts."""
        return checksum(str(self.seed), *parts)


Template: TypeAlias = Callable[[Paths], Iterator[Candidate]]


def bridges(paths: Paths) -> Iterator[Candidate]:
    """Questions for A over A -r1-> B -r2-> C or A -r1-> B <-r2- C, without naming B: "Who sued the company that bought X?"."""
    for group, clauses in paths.links.items():
        for first in clauses:
            middle = paths.object_of(first)
            if not middle or middle == group:
                continue
            asked = paths.askable.asked(first.subject_id, first.ahead)
            asking = f"{asked} {singular(first.ahead)}"
            for second in paths.by_subject.get(middle, ())[:_MOST_PAIRS]:
                if paths.is_apart(first, second):
                    text = f"{asking} {paths.referred(middle, first, following=second.text)} {singular(second.text)}?"
                    yield Candidate("bridge", text, group, (first, second), (middle,))
            for second in paths.by_object.get(middle, ())[:_MOST_PAIRS]:
                if paths.group(second) not in (group, middle) and paths.is_apart(first, second):
                    text = f"{asking} {_that(paths.referred(middle, first))} {paths.told(second)}?"
                    yield Candidate("bridge", text, group, (first, second), (middle,))


def intersections(paths: Paths) -> Iterator[Candidate]:
    """Questions over two facts of an entity: "Who sued Amazon, and also fined Meta?", "Who fined X, and is also whom Y sued?"."""
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
    """Questions about two entities with the same predicate or object: "Which of the two sued Amazon: the FTC or the EU?"."""
    alike: dict[str, list[Clause]] = {}
    for fact_clause in paths.told_of:
        alike.setdefault(f"predicate {_verb(fact_clause)}", []).append(fact_clause)
        if fact_clause.fact.object_id:
            alike.setdefault(f"object {paths.askable.group(fact_clause.fact.object_id)}", []).append(fact_clause)
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
    """Unanswerable questions that combine facts of two subjects: "Who sued Amazon, and also wrote Emma?"."""
    pairs = [(group, clause) for group, clauses in paths.by_subject.items() for clause in clauses]
    ordered = sorted(pairs, key=lambda item: paths.order("null", item[1].fact.id))
    documents = [paths.document(clause.statement.source_id) for _, clause in ordered]
    places: dict[str, list[int]] = {}  # of each entity that a document of a clause names
    for at, document in enumerate(documents):
        for entity in paths.named_in[document]:
            places.setdefault(entity, []).append(at)
    for place, (group, first) in enumerate(ordered):
        near = set().union(*(places[entity] for entity in paths.named_in[documents[place]]))  # others share no entity
        after = [ordered[at] for at in sorted(near) if at > place]
        fits = [item for item in after if item[0] != group and paths.are_comparable(first, item[1])]
        nearest = sorted(fits, key=lambda item: -paths.nearness(first, item[1]))[:_NEAREST]
        for other, second in nearest:
            asked = paths.askable.asked(first.subject_id, first.text)
            text = f"{asked} {singular(first.text)}, and also {singular(second.text)}?"
            yield Candidate("null", text, "", (first, second), (group, other))


def _verb(clause: Clause) -> str:
    """The predicate by which facts are compared: its verb; after an auxiliary such as "is" or "has", all of its words."""
    parts = clause.fact.predicate.lower().split()
    return " ".join(parts) if parts[0] in _AUXILIARY else parts[0]


def _that(text: str) -> str:
    """The noun phrase before a clause without an object: "the person that", since "who" would be read as the subject."""
    return f"{text.removesuffix(' who')} that" if text.endswith(" who") else text


BY_KIND: dict[QuestionKind, Template] = {
    "bridge": bridges,
    "comparison": comparisons,
    "intersection": intersections,
    "null": nulls,
}


SHARES: Mapping[QuestionKind, float] = {"bridge": 0.3, "comparison": 0.25, "intersection": 0.3, "null": 0.15}
_SURPLUS = 12  # candidates tested for leakage per question wanted
_CLAUSE_USES = 10
_FILLING: tuple[QuestionKind, ...] = (
    "intersection",
    "bridge",
    "comparison",
)  # replace kinds that yield too few questions
_ANSWER_SHARE = 0.25
_ALIKE = 0.7
_MOST_WORDS = 40


def quotas(count: int, kinds: Sequence[QuestionKind] = TEMPLATE_KINDS) -> dict[QuestionKind, int]:
    """Divide a number of questions among kinds: 30 % bridges, 25 % comparisons, 30 % intersections, 15 % null.

    Parameters
    ----------
    count : number of questions
    kinds : the kinds; their shares keep their proportions

    Raises
    ------
    InputError
        The number is below 1, or there is no such kind.

    Examples
    --------
    >>> quotas(200)
    {'bridge': 60, 'comparison': 50, 'intersection': 60, 'null': 30}
    """
    if count < 1:
        raise InputError(f"count is {count}; ask for at least one question")
    chosen = tuple(dict.fromkeys(kinds))
    unknown = [kind for kind in chosen if kind not in SHARES]
    if unknown or not chosen:
        raise InputError(
            f"no questions of kind {', '.join(unknown) or 'none'}; choose among {', '.join(TEMPLATE_KINDS)}"
        )
    total = sum(SHARES[kind] for kind in chosen)
    counts = {kind: int(count * SHARES[kind] / total + 1e-9) for kind in chosen}
    for kind in chosen[: count - sum(counts.values())]:
        counts[kind] += 1
    return counts


def make(graph: HLGraph, wanted: Mapping[QuestionKind, int], *, seed: int = 0, by: str = "") -> QuestionSet:
    """Make questions from the facts of a corpus, without a model.

    Parameters
    ----------
    graph : the corpus
    wanted : number of questions of each kind, see :func:`quotas`
    seed : seed of the selection; the same corpus and seed give the same questions on every store
    by : metadata field that names the document of a source, for corpora with several sources per document; default: each
        source is a document

    Returns
    -------
    QuestionSet
        Fewer questions than wanted if the facts yield no more; see :attr:`QuestionSet.lacking`.

    Raises
    ------
    UnknownNameError
        There is no such corpus.
    InputError
        The corpus has no fact, or no source has the field.
    """
    stored = graph.facts.read()
    if not stored.facts:
        raise InputError(f"corpus {stored.corpus!r} holds no fact to ask about; ingest text that states facts")
    maker = _Maker(stored, seed=seed, by=by)
    chosen: dict[QuestionKind, list[Candidate]] = {
        kind: maker.candidates(kind, _SURPLUS * count) for kind, count in wanted.items()
    }
    everything = [item for items in chosen.values() for item in items]
    leaking = leaks(graph, [(item.text, maker.answers(item)) for item in everything])
    if leaking:
        maker.dropped["one source alone answers it"] = len(leaking)
    refused = {everything[place].text for place in leaking}
    left = {kind: [each for each in items if each.text not in refused] for kind, items in chosen.items()}
    picked = {kind: maker.picked(items, wanted[kind]) for kind, items in left.items()}
    missing = sum(wanted.values()) - sum(map(len, picked.values()))
    for kind in _FILLING:
        if missing and kind in wanted:
            more = maker.picked(left[kind], missing, beside=picked[kind])
            missing -= len(more)
            picked[kind] += more
    questions = [maker.question(item) for items in picked.values() for item in items]
    return QuestionSet(
        tuple(questions), dict(wanted), dict(sorted((+maker.dropped).items(), key=lambda item: (-item[1], item[0])))
    )


def leaks(graph: HLGraph, asked: Sequence[tuple[str, Sequence[str]]]) -> dict[int, str]:
    """Find the questions that one source alone answers, by its words: their index, and the id of the first such source.

    Parameters
    ----------
    graph : the corpus; all its chunks are read once, 200 sources at a time
    asked : text and answers of each question; no answers for a null question
    """
    sources = sorted(graph.facts.sources())
    leaking: dict[int, str] = {}
    with progress.step("look for leaks", len(sources), unit="sources"):
        for chunks in graph.facts.chunks(sources):
            for source in words_of(chunks):
                for place, (text, answers) in enumerate(asked):
                    if place not in leaking and answers_alone(source, text, answers=answers):
                        leaking[place] = source.source_id
                progress.advance("look for leaks")
    return leaking


class _Maker:
    """Builds questions from facts, and counts the reasons for which candidates are dropped."""

    def __init__(self, stored: StoredFacts, *, seed: int, by: str) -> None:
        self.dropped: Counter[str] = Counter()
        self._stored = stored
        self._seed = seed
        self._askable = Askable(stored)
        self._document = documents(stored, by)
        by_subject, links = self._clauses()
        linked = (clause for clauses in links.values() for clause in clauses)
        by_object = group_by(linked, lambda clause: self._askable.group(clause.fact.object_id or ""))
        self._paths = Paths(
            by_subject,
            links,
            by_object,
            self._told_of(),
            self._askable,
            self._document,
            {name: self._askable.answers(name)[0] for name in stored.entities},
            self._named_in(),
            seed,
        )
        self._uses: Counter[str] = Counter()
        self._keys: list[frozenset[str]] = []
        self._ends: dict[tuple[str, str], set[str]] = {}

    def answers(self, item: Candidate) -> tuple[str, ...]:
        """The accepted answers of a candidate; empty for a null question."""
        return self._askable.answers(item.answer_id) if item.answer_id else ()

    def candidates(self, kind: QuestionKind, most: int) -> list[Candidate]:
        """The unambiguous candidates of a kind, in a seeded order."""
        every = sorted(BY_KIND[kind](self._paths), key=lambda item: self._paths.order(kind, item.text))
        accepted: list[Candidate] = []
        for item in every:
            if len(accepted) == most:
                break
            if fault := self._fault(item):
                self.dropped[fault] += 1
            else:
                accepted.append(item)
        return accepted

    def picked(self, items: Sequence[Candidate], count: int, *, beside: Sequence[Candidate] = ()) -> list[Candidate]:
        """The first candidates that overuse no clause and no answer, and resemble no other question."""
        answers = Counter(item.answer_id or item.text for item in beside)
        most = max(2, round(_ANSWER_SHARE * (count + len(beside))))
        compared = {item.clauses[0].statement.id for item in beside if item.kind == "comparison"}
        accepted: list[Candidate] = []
        for item in (each for each in items if each not in beside):
            if len(accepted) == count:
                break
            names = [clause.statement.id for clause in item.clauses]
            key = frozenset(content_words(item.text))
            is_asked = item.kind == "comparison" and item.clauses[0].statement.id in compared
            if (
                is_asked
                or any(self._uses[name] >= _CLAUSE_USES for name in names)
                or answers[item.answer_id or item.text] >= most
            ):
                self.dropped["its facts or its answer were used often enough"] += 1
            elif any(len(key & other) >= _ALIKE * len(key | other) for other in self._keys):
                self.dropped["another question is nearly the same"] += 1
            else:
                self._keys.append(key)
                self._uses.update(names)
                answers[item.answer_id or item.text] += 1
                compared.add(item.clauses[0].statement.id)
                accepted.append(item)
        return accepted

    def question(self, item: Candidate) -> MadeQuestion:
        """The record of a question, made from its candidate."""
        stored = self._stored
        text = f"{item.text[0].upper()}{item.text[1:]}"
        statements = [clause.statement for clause in item.clauses]
        gold = statements if item.answer_id else []
        sources = list(dict.fromkeys(one.source_id for one in gold))
        return MadeQuestion(
            id=content_id("question", stored.corpus, item.kind, text),
            question=text,
            answers=self.answers(item) or (NO_ANSWER,),
            type=item.kind,
            hops=len(sources),
            entities=names_in(text),
            source_ids=tuple(sources),
            chunk_ids=tuple(dict.fromkeys(one.chunk_id for one in gold)),
            statement_ids=tuple(dict.fromkeys(one.id for one in gold)),
            fact_ids=tuple(clause.fact.id for clause in item.clauses) if gold else (),
            supporting_passage_ids=tuple(
                dict.fromkeys(passage_of(stored.sources[one.source_id], one.chunk_id) for one in gold)
            ),
            evidence=tuple(dict.fromkeys(one.text for one in statements)),
            corpus=stored.corpus,
            fingerprint=stored.fingerprint,
            made_by=f"{TEMPLATES}, seed {self._seed}",
        )

    def _named_in(self) -> dict[str, frozenset[str]]:
        """The groups of the entities in the facts of each document."""
        named: dict[str, set[str]] = {}
        for fact, names in self._stored.facts:
            ends = {self._askable.group(end) for end in (fact.subject_id, fact.object_id) if end}
            for name in names:
                named.setdefault(self._document(self._stored.statements[name].source_id), set()).update(ends)
        return {document: frozenset(ends) for document, ends in named.items()}

    def _told_of(self) -> list[Clause]:
        """The facts whose subject can be named, with their own text as the clause."""
        stored, clauses = self._stored, []
        for fact, names in stored.facts:
            if names and not self._askable.refusal(fact.subject_id) and is_finite_verb(fact.predicate.split()[0]):
                text = fact.text.removeprefix(f"{stored.entities[fact.subject_id].name} ")
                clauses.append(Clause(fact, stored.statements[names[0]], fact.subject_id, text))
        return clauses

    def _clauses(self) -> tuple[dict[str, list[Clause]], dict[str, list[Clause]]]:
        """By subject: the clauses that identify it, each text once, and those that can end with their object."""
        stored = self._stored
        pairs = [(fact, stored.statements[name]) for fact, names in stored.facts for name in names]
        crowded = hubs(
            ((self._askable.group(fact.subject_id), one.source_id) for fact, one in pairs),
            source_count=len(stored.sources),
        )
        identifying: dict[tuple[str, ...], Clause] = {}
        links: dict[tuple[str, ...], Clause] = {}  # one text can contain several objects: "sued Kea in Orne"
        owners: dict[tuple[str, ...], set[str]] = {}
        for fact, statement in pairs:
            group = self._askable.group(fact.subject_id)
            clause = clause_of(fact, statement, source=stored.sources[statement.source_id], entities=stored.entities)
            if fault := self._askable.refusal(fact.subject_id):
                self.dropped[f"fact: the subject cannot be asked for: {fault}"] += 1
            elif group in crowded:
                self.dropped["fact: the subject is a hub"] += 1
            elif isinstance(clause, str):
                self.dropped[f"fact: {clause}"] += 1
            else:
                identifying.setdefault((group, clause.text), clause)
                owners.setdefault(clause.key, set()).add(group)
                if clause.ahead:
                    links.setdefault((group, clause.text, clause.fact.object_id or ""), clause)
        self.dropped["fact: several subjects share it"] += sum(
            len(owners[each.key]) > 1 for each in identifying.values()
        )
        return self._by_subject(identifying, owners), self._by_subject(links, owners)

    def _by_subject(
        self, clauses: Mapping[tuple[str, ...], Clause], owners: Mapping[tuple[str, ...], set[str]]
    ) -> dict[str, list[Clause]]:
        """The clauses that only one subject has, by subject, in a seeded order."""
        by_subject: dict[str, list[Clause]] = {}
        for (group, *_), clause in clauses.items():
            if len(owners[clause.key]) == 1:
                by_subject.setdefault(group, []).append(clause)

        def order(item: Clause) -> str:
            return checksum(str(self._seed), item.fact.id, item.statement.id)

        return {group: sorted(by_subject[group], key=order) for group in sorted(by_subject)}

    def _fault(self, item: Candidate) -> str:
        """The reason why a candidate is ambiguous or unusable; empty if it can be asked."""
        kind, answers = item.kind, self.answers(item)
        shown = item.text.rpartition(":")[0] if kind == "comparison" else item.text
        middle = self._askable.answers(item.about[0]) if kind == "bridge" else ()
        nameless = [clause for clause in item.clauses if not names_in(f"x {clause.text}")]
        faults: dict[str, Callable[[], bool]] = {
            "the question names its answer": lambda: any(_stands_in(name, shown) for name in answers),
            "the question names the middle of its path": lambda: any(_stands_in(name, shown) for name in middle),
            "the path has two answers": lambda: self._has_two_answers(item),
            "the two names are alike": lambda: kind in ("comparison", "null") and self._are_alike(item),
            "the question names nothing": lambda: not names_in(shown),
            "a null question needs a name in each clause": lambda: kind == "null" and bool(nameless),
            "the question is too long": lambda: len(words(item.text)) > _MOST_WORDS,
        }
        return next((reason for reason, is_so in faults.items() if is_so()), "")

    def _has_two_answers(self, item: Candidate) -> bool:
        return any(len(self._matching(clause, end)) > 1 for clause, end in self._asked_ends(item))

    def _asked_ends(self, item: Candidate) -> Iterator[tuple[Clause, str]]:
        """The clauses that must have a single subject or object, each with the end that the question leaves open."""
        first, second = item.clauses
        if item.kind == "bridge":
            yield first, "subject"
        if item.kind in ("bridge", "intersection"):
            yield second, "object" if self._paths.told(second) in item.text else "subject"

    def _matching(self, clause: Clause, end: str) -> set[str]:
        """The entities at one end of all facts with the same predicate and other end as the fact of a clause."""
        if (clause.fact.id, end) not in self._ends:
            wanted, group = clause.fact, self._askable.group
            self._ends[clause.fact.id, end] = {
                group(fact.subject_id if end == "subject" else fact.object_id or "")
                for fact, _ in self._stored.facts
                if fact.predicate == wanted.predicate
                and fact.object_id
                and (
                    fact.object_id == wanted.object_id
                    if end == "subject"
                    else group(fact.subject_id) == group(wanted.subject_id)
                )
            }
        return self._ends[clause.fact.id, end]

    def _are_alike(self, item: Candidate) -> bool:
        one, other = (
            {part for name in self._askable.answers(end) for part in words(name)}
            for end in [name for name in (item.answer_id, *item.about) if name]
        )
        return bool(one & other)


def _stands_in(name: str, text: str) -> bool:
    wanted = " ".join(words(name))
    return bool(wanted) and f" {wanted} " in f" {' '.join(words(text))} "


def documents(stored: StoredFacts, by: str) -> Callable[[str], str]:
    """Return a function that maps the id of a source to its document.

    Parameters
    ----------
    stored : the facts and sources of a corpus
    by : metadata field that names the document of a source; empty: each source is a document

    Raises
    ------
    InputError
        No source has the field; the message names the fields of the corpus.
    """
    names = sorted({name for source in stored.sources.values() for name in source.metadata})
    if by and by not in names:
        known = f"there are: {', '.join(names)}" if names else "they have no metadata"
        raise InputError(f"no source of corpus {stored.corpus!r} has the metadata field {by!r}; {known}")

    def document(source: str) -> str:
        value = stored.sources[source].metadata.get(by) if by else None
        return source if value is None else f"{by}:{value}"

    return document


def passage_of(source: Source, chunk_id: str) -> str:
    """The id of a passage in ``hlgraph eval``: the original id if eval ingested the corpus, else the id of the chunk.

    Parameters
    ----------
    source : the source of the chunk
    chunk_id : the chunk
    """
    return source.uri.removeprefix(PREFIX) if source.uri.startswith(PREFIX) else chunk_id
