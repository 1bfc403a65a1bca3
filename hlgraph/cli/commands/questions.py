"""The commands ``hlgraph questions``: evaluation questions made from a corpus."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hlgraph.cli.command import Invocation, MaxTokens, MaxUsd, argument, budget_of, command, group, option, split
from hlgraph.cli.commands.ledger import money
from hlgraph.cli.commands.plan import duration
from hlgraph.cli.output import note, pick
from hlgraph.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hlgraph.evaluate.questions.checking import CheckReport
    from hlgraph.evaluate.questions.record import QuestionKind, QuestionSet
    from hlgraph.models.accounts.budget import ExpectedCost

PLACE = 175  # position in the list of commands

app = group("questions", "Make evaluation questions from a corpus.")
_SHOWN = 20
File = Annotated[str, argument("FILE", "File of questions.")]

Out = Annotated[str, option("--out FILE", "Write the questions to this file.")]
Kinds = Annotated[
    str,
    option(
        "NAMES",
        "Kinds, separated by commas: bridge, comparison, intersection, null from facts; synthesis, null, abstract "
        "by a chat model.  [default: all of the method but abstract]",
    ),
]
Method = Annotated[
    Literal["facts", "chat"],
    option("", "Generate them by templates over the facts of the graph, or by the chat model."),
]
Validator = Annotated[
    str,
    option(
        "NAME",
        "With --method chat: the model that criticises and answers, better a stronger one (default: models.judge or "
        "HLGRAPH_JUDGE, otherwise the chat model).",
    ),
]
ByField = Annotated[
    str,
    option(
        "FIELD",
        "Metadata field that names the document of a source, if sources are parts of documents (default: each source is "
        "a document).",
    ),
]


@command(app, "make", "corpus", "quiet")
def make(
    cli: Invocation,
    out: Out,
    count: Annotated[int, option("N", "Number of questions.")] = 200,
    kinds: Kinds = "",
    method: Method = "facts",
    validator: Validator = "",
    plan: Annotated[
        bool, option("--plan", "With --method chat: show what it would cost, without calling a model.")
    ] = False,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    seed: Annotated[int, option("N", "The same seed gives the same questions.")] = 0,
    by: ByField = "",
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

    check_target(out)
    chosen = cast("tuple[QuestionKind, ...]", split(kinds))
    budget = budget_of(max_tokens, max_usd)
    if method == "facts" and (plan or validator or budget):
        raise InputError("--plan, --validator and budgets are for --method chat; questions from facts cost nothing")
    with cli.connect("making questions" if method == "facts" else "writing questions") as graph:
        if plan:
            costs = graph.questions.plan(count, kinds=chosen, validator=validator, seed=seed, by=by)
        else:
            question_set = graph.questions.make(
                count, kinds=chosen, method=method, validator=validator, seed=seed, by=by, budget=budget
            )
    if plan:
        cli.show({"models": costs}, _cost_lines(costs))
    else:
        _finish(cli, question_set, out)


@command(app, "check", "corpus", "budget", "quiet")
def check(
    cli: Invocation,
    file: File,
    by: Annotated[
        Literal["words", "chat"],
        option("", "How leakage is detected: by words, or also by the answers of the chat model."),
    ] = "words",
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

    questions = read_questions(file)
    name = cli.corpus or corpus_of(questions, file)
    if cli.budget and by != "chat":
        raise InputError("a budget is for --by chat; a check by words costs nothing")
    with cli.connect("checking questions", corpus=name) as graph:
        report = graph.questions.check(questions, by=by, budget=cli.budget)
    if report.is_changed and not cli.json:
        note("hlgraph: warning: the corpus has changed since the questions were made")
    cli.show(_check_tree(report), _check_lines(report))
    if report.alone is not None and report.alone.stopped is not None:
        raise report.alone.stopped
    if report.findings:
        raise typer.Exit(1)


@command(app, "export", "corpus", "quiet")
def export(
    cli: Invocation,
    file: File,
    to: Annotated[str, option("--to DIR", "Folder of the evaluation set.")],
) -> None:
    """Write questions and the chunks of their corpus as an evaluation set for hlgraph eval.

    Null questions and abstract ones go to files of their own, since no passage supports them.

    \b
    Examples:
      hlgraph questions export asked.jsonl --to asked
      hlgraph eval asked --strategies chunk,path
    """
    from hlgraph.evaluate.questions.record import corpus_of, read_questions

    questions = read_questions(file)
    with cli.connect("writing the set", corpus=cli.corpus or corpus_of(questions, file)) as graph:
        exported = graph.questions.export(questions, to)
    apart = f"{exported.nulls} null questions, {exported.abstracts} abstract ones"
    tree = pick(
        exported,
        "folder passages questions",
        null_questions=exported.nulls,
        abstract_questions=exported.abstracts,
    )
    cli.show(tree, [f"{exported.folder}: {exported.passages:,} passages, {exported.questions} questions, {apart}"])


def _cost_lines(costs: Sequence[ExpectedCost]) -> Iterator[str]:
    """What each model would cost."""
    for cost in costs:
        basis = (
            f"measured on {cost.measured_calls:,} calls" if cost.measured_calls else "lengths of replies are guessed"
        )
        yield f"{cost.model}: {cost.calls:,} calls, {cost.kept_calls:,} more answered from stored replies"
        yield f"tokens: {cost.input_tokens:,} in, {cost.output_tokens:,} out; {basis}"
        yield f"money: {money(cost.usd)}"
        yield f"time: {duration(cost.seconds)}"


def _finish(cli: Invocation, question_set: QuestionSet, out: str) -> None:
    """Write the file and the report; the exit code is 1 if there is no question."""
    wanted, count = question_set.wanted, len(question_set.questions)
    by_kind = Counter(question.type for question in question_set.questions)
    if count:
        question_set.write(out)
    kinds = ", ".join(f"{by_kind[kind]} {kind}" for kind in wanted)
    lines = [f"{count} questions in {out}: {kinds}"]
    if question_set.dropped:
        lines += ["not used:", *(f"  {number:,}  {reason}" for reason, number in question_set.dropped.items())]
    tree = {"file": Path(out), "questions": count, "by_kind": by_kind, "wanted": wanted}
    more = {"not_used": question_set.dropped, "unreadable_replies": question_set.unreadable}
    cli.show({**tree, "lacking": question_set.lacking, **more}, lines)
    if not cli.json:
        for warning in _warnings(question_set):
            note(f"hlgraph: warning: {warning}")
    if question_set.stopped is not None:
        raise question_set.stopped
    if not question_set.questions:
        raise typer.Exit(1)


def _warnings(question_set: QuestionSet) -> Iterator[str]:
    if question_set.unreadable:
        unreadable = ", ".join(f"{number} to {name}" for name, number in question_set.unreadable.items())
        yield f"replies that could not be read: {unreadable}"
    for kind, count in question_set.lacking.items():
        yield f"{count} of {question_set.wanted[kind]} {kind} questions could not be made"
    if len(question_set.questions) < sum(question_set.wanted.values()) and question_set.stopped is None:
        yield "the corpus gives no more; ingest more sources, or ask for other kinds"


def _check_tree(report: CheckReport) -> dict[str, object]:
    alone = report.alone
    tree: dict[str, object] = {
        "questions": sum(report.counts.values()),
        "by_kind": report.counts,
        "is_changed": report.is_changed,
        "by_finding": Counter(finding.what for finding in report.findings),
        "findings": report.findings,
    }
    if alone is not None:
        tree["answered_alone"] = {
            "questions": alone.asked,
            "leaks": len(alone.findings),
            "unreadable": alone.unreadable,
        }
    return tree


def _check_lines(report: CheckReport) -> Iterator[str]:
    alone, findings = report.alone, report.findings
    kinds = ", ".join(f"{count} {kind}" for kind, count in report.counts.items())
    yield f"{sum(report.counts.values())} questions: {kinds}"
    for finding in findings[:_SHOWN]:
        yield f"{finding.what}: question {finding.question_id}: {finding.reason}"
    if len(findings) > _SHOWN:
        yield f"... and {len(findings) - _SHOWN} more (--json lists all)"
    if alone is not None:
        unread = f"; {alone.unreadable} replies could not be read" if alone.unreadable else ""
        yield f"answered from each source alone: {alone.asked} questions, {len(alone.findings)} leaks{unread}"
    yield f"{len(findings)} findings" if findings else "nothing found"
