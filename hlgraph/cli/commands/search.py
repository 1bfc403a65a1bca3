"""The command ``hlgraph search``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hlgraph.cli.command import STRATEGIES, Invocation, Where, argument, command, option
from hlgraph.cli.output import basis_lines, explain_lines, note, result_line, search_tree, why
from hlgraph.errors import InputError
from hlgraph.records import SEARCH_K

if TYPE_CHECKING:
    from hlgraph.records import Evidence
    from hlgraph.retrieve import Explanation, Retriever, SearchResult
    from hlgraph.retrieve.retriever import By

PLACE = 20  # position in the list of commands

app = typer.Typer()

Question = Annotated[str, argument("QUESTION", "The question.")]
StrategyName = Annotated[str, option("--strategy -s NAME", f"One of: {', '.join(STRATEGIES)}.")]
PresetName = Annotated[
    Literal["paper", "tuned", "fast", "plain", "literal"],
    option(
        "--preset",
        "Parameters: paper (as in the papers), tuned (for a small embedder), fast (strategy path in less time), "
        "plain (no reranker), literal (the printed numbers, without bounds of time).",
    ),
]
ByName = Annotated[
    Literal["rules", "chat"],
    option(
        "--by",
        "Who decides in the steps of the strategy that a chat model can take, such as which statements to follow: "
        "rules, or the chat model, at the cost of calls. With chat the strategy must have such a step: auto, diameter, "
        "fused, global, local, statement_graph, topic_graph.",
    ),
]
Set = Annotated[
    list[str] | None,
    option(
        "--set STRATEGY.PARAMETER=VALUE",
        "Set a parameter of the strategy, such as global.anchors=600 (may be repeated).",
    ),
]
UnitName = Annotated[
    Literal["statement", "chunk", "summary", "mixed"] | None,
    option(
        "",
        "Unit of evidence (default: the strategy's own); summary and mixed (chunks and summaries) with "
        "--strategy hierarchy.",
    ),
]
Mode = Annotated[Literal["vector", "text", "hybrid"], option("", "How seeds are found.")]
Diversity = Annotated[
    float | None,
    option(
        "TAU",
        "Drop evidence that repeats better evidence (word cosine above 1 - TAU); 0 keeps all "
        "(default: that of the strategy).",
    ),
]
Tabular = Annotated[bool, option("--tabular", "Label numbers from tables with their row and column.")]
AsOf = Annotated[
    str | None,
    option(
        "--as-of WHEN",
        "What was in the corpus then, if its history is kept (ingest --keep-history): a date (the end of that day in UTC), a time "
        "(2024-03-05T10:30:00+01:00), or the number of a version of the corpus.",
    ),
]
Explain = Annotated[
    Literal["short", "full"] | None,
    option(
        "--explain [full]",
        "Say in plain words why this evidence was chosen: seeds, hops and paths. --explain full shows every score, "
        "step and parameter, the times, and the queries to rerun.",
    ),
]
Picture = Annotated[Path | None, option("FILE", "Write the evidence and the paths to it as an HTML page.")]


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


@command(app, "search", "corpus", "caller")
def search(
    cli: Invocation,
    question: Question,
    strategy: StrategyName = "auto",
    preset: PresetName = "paper",
    by: ByName = "rules",
    sets: Set = None,
    k: Annotated[int, option("--k -k N", "Maximum number of pieces of evidence.")] = SEARCH_K,
    unit: UnitName = None,
    where: Where = None,
    mode: Mode = "vector",
    diversity: Diversity = None,
    tabular: Tabular = False,
    explain: Explain = None,
    as_of: AsOf = None,
    picture: Picture = None,
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
      hlgraph search "revenue in 2023" --as finance --as board
      hlgraph search "Who leads the works?" --as-of 2024-03-05
      hlgraph search "Who designed the bridge?" --explain --picture bridge.html
      hlgraph search "Who designed the bridge?" --strategy local --by chat --set local.cycles=1
    """
    is_explained = explain is not None or picture is not None
    retriever = chosen(strategy, preset, by=by, sets=sets)
    with cli.connect() as graph:
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
            as_of=as_of,
        )
    if picture is not None:
        try:
            picture.write_text(result.explain.to_html(), encoding="utf-8")
        except OSError as error:
            raise InputError(
                f"{picture}: the picture cannot be written ({error.strerror}); give a file in an existing folder"
            ) from error
    cli.show(search_tree(result), _lines(result, explain))
    if picture is not None and not cli.json:
        note(f"picture: {picture}")


def _lines(result: SearchResult, explain: Literal["short", "full"] | None) -> Iterator[str]:
    for number, evidence in enumerate(result.evidence, 1):
        yield f"[{number}] {evidence.score:.3f}  {' '.join(evidence.text.split())}"
        yield f"    {evidence.place}"
        yield from (f"    {line}" for line in basis_lines(evidence))
        yield from (f"    table: {label}" for label in evidence.labels)
        if explain is not None:
            yield f"    why: {_why(evidence, result.explain, number, is_full=explain == 'full')}"
    if not result.evidence:
        yield "no evidence"
    if explain == "full":
        yield from explain_lines(result.explain)
    elif explain is not None:
        from hlgraph.retrieve.explain.page import how_lines

        yield from how_lines(result.explain)
        yield "more: --explain full shows every score, step, parameter and query"


def _why(evidence: Evidence, explain: Explanation, number: int, *, is_full: bool) -> str:
    """Why a piece of evidence was chosen: with all scores, or in words."""
    if is_full:
        return "; ".join(filter(None, (why(evidence), result_line(explain, number))))
    from hlgraph.retrieve.explain.page import result_words

    cosine = evidence.why.get("cosine")
    close = f"; similarity to the question {cosine:.2f}" if isinstance(cosine, float) else ""
    return f"{result_words(explain, explain.results[number - 1])}{close}"
