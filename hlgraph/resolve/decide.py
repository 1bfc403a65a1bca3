"""Decisions about candidates: certain pairs by rule, others by a chat model; contradictory merges are held back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from hlgraph.algorithms.merging import Conflict, Settled, settle
from hlgraph.errors import ModelError
from hlgraph.models.executor import Executor
from hlgraph.records import Kind, Statement
from hlgraph.resolve.candidates import Candidate, statements_of
from hlgraph.stores.merges import Decider, Decision, Verdict
from hlgraph.stores.protocols import Scope, Stores

RULE = "same words/1"
"""Name of the rule that merges certain candidates."""
PAIRS = 8
"""Number of pairs per model call."""
_STATEMENTS = 3
"""Number of statements about each entity that the model is shown."""


@dataclass(frozen=True, slots=True)
class JudgedMerges:
    """The result of judging candidates. In a dry run the decisions are those that would be stored.

    Attributes
    ----------
    merged : decisions that two entities are the same
    apart : decisions that two entities are different
    held : pairs judged to be the same, held back because the merge would unite entities that must stay apart
    undecided : candidates without a decision, and the reason; they are asked about again next time
    conflicts : for each of ``held`` the pair and the two entities that it would unite
    calls : number of model calls for the uncertain pairs, not counting repairs
    left_out : number of candidates beyond the limit of the query
    is_dry_run : True if no model was called and nothing was stored
    names : name of each entity, by id
    """

    merged: tuple[Decision, ...] = ()
    apart: tuple[Decision, ...] = ()
    held: tuple[Decision, ...] = ()
    undecided: tuple[tuple[Candidate, str], ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    calls: int = 0
    left_out: int = 0
    is_dry_run: bool = False
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Asked:
    """The result of :func:`ask_model`.

    Attributes
    ----------
    decisions : one for each pair that the model decided
    undecided : candidates without a decision, and the reason
    calls : number of model calls, not counting repairs
    end : the error that ended the calls early; None if there was none
    """

    decisions: list[Decision] = field(default_factory=list)
    undecided: list[tuple[Candidate, str]] = field(default_factory=list)
    calls: int = 0
    end: ModelError | None = None


def ask_model(corpus: str, candidates: Sequence[Candidate], *, calls: Executor, stores: Stores) -> Asked:
    """Ask a chat model whether the entities of each candidate are the same; up to 3 statements about each are shown.

    Parameters
    ----------
    corpus : the corpus of the candidates
    candidates : pairs to judge
    calls : the executor of the chat model
    stores : where the statements are read

    Returns
    -------
    Asked
        Decisions, and the pairs that stay undecided.

    Raises
    ------
    MissingExtraError
        A package of the model is not installed.
    """
    from hlgraph.resolve.judge import ChatJudge, Side

    sides = {side.id: side for item in candidates for side in (item.alias, item.canonical)}
    found = statements_of(corpus, sorted(sides), most=_STATEMENTS, stores=stores)
    names = sorted({name for some in found.values() for name in some})
    records = stores.graph.records(Kind.STATEMENT, names, scope=Scope(corpus))
    texts = {item.id: item.text for item in records if isinstance(item, Statement)}
    shown = {
        key: Side(side.name, side.kind, tuple(texts[name] for name in found.get(key, ()) if name in texts))
        for key, side in sides.items()
    }
    judge = ChatJudge(calls, pairs=PAIRS)
    judged = judge.judge([(shown[item.alias.id], shown[item.canonical.id]) for item in candidates])
    asked = Asked(calls=calls_for(len(candidates)), end=judge.end)
    for item, said in zip(candidates, judged, strict=True):
        if said.is_same is None:
            asked.undecided.append((item, said.reason))
        else:
            verdict = Verdict.SAME if said.is_same else Verdict.DIFFERENT
            asked.decisions.append(decision_of(item, verdict, by=Decider.MODEL, made_by=judge.fingerprint))
    return asked


def calls_for(pairs: int) -> int:
    """Number of model calls for ``pairs`` pairs, not counting repairs."""
    return -(-pairs // PAIRS)


def decision_of(item: Candidate, verdict: Verdict, *, by: Decider, made_by: str) -> Decision:
    """The decision about a candidate, dated now.

    Parameters
    ----------
    item : the candidate
    verdict : what was decided
    by : whether a rule, a model or a person decided
    made_by : name of the rule, fingerprint of the model, or name of the person

    Returns
    -------
    Decision
        With the evidence and the score of the candidate.
    """
    ends = item.alias.corpus, item.alias.id, item.canonical.id
    return Decision(*ends, verdict, by, made_by, item.why, item.score, now())


def now() -> str:
    """The current time in UTC, in ISO format with a resolution of a second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_merges(new: Iterable[Decision], every: Iterable[Decision]) -> Settled:
    """Which merges among new decisions can be made, given the existing decisions.

    Parameters
    ----------
    new : decisions to add
    every : existing decisions of the corpus

    Returns
    -------
    Settled
        Merges that can be made, that change nothing, or that conflict.
    """
    held, added = list(every), list(new)
    apart = sorted({item.pair for item in (*held, *added) if item.verdict is Verdict.DIFFERENT})
    merges = [item.pair for item in added if item.verdict is Verdict.SAME]
    return settle(merges, same=[item.pair for item in held if item.verdict is Verdict.SAME], apart=apart)


def settled_merges(decisions: Sequence[Decision], every: Sequence[Decision]) -> JudgedMerges:
    """Sort decisions into merges, pairs that stay apart and conflicts; merges of entities united already are dropped.

    Merges by rule are made first, then the others by descending score.

    Parameters
    ----------
    decisions : new decisions
    every : existing decisions of the corpus

    Returns
    -------
    JudgedMerges
        The sorted decisions and the conflicts.
    """
    ordered = sorted(decisions, key=lambda item: (item.by is not Decider.RULE, -item.score, item.pair))
    settled = check_merges(ordered, every)
    same = {item.pair: item for item in ordered if item.verdict is Verdict.SAME}
    return JudgedMerges(
        merged=tuple(same[pair] for pair in settled.joined),
        apart=tuple(item for item in ordered if item.verdict is Verdict.DIFFERENT),
        held=tuple(replace(same[item.pair], verdict=Verdict.OPEN) for item in settled.conflicts),
        conflicts=settled.conflicts,
    )
