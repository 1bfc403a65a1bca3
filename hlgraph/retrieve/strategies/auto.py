"""Picks the strategy that fits a question, by its wording and by the shape of a cheap first search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from hlgraph.algorithms.word_counts import WordCounts
from hlgraph.errors import InputError
from hlgraph.records import Scalar, Statement
from hlgraph.retrieve.question.keywords import broad, chain, comparison
from hlgraph.retrieve.question.subqueries import names
from hlgraph.retrieve.request import Unit
from hlgraph.retrieve.retriever import (
    FOLDED,
    By,
    Ranked,
    Retriever,
    by_of,
    check_by,
    check_choice,
    check_counts,
    searches_of,
    with_by,
)
from hlgraph.retrieve.session import Session
from hlgraph.retrieve.steps.statement_paths import Coverage
from hlgraph.retrieve.strategies.fused import FusedRetriever
from hlgraph.retrieve.strategies.global_ import GlobalRetriever
from hlgraph.retrieve.strategies.path import TUNED_PATH
from hlgraph.retrieve.strategies.statement import TUNED_STATEMENT

Joining = Literal["fused", "path"]
SINGLE, BROAD = "statement", "global"
_PARTS: Mapping[str, Retriever] = {
    "fused": FusedRetriever(),
    "path": TUNED_PATH,
    SINGLE: TUNED_STATEMENT,
    BROAD: GlobalRetriever(),
}


class Wording(NamedTuple):
    """Features of the wording of a question.

    Attributes
    ----------
    broad, comparison, chain : the matching words; empty if there are none
    names : number of names
    """

    broad: str
    comparison: str
    chain: str
    names: int


class Shape(NamedTuple):
    """The shape of the best statements of a first search.

    Attributes
    ----------
    one_source : the share of them that belongs to the most frequent source, from 0 to 1
    covered : the question's content words that this source covers, as a share of those that all of them cover together, from 0 to
        1; rare words count more, see :class:`hlgraph.retrieve.steps.statement_paths.Coverage`
    """

    one_source: float
    covered: float


class Choice(NamedTuple):
    """A strategy, and the reason for it."""

    strategy: str
    because: str


@dataclass(frozen=True, slots=True)
class AutoRetriever:
    """Pick a strategy for the question, and give the reason (ours; the papers name the lack of such a choice as a limitation).

    1. A question about the whole that names nothing ("what are the main disputes?"), or one for a report, goes to ``global``
       (ToPG: its Global mode is for abstract questions).
    2. A question whose words compare things, or name one thing through another ("the father of the director of ..."), or that
       has several names, goes to ``joining``: its evidence is in more than one source.
    3. Every other question is searched as ``statement`` does. If one source dominates the best statements, the search stops
       there, and its result is that of ``statement`` (HLG, C.1.2: early stopping for questions about a single source).
       Otherwise ``joining`` goes on; the vector of the question and the records that were read are reused.

    The word lists are English. A question in another language is judged only by its names and by the first search, which treats
    some questions that need several sources as questions about one. Without the extra ``communities``, ``global`` is not
    available, and such questions go to ``joining``.

    The evidence consists of statements unless chunks are requested. The picked strategy runs with its tuned parameters, and its
    default diversity applies. The step ``choose`` of the explanation has the strategy, the reason, every feature and its threshold.

    Attributes
    ----------
    joining : for questions over several sources: ``fused`` (default; finds most) or ``path`` (half the time)
    names : minimum number of names that count as several (default 2); a bare number is not a name
    looked_at : number of best statements of the first search that are examined (default 5)
    one_source : minimum share of them that makes one source dominant (default 1: all of them), together with ``covered``
    covered : minimum share of the question that this source must cover, relative to all of them (default .95: others add nothing)
    is_report : the question is for a report, and is treated as one about the whole
    by : who decides in the steps of the picked strategy that a chat model can take: ``rules`` (default) or ``chat``, the chat
        model. The strategy itself is always picked by rules; ``statement`` and ``path`` have no step for a model

    References
    ----------
    HLG, appendix C.1.2. ToPG, section 2.3.
    """

    name: ClassVar[str] = "auto"
    unit: ClassVar[Unit] = "chunk"
    returned: ClassVar[Unit] = "statement"
    joining: Joining = "fused"
    names: int = 2
    looked_at: int = 5
    one_source: float = 1.0
    covered: float = 0.95
    is_report: bool = False
    by: By = "rules"

    def __post_init__(self) -> None:
        """Refuse parameters that cannot be used."""
        check_choice("joining", self.joining, choices=get_args(Joining))
        check_by(self.by)
        check_counts(self)
        for name in ("one_source", "covered"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise InputError(f"{name} is {value}; it must be from 0 to 1")

    def rank(self, session: Session, k: int) -> Ranked:
        """See :class:`Retriever`."""
        if session.route:  # a search that looks wider does so with the same strategy
            return self._rank(session, k)
        wording = worded(session.request.question)
        choice = self.by_wording(wording, has_communities=find_spec("graspologic_native") is not None)
        first: Ranked | None = None
        shape: Shape | None = None
        if choice is None:
            self._send(session, k)
            with session.notes.named("first search"):
                first = _PARTS[SINGLE].rank(session, _wanted(session, _PARTS[SINGLE], k))
            shape = shape_of(session, first, most=self.looked_at)
            choice = self.by_shape(shape)
        with session.step("choose") as step:
            step.count = 1
            step.details = self._details(choice, wording, shape)
        session.route = choice.strategy
        if self.by == "chat" and by_of(_PARTS[session.route]) is None:
            session.fall_back(f"the strategy {session.route} has no step that a chat model can take, so rules decided")
        return first if first is not None and choice.strategy == SINGLE else self._rank(session, k)

    def _rank(self, session: Session, k: int) -> Ranked:
        strategy = _PARTS[session.route]
        if by_of(strategy) is not None:
            strategy = with_by(strategy, self.by)
        with session.notes.named(session.route):
            return strategy.rank(session, _wanted(session, strategy, k))

    def _send(self, session: Session, k: int) -> None:
        """Send the searches of the first search together with those of ``joining`` for the same text, which most questions need."""
        parts = (_PARTS[SINGLE], _PARTS[self.joining])
        asked = [search for part in parts for search in searches_of(part, session.request, k=_wanted(session, part, k))]
        session.send([search for search in asked if search.question == session.request.question])

    def by_wording(self, wording: Wording, *, has_communities: bool) -> Choice | None:
        """The strategy that the wording requires; None if the choice depends on a first search.

        Parameters
        ----------
        wording : of the question
        has_communities : whether the extra ``communities`` is installed

        Returns
        -------
        Choice or None
        """
        if self.is_report or wording.broad:
            why = (
                "it is for a report"
                if self.is_report
                else f"it is about the whole ({wording.broad!r}), and names nothing"
            )
            if has_communities:
                return Choice(BROAD, why)
            return Choice(self.joining, f"{why}; but global needs the extra communities")
        if wording.comparison:
            return Choice(self.joining, f"it compares ({wording.comparison!r})")
        if wording.chain:
            return Choice(self.joining, f"it names one thing through another ({wording.chain!r})")
        if wording.names >= self.names:
            return Choice(self.joining, f"it has {wording.names} names")
        return None

    def by_shape(self, shape: Shape) -> Choice:
        """The strategy that fits the shape of the first search."""
        if shape.one_source < self.one_source:
            return Choice(self.joining, "no source dominates the best statements")
        if shape.covered < self.covered:
            return Choice(self.joining, "the source that dominates covers too little of the question")
        return Choice(SINGLE, "one source dominates the best statements, and covers the question")

    def _details(self, choice: Choice, wording: Wording, shape: Shape | None) -> dict[str, Scalar]:
        """Details for the explanation: the choice, the features, and their thresholds."""
        details: dict[str, Scalar] = {
            "strategy": choice.strategy,
            "because": choice.because,
            "is_report": self.is_report,
            **{name: words or "no" for name, words in wording._asdict().items() if name != "names"},
            "names": wording.names,
            "names_at_least": self.names,
        }
        if shape is not None:
            for name, value in shape._asdict().items():
                details[name] = round(float(value), 3)
                details[f"{name}_at_least"] = getattr(self, name)
        return details


def for_report(strategy: str | Retriever) -> str | Retriever:
    """The strategy for a report: ``auto`` with ``is_report`` set; other strategies are returned as they are."""
    chosen = AutoRetriever() if strategy == "auto" else strategy
    return replace(chosen, is_report=True) if isinstance(chosen, AutoRetriever) else chosen


def worded(question: str) -> Wording:
    """The wording of a question.

    Examples
    --------
    >>> worded("Who is older, Mara Quill or Ivo Brandt?")
    Wording(broad='', comparison='older', chain='', names=2)
    """
    named = [name for name in names(question) if not name.isdigit()]
    return Wording(broad(question), comparison(question), chain(question), len(named))


def shape_of(session: Session, ranked: Ranked, *, most: int) -> Shape:
    """The shape of the best statements; all 0 if there are none. Makes no round trip: everything is cached.

    Parameters
    ----------
    session : with the question
    ranked : the statements
    most : number of statements that are examined

    Returns
    -------
    Shape
    """
    ids = [hit.id for hit in ranked.hits]
    records = session.records(Statement, ids)
    statements = [records[item] for item in ids if item in records]
    counted = session.words.of([item.text for item in statements])
    return shape(counted, [item.source_id for item in statements], most=most)


def shape(counted: WordCounts, sources: Sequence[str], *, most: int) -> Shape:
    """The shape of statements; the rarity of words is computed over all of them.

    Of sources with equally many statements, the one with the best statement counts.

    Parameters
    ----------
    counted : counts of the question's content words in the statements, best first
    sources : the source of each statement
    most : number of statements that are examined

    Returns
    -------
    Shape

    Examples
    --------
    >>> from hlgraph.algorithms.word_counts import count_words
    >>> counted = count_words(["bridge", "old"], ["The bridge is old.", "The bridge.", "Old."])
    >>> shape(counted, ["a", "b", "a"], most=3)
    Shape(one_source=0.6666666666666666, covered=1.0)
    """
    best = sources[:most]
    if not best:
        return Shape(0.0, 0.0)
    [(source, count)] = Counter(best).most_common(1)
    coverage = Coverage(counted)
    mine = [at for at, item in enumerate(best) if item == source]
    together = float(coverage.of(np.arange(len(best))[np.newaxis])[0])
    alone = float(coverage.of(np.array([mine]))[0])
    return Shape(count / len(best), alone / together if together else 0.0)


def _wanted(session: Session, retriever: Retriever, k: int) -> int:
    """The number of nodes to request: several statements may belong to one chunk."""
    return k * FOLDED if retriever.unit == "statement" and session.request.unit != "statement" else k
