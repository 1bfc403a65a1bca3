"""Implementation of the commands ``hlgraph align``: turns questions into tasks, and results into lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.cli.commands.ledger import money
from hlgraph.cli.commands.plan import duration
from hlgraph.cli.output import note, print_json, say
from hlgraph.cli.state import budget_of
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.align.audit import Audit
    from hlgraph.align.contest import Comparison
    from hlgraph.align.make import Made, MakeOptions, Tasks
    from hlgraph.align.pairs import Pair, Prompt, Split
    from hlgraph.align.train import Trained
    from hlgraph.evaluate.datasets import Dataset
    from hlgraph.models.accounts.budget import ExpectedCost
    from hlgraph.models.executor import Executor
    from hlgraph.sdk.client import HLGraph
    from hlgraph.settings import Settings


def chat_names(given: Sequence[str] | None, settings: Settings) -> list[str]:
    """The names of the chat models: those given, otherwise that of the settings. Raises InputError if there is none."""
    names = list(dict.fromkeys(given or ([settings.models.chat] if settings.models.chat else [])))
    if not names:
        raise InputError(
            "the reasons are written by a chat model, and none is named; give --chat, or set HLGRAPH_CHAT or models.chat "
            "(such as ollama:llama3:8b)"
        )
    return names


def split_of(dataset: Dataset, test: str | None, *, held_out: float) -> Split:
    """The split of the questions with answers: by a held-out file if given, otherwise by source."""
    from hlgraph.align.pairs import given_split, split_by_source
    from hlgraph.evaluate.datasets import load

    answered = [question for question in dataset.questions if question.answers]
    if not answered:
        raise InputError(f"no question of {dataset.name} has answers; give the questions a list answers")
    if test is None:
        return split_by_source(answered, held_out=held_out)
    others = load(dataset.passages_path.parent, questions=test).questions
    return given_split(answered, [question for question in others if question.answers])


@contextmanager
def executors_of(names: Sequence[str], settings: Settings, *, is_plan: bool) -> Iterator[list[Executor]]:
    """The executors of chat models, with the ledger and the replies of the store; for a plan no model is made."""
    from hlgraph.ingest.plan import NamedChat
    from hlgraph.models import choose
    from hlgraph.models.accounts.open import executor_of

    with ExitStack() as closing:
        made = []
        for name in names:
            model = NamedChat(name) if is_plan else choose.chosen_chat(name, settings.models)
            made.append(executor_of(model, settings, corpus=settings.corpus))
            closing.callback(made[-1].close)
        yield made


def found_tasks(graph: HLGraph, dataset: Dataset, split: Split, *, strategy: str, contexts: int) -> Tasks:
    """The questions with the contexts that the strategy retrieves from the corpus of the set, which is ingested first."""
    from hlgraph.align.make import find_contexts
    from hlgraph.cli.evaluating import ingest_set
    from hlgraph.evaluate.runner import prepare
    from hlgraph.retrieve.search import retriever

    chosen = retriever(strategy, "paper")
    for failure in ingest_set(graph, dataset).failed:
        note(f"hlgraph: warning: not ingested: {failure.error}")
    prepare(graph, [chosen])
    return find_contexts(
        split, lambda question, k: graph.search(question, strategy=chosen, k=k).evidence, most=contexts
    )


def made_pairs(
    tasks: Tasks, executors: Sequence[Executor], options: MakeOptions, *, max_tokens: int | None, max_usd: float | None
) -> Made:
    """The pairs of all tasks, within the budget of the options."""
    from hlgraph.align.make import make as made_of

    return made_of(tasks, executors, options=options, budget=budget_of(max_tokens, max_usd))


def print_plan(tasks: Tasks, costs: Sequence[ExpectedCost], *, is_json: bool) -> None:
    """Print what the calls would cost."""
    if is_json:
        print_json({"tasks": len(tasks.train) + len(tasks.test), "models": [asdict(cost) for cost in costs]})
        return
    say(f"questions: {len(tasks.split.train):,} for training, {len(tasks.split.test):,} held out")
    for cost in costs:
        basis = (
            f"measured on {cost.measured_calls:,} calls of this model in the ledger"
            if cost.measured_calls
            else "lengths of replies are guessed: the ledger holds too few calls of this model"
        )
        say(
            f"calls: {cost.calls:,} of {cost.model}, {cost.kept_calls:,} more answered from stored replies",
            f"tokens: {cost.input_tokens:,} in, {cost.output_tokens:,} out",
            f"money: {money(cost.usd)}",
            f"time: {duration(cost.seconds)}, and the search itself",
            basis,
        )


def print_made(made: Made, out: Path, *, is_json: bool) -> None:
    """Print what was made, and what was left out."""
    from hlgraph.align.make import FAULTS, report_tree

    if is_json:
        print_json({**report_tree(made), "out": str(out)})
        return
    say(
        f"questions: {made.questions:,} for training, {made.held_out:,} held out",
        f"reasons: {made.tasks:,} asked for, {sum(made.faults.values()):,} left out",
        *(f"  {made.faults[name]:,} {name}: {text}" for name, text in FAULTS.items() if name in made.faults),
        f"pairs: {len(made.train):,} for training, {len(made.test):,} held out, in {out}",
        f"prompts: {len(made.prompts):,} of the held-out questions, to compare models on",
        f"next: hlgraph align audit {out}" if made.train else "no reason was usable, so there is no pair to train on",
    )


def audit_lines(found: Audit) -> list[str]:
    """An audit as readable lines."""
    lines = [f"pairs: {found.pairs:,} for training, {found.held_out:,} held out"]
    for name, figures in (("all", found.length), *found.length_by_negative.items()):
        chosen, rejected = figures.quantiles.chosen, figures.quantiles.rejected
        lines.append(
            f"length, {name}: the preferred answer is longer in {100 * figures.longer:.1f} %, AUC {figures.auc:.3f}; median "
            f"{chosen[2]:,.0f} against {rejected[2]:,.0f} characters"
        )
    lines.append("copies: " + ", ".join(f"{name} {count:,}" for name, count in found.copies.items()))
    for name, counts in found.balance.items():
        shown = ", ".join(f"{value or 'unknown'} {count:,}" for value, count in counts.items())
        lines.append(f"{name}: {shown}")
    lines += [f"{'broken' if item.breaks_training else 'warning'}: {item.message}" for item in found.findings]
    return lines


def trained_lines(found: Trained) -> list[str]:
    """A training as readable lines: counts, then the curve of loss and margin."""
    lines = [
        f"pairs: {found.pairs:,} trained on, {found.too_long:,} left out as too long",
        f"weights: {found.trained:,} trained, {found.frozen:,} frozen",
        f"steps: {found.steps:,} in {duration(found.seconds)}",
        "",
        "  step     loss   margin  preferred  ln pi(chosen)  ln pi(rejected)",
    ]
    lines += [
        f"{each['step']:6.0f}  {each['loss']:7.4f}  {each['margin']:7.4f}  {100 * each['preferred']:7.1f} %  "
        f"{each['log_chosen']:13.1f}  {each['log_rejected']:15.1f}"
        for each in found.curve
    ]
    return [*lines, "", f"adapter: {found.adapter}", f"metrics: {found.metrics}"]


def comparison_lines(found: Comparison) -> list[str]:
    """A comparison as readable tables."""
    width = max(len("policy"), *(len(item.name) for item in found.policies))
    policy = f"{'policy':{width}}"
    lines = [f"{found.pairs:,} pairs; margin and losses against {found.policies[0].name}", ""]
    lines += [f"{policy}  prefers   margin  mode-seeking      dpo"]
    lines += [
        f"{item.name:{width}}  {100 * item.prefers:5.1f} %  {item.margin:7.3f}  {item.mode_seeking:12.3f}  {item.dpo:7.3f}"
        for item in found.policies
    ]
    lines += ["", f"{policy}  rejected  pairs  prefers  margin > 0   margin"]
    lines += [
        f"{item.name:{width}}  {each.kind:8}  {each.pairs:5,}  {100 * each.prefers:5.1f} %  "
        f"{'' if each.gains is None else f'{100 * each.gains:.1f} %':>10}  {each.margin:7.3f}"
        for item in found.policies
        for each in item.negatives
    ]
    lines += ["", f"{policy}  ln pi of    lowest  quarter   median  quarter  highest"]
    lines += [
        f"{item.name:{width}}  {name:8}  {each.low:8.1f} {each.quarter:8.1f} {each.median:8.1f} {each.three_quarters:8.1f} "
        f"{each.high:8.1f}"
        for item in found.policies
        for name, each in (("chosen", item.chosen), ("rejected", item.rejected))
    ]
    return [*lines, *_answer_lines(found, policy, width)]


def _answer_lines(found: Comparison, policy: str, width: int) -> list[str]:
    if not found.prompts:
        return []
    lines = ["", f"answers to {found.prompts:,} prompts of {found.questions:,} questions", ""]
    lines += [f"{policy}   k  questions     EM     F1  has gold  has form"]
    lines += [
        f"{item.name:{width}}  {each.k:2d}  {each.questions:9,}  {100 * each.exact:5.1f}  {100 * each.f1:5.1f}  "
        f"{100 * each.contains:6.1f} %  {100 * each.formed:6.1f} %"
        for item in found.policies
        for each in item.answers
    ]
    lines += [
        f"{item.name}: F1 {100 * item.gain.mean:+.1f} (95 %: {100 * item.gain.low:+.1f} to {100 * item.gain.high:+.1f}"
        f"{', noise' if item.gain.is_noise else ''}) against {found.policies[0].name}, paired over questions"
        for item in found.policies
        if item.gain is not None
    ]
    return lines


def prompts_for(path: Path, pairs: Sequence[Pair], *, most: int | None) -> list[Prompt]:
    """The prompts of at most ``most`` questions: those in prompts.jsonl beside the pairs, otherwise those of the pairs."""
    from hlgraph.align.contest import prompts_of
    from hlgraph.align.pairs import prompts_beside

    prompts = prompts_beside(path) or prompts_of(pairs)
    questions = set(list(dict.fromkeys(item.question_id for item in prompts))[:most])
    return [item for item in prompts if item.question_id in questions]


def adapter_folders(given: Sequence[str]) -> dict[str, Path]:
    """The folders of adapters by name, from NAME=DIR. All are checked for existence before the long comparison starts."""
    from hlgraph.align.contest import UNTRAINED
    from hlgraph.align.train import adapter_in

    folders: dict[str, Path] = {}
    for text in given:
        name, sign, folder = text.partition("=")
        if not sign or not name or not folder or name == UNTRAINED or name in folders:
            raise InputError(f"--adapter {text!r}: write NAME=DIR, each name once, and none is {UNTRAINED}")
        folders[name] = adapter_in(folder)
    return folders


def write_tree(path: Path, tree: dict[str, object]) -> None:
    """Write figures to a file of JSON."""
    import msgspec

    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(tree)) + b"\n")
    except OSError as error:
        raise InputError(
            f"{path}: it cannot be written: {error.strerror}; give a file in an existing folder"
        ) from error
