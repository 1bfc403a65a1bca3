"""The command ``hlgraph search``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.choices import STRATEGIES
from hlgraph.cli.output import basis_lines, explain_lines, note, place, print_json, result_line, say, search_tree, why
from hlgraph.cli.state import Corpus, Json, State, Where
from hlgraph.errors import InputError
from hlgraph.records import SEARCH_K

if TYPE_CHECKING:
    from hlgraph.records import Evidence
    from hlgraph.retrieve import Explanation, Retriever
    from hlgraph.retrieve.retriever import By

PLACE = 20  # position in the list of commands

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="The question.", show_default=False)]
StrategyName = Annotated[
    str,
    typer.Option(
        "--strategy",
        "-s",
        metavar="NAME",
        help=f"One of: {', '.join(STRATEGIES)}.",
    ),
]
PresetName = Annotated[
    Literal["paper", "tuned", "fast", "plain"],
    typer.Option(
        "--preset",
        help="Parameters: paper (as in the papers), tuned (for a small embedder), fast (strategy path in less time), "
        "plain (no reranker).",
    ),
]
ByName = Annotated[
    Literal["rules", "chat"],
    typer.Option(
        "--by",
        help="Who decides in the steps of the strategy that a chat model can take, such as which statements to follow: "
        "rules, or the chat model, at the cost of calls. With chat the strategy must have such a step: auto, diameter, "
        "fused, global, local, statement_graph, topic_graph.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="STRATEGY.PARAMETER=VALUE",
        help="Set a parameter of the strategy, such as global.anchors=600 (may be repeated).",
        show_default=False,
    ),
]
UnitName = Annotated[
    Literal["statement", "chunk", "summary", "mixed"] | None,
    typer.Option(
        help="Unit of evidence (default: the strategy's own); summary and mixed (chunks and summaries) with "
        "--strategy hierarchy.",
        show_default=False,
    ),
]
Mode = Annotated[Literal["vector", "text", "hybrid"], typer.Option(help="How seeds are found.")]
Diversity = Annotated[
    float | None,
    typer.Option(
        metavar="TAU",
        help="Drop evidence that repeats better evidence (word cosine above 1 - TAU); 0 keeps all "
        "(default: that of the strategy).",
        show_default=False,
    ),
]
Tabular = Annotated[bool, typer.Option("--tabular", help="Label numbers from tables with their row and column.")]
Explain = Annotated[
    Literal["short", "full"] | None,
    typer.Option(
        "--explain",
        metavar="[full]",
        help="Say in plain words why this evidence was chosen: seeds, hops and paths. --explain full shows every score, "
        "step and parameter, the times, and the queries to rerun.",
        show_default=False,
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the evidence and the paths to it as an HTML page.", show_default=False),
]


def chosen(strategy: str, preset: str, *, by: By, sets: Sequence[str] | None) -> Retriever:
    """The retriever that --strategy, --preset, --by and --set describe; prints a note if the preset has no effect."""
    from hlgraph.retrieve.retriever import with_by
    from hlgraph.retrieve.search import retriever
    from hlgraph.retrieve.strategies import STRATEGIES

    of_preset = retriever(strategy, preset)
    if preset != "paper" and of_preset == retriever(strategy, "paper"):
        named = [name for name in sorted(STRATEGIES) if retriever(name, preset) != retriever(name, "paper")]
        note(f"--preset {preset} had no effect: {strategy} has no such preset; {', '.join(named)} have one")
    result = with_by(of_preset, by)
    if not sets:
        return result
    from hlgraph.evaluate.sweep import knob, with_values

    return with_values(strategy, result, knobs=[knob(text) for text in sets])


def search(
    context: typer.Context,
    question: Question,
    corpus: Corpus = None,
    strategy: StrategyName = "auto",
    preset: PresetName = "paper",
    by: ByName = "rules",
    sets: Set = None,
    k: Annotated[int, typer.Option("--k", "-k", metavar="N", help="Maximum number of pieces of evidence.")] = SEARCH_K,
    unit: UnitName = None,
    where: Where = None,
    mode: Mode = "vector",
    diversity: Diversity = None,
    tabular: Tabular = False,
    explain: Explain = None,
    picture: Picture = None,
    json: Json = False,
) -> None:
    """Find evidence for a question.

    Each piece has its text, a score, its source and its exact position in characters.

    \b
    Examples:
      hlgraph search "Who designed the bridge?"
      hlgraph search "Who designed the bridge?" --strategy topic --k 5 --explain
      hlgraph search "Who designed the bridge?" --explain full
      hlgraph search "flood" --where 'year >= 1950 and category in ("event", "place")'
      hlgraph search "flood" --unit chunk --json
      hlgraph search "revenue in 2023" --tabular
      hlgraph search "Who designed the bridge?" --explain --picture bridge.html
      hlgraph search "Who designed the bridge?" --strategy local --by chat --set local.cycles=1
    """
    state: State = context.obj
    is_explained = explain is not None or picture is not None
    retriever = chosen(strategy, preset, by=by, sets=sets)
    with state.open(corpus) as graph:
        result = graph.search(
            question,
            strategy=retriever,
            k=k,
            unit=unit,
            where=where,
            mode=mode,
            diversity=diversity,
            tabular=tabular,
            explain=is_explained,
        )
    if picture is not None:
        try:
            picture.write_text(result.explain.to_html(), encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{picture}: the picture cannot be written ({error.strerror}); give a file in an existing folder"
            ) from error
    if json:
        print_json(search_tree(result))
        return
    for number, item in enumerate(result.evidence, 1):
        say(f"[{number}] {item.score:.3f}  {' '.join(item.text.split())}", f"    {place(item)}")
        say(*(f"    {line}" for line in basis_lines(item)))
        say(*(f"    table: {label}" for label in item.labels))
        if explain is not None:
            say(f"    why: {_why(item, result.explain, number, is_full=explain == 'full')}")
    if not result.evidence:
        say("no evidence")
    if explain == "full":
        say(*explain_lines(result.explain))
    elif explain is not None:
        from hlgraph.retrieve.explain.page import how_lines

        say(*how_lines(result.explain), "more: --explain full shows every score, step, parameter and query")
    if picture is not None:
        note(f"picture: {picture}")


def _why(item: Evidence, explain: Explanation, number: int, *, is_full: bool) -> str:
    """Why a piece of evidence was chosen: with all scores, or in words."""
    if is_full:
        return "; ".join(filter(None, (why(item), result_line(explain, number))))
    from hlgraph.retrieve.explain.page import result_words

    cosine = item.why.get("cosine")
    close = f"; similarity to the question {cosine:.2f}" if isinstance(cosine, float) else ""
    return f"{result_words(explain, explain.results[number - 1])}{close}"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("search")(search)
