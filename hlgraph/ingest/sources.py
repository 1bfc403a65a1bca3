"""Finds the stored sources that a caller names: by uri, path, folder or filter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hlgraph.errors import UnknownNameError

if TYPE_CHECKING:
    from hlgraph.records import Source
    from hlgraph.stores.protocols import GraphStore
    from hlgraph.where import Where


def chosen_sources(uris: Sequence[str], where: Where | None, *, corpus: str, graph: GraphStore) -> list[Source]:
    """The stored sources that uris or a filter name.

    Parameters
    ----------
    uris : see :func:`named`; none: all sources that the filter admits
    where : filter over the metadata; None admits all
    corpus : the corpus
    graph : the graph store

    Returns
    -------
    list of Source

    Raises
    ------
    UnknownNameError : no source has one of the uris, or there is no such corpus
    WhereError : no source has a field of the filter
    """
    from hlgraph.records import Kind, Source
    from hlgraph.stores.protocols import Scope
    from hlgraph.where import check_fields

    stats = graph.stats(corpus, has_counts=False)
    if not stats:
        raise UnknownNameError(f"there is no corpus {corpus!r}; nothing to delete")
    if where is not None:
        check_fields(where, stats[0].fields)
    found = [record for record in graph.find(Kind.SOURCE, Scope(corpus, where)) if isinstance(record, Source)]
    return named(found, uris, corpus=corpus) if uris else found


def named(sources: list[Source], uris: Sequence[str], *, corpus: str, did: str = "deleted") -> list[Source]:
    """Sources by their uri, by the path of their file, or by a folder or file of rows that holds them.

    Parameters
    ----------
    sources : the sources to choose from
    uris : the names
    corpus, did : for the message of the error: the corpus, and what was not done

    Returns
    -------
    list of Source
        Each once, in the order of the names.

    Raises
    ------
    UnknownNameError : a name fits no source
    """
    from hlgraph.read import is_covered, source_uri

    chosen: dict[str, Source] = {}
    for uri in uris:
        held = [item for item in sources if item.uri == uri]
        if not held:
            path, mark, row = uri.partition("#")
            names = {source_uri(uri), f"{source_uri(uri)}/", f"{source_uri(path)}{mark}{row}" if path else uri}
            held = [item for item in sources if is_covered(item.uri, names)]
        if not held:
            raise UnknownNameError(f"{uri}: no source of corpus {corpus!r} has this uri or path; nothing was {did}")
        chosen |= {item.id: item for item in held}
    return list(chosen.values())
