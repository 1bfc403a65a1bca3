"""The commands ``hlgraph align``: make, audit, train, compare."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from hlgraph.cli.command import Invocation, argument, command, group, option, split
from hlgraph.cli.commands.plan import basis, cost_lines, duration
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hlgraph.align.audit import Audit
    from hlgraph.align.contest import Comparison
    from hlgraph.align.make import PairsCost, PairSet
    from hlgraph.align.train import Trained

PLACE = 175  # position in the list of commands

app = group("align", "Train a model to prefer answers with a reason that the evidence supports.")

Folder = Annotated[str, argument("DIR", "Folder of the evaluation set.")]
Out = Annotated[Path, option("--out DIR", "The folder to write.")]
Questions = Annotated[str | None, option("FILE", "Questions to use instead of those in the folder.")]
Test = Annotated[
    str | None,
    option("FILE", "Held-out questions over the same passages (default: a part of the questions, see --held-out)."),
]
Subset = Annotated[list[str] | None, option("NAME", "Use only the questions of this subset (may be repeated).")]
Limit = Annotated[int | None, option("N", "Use only the first N questions.")]
Contexts = Annotated[int, option("N", "Maximum number of contexts; each question is used with 0, 1, ... N of them.")]
HeldOut = Annotated[float, option("X", "Share of the questions that is held out; 0: none.")]
Negatives = Annotated[
    str | None,
    option(
        "NAMES",
        "Kinds of rejected answers: bare (the gold answer alone, as in the paper), citation (the same with wrong "
        "citations), other (the answer of another question).  [default: all; with --literal bare]",
    ),
]
Literally = Annotated[
    bool,
    option(
        "--literal",
        "The data of the paper: a reason may cite nothing and need not rest on its contexts, so those that do not help stay; "
        "the only rejected answer is the bare one.",
    ),
]
Strategy = Annotated[str, option("--strategy -s NAME", "The strategy that finds the contexts.")]
Chats = Annotated[
    list[str] | None,
    option(
        "--chat NAME",
        "A chat model that writes reasons, such as ollama:llama3:8b (may be repeated; default: models.chat or "
        "HLGRAPH_CHAT).",
    ),
]
Plan = Annotated[bool, option("--plan", "Print what the calls would cost, without making any.")]
PairsPath = Annotated[Path, argument("PAIRS", "A file of pairs, or the folder that align make wrote.")]
MostAuc = Annotated[
    float,
    option(
        "X", "Refuse the pairs if length alone predicts the preferred answer with at least this AUC; above 1: never."
    ),
]
Model = Annotated[
    str, option("--model NAME", "The model: a folder, a file of GGUF, or a name that transformers loads.")
]
Device = Annotated[str, option("NAME", "cpu, cuda, or auto: a GPU if there is one.")]
Adapters = Annotated[
    list[str] | None, option("--adapter NAME=DIR", "A trained adapter and its name in the tables (may be repeated).")
]
Ask = Annotated[int | None, option("N", "Ask for answers to the first N questions only; 0: to none.")]


@command(app, "make", "budget", "quiet")
def make(
    cli: Invocation,
    folder: Folder,
    out: Out,
    questions: Questions = None,
    test: Test = None,
    subset: Subset = None,
    limit: Limit = None,
    contexts: Contexts = 3,
    held_out: HeldOut = 0.1,
    negatives: Negatives = None,
    literal: Literally = False,
    strategy: Strategy = "hierarchy",
    chat: Chats = None,
    plan: Plan = False,
) -> None:
    """Make pairs of answers, one preferred and one not, from questions with gold answers.

    The passages of the set are ingested into the corpus eval-DIR, as by hlgraph eval. For each question and each number of
    contexts, every chat model writes the reason that leads to the gold answer; a reason that does not lead there, or cites
    what does not support it, is left out and counted. Questions that share a supporting passage are on the same side of the
    split, and no training prompt shows a passage that supports a held-out answer. A split given with --test that leaks is
    refused.

    Replies that can be read are kept: the same command, run again, continues and pays for none of them twice. Writes
    train.jsonl, test.jsonl (in the form that TRL reads, with where each pair is from), prompts.jsonl (every held-out question
    with each number of contexts, for align compare) and report.json.

    \b
    Examples:
      hlgraph align make data/musique --out pairs --plan
      hlgraph align make data/musique --out pairs --chat ollama:llama3:8b --chat ollama:qwen2.5:7b
      hlgraph align make data/musique --out pairs --limit 200 --max-usd 2
    """
    from hlgraph.align.make import PairsOptions, plan_pairs

    options = PairsOptions(
        questions=questions,
        test=test,
        subsets=tuple(subset or ()),
        limit=limit,
        contexts=contexts,
        held_out=held_out,
        negatives=None if negatives is None else split(negatives),
        literal=literal,
        strategy=strategy,
        chats=tuple(chat or ()),
    )
    pairs = plan_pairs(folder, options, settings=cli.settings())
    with cli.connect("making pairs", corpus=f"eval-{pairs.dataset.name}") as graph:
        if plan:
            cost = pairs.cost(graph)
        else:
            result = pairs.make(graph, budget=cli.budget)
    if plan:
        count = len(cost.tasks.train) + len(cost.tasks.test)
        cli.show({"tasks": count, "models": cost.models}, _pairs_cost_lines(cost))
        return
    result.write(out)
    cli.show({**result.to_json(), "out": out}, _made_lines(result, out), fails=not result.train)


@command(app, "audit")
def audit(cli: Invocation, pairs: PairsPath, max_length_auc: MostAuc = 0.95) -> None:
    """Audit pairs for flaws that make training worthless: length, copies, leakage; show their balance.

    Held-out pairs (test.jsonl) are read from the same folder. Exit code 1 if a finding breaks training: held-out sources or
    questions in training, equal or contradicting answers, preferred answers without a reason, or lengths that alone tell
    which answer is preferred. Rejected answers that are all bare, as in the paper, have an AUC of 1: accept that with
    --max-length-auc 2.

    \b
    Example:
      hlgraph align audit pairs
    """
    from hlgraph.align.audit import audit as audited
    from hlgraph.align.pairs import held_out_beside, read_pairs

    report = audited(read_pairs(pairs), held_out_beside(pairs), most_auc=max_length_auc)
    cli.show(
        {**asdict(report), "breaks_training": report.breaks_training},
        _audit_lines(report),
        fails=report.breaks_training,
    )


@command(app, "train", "quiet")
def train(
    cli: Invocation,
    pairs: PairsPath,
    model: Model,
    out: Out,
    loss: Annotated[
        Literal["mode-seeking", "dpo"], option("--loss", "The loss: that of GraphMPA, or DPO.")
    ] = "mode-seeking",
    learning_rate: Annotated[float, option("X", "Learning rate at the start.")] = 1e-5,
    batch: Annotated[int, option("N", "Pairs in one step.")] = 4,
    epochs: Annotated[float, option("X", "Passes over the pairs.")] = 2.0,
    samples: Annotated[int, option("N", "Maximum number of pairs to train on.")] = 20_000,
    beta: Annotated[float, option("X", "Strength of the reference.")] = 0.1,
    smoothing: Annotated[float, option("X", "The e of the mode-seeking loss.")] = 1e-3,
    rank: Annotated[int, option("N", "Rank of the adapter (LoRA).")] = 16,
    max_length: Annotated[
        int, option("N", "Maximum tokens of a prompt with its answer; longer ones are left out.")
    ] = 2048,
    save_steps: Annotated[int, option("N", "Steps between two checkpoints.")] = 500,
    log_steps: Annotated[int, option("N", "Steps between two lines of metrics.")] = 10,
    seed: Annotated[int, option("N", "Seed of the adapter and of the order.")] = 0,
    device: Device = "auto",
    resume: Annotated[bool, option("--resume", "Continue from the last checkpoint in --out.")] = False,
) -> None:
    """Train an adapter of a language model on pairs. Needs the extra align: pip install 'hlgraph[align]'.

    TRL trains a LoRA adapter with its loss exo_pair, which is the mode-seeking loss of GraphMPA; the reference is the model
    without the adapter, and never changes. Learning rate, batch, epochs and samples are the paper's; it gives neither beta
    nor smoothing, and does not say whether it trained adapters. Pairs whose held-out part leaks into them are refused.

    Writes the adapter, checkpoints, and metrics.jsonl: step, loss, margin, share of preferred answers, log-probabilities.
    Prints ten of its lines.

    \b
    Examples:
      hlgraph align train pairs --model ./llama-3.1-8b --out trained
      hlgraph align train pairs --model ./llama-3.1-8b --out trained-dpo --loss dpo
    """
    from hlgraph.align.train import TrainSettings, train_on

    settings = TrainSettings(
        learning_rate=learning_rate,
        batch=batch,
        epochs=epochs,
        samples=samples,
        loss=loss,
        beta=beta,
        smoothing=smoothing,
        rank=rank,
        max_length=max_length,
        save_steps=save_steps,
        log_steps=log_steps,
        seed=seed,
        device=device,
    )
    with cli.progress("training"):
        report = train_on(pairs, model, folder=out, settings=settings, resume=resume)
    cli.show(report, trained_lines(report))


@command(app, "compare", "quiet")
def compare(
    cli: Invocation,
    pairs: Annotated[Path, argument("PAIRS", "A file of held-out pairs, or the folder that align make wrote.")],
    model: Model,
    adapter: Adapters = None,
    limit: Annotated[int | None, option("N", "Use only the first N pairs.")] = None,
    ask: Ask = None,
    answer_tokens: Annotated[int, option("N", "Maximum tokens of one answer.")] = 200,
    beta: Annotated[float, option("X", "Strength of the reference, for margin and losses.")] = 0.1,
    device: Device = "auto",
    out: Annotated[Path | None, option("--out FILE", "Write the figures as JSON.")] = None,
) -> None:
    """Compare the untrained model with trained adapters on held-out pairs. Needs the extra align.

    Prints how often each prefers the right answer, its margins and both losses, overall and by kind of the rejected answer; the
    spread of its log-probabilities (Fig. 6 of GraphMPA); and exact match and F1 of the answers that it writes with 0, 1, 2, ...
    contexts (Fig. 5), to all questions of prompts.jsonl beside the pairs, otherwise to those of the pairs.

    \b
    Example:
      hlgraph align compare pairs --model ./llama-3.1-8b --adapter ms=trained --adapter dpo=trained-dpo
    """
    import msgspec

    from hlgraph.align.contest import CompareOptions, compare_adapters

    options = CompareOptions(limit=limit, ask=ask, answer_tokens=answer_tokens, beta=beta, device=device)
    with cli.progress("comparing"):
        comparison = compare_adapters(pairs, model, adapters=adapter or (), options=options)
    if out is not None:
        try:
            out.write_bytes(msgspec.json.format(msgspec.json.encode(comparison)) + b"\n")
        except OSError as error:
            raise InputError(
                f"{out}: it cannot be written: {error.strerror}; give a file in an existing folder"
            ) from error
    cli.show(comparison, comparison_lines(comparison))


def _pairs_cost_lines(cost: PairsCost) -> Iterator[str]:
    """What the calls would cost."""
    split_tasks = cost.tasks.split
    yield f"questions: {len(split_tasks.train):,} for training, {len(split_tasks.test):,} held out"
    for model in cost.models:
        yield from cost_lines(model, time_note=", and the search itself")
        yield basis(model)


def _made_lines(result: PairSet, out: Path) -> list[str]:
    """What was made, and what was left out."""
    from hlgraph.align.make import FAULTS

    return [
        f"questions: {result.questions:,} for training, {result.held_out:,} held out",
        f"reasons: {result.tasks:,} asked for, {sum(result.faults.values()):,} left out",
        *(f"  {result.faults[name]:,} {name}: {text}" for name, text in FAULTS.items() if name in result.faults),
        f"pairs: {len(result.train):,} for training, {len(result.test):,} held out, in {out}",
        f"prompts: {len(result.prompts):,} of the held-out questions, to compare models on",
        f"next: hlgraph align audit {out}" if result.train else "no reason was usable, so there is no pair to train on",
    ]


def _audit_lines(report: Audit) -> list[str]:
    """An audit as readable lines."""
    lines = [f"pairs: {report.pairs:,} for training, {report.held_out:,} held out"]
    for name, figures in (("all", report.length), *report.length_by_negative.items()):
        chosen, rejected = figures.quantiles.chosen, figures.quantiles.rejected
        lines.append(
            f"length, {name}: the preferred answer is longer in {100 * figures.longer:.1f} %, AUC {figures.auc:.3f}; median "
            f"{chosen[2]:,.0f} against {rejected[2]:,.0f} characters"
        )
    lines.append("copies: " + ", ".join(f"{name} {count:,}" for name, count in report.copies.items()))
    for name, counts in report.balance.items():
        shown = ", ".join(f"{value or 'unknown'} {count:,}" for value, count in counts.items())
        lines.append(f"{name}: {shown}")
    lines += [f"{'broken' if finding.breaks_training else 'warning'}: {finding.message}" for finding in report.findings]
    return lines


def trained_lines(report: Trained) -> list[str]:
    """A training as readable lines: counts, then the curve of loss and margin."""
    lines = [
        f"pairs: {report.pairs:,} trained on, {report.too_long:,} left out as too long",
        f"weights: {report.trained:,} trained, {report.frozen:,} frozen",
        f"steps: {report.steps:,} in {duration(report.seconds)}",
        "",
        "  step     loss   margin  preferred  ln pi(chosen)  ln pi(rejected)",
    ]
    lines += [
        f"{each['step']:6.0f}  {each['loss']:7.4f}  {each['margin']:7.4f}  {100 * each['preferred']:7.1f} %  "
        f"{each['log_chosen']:13.1f}  {each['log_rejected']:15.1f}"
        for each in report.curve
    ]
    return [*lines, "", f"adapter: {report.adapter}", f"metrics: {report.metrics}"]


def comparison_lines(comparison: Comparison) -> list[str]:
    """A comparison as readable tables."""
    width = max(len("policy"), *(len(row.name) for row in comparison.policies))
    policy = f"{'policy':{width}}"
    lines = [f"{comparison.pairs:,} pairs; margin and losses against {comparison.policies[0].name}", ""]
    lines += [f"{policy}  prefers   margin  mode-seeking      dpo"]
    lines += [
        f"{row.name:{width}}  {100 * row.prefers:5.1f} %  {row.margin:7.3f}  {row.mode_seeking:12.3f}  {row.dpo:7.3f}"
        for row in comparison.policies
    ]
    lines += ["", f"{policy}  rejected  pairs  prefers  margin > 0   margin"]
    lines += [
        f"{row.name:{width}}  {each.kind:8}  {each.pairs:5,}  {100 * each.prefers:5.1f} %  "
        f"{'' if each.gains is None else f'{100 * each.gains:.1f} %':>10}  {each.margin:7.3f}"
        for row in comparison.policies
        for each in row.negatives
    ]
    lines += ["", f"{policy}  ln pi of    lowest  quarter   median  quarter  highest"]
    lines += [
        f"{row.name:{width}}  {name:8}  {each.low:8.1f} {each.quarter:8.1f} {each.median:8.1f} {each.three_quarters:8.1f} "
        f"{each.high:8.1f}"
        for row in comparison.policies
        for name, each in (("chosen", row.chosen), ("rejected", row.rejected))
    ]
    return [*lines, *_answer_lines(comparison, policy, width)]


def _answer_lines(comparison: Comparison, policy: str, width: int) -> list[str]:
    if not comparison.prompts:
        return []
    lines = ["", f"answers to {comparison.prompts:,} prompts of {comparison.questions:,} questions", ""]
    lines += [f"{policy}   k  questions     EM     F1  has gold  has form"]
    lines += [
        f"{row.name:{width}}  {each.k:2d}  {each.questions:9,}  {100 * each.exact:5.1f}  {100 * each.f1:5.1f}  "
        f"{100 * each.contains:6.1f} %  {100 * each.formed:6.1f} %"
        for row in comparison.policies
        for each in row.answers
    ]
    lines += [
        f"{row.name}: F1 {100 * row.gain.mean:+.1f} (95 %: {100 * row.gain.low:+.1f} to {100 * row.gain.high:+.1f}"
        f"{', noise' if row.gain.is_noise else ''}) against {comparison.policies[0].name}, paired over questions"
        for row in comparison.policies
        if row.gain is not None
    ]
    return lines
