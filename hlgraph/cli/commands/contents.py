"""The commands ``hlgraph sources``, ``entities``, ``facts`` and ``show``: what a corpus contains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hlgraph.cli.command import Invocation, Where, argument, command, option
from hlgraph.cli.commands.search import AsOf
from hlgraph.cli.output import pick
from hlgraph.errors import UnknownNameError

if TYPE_CHECKING:
    from hlgraph.records import Entity, Source
    from hlgraph.sdk.client import HLGraph
    from hlgraph.sdk.contents import EntityDetails, FactRow, Page, SourceDetails, SupportedFact

PLACE = 32  # position in the list of commands

app = typer.Typer()
T = TypeVar("T")
_Limit = Annotated[int, option("--limit N", "Number of rows of a page.")]
_After = Annotated[str | None, option("--after ID", "Begin after this id, which the page before ends with.")]
_LIMIT = 20
_SPAN = 100  # characters of a chunk that are printed


@command(app, "sources", "corpus", "caller")
def sources(
    cli: Invocation, where: Where = None, limit: _Limit = _LIMIT, after: _After = None, as_of: AsOf = None
) -> None:
    """List the sources of a corpus, page by page, in the order of their ids.

    \b
    Examples:
      hlgraph sources
      hlgraph sources --where 'year >= 1900' --limit 100
      hlgraph sources --as finance --json
    """
    with cli.connect() as graph:
        page = graph.sources.list(where=where, limit=limit, after=after, as_of=as_of)
    rows = [pick(source, "id uri title metadata version valid_from valid_to") for source in page]
    _show(cli, "sources", page, rows=rows, lines=(f"{one.id}  {_titled(one)}" for one in page))


@command(app, "entities", "corpus", "caller")
def entities(
    cli: Invocation,
    match: Annotated[
        str | None, option("--match WORDS", "List those whose names have all these words, or parts of words.")
    ] = None,
    where: Where = None,
    limit: _Limit = _LIMIT,
    after: _After = None,
    as_of: AsOf = None,
) -> None:
    """List the entities of a corpus, page by page, in the order of their ids.

    With a filter, those that the sources it admits mention.

    \b
    Examples:
      hlgraph entities
      hlgraph entities --match bridge
      hlgraph entities --where 'year >= 1900' --limit 100
    """
    with cli.connect() as graph:
        page = graph.entities.list(match=match, where=where, limit=limit, after=after, as_of=as_of)
    rows = [pick(entity, "id name kind aliases") for entity in page]
    _show(cli, "entities", page, rows=rows, lines=(f"{one.id}  {_named(one)}" for one in page))


@command(app, "facts", "corpus", "caller")
def facts(
    cli: Invocation, where: Where = None, limit: _Limit = _LIMIT, after: _After = None, as_of: AsOf = None
) -> None:
    """List the facts of a corpus, page by page, in the order of their ids.

    With a filter, those that the sources it admits assert.

    \b
    Examples:
      hlgraph facts
      hlgraph facts --where 'year >= 1900' --limit 100
    """
    with cli.connect() as graph:
        page = graph.facts.list(where=where, limit=limit, after=after, as_of=as_of)
    _show(cli, "facts", page, rows=[_fact_tree(one) for one in page], lines=(f"{one.id}  {one.text}" for one in page))


def _show(cli: Invocation, name: str, page: Page[T], *, rows: list[dict[str, object]], lines: Iterator[str]) -> None:
    rest = "" if page.after is None else f"; the next page: add --after {page.after}"
    footer = f"{len(page):,} of {page.total:,} shown{rest}" if page else f"no {name}"
    cli.show({name: rows, "total": page.total, "after": page.after}, [*lines, footer])


@command(app, "show", "corpus", "caller")
def show(
    cli: Invocation,
    name: Annotated[str, argument("NAME", "Id, uri or path of a source; id or name of an entity; or id of a fact.")],
    limit: Annotated[int, option("--limit N", "Number of chunks, of facts and neighbours, or of statements.")] = _LIMIT,
    skip: Annotated[int, option("--skip N", "Number of the first of them that are left out.")] = 0,
    as_of: AsOf = None,
) -> None:
    """Open a source, an entity or a fact.

    A source with its text, chunks and metadata; an entity with its names, facts, neighbours and merges; a fact with the
    statements that support it and their sources. With --json a source has its whole text.

    \b
    Examples:
      hlgraph show library/halfmoon-bridge.md
      hlgraph show "Mara Quill" --limit 50 --skip 50
      hlgraph show 3f0c5a1be2d94e6f8a7b6c5d4e3f2a1b --json
    """
    with cli.connect() as graph:
        tree, lines = _opened(graph, name, slice(skip, skip + limit), as_of)
    cli.show(tree, lines)


def _opened(graph: HLGraph, name: str, part: slice, as_of: str | None) -> tuple[dict[str, object], list[str]]:
    for opening in (_of_source, _of_entity, _of_fact):
        try:
            return opening(graph, name, part, as_of)
        except UnknownNameError as error:
            if not str(error).startswith(f"{name}: "):  # there is no such corpus
                raise
    raise UnknownNameError(
        f"{name}: corpus {graph.corpus!r} has no source, entity or fact of this id, uri or name; hlgraph sources, hlgraph entities "
        "and hlgraph facts list them"
    )


def _of_source(graph: HLGraph, name: str, part: slice, as_of: str | None) -> tuple[dict[str, object], list[str]]:
    from hlgraph.sdk.arguments import check_not_negative

    check_not_negative(limit=part.stop - part.start, skip=part.start)
    details = graph.sources.open(name, as_of=as_of)
    tree = {
        **pick(details.source, "id uri title metadata version valid_from valid_to"),
        **pick(details, "text chunks statements"),
    }
    return {"source": tree}, list(_source_lines(details, part))


def _source_lines(details: SourceDetails, part: slice) -> Iterator[str]:
    source = details.source
    yield f"source {source.id}: {_titled(source)}"
    yield f"  version {source.version}, {len(details.text):,} characters, {len(details.statements):,} statements"
    yield from (f"  {key}: {_value(value)}" for key, value in sorted(source.metadata.items()))
    shown = details.chunks[part]
    for chunk in shown:
        page = "" if chunk.page is None else f", page {chunk.page}"
        text = " ".join(chunk.text.split())
        yield f"  {chunk.start}-{chunk.end}{page}: {text if len(text) <= _SPAN else f'{text[: _SPAN - 1]}…'}"
    yield f"{len(shown):,} of {len(details.chunks):,} chunks shown{_more(part, len(details.chunks))}"


def _of_entity(graph: HLGraph, name: str, part: slice, as_of: str | None) -> tuple[dict[str, object], list[str]]:
    details = graph.entities.open(name, limit=part.stop - part.start, skip=part.start, as_of=as_of)
    tree = {
        **pick(details.entity, "id name kind aliases"),
        "merged": [pick(one, "id name kind aliases") for one in details.merged],
        "facts": [_support_tree(one) for one in details.facts],
        "neighbours": [pick(one.entity, "id name kind", statements=one.statements) for one in details.neighbours],
        **pick(details, "fact_count neighbour_count statement_count is_cut"),
    }
    return {"entity": tree}, list(_entity_lines(details, part))


def _entity_lines(details: EntityDetails, part: slice) -> Iterator[str]:
    entity, least = details.entity, "at least " if details.is_cut else ""
    yield f"entity {entity.id}: {_named(entity)}"
    yield f"  names: {', '.join(entity.aliases)}"
    yield from (f"  merged with {one.id}: {_named(one)}" for one in details.merged)
    yield f"  mentioned by {least}{details.statement_count:,} statements"
    for fact in details.facts:
        yield f"  {fact.fact.text}  ({', '.join(_titled(source) for source in fact.sources.values())})"
    shown = len(details.facts)
    yield f"{shown:,} of {least}{details.fact_count:,} facts shown{_more(part, details.fact_count)}"
    yield from (f"  beside {_named(one.entity)}: {one.statements:,} statements" for one in details.neighbours)
    shown = len(details.neighbours)
    yield f"{shown:,} of {least}{details.neighbour_count:,} neighbours shown{_more(part, details.neighbour_count)}"


def _of_fact(graph: HLGraph, name: str, part: slice, as_of: str | None) -> tuple[dict[str, object], list[str]]:
    details = graph.facts.open(name, limit=part.stop - part.start, skip=part.start, as_of=as_of)
    return {"fact": _support_tree(details)}, list(_fact_lines(details, part))


def _fact_lines(details: SupportedFact, part: slice) -> Iterator[str]:
    yield f"fact {details.fact.id}: {details.fact.text}"
    for statement in details.statements:
        source = details.sources.get(statement.source_id)
        where = f"  ({_titled(source)}; characters {statement.start}-{statement.end})" if source else ""
        yield f"  {' '.join(statement.text.split())}{where}"
    yield f"{len(details.statements):,} of {details.total:,} statements shown{_more(part, details.total)}"


def _support_tree(details: SupportedFact) -> dict[str, object]:
    sources = [pick(source, "id uri title") for source in details.sources.values()]
    return {**_fact_tree(details.fact), **pick(details, "statements total", sources=sources)}


def _fact_tree(fact: FactRow) -> dict[str, object]:
    return pick(fact, "id text subject_id subject predicate object_id object")


def _titled(source: Source) -> str:
    return f"{source.title}, {source.uri}" if source.title else source.uri


def _named(entity: Entity) -> str:
    return f"{entity.name} ({entity.kind})" if entity.kind else entity.name


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _more(part: slice, total: int) -> str:
    return f"; more: --skip {part.stop}" if total > part.stop else ""
