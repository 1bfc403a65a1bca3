"""Decide candidates: certain pairs by rule, the others by a chat model. Contradictory merges are held back.

:func:`ask_model` shows pairs to a :class:`ChatJudge`, :func:`settled_merges` sorts the decisions into merges, pairs that stay
apart and conflicts.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

from hlgraph import progress
from hlgraph.algorithms.merging import Conflict, Settled, settle
from hlgraph.errors import BudgetError, ModelAccessError, ModelAnswerError, ModelError, ModelUnavailableError
from hlgraph.extract.chat.messages import Messages, ReplyError, ReplyPart, ask_twice
from hlgraph.extract.chat.messages import prompt as extraction_prompt
from hlgraph.models.accounts.ledger import Purpose
from hlgraph.models.executor import Executor
from hlgraph.models.prompts import delimited, read_prompt
from hlgraph.records import Statement
from hlgraph.resolve.candidates import Candidate, statements_of
from hlgraph.stores.batches import batched
from hlgraph.stores.protocols import Decider, Decision, Scope, Stores, Verdict, read_records

RULE = "same words/1"
"""Name of the rule that merges certain candidates."""
PAIRS = 8
"""Number of pairs per model call."""
_STATEMENTS = 3
"""Number of statements about each entity that the model gets."""


@dataclass(frozen=True, slots=True)
class JudgedMerges:
    """The result of judging candidates. A dry run gives the decisions that would be stored.

    Attributes
    ----------
    merged : decisions that two entities are the same
    apart : decisions that two entities are different
    held : pairs judged to be the same, but held back because the merge would unite entities that must stay apart
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

    sides = {side.id: side for candidate in candidates for side in (candidate.alias, candidate.canonical)}
    statements = statements_of(corpus, sorted(sides), most=_STATEMENTS, stores=stores)
    names = sorted({name for some in statements.values() for name in some})
    asserted = read_records(stores.graph, Statement, ids=names, scope=Scope(corpus))
    shown = {
        key: Side(
            side.name, side.kind, tuple(asserted[name].text for name in statements.get(key, ()) if name in asserted)
        )
        for key, side in sides.items()
    }
    judge = ChatJudge(calls, pairs=PAIRS)
    judged = judge.judge([(shown[candidate.alias.id], shown[candidate.canonical.id]) for candidate in candidates])
    asked = Asked(calls=calls_for(len(candidates)), end=judge.end)
    for candidate, said in zip(candidates, judged, strict=True):
        if said.is_same is None:
            asked.undecided.append((candidate, said.reason))
        else:
            verdict = Verdict.SAME if said.is_same else Verdict.DIFFERENT
            asked.decisions.append(decision_of(candidate, verdict, by=Decider.MODEL, made_by=judge.fingerprint))
    return asked


def calls_for(pairs: int) -> int:
    """Number of model calls for ``pairs`` pairs, not counting repairs."""
    return -(-pairs // PAIRS)


def decision_of(candidate: Candidate, verdict: Verdict, *, by: Decider, made_by: str) -> Decision:
    """The decision about a candidate, dated now.

    Parameters
    ----------
    candidate : the candidate
    verdict : the decision
    by : whether a rule, a model or a person decided
    made_by : name of the rule, fingerprint of the model, or name of the person

    Returns
    -------
    Decision
        With the evidence and the score of the candidate.
    """
    ends = candidate.alias.corpus, candidate.alias.id, candidate.canonical.id
    return Decision(*ends, verdict, by, made_by, candidate.why, candidate.score, now())


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
    known, added = list(every), list(new)
    apart = sorted({decision.pair for decision in (*known, *added) if decision.verdict is Verdict.DIFFERENT})
    merges = [decision.pair for decision in added if decision.verdict is Verdict.SAME]
    return settle(merges, same=[decision.pair for decision in known if decision.verdict is Verdict.SAME], apart=apart)


def settled_merges(decisions: Sequence[Decision], every: Sequence[Decision]) -> JudgedMerges:
    """Sort decisions into merges, pairs that stay apart and conflicts; merges of already united entities are dropped.

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
    ordered = sorted(decisions, key=lambda decision: (decision.by is not Decider.RULE, -decision.score, decision.pair))
    settled = check_merges(ordered, every)
    same = {decision.pair: decision for decision in ordered if decision.verdict is Verdict.SAME}
    return JudgedMerges(
        merged=tuple(same[pair] for pair in settled.joined),
        apart=tuple(decision for decision in ordered if decision.verdict is Verdict.DIFFERENT),
        held=tuple(replace(same[conflict.pair], verdict=Verdict.OPEN) for conflict in settled.conflicts),
        conflicts=settled.conflicts,
    )


# The judge, several pairs per call. If a reply cannot be parsed, or does not judge every pair exactly once, the model is asked
# once more with the reason. If that fails too, the pairs stay undecided with the reason. The model answers with one word per
# pair, so no text from a document can get into a stored decision.


_PROMPT = Path(__file__).parent / "prompts" / "same_entity.md"
_LONGEST = 400  # characters of a statement in the prompt


class Side(NamedTuple):
    """One entity of a pair, as the prompt shows it."""

    name: str
    kind: str
    statements: tuple[str, ...]


class _Verdict(ReplyPart):
    pair: int
    verdict: Literal["same", "different", "unsure"]


class Verdicts(ReplyPart):
    """The reply: one verdict a pair."""  # part of the schema that providers are sent

    verdicts: list[_Verdict]


class Judged(NamedTuple):
    """The verdict on a pair.

    Attributes
    ----------
    is_same : True: same entity; False: different entities; None: undecided
    reason : why the pair is undecided; otherwise empty
    """

    is_same: bool | None
    reason: str = ""


class ChatJudge:
    """Judges pairs of entities with a chat model.

    Parameters
    ----------
    calls : executor of the model, with its ledger (stage ``resolve``), cached replies and budget
    pairs : number of pairs per call, default 8

    Attributes
    ----------
    end : the error that ended the calls early, such as a spent budget; None if there was none
    """

    def __init__(self, calls: Executor, *, pairs: int = 8) -> None:
        self._calls = calls
        self._pairs = pairs
        self._lock = threading.Lock()
        self.end: ModelError | None = None

    @property
    def fingerprint(self) -> str:
        """The versions of the prompts and the fingerprint of the model."""
        versions = f"{read_prompt(_PROMPT).version}+{extraction_prompt('repair').version}"
        return f"{versions}/{self._calls.fingerprint}"

    def judge(self, pairs: Sequence[tuple[Side, Side]]) -> list[Judged]:
        """One verdict per pair, in order. Errors of the model are not raised: see ``end``."""
        groups = list(batched(pairs, self._pairs))
        with progress.step("judge", len(groups), unit="calls"):
            return [judged for some in self._calls.run(self._judge, groups, step="judge") for judged in some]

    def _judge(self, pairs: Sequence[tuple[Side, Side]]) -> list[Judged]:
        if self.end is not None:
            return [Judged(None, f"no model was asked: {self.end}")] * len(pairs)
        try:
            reply = self._ask(pairs)
        except (ModelUnavailableError, ModelAccessError, BudgetError) as error:
            with self._lock:
                self.end = self.end or error
            return [Judged(None, str(error))] * len(pairs)
        except (ModelAnswerError, ReplyError) as error:
            return [Judged(None, str(error))] * len(pairs)
        said = {judged.pair: judged.verdict for judged in reply.verdicts}
        return [
            Judged(None, "the model is unsure") if said[number] == "unsure" else Judged(said[number] == "same")
            for number in range(1, len(pairs) + 1)
        ]

    def _ask(self, pairs: Sequence[tuple[Side, Side]]) -> Verdicts:
        chosen = read_prompt(_PROMPT)
        return ask_twice(
            self._calls,
            Messages(chosen.system, chosen.filled({"pairs": _shown(pairs)})),
            form=Verdicts,
            purpose=Purpose(stage="resolve", prompt=chosen.version),
            check=functools.partial(_check_numbers, count=len(pairs)),
        )


def _shown(pairs: Sequence[tuple[Side, Side]]) -> str:
    parts = []
    for number, pair in enumerate(pairs, 1):
        lines = [line for name, side in zip("AB", pair, strict=True) for line in _lines(name, side)]
        shown = delimited("pair", "\n".join(lines))
        parts.append(f"[{number}]\n{shown}")
    return "\n\n".join(parts)


def _lines(letter: str, side: Side) -> list[str]:
    kind = f" ({side.kind})" if side.kind else ""
    return [f"{letter}: {side.name}{kind}", *(f"  - {' '.join(text.split())[:_LONGEST]}" for text in side.statements)]


def _check_numbers(reply: Verdicts, *, count: int) -> None:
    """Raises ReplyError unless there is one verdict for each pair."""
    numbers = sorted(judged.pair for judged in reply.verdicts)
    if numbers != list(range(1, count + 1)):
        raise ReplyError(f"there must be one verdict for each pair from 1 to {count}; there are some for {numbers}")
