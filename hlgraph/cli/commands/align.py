"""The commands ``hlgraph align``: make, audit, train, compare."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.commands.ledger import money
from hlgraph.cli.commands.plan import duration
from hlgraph.cli.output import print_json, say
from hlgraph.cli.state import Json, MaxTokens, MaxUsd, Quiet, State, budget_of, show_help
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.align.audit import Audit
    from hlgraph.align.contest import Comparison
    from hlgraph.align.make import Made, PairsCost
    from hlgraph.align.train import Trained

PLACE = 175  # position in the list of commands

align_app = typer.Typer(
    name="align",
    help="Train a model to prefer answers with a reason that the evidence supports.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

Folder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of the evaluation set.", show_default=False)]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.", show_default=False)]
Questions = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Questions to use instead of those in the folder.", show_default=False),
]
Test = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Held-out questions over the same passages (default: a part of the questions, see --held-out).",
        show_default=False,
    ),
]
Subset = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Use only the questions of this subset (may be repeated).", show_default=False),
]
Limit = Annotated[int | None, typer.Option(metavar="N", help="Use only the first N questions.", show_default=False)]
Contexts = Annotated[
    int, typer.Option(metavar="N", help="Maximum number of contexts; each question is used with 0, 1, ... N of them.")
]
HeldOut = Annotated[float, typer.Option(metavar="X", help="Share of the questions that is held out; 0: none.")]
Negatives = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Kinds of rejected answers: bare (the gold answer alone, as in the paper), citation (the same with wrong "
        "citations), other (the answer of another question).",
    ),
]
Strategy = Annotated[
    str, typer.Option("--strategy", "-s", metavar="NAME", help="The strategy that finds the contexts.")
]
Chats = Annotated[
    list[str] | None,
    typer.Option(
        "--chat",
        metavar="NAME",
        help="A chat model that writes reasons, such as ollama:llama3:8b (may be repeated; default: models.chat or "
        "HLGRAPH_CHAT).",
        show_default=False,
    ),
]
Plan = Annotated[bool, typer.Option("--plan", help="Print what the calls would cost, without making any.")]
PairsPath = Annotated[
    Path,
    typer.Argument(metavar="PAIRS", help="A file of pairs, or the folder that align make wrote.", show_default=False),
]
MostAuc = Annotated[
    float,
    typer.Option(
        metavar="X",
        help="Refuse the pairs if length alone predicts the preferred answer with at least this AUC; above 1: never.",
    ),
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model: a folder, a file of GGUF, or a name that transformers loads.",
        show_default=False,
    ),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda, or auto: a GPU if there is one.")]
Adapters = Annotated[
    list[str] | None,
    typer.Option(
        "--adapter",
        metavar="NAME=DIR",
        help="A trained adapter and its name in the tables (may be repeated).",
        show_default=False,
    ),
]
Ask = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Ask for answers to the first N questions only; 0: to none.",
        show_default=False,
    ),
]


@align_app.callback()
def _show(context: typer.Context) -> None:
    show_help(context)


def make(
    context: typer.Context,
    folder: Folder,
    out: Out,
    questions: Questions = None,
    test: Test = None,
    subset: Subset = None,
    limit: Limit = None,
    contexts: Contexts = 3,
    held_out: HeldOut = 0.1,
    negatives: Negatives = "bare,citation,other",
    strategy: Strategy = "hierarchy",
    chat: Chats = None,
    plan: Plan = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    quiet: Quiet = False,
    json: Json = False,
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

    state: State = context.obj
    options = PairsOptions(
        questions=questions,
        test=test,
        subsets=tuple(subset or ()),
        limit=limit,
        contexts=contexts,
        held_out=held_out,
        negatives=tuple(name.strip() for name in negatives.split(",") if name.strip()),
        strategy=strategy,
        chats=tuple(chat or ()),
    )
    pairs = plan_pairs(folder, options, settings=state.settings())
    corpus = f"eval-{pairs.dataset.name}"
    with state.open(corpus) as graph, progress("making pairs", quiet=quiet, is_json=json):
        if plan:
            cost = pairs.cost(graph)
        else:
            result = pairs.make(graph, budget=budget_of(max_tokens, max_usd))
    if plan:
        _print_cost(cost, is_json=json)
        return
    result.write(out)
    _print_made(result, out, is_json=json)
    if not result.train:
        raise typer.Exit(1)


def audit(pairs: PairsPath, max_length_auc: MostAuc = 0.95, json: Json = False) -> None:
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
    if json:
        print_json({**asdict(report), "breaks_training": report.breaks_training})
    else:
        say(*_audit_lines(report))
    if report.breaks_training:
        raise typer.Exit(1)


def train(
    pairs: PairsPath,
    model: Model,
    out: Out,
    loss: Annotated[
        Literal["mode-seeking", "dpo"], typer.Option("--loss", help="The loss: that of GraphMPA, or DPO.")
    ] = "mode-seeking",
    learning_rate: Annotated[float, typer.Option(metavar="X", help="Learning rate at the start.")] = 1e-5,
    batch: Annotated[int, typer.Option(metavar="N", help="Pairs in one step.")] = 4,
    epochs: Annotated[float, typer.Option(metavar="X", help="Passes over the pairs.")] = 2.0,
    samples: Annotated[int, typer.Option(metavar="N", help="Maximum number of pairs to train on.")] = 20_000,
    beta: Annotated[float, typer.Option(metavar="X", help="Strength of the reference.")] = 0.1,
    smoothing: Annotated[float, typer.Option(metavar="X", help="The e of the mode-seeking loss.")] = 1e-3,
    rank: Annotated[int, typer.Option(metavar="N", help="Rank of the adapter (LoRA).")] = 16,
    max_length: Annotated[
        int, typer.Option(metavar="N", help="Maximum tokens of a prompt with its answer; longer ones are left out.")
    ] = 2048,
    save_steps: Annotated[int, typer.Option(metavar="N", help="Steps between two checkpoints.")] = 500,
    log_steps: Annotated[int, typer.Option(metavar="N", help="Steps between two lines of metrics.")] = 10,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the adapter and of the order.")] = 0,
    device: Device = "auto",
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint in --out.")] = False,
    quiet: Quiet = False,
    json: Json = False,
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
    with progress("training", quiet=quiet, is_json=json):
        report = train_on(pairs, model, folder=out, settings=settings, resume=resume)
    if json:
        print_json(asdict(report))
    else:
        say(*trained_lines(report))


def compare(
    pairs: Annotated[
        Path,
        typer.Argument(
            metavar="PAIRS",
            help="A file of held-out pairs, or the folder that align make wrote.",
            show_default=False,
        ),
    ],
    model: Model,
    adapter: Adapters = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", help="Use only the first N pairs.", show_default=False)
    ] = None,
    ask: Ask = None,
    answer_tokens: Annotated[int, typer.Option(metavar="N", help="Maximum tokens of one answer.")] = 200,
    beta: Annotated[float, typer.Option(metavar="X", help="Strength of the reference, for margin and losses.")] = 0.1,
    device: Device = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the figures as JSON.", show_default=False)
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare the untrained model with trained adapters on held-out pairs. Needs the extra align.

    Prints how often each prefers the right answer, its margins and both losses, overall and by kind of the rejected answer; the
    spread of its log-probabilities (Fig. 6 of GraphMPA); and exact match and F1 of the answers that it writes with 0, 1, 2, ...
    contexts (Fig. 5), to all questions of prompts.jsonl beside the pairs, otherwise to those of the pairs.

    \b
    Example:
      hlgraph align compare pairs --model ./llama-3.1-8b --adapter ms=trained --adapter dpo=trained-dpo
    """
    from hlgraph.align.contest import CompareOptions, compare_adapters

    options = CompareOptions(limit=limit, ask=ask, answer_tokens=answer_tokens, beta=beta, device=device)
    with progress("comparing", quiet=quiet, is_json=json):
        comparison = compare_adapters(pairs, model, adapters=adapter or (), options=options)
    if out is not None:
        _write(out, asdict(comparison))
    if json:
        print_json(asdict(comparison))
    else:
        say(*comparison_lines(comparison))


def _print_cost(cost: PairsCost, *, is_json: bool) -> None:
    """Print what the calls would cost."""
    tasks = cost.tasks
    if is_json:
        print_json({"tasks": len(tasks.train) + len(tasks.test), "models": [asdict(item) for item in cost.models]})
        return
    say(f"questions: {len(tasks.split.train):,} for training, {len(tasks.split.test):,} held out")
    for item in cost.models:
        basis = (
            f"measured on {item.measured_calls:,} calls of this model in the ledger"
            if item.measured_calls
            else "lengths of replies are guessed: the ledger holds too few calls of this model"
        )
        say(
            f"calls: {item.calls:,} of {item.model}, {item.kept_calls:,} more answered from stored replies",
            f"tokens: {item.input_tokens:,} in, {item.output_tokens:,} out",
            f"money: {money(item.usd)}",
            f"time: {duration(item.seconds)}, and the search itself",
            basis,
        )


def _print_made(result: Made, out: Path, *, is_json: bool) -> None:
    """Print what was made, and what was left out."""
    from hlgraph.align.make import FAULTS, report_tree

    if is_json:
        print_json({**report_tree(result), "out": str(out)})
        return
    say(
        f"questions: {result.questions:,} for training, {result.held_out:,} held out",
        f"reasons: {result.tasks:,} asked for, {sum(result.faults.values()):,} left out",
        *(f"  {result.faults[name]:,} {name}: {text}" for name, text in FAULTS.items() if name in result.faults),
        f"pairs: {len(result.train):,} for training, {len(result.test):,} held out, in {out}",
        f"prompts: {len(result.prompts):,} of the held-out questions, to compare models on",
        f"next: hlgraph align audit {out}" if result.train else "no reason was usable, so there is no pair to train on",
    )


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
    lines += [f"{'broken' if item.breaks_training else 'warning'}: {item.message}" for item in report.findings]
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
    width = max(len("policy"), *(len(item.name) for item in comparison.policies))
    policy = f"{'policy':{width}}"
    lines = [f"{comparison.pairs:,} pairs; margin and losses against {comparison.policies[0].name}", ""]
    lines += [f"{policy}  prefers   margin  mode-seeking      dpo"]
    lines += [
        f"{item.name:{width}}  {100 * item.prefers:5.1f} %  {item.margin:7.3f}  {item.mode_seeking:12.3f}  {item.dpo:7.3f}"
        for item in comparison.policies
    ]
    lines += ["", f"{policy}  rejected  pairs  prefers  margin > 0   margin"]
    lines += [
        f"{item.name:{width}}  {each.kind:8}  {each.pairs:5,}  {100 * each.prefers:5.1f} %  "
        f"{'' if each.gains is None else f'{100 * each.gains:.1f} %':>10}  {each.margin:7.3f}"
        for item in comparison.policies
        for each in item.negatives
    ]
    lines += ["", f"{policy}  ln pi of    lowest  quarter   median  quarter  highest"]
    lines += [
        f"{item.name:{width}}  {name:8}  {each.low:8.1f} {each.quarter:8.1f} {each.median:8.1f} {each.three_quarters:8.1f} "
        f"{each.high:8.1f}"
        for item in comparison.policies
        for name, each in (("chosen", item.chosen), ("rejected", item.rejected))
    ]
    return [*lines, *_answer_lines(comparison, policy, width)]


def _answer_lines(comparison: Comparison, policy: str, width: int) -> list[str]:
    if not comparison.prompts:
        return []
    lines = ["", f"answers to {comparison.prompts:,} prompts of {comparison.questions:,} questions", ""]
    lines += [f"{policy}   k  questions     EM     F1  has gold  has form"]
    lines += [
        f"{item.name:{width}}  {each.k:2d}  {each.questions:9,}  {100 * each.exact:5.1f}  {100 * each.f1:5.1f}  "
        f"{100 * each.contains:6.1f} %  {100 * each.formed:6.1f} %"
        for item in comparison.policies
        for each in item.answers
    ]
    lines += [
        f"{item.name}: F1 {100 * item.gain.mean:+.1f} (95 %: {100 * item.gain.low:+.1f} to {100 * item.gain.high:+.1f}"
        f"{', noise' if item.gain.is_noise else ''}) against {comparison.policies[0].name}, paired over questions"
        for item in comparison.policies
        if item.gain is not None
    ]
    return lines


def _write(path: Path, tree: dict[str, object]) -> None:
    """Write figures to a file of JSON."""
    import msgspec

    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(tree)) + b"\n")
    except OSError as error:
        raise InputError(
            f"{path}: it cannot be written: {error.strerror}; give a file in an existing folder"
        ) from error


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name, command in (("make", make), ("audit", audit), ("train", train), ("compare", compare)):
        align_app.command(name)(command)
    app.add_typer(align_app)
