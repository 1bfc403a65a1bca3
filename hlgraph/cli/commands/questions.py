"""The commands ``hlgraph questions``: evaluation questions made from a corpus."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.commands.ledger import money
from hlgraph.cli.commands.plan import duration
from hlgraph.cli.output import note, print_json, say
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, Quiet, State, budget_of, show_help
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlgraph.evaluate.questions.checking import AloneReport, CheckReport
    from hlgraph.evaluate.questions.record import QuestionKind, QuestionSet
    from hlgraph.models.accounts.budget import ExpectedCost

PLACE = 175  # position in the list of commands

app = typer.Typer(
    help="Make evaluation questions from a corpus.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
_SHOWN = 20
File = Annotated[str, typer.Argument(metavar="FILE", help="File of questions.", show_default=False)]

Out = Annotated[
    str, typer.Option("--out", metavar="FILE", help="Write the questions to this file.", show_default=False)
]
Kinds = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Kinds, separated by commas: bridge, comparison, intersection, null from facts; synthesis, null, abstract "
        "by a chat model.  [default: all of the method but abstract]",
        show_default=False,
    ),
]
Method = Annotated[
    Literal["facts", "chat"],
    typer.Option(help="Generate them by templates over the facts of the graph, or by the chat model."),
]
Validator = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="With --method chat: the model that criticises and answers, better a stronger one (default: models.judge or "
        "HLGRAPH_JUDGE, otherwise the chat model).",
        show_default=False,
    ),
]
ByField = Annotated[
    str,
    typer.Option(
        metavar="FIELD",
        help="Metadata field that names the document of a source, if sources are parts of documents (default: each source is "
        "a document).",
        show_default=False,
    ),
]


@app.callback()
def _questions(context: typer.Context) -> None:
    show_help(context)


@app.command("make")
def make(
    context: typer.Context,
    out: Out,
    corpus: Corpus = None,
    count: Annotated[int, typer.Option(metavar="N", help="Number of questions.")] = 200,
    kinds: Kinds = "",
    method: Method = "facts",
    validator: Validator = "",
    plan: Annotated[
        bool, typer.Option("--plan", help="With --method chat: show what it would cost, without calling a model.")
    ] = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    seed: Annotated[int, typer.Option(metavar="N", help="The same seed gives the same questions.")] = 0,
    by: ByField = "",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Make multi-hop questions about the corpus, from its facts or by a chat model.

    From facts, a question joins two facts of different sources: bridge (who did something to the one that did something else),
    intersection (what fits both), comparison (which of two), null (what the corpus does not hold). A path with two answers and
    a question that one source may answer alone are dropped, and the report says how many. If a kind gives too few questions,
    other kinds fill the rest.

    The chat model writes about passages of three to five documents that share an entity (synthesis), about the whole
    corpus (abstract), or about what it does not hold (null). The second model criticises a question, answers it from its
    passages, and from each alone. The same command again pays for nothing twice.

    \b
    Examples:
      hlgraph questions make --out asked.jsonl
      hlgraph questions make --out asked.jsonl --count 50 --kinds bridge,null --seed 7
      hlgraph questions make --out asked.jsonl --method chat --count 40 --plan
      hlgraph questions make --out asked.jsonl --method chat --validator openai:gpt-4o --max-usd 2
    """
    from hlgraph.evaluate.questions.record import check_target

    state: State = context.obj
    check_target(out)
    chosen = cast("list[QuestionKind]", [name.strip() for name in kinds.split(",") if name.strip()])
    budget = budget_of(max_tokens, max_usd)
    if method == "facts" and (plan or validator or budget):
        raise InputError("--plan, --validator and budgets are for --method chat; questions from facts cost nothing")
    title = "making questions" if method == "facts" else "writing questions"
    with state.open(corpus) as graph, progress(title, quiet=quiet, is_json=json):
        if plan:
            costs = graph.questions.plan(count, kinds=chosen, validator=validator, seed=seed, by=by)
        else:
            question_set = graph.questions.make(
                count, kinds=chosen, method=method, validator=validator, seed=seed, by=by, budget=budget
            )
    if plan:
        _show_plan(costs, is_json=json)
    else:
        _finish(question_set, out, is_json=json)


@app.command("check")
def check(
    context: typer.Context,
    file: File,
    corpus: Corpus = None,
    by: Annotated[
        Literal["words", "chat"],
        typer.Option(help="How leakage is detected: by words, or also by the answers of the chat model."),
    ] = "words",
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Check questions against their corpus; the exit code is 1 if something is found.

    Looks for missing gold ids, answers that the gold text does not contain, duplicates, and questions that one source alone
    may answer, by its words. With --by chat the chat model also answers each question from each of its gold sources
    alone. A file of another corpus is refused.

    \b
    Examples:
      hlgraph questions check asked.jsonl
      hlgraph questions check asked.jsonl --by chat --max-usd 1 --json
    """
    from hlgraph.evaluate.questions.record import corpus_of, read_questions

    state: State = context.obj
    questions = read_questions(file)
    settings = state.settings(corpus or corpus_of(questions, file))
    budget = budget_of(max_tokens, max_usd)
    if budget and by != "chat":
        raise InputError("a budget is for --by chat; a check by words costs nothing")
    with state.open(settings.corpus) as graph, progress("checking questions", quiet=quiet, is_json=json):
        report = graph.questions.check(questions, by=by, budget=budget)
    if json:
        print_json({**_check_tree(report), **({} if report.alone is None else _alone_tree(report.alone))})
    else:
        _say_check(report)
    if report.alone is not None and report.alone.stopped is not None:
        raise report.alone.stopped
    if report.findings:
        raise typer.Exit(1)


@app.command("export")
def export(
    context: typer.Context,
    file: File,
    to: Annotated[str, typer.Option("--to", metavar="DIR", help="Folder of the evaluation set.", show_default=False)],
    corpus: Corpus = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write questions and the chunks of their corpus as an evaluation set for hlgraph eval.

    Null questions and abstract ones go to files of their own, since no passage supports them.

    \b
    Examples:
      hlgraph questions export asked.jsonl --to asked
      hlgraph eval asked --strategies chunk,path
    """
    from hlgraph.evaluate.questions.record import corpus_of, read_questions

    state: State = context.obj
    questions = read_questions(file)
    with (
        state.open(corpus or corpus_of(questions, file)) as graph,
        progress("writing the set", quiet=quiet, is_json=json),
    ):
        exported = graph.questions.export(questions, to)
    if json:
        counts = {"passages": exported.passages, "questions": exported.questions}
        others = {"null_questions": exported.nulls, "abstract_questions": exported.abstracts}
        print_json({"folder": str(exported.folder), **counts, **others})
    else:
        apart = f"{exported.nulls} null questions, {exported.abstracts} abstract ones"
        say(f"{exported.folder}: {exported.passages:,} passages, {exported.questions} questions, {apart}")


def _show_plan(costs: Sequence[ExpectedCost], *, is_json: bool) -> None:
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


def _finish(question_set: QuestionSet, out: str, *, is_json: bool) -> None:
    """Write the file and the report; the exit code is 1 if there is no question."""
    unreadable = dict(question_set.unreadable)
    counts = Counter(item.type for item in question_set.questions)
    if question_set.questions:
        question_set.write(out)
    if is_json:
        print_json(
            {
                "file": str(Path(out)),
                "questions": len(question_set.questions),
                "by_kind": dict(counts),
                "wanted": dict(question_set.wanted),
                "lacking": question_set.lacking,
                "not_used": dict(question_set.dropped),
                "unreadable_replies": unreadable,
            }
        )
    else:
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in question_set.wanted)
        say(f"{len(question_set.questions)} questions in {out}: {kinds}")
        if question_set.dropped:
            say("not used:", *(f"  {number:,}  {reason}" for reason, number in question_set.dropped.items()))
        if unreadable:
            said = ", ".join(f"{number} to {name}" for name, number in unreadable.items())
            note(f"hlgraph: warning: replies that could not be read: {said}")
        for kind, count in question_set.lacking.items():
            note(f"hlgraph: warning: {count} of {question_set.wanted[kind]} {kind} questions could not be made")
        if len(question_set.questions) < sum(question_set.wanted.values()) and question_set.stopped is None:
            note("hlgraph: warning: the corpus gives no more; ingest more sources, or ask for other kinds")
    if question_set.stopped is not None:
        raise question_set.stopped
    if not question_set.questions:
        raise typer.Exit(1)


def _check_tree(report: CheckReport) -> dict[str, object]:
    return {
        "questions": sum(report.counts.values()),
        "by_kind": report.counts,
        "is_changed": report.is_changed,
        "by_finding": dict(Counter(item.what for item in report.findings)),
        "findings": report.findings,
    }


def _alone_tree(alone: AloneReport) -> dict[str, object]:
    return {"answered_alone": {"questions": alone.asked, "leaks": len(alone.findings), "unreadable": alone.unreadable}}


def _say_check(report: CheckReport) -> None:
    alone = report.alone
    kinds = ", ".join(f"{count} {kind}" for kind, count in report.counts.items())
    say(f"{sum(report.counts.values())} questions: {kinds}")
    if report.is_changed:
        note("hlgraph: warning: the corpus has changed since the questions were made")
    for item in report.findings[:_SHOWN]:
        say(f"{item.what}: question {item.question_id}: {item.reason}")
    if len(report.findings) > _SHOWN:
        say(f"... and {len(report.findings) - _SHOWN} more (--json lists all)")
    if alone is not None:
        unread = f"; {alone.unreadable} replies could not be read" if alone.unreadable else ""
        say(f"answered from each source alone: {alone.asked} questions, {len(alone.findings)} leaks{unread}")
    say(f"{len(report.findings)} findings" if report.findings else "nothing found")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="questions")
