"""The commands ``hlgraph align``: make, audit, train, compare."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import note, print_json, say
from hlgraph.cli.state import Json, MaxTokens, MaxUsd, Quiet, State, show_help

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
    from hlgraph.align import make as making
    from hlgraph.align.make import MakeOptions
    from hlgraph.align.pairs import check_negatives
    from hlgraph.cli.aligning import chat_names, executors_of, found_tasks, made_pairs, print_made, print_plan, split_of
    from hlgraph.evaluate.datasets import load

    state: State = context.obj
    dataset = load(folder, questions=questions, limit=limit, subsets=subset or ())
    settings = state.settings(f"eval-{dataset.name}")
    kinds = check_negatives([name.strip() for name in negatives.split(",") if name.strip()])
    options = MakeOptions(contexts=contexts, negatives=kinds, max_tokens=settings.models.max_tokens)
    split = split_of(dataset, test, held_out=held_out)
    names = chat_names(chat, settings)
    with (
        state.open(settings.corpus) as graph,
        executors_of(names, settings, is_plan=plan) as executors,
        progress("making pairs", quiet=quiet, is_json=json),
    ):
        tasks = found_tasks(graph, dataset, split, strategy=strategy, contexts=contexts)
        costs = making.planned(tasks, executors, options=options) if plan else []
        made = None if plan else made_pairs(tasks, executors, options, max_tokens=max_tokens, max_usd=max_usd)
    if made is None:
        print_plan(tasks, costs, is_json=json)
        return
    making.write(made, out)
    print_made(made, out, is_json=json)
    if not made.train:
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
    from hlgraph.cli.aligning import audit_lines

    found = audited(read_pairs(pairs), held_out_beside(pairs), most_auc=max_length_auc)
    if json:
        print_json({**asdict(found), "breaks_training": found.breaks_training})
    else:
        say(*audit_lines(found))
    if found.breaks_training:
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
    from hlgraph.align.audit import check_no_leak
    from hlgraph.align.pairs import held_out_beside, read_pairs
    from hlgraph.align.train import TrainSettings
    from hlgraph.align.train import train as trained_on
    from hlgraph.cli.aligning import trained_lines

    some = read_pairs(pairs)
    check_no_leak(some, held_out_beside(pairs))
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
        found = trained_on(some, model, folder=out, settings=settings, resume=resume)
    if json:
        print_json(asdict(found))
    else:
        say(*trained_lines(found))


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
    from functools import partial

    from hlgraph.align.contest import UNTRAINED
    from hlgraph.align.contest import compare as compared
    from hlgraph.align.pairs import read_pairs
    from hlgraph.align.train import TransformersPolicy, beyond_reach, load, with_adapter
    from hlgraph.cli.aligning import adapter_folders, comparison_lines, prompts_for, write_tree

    def policy(name: str) -> TransformersPolicy:
        loaded = load(model, device=device)
        if name == UNTRAINED and (told := beyond_reach(loaded, some)):
            note(f"hlgraph: warning: {told}; their figures are worth little")
        return TransformersPolicy(with_adapter(loaded, folders[name]) if name in folders else loaded)

    folders = adapter_folders(adapter or ())
    some = read_pairs(pairs, held_out=True)[:limit]
    with progress("comparing", quiet=quiet, is_json=json):
        found = compared(
            some,
            [(name, partial(policy, name)) for name in (UNTRAINED, *folders)],
            prompts=prompts_for(pairs, some, most=ask),
            answer_tokens=0 if ask == 0 else answer_tokens,
            beta=beta,
        )
    if out is not None:
        write_tree(out, asdict(found))
    if json:
        print_json(asdict(found))
    else:
        say(*comparison_lines(found))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name, command in (("make", make), ("audit", audit), ("train", train), ("compare", compare)):
        align_app.command(name)(command)
    app.add_typer(align_app)
