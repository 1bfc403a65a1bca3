"""The commands ``hlgraph questions``: evaluation questions made from a corpus."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hlgraph.cli.bars import progress
from hlgraph.cli.output import note, print_json, say
from hlgraph.cli.state import Corpus, Json, MaxTokens, MaxUsd, Quiet, State, budget_of, show_help
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from hlgraph.evaluate.questions.checking import CheckReport
    from hlgraph.evaluate.questions.record import QuestionKind
    from hlgraph.evaluate.questions.writing import AloneReport

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
    from hlgraph.cli.questioning import ByChat, even, finish, show_plan
    from hlgraph.evaluate.questions.making import make as made_by_facts
    from hlgraph.evaluate.questions.making import quotas
    from hlgraph.evaluate.questions.record import check_target

    state: State = context.obj
    check_target(out)
    named = cast("list[QuestionKind]", [name.strip() for name in kinds.split(",") if name.strip()])
    budget = budget_of(max_tokens, max_usd)
    if method == "facts":
        if plan or validator or budget:
            raise InputError("--plan, --validator and budgets are for --method chat; questions from facts cost nothing")
        wanted = quotas(count, named) if named else quotas(count)
        with state.open(corpus) as graph, progress("making questions", quiet=quiet, is_json=json):
            made = made_by_facts(graph, wanted, seed=seed, by=by)
        finish(made, out, is_json=json)
        return
    asked = ByChat(settings=state.settings(corpus), wanted=even(count, named), validator=validator, seed=seed, by=by)
    with progress("writing questions", quiet=quiet, is_json=json):
        costs, written = (asked.planned(), None) if plan else ((), asked.written(budget))
    if written is None:
        show_plan(costs, is_json=json)
    else:
        finish(written, out, is_json=json)


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
    from hlgraph.evaluate.questions.checking import check as checked
    from hlgraph.evaluate.questions.record import corpus_of, read_questions
    from hlgraph.evaluate.questions.writing import answer_alone, two_models

    state: State = context.obj
    questions = read_questions(file)
    settings = state.settings(corpus or corpus_of(questions, file))
    budget = budget_of(max_tokens, max_usd)
    if budget and by != "chat":
        raise InputError("a budget is for --by chat; a check by words costs nothing")
    alone = None
    with state.open(settings.corpus) as graph, progress("checking questions", quiet=quiet, is_json=json):
        found = checked(graph, questions)
        if by == "chat":
            with two_models(settings, budget=budget) as (model, _):
                alone = answer_alone(graph, questions, model=model)
            found = replace(found, findings=(*found.findings, *alone.findings))
    if json:
        print_json({**_check_tree(found), **({} if alone is None else _alone_tree(alone))})
    else:
        _say_check(found, alone)
    if alone is not None and alone.stopped is not None:
        raise alone.stopped
    if found.findings:
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
    from hlgraph.evaluate.questions.exporting import export as exported
    from hlgraph.evaluate.questions.record import corpus_of, read_questions

    state: State = context.obj
    questions = read_questions(file)
    with (
        state.open(corpus or corpus_of(questions, file)) as graph,
        progress("writing the set", quiet=quiet, is_json=json),
    ):
        found = exported(graph, questions, folder=to)
    if json:
        counts = {"passages": found.passages, "questions": found.questions}
        others = {"null_questions": found.nulls, "abstract_questions": found.abstracts}
        print_json({"folder": str(found.folder), **counts, **others})
    else:
        apart = f"{found.nulls} null questions, {found.abstracts} abstract ones"
        say(f"{found.folder}: {found.passages:,} passages, {found.questions} questions, {apart}")


def _check_tree(found: CheckReport) -> dict[str, object]:
    return {
        "questions": sum(found.counts.values()),
        "by_kind": dict(found.counts),
        "is_changed": found.is_changed,
        "by_finding": dict(Counter(item.what for item in found.findings)),
        "findings": [
            {"question_id": item.question_id, "what": item.what, "reason": item.reason} for item in found.findings
        ],
    }


def _alone_tree(alone: AloneReport) -> dict[str, object]:
    return {"answered_alone": {"questions": alone.asked, "leaks": len(alone.findings), "unreadable": alone.unreadable}}


def _say_check(found: CheckReport, alone: AloneReport | None) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.counts.items())
    say(f"{sum(found.counts.values())} questions: {kinds}")
    if found.is_changed:
        note("hlgraph: warning: the corpus has changed since the questions were made")
    for item in found.findings[:_SHOWN]:
        say(f"{item.what}: question {item.question_id}: {item.reason}")
    if len(found.findings) > _SHOWN:
        say(f"... and {len(found.findings) - _SHOWN} more (--json lists all)")
    if alone is not None:
        unread = f"; {alone.unreadable} replies could not be read" if alone.unreadable else ""
        say(f"answered from each source alone: {alone.asked} questions, {len(alone.findings)} leaks{unread}")
    say(f"{len(found.findings)} findings" if found.findings else "nothing found")


def register(parent: typer.Typer) -> None:
    """Add the commands."""
    parent.add_typer(app, name="questions")
