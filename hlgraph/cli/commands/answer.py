"""The commands ``hlgraph answer`` and ``hlgraph contradictions``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import Invocation, Where, command, option
from hlgraph.cli.commands.search import AsOf, ByName, Mode, PresetName, Question, Set, StrategyName, UnitName, chosen
from hlgraph.cli.output import answer_tree, basis_lines, pick, piece, say
from hlgraph.errors import InputError
from hlgraph.records import ANSWER_K, REPORT_K

if TYPE_CHECKING:
    from hlgraph.answer import AnswerEvent
    from hlgraph.answer.contradictions import AssertedObject, Contradiction
    from hlgraph.records import Answer, ReportFigures

PLACE = 30  # position in the list of commands

app = typer.Typer()

_K = Annotated[
    int | None,
    option(
        "--k -k N",
        f"Pieces of evidence to retrieve (default: {ANSWER_K}; for a report {REPORT_K}, with the strategy global all "
        "statements of the communities that it found).",
    ),
]
_AnswerMode = Annotated[
    Literal["short", "report"],
    option(
        "",
        "A short answer, or a report from many pieces of evidence; best with --strategy global, which reads whole "
        "communities, one call each. To see the cost first: hlgraph plan --question.",
    ),
]
_ContextTokens = Annotated[
    int,
    option("N", "Maximum tokens of evidence in one call of the chat model; a larger community takes several calls."),
]
_Unsupported = Annotated[
    Literal["flag", "drop"], option("", "Flag sentences that their evidence does not support, or drop them.")
]
_Verify = Annotated[
    Literal["lexical", "chat"],
    option("", "Find unsupported sentences by comparing words, or by asking the chat model (one more call)."),
]
_LeastSupport = Annotated[
    float | None,
    option(
        "X",
        "Refuse to answer when the evidence matches the question by less than this, from 0 to 1 (default: 0.5 "
        "without a chat model; 0 with one, since the model itself says when it cannot answer).",
    ),
]
_Choices = Annotated[
    list[str] | None, option("--choice TEXT", "A possible answer (repeat the option); the best one is chosen.")
]
_Style = Annotated[
    Literal["plain", "reason", "aligned"],
    option(
        "",
        "Ask the chat model for the answer, or for its reason and then the answer; aligned: by the prompt that hlgraph align "
        "trains models on.",
    ),
]
_Stream = Annotated[bool, option("--stream", "Print the text as it is written; not with --json.")]


@command(app, "answer", "corpus", "budget", "caller")
def answer(
    cli: Invocation,
    question: Question,
    strategy: StrategyName = "auto",
    preset: PresetName = "paper",
    by: ByName = "rules",
    sets: Set = None,
    k: _K = None,
    unit: UnitName = None,
    where: Where = None,
    mode: _AnswerMode = "short",
    search_mode: Mode = "vector",
    context_tokens: _ContextTokens = 8_000,
    unsupported: _Unsupported = "flag",
    verify: _Verify = "lexical",
    least_support: _LeastSupport = None,
    choice: _Choices = None,
    style: _Style = "plain",
    as_of: AsOf = None,
    stream: _Stream = False,
) -> None:
    """Answer a question with citations [n].

    With a chat model (HLGRAPH_CHAT, such as openai:gpt-4o-mini) the model answers from the evidence, and its citations
    are checked. Without one the answer consists of the fewest sentences of the evidence that cover the question, the
    answering one first. Each sentence is verified against the evidence that it cites. An answer that the model could
    not finish within its length limit is printed, and makes the exit code 1.

    \b
    Examples:
      hlgraph answer "Who designed the bridge, and where was she born?"
      hlgraph answer "What did the flood destroy?" --where 'category = "event"' --json
      hlgraph answer "How did the floods change the towns?" --strategy global --mode report --stream
      hlgraph answer "What do the notes on floods have in common?" --strategy hierarchy
      hlgraph answer "How did the floods change the towns?" --strategy global --mode report --set global.anchors=600
      hlgraph answer "Who designed the bridge?" --choice "Jonas Querl" --choice "Mara Quill"
    """
    from hlgraph.records import Answer

    if stream and cli.json:
        raise InputError("--stream prints text as it is written, --json one object at the end; use only one of them")
    retriever = chosen(strategy, preset, by=by, sets=sets)
    with cli.connect() as graph:
        ask: Callable[..., Answer | Iterator[AnswerEvent]] = graph.answer_stream if stream else graph.answer
        answer_or_events = ask(
            question,
            strategy=retriever,
            k=k,
            unit=unit,
            where=where,
            mode=mode,
            search_mode=search_mode,
            context_tokens=context_tokens,
            unsupported=unsupported,
            verify=verify,
            least_support=least_support,
            choices=choice or None,
            style=style,
            as_of=as_of,
            budget=cli.budget,
        )
        result = answer_or_events if isinstance(answer_or_events, Answer) else streamed(answer_or_events)
    cli.show(answer_tree(result), answer_lines(result, is_printed=stream), fails=result.is_truncated)


def streamed(events: Iterator[AnswerEvent]) -> Answer:
    """The answer that ends a stream of events; its text is printed as it arrives."""
    from hlgraph.answer import AnswerPiece
    from hlgraph.answer.answering import last

    text = ""

    def shown() -> Iterator[AnswerEvent]:
        nonlocal text
        for event in events:
            if isinstance(event, AnswerPiece):
                text += event.text
                piece(event.text)
            yield event

    result = last(shown())
    piece("\n")
    if text != result.text:
        say("after the check:" if result.dropped else "asked again with more room:", result.text)
    return result


def answer_lines(result: Answer, *, is_printed: bool) -> Iterator[str]:
    """The text, unless it was printed already, then the citations, unsupported sentences and omitted evidence."""
    if not is_printed:
        yield result.text
    if result.choice is not None:
        margin = "" if result.choice.margin is None else f", ahead by {result.choice.margin:.2f}"
        yield f"  choice {result.choice.index + 1}{margin}"
    for citation in result.citations:
        yield f"  [{citation.number}] {citation.evidence.place}"
        yield from (f"      {line}" for line in basis_lines(citation.evidence))
    yield from _doubts(result)
    if result.search.by == "chat" or result.search.fallbacks:
        from hlgraph.retrieve.explain.page import use_lines

        yield from (f"  {line}" for line in use_lines(result.search))
    if result.report is not None:
        yield from (f"  {line}" for line in report_figures(result.report))


def _doubts(result: Answer) -> Iterator[str]:
    """What is wrong with an answer: what it does not cite or support, and what was cut or left out."""
    if result.uncited:
        yield f"  not cited, so not shown to be in the corpus: {' '.join(result.uncited)}"
    for sentence in result.sentences:
        if not sentence.is_supported and sentence.citations:
            yield f"  not supported by what it cites ({sentence.reason}): {' '.join(sentence.text.split())}"
    for sentence in result.dropped:
        yield f"  dropped ({sentence.reason}): {' '.join(sentence.text.split())}"
    if result.dropped_citations:
        yield f"  dropped: {result.dropped_citations} citations of evidence that does not exist"
    if result.is_truncated:
        yield "  incomplete: the chat model reached the length limit of its reply, twice; raise models.max_tokens"
    if result.left_out:
        yield f"  no room in the context: {result.left_out} pieces of evidence"
    if result.cut:
        yield f"  shortened to fit the context: {result.cut} pieces of evidence"


def report_figures(figures: ReportFigures) -> Iterator[str]:
    """What a report was written from, and what was wrong with the replies."""
    parts = {"communities": figures.communities, "statements": figures.statements, "passages": figures.passages}
    read = [f"{count:,} {name}" for name, count in {**parts, "summaries": figures.summaries}.items() if count]
    if figures.anchors:
        read.insert(0, f"{figures.shown_anchors:,} of {figures.anchors:,} anchors")
    yield f"report: {', '.join(read)}; {figures.used_points:,} of {figures.points:,} points"
    kept = f", {figures.kept_calls} more answered from stored replies" if figures.kept_calls else ""
    yield f"chat model: {figures.calls:,} calls, {figures.input_tokens:,} tokens in, {figures.output_tokens:,} out{kept}"
    if figures.divided:
        yield f"divided: {figures.divided} communities did not fit one call, and took several"
    if figures.foreign_citations:
        yield (
            f"rejected: {figures.foreign_citations} citations of evidence that the call did not show, and "
            f"{figures.rejected_points} points without any other"
        )


@command(app, "contradictions", "corpus", "caller")
def contradictions(
    cli: Invocation,
    predicate: Annotated[
        list[str] | None,
        option(
            "--predicate TEXT",
            "A predicate whose subjects have one object at a time, such as 'was born in'; with ^ before it, one whose objects "
            "have one subject, such as '^leads' (may be repeated). They are checked beside those that the corpus shows.",
        ),
    ] = None,
    where: Where = None,
    as_of: AsOf = None,
) -> None:
    """List facts that contradict each other, each with its sources and dates.

    A predicate that the corpus shows to have one object at a time is one with which two sources or more name at least 10
    subjects, of which at least 90 % have one object. With a history, past versions are read as well.

    \b
    Examples:
      hlgraph contradictions
      hlgraph contradictions --predicate 'was born in' --predicate '^leads' --json
      hlgraph contradictions --as-of 2024-03-05
    """
    with cli.connect() as graph:
        listed = graph.contradictions(predicate or (), where=where, as_of=as_of)
    lines = [line for one in listed for line in _contradiction_lines(one)]
    cli.show({"contradictions": [_contradiction_tree(one) for one in listed]}, lines or ["no contradictions"])


def _contradiction_lines(contradiction: Contradiction) -> Iterator[str]:
    yield f"{contradiction.subject}: {contradiction.predicate}"
    for one in contradiction.objects:
        yield f"  {one.name}{'' if one.is_present else ' (past)'}"
        for said in one.assertions:
            dates = _valid(said.source.valid_from, said.source.valid_to)
            yield f"    {said.date or 'without a date'}{dates}: {' '.join(said.text.split())}"
            yield f"      {said.source.uri}, characters {said.start} to {said.end}"


def _valid(since: str | None, until: str | None) -> str:
    return "" if since is None else f", valid from {since} to {until or 'now'}"


def _contradiction_tree(contradiction: Contradiction) -> dict[str, object]:
    objects = [_object_tree(one) for one in contradiction.objects]
    return {"subject": contradiction.subject, "predicate": contradiction.predicate, "objects": objects}


def _object_tree(one: AssertedObject) -> dict[str, object]:
    said = [
        {
            **pick(each, "text start end date"),
            "source": pick(each.source, "uri title version valid_from valid_to", metadata=dict(each.source.metadata)),
        }
        for each in one.assertions
    ]
    return {"name": one.name, "is_present": one.is_present, "assertions": said}
