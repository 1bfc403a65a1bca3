"""hlgraph search, hlgraph answer."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from hlgraph.cli.output import answer_tree, explain_lines, place, print_json, search_tree
from hlgraph.cli.state import Corpus, Json, State, Where

Question = Annotated[str, typer.Argument(help="The question.", show_default=False)]
StrategyName = Annotated[
    str, typer.Option("--strategy", "-s", help="chunk, chunk_rerank, chunk_entity, statement or topic.")
]
Mode = Annotated[str, typer.Option(help="How seeds are searched: vector, text or hybrid.")]


def search(
    context: typer.Context,
    question: Question,
    corpus: Corpus = None,
    strategy: StrategyName = "statement",
    k: Annotated[int, typer.Option("--k", "-k", help="How many pieces of evidence.")] = 10,
    unit: Annotated[
        str | None,
        typer.Option(help="What is returned: statement or chunk (default: the strategy's).", show_default=False),
    ] = None,
    where: Where = None,
    mode: Mode = "vector",
    explain: Annotated[bool, typer.Option("--explain", help="Say how the evidence was found.")] = False,
    json: Json = False,
) -> None:
    """Find evidence for a question: text, score, source and the exact characters that it stands on.

    Examples:

      hlgraph search "Who designed the bridge?"

      hlgraph search "Who designed the bridge?" --strategy topic --k 5 --explain

      hlgraph search "flood of the river" --where 'year >= 1950 and category in ("event", "place")' --json
    """
    from hlgraph.retrieve.request import Mode as RequestMode
    from hlgraph.retrieve.request import Unit

    state: State = context.obj
    with state.open(corpus) as graph:
        result = graph.search(
            question,
            strategy=strategy,
            k=k,
            unit=cast("Unit | None", unit),
            where=where,
            mode=cast("RequestMode", mode),
        )
    if json:
        print_json(search_tree(result))
        return
    for number, item in enumerate(result.evidence, 1):
        print(f"[{number}] {item.score:.3f}  {' '.join(item.text.split())}")
        print(f"    {place(item)}")
        if explain:
            print(f"    why: {', '.join(f'{name} {value}' for name, value in item.why.items())}")
    if not result.evidence:
        print("no evidence")
    if explain:
        print("\n".join(explain_lines(result)))


def answer(
    context: typer.Context,
    question: Question,
    corpus: Corpus = None,
    strategy: StrategyName = "statement",
    k: Annotated[int, typer.Option("--k", "-k", help="How many pieces of evidence are looked at.")] = 20,
    where: Where = None,
    mode: Mode = "vector",
    json: Json = False,
) -> None:
    """Answer a question with citations [n]; without a chat model the answer is the best evidence itself.

    Examples:

      hlgraph answer "Who designed the bridge, and where was she born?"

      hlgraph answer "What did the flood destroy?" --where 'category = "event"' --json
    """
    from hlgraph.retrieve.request import Mode as RequestMode

    state: State = context.obj
    with state.open(corpus) as graph:
        found = graph.answer(question, strategy=strategy, k=k, where=where, mode=cast("RequestMode", mode))
    if json:
        print_json(answer_tree(found))
        return
    print(found.text)
    for citation in found.citations:
        print(f"  [{citation.number}] {place(citation.evidence)}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("search")(search)
    app.command("answer")(answer)
