"""From candidates to decisions: the certain ones by rule, the others by a chat model; what contradicts itself is held back."""

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
from hlgraph.stores.protocols import Stores

RULE = "same words/1"
"""The rule that merges certain candidates."""
PAIRS = 8
"""Pairs that one call judges."""
_STATEMENTS = 3
"""Sentences that the model is shown of one entity."""


@dataclass(frozen=True, slots=True)
class JudgedMerges:
    """What judging came to.

    Attributes
    ----------
    merged, apart, held : decisions that were stored (or would be): merges, pairs that are two, and pairs that were judged to
        be one but would join two that are kept apart
    undecided : candidates that nothing was settled about, and why: they are asked about again the next time
    conflicts : of ``held``, the pair and the two that it would join
    calls : how many calls of the chat model the uncertain pairs take, or took when no reply had to be repaired
    left_out : candidates beyond the bound of the query
    is_dry_run : nothing was asked or stored
    names : of each entity, by id
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
    """What came of asking the chat model: decisions, what is undecided and why, the number of calls, and what ended them."""

    decisions: list[Decision] = field(default_factory=list)
    undecided: list[tuple[Candidate, str]] = field(default_factory=list)
    calls: int = 0
    end: ModelError | None = None


def ask_model(corpus: str, candidates: Sequence[Candidate], *, calls: Executor, stores: Stores) -> Asked:
    """Ask about candidates, each with a few of the statements that mention its two entities. Raises MissingExtraError."""
    from hlgraph.resolve.judge import ChatJudge, Side

    sides = {side.id: side for item in candidates for side in (item.alias, item.canonical)}
    found = statements_of(corpus, sorted(sides), most=_STATEMENTS, stores=stores)
    names = sorted({name for some in found.values() for name in some})
    records = stores.graph.records(Kind.STATEMENT, names)
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
    """How many calls so many pairs take, when no reply has to be repaired."""
    return -(-pairs // PAIRS)


def decision_of(item: Candidate, verdict: Verdict, *, by: Decider, made_by: str) -> Decision:
    """A candidate, decided now."""
    ends = item.alias.corpus, item.alias.id, item.canonical.id
    return Decision(*ends, verdict, by, made_by, item.why, item.score, now())


def now() -> str:
    """The moment, as decisions have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def check_merges(new: Iterable[Decision], every: Iterable[Decision]) -> Settled:
    """What becomes of the merges among new decisions beside those that there are."""
    held, added = list(every), list(new)
    apart = sorted({item.pair for item in (*held, *added) if item.verdict is Verdict.DIFFERENT})
    merges = [item.pair for item in added if item.verdict is Verdict.SAME]
    return settle(merges, same=[item.pair for item in held if item.verdict is Verdict.SAME], apart=apart)


def settled_merges(decisions: Sequence[Decision], every: Sequence[Decision]) -> JudgedMerges:
    """What becomes of decisions: rules first, then the surest; those whose two are one already say nothing new."""
    ordered = sorted(decisions, key=lambda item: (item.by is not Decider.RULE, -item.score, item.pair))
    settled = check_merges(ordered, every)
    same = {item.pair: item for item in ordered if item.verdict is Verdict.SAME}
    return JudgedMerges(
        merged=tuple(same[pair] for pair in settled.joined),
        apart=tuple(item for item in ordered if item.verdict is Verdict.DIFFERENT),
        held=tuple(replace(same[item.pair], verdict=Verdict.OPEN) for item in settled.conflicts),
        conflicts=settled.conflicts,
    )
