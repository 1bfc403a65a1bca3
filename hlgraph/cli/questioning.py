"""Implementation and output of ``hlgraph questions make``, for both methods."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from hlgraph.cli.commands.ledger import money
from hlgraph.cli.commands.plan import duration
from hlgraph.cli.output import note, print_json, say
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlgraph.evaluate.questions.making import MadeSet
    from hlgraph.evaluate.questions.record import QuestionKind
    from hlgraph.evaluate.questions.writing import WrittenSet
    from hlgraph.models.accounts.budget import Budget, ExpectedCost
    from hlgraph.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ByChat:
    """Generates questions by a chat model."""

    settings: Settings
    wanted: dict[QuestionKind, int]
    validator: str
    seed: int
    by: str

    def written(self, budget: Budget | None) -> WrittenSet:
        """The questions."""
        from hlgraph.evaluate.questions.writing import two_models, write
        from hlgraph.sdk.client import connect

        with (
            connect(self.settings) as graph,
            two_models(self.settings, validator=self.validator, budget=budget) as (writer, second),
        ):
            return write(graph, self.wanted, writer=writer, validator=second, seed=self.seed, by=self.by)

    def planned(self) -> list[ExpectedCost]:
        """Their cost by model; calls no model."""
        from hlgraph.evaluate.questions.plan import ForecastExecutor
        from hlgraph.evaluate.questions.writing import two_models, write
        from hlgraph.sdk.client import connect

        with (
            connect(self.settings) as graph,
            two_models(self.settings, validator=self.validator, is_planned=True) as (writer, second),
        ):
            first = ForecastExecutor(writer)
            other = first if second is writer else ForecastExecutor(second)
            write(graph, self.wanted, writer=first, validator=other, seed=self.seed, by=self.by)
            return [item.cost() for item in dict.fromkeys((first, other))]


def even(count: int, kinds: list[QuestionKind]) -> dict[QuestionKind, int]:
    """The number of questions of each kind: divided evenly, with the remainder going to the first kinds."""
    from hlgraph.evaluate.questions.writing import CHAT_KINDS

    if count < 1:
        raise InputError(f"count is {count}; ask for at least one question")
    chosen = tuple(dict.fromkeys(kinds)) or tuple(kind for kind in CHAT_KINDS if kind != "abstract")
    return {kind: count // len(chosen) + (place < count % len(chosen)) for place, kind in enumerate(chosen)}


def show_plan(costs: Sequence[ExpectedCost], *, is_json: bool) -> None:
    """Print what each model would cost."""
    if is_json:
        print_json({"models": [asdict(item) for item in costs]})
        return
    for item in costs:
        basis = (
            f"measured on {item.measured_calls:,} calls" if item.measured_calls else "lengths of replies are guessed"
        )
        say(
            f"{item.model}: {item.calls:,} calls, {item.kept_calls:,} more answered from stored replies",
            f"tokens: {item.input_tokens:,} in, {item.output_tokens:,} out; {basis}",
            f"money: {money(item.usd)}",
            f"time: {duration(item.seconds)}",
        )


def finish(found: MadeSet | WrittenSet, out: str, *, is_json: bool) -> None:
    """Write the file and the report; the exit code is 1 if there is no question."""
    from hlgraph.evaluate.questions.record import write_questions
    from hlgraph.evaluate.questions.writing import WrittenSet

    unreadable = dict(found.unreadable) if isinstance(found, WrittenSet) else {}
    counts = Counter(item.type for item in found.questions)
    if found.questions:
        write_questions(found.questions, out)
    if is_json:
        print_json(
            {
                "file": str(Path(out)),
                "questions": len(found.questions),
                "by_kind": dict(counts),
                "wanted": dict(found.wanted),
                "lacking": found.lacking,
                "not_used": dict(found.dropped),
                "unreadable_replies": unreadable,
            }
        )
    else:
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in found.wanted)
        say(f"{len(found.questions)} questions in {out}: {kinds}")
        if found.dropped:
            say("not used:", *(f"  {number:,}  {reason}" for reason, number in found.dropped.items()))
        if unreadable:
            said = ", ".join(f"{number} to {name}" for name, number in unreadable.items())
            note(f"hlgraph: warning: replies that could not be read: {said}")
        for kind, count in found.lacking.items():
            note(f"hlgraph: warning: {count} of {found.wanted[kind]} {kind} questions could not be made")
        is_ended = isinstance(found, WrittenSet) and found.stopped is not None
        if len(found.questions) < sum(found.wanted.values()) and not is_ended:
            note("hlgraph: warning: the corpus gives no more; ingest more sources, or ask for other kinds")
    if isinstance(found, WrittenSet) and found.stopped is not None:
        raise found.stopped
    if not found.questions:
        raise typer.Exit(1)
