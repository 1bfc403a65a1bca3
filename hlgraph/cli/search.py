"""hlgraph search, hlgraph answer."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from hlgraph.cli.output import answer_tree, explain_lines, place, print_json, say, search_tree, why
from hlgraph.cli.state import Corpus, Json, State, Where

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="The question.", show_default=False)]
StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy",
        "-s",
        metavar="NAME",
        help="One of: chunk, chunk_rerank, chunk_entity, statement, statement_graph, topic, topic_graph.",
    ),
]
Mode = Annotated[Literal["vector", "text", "hybrid"], typer.Option(help="How seeds are searched.")]


def search(
    context: typer.Context,
    question: Question,
    corpus: Corpus = None,
    strategy: StrategyName = "statement",
    k: Annotated[int, typer.Option("--k", "-k", metavar="N", help="How many pieces of evidence.")] = 10,
    unit: Annotated[
        Literal["statement", "chunk"] | None,
        typer.Option(help="What is returned (default: that of the strategy).", show_default=False),
    ] = None,
    where: Where = None,
    mode: Mode = "vector",
    explain: Annotated[bool, typer.Option("--explain", help="Say how the evidence was found.")] = False,
    json: Json = False,
) -> None:
    """Find evidence for a question.

    Each piece has its text, a score, its source and the exact characters that it stands on.

    \b
    Examples:
      hlgraph search "Who designed the bridge?"
      hlgraph search "Who designed the bridge?" --strategy topic --k 5 --explain
      hlgraph search "flood" --where 'year >= 1950 and category in ("event", "place")'
      hlgraph search "flood" --unit chunk --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        result = graph.search(question, strategy=strategy, k=k, unit=unit, where=where, mode=mode)
    if json:
        print_json(search_tree(result))
        return
    for number, item in enumerate(result.evidence, 1):
        say(f"[{number}] {item.score:.3f}  {' '.join(item.text.split())}", f"    {place(item)}")
        if explain:
            say(f"    why: {why(item)}")
    if not result.evidence:
        say("no evidence")
    if explain:
        say(*explain_lines(result))


def answer(
    context: typer.Context,
    question: Question,
    corpus: Corpus = None,
    strategy: StrategyName = "statement",
    k: Annotated[int, typer.Option("--k", "-k", metavar="N", help="How many pieces of evidence are looked at.")] = 20,
    where: Where = None,
    mode: Mode = "vector",
    json: Json = False,
) -> None:
    """Answer a question with citations [n].

    With a chat model (HLGRAPH_CHAT, such as openai:gpt-4o-mini) it answers from the evidence, and its citations are
    checked. Without one the answer is the best evidence itself, sentence by sentence.

    \b
    Examples:
      hlgraph answer "Who designed the bridge, and where was she born?"
      hlgraph answer "What did the flood destroy?" --where 'category = "event"' --json
    """
    state: State = context.obj
    with state.open(corpus) as graph:
        found = graph.answer(question, strategy=strategy, k=k, where=where, mode=mode)
    if json:
        print_json(answer_tree(found))
        return
    say(found.text)
    say(*(f"  [{citation.number}] {place(citation.evidence)}" for citation in found.citations))
    if found.uncited:
        say(f"  not cited, so not shown to be in the corpus: {' '.join(found.uncited)}")
    if found.dropped_citations:
        say(f"  left out: {found.dropped_citations} citations of evidence that there is not")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("search")(search)
    app.command("answer")(answer)
