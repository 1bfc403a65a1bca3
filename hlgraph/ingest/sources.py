"""Finds the stored sources that a caller names: by uri, path, folder or filter."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from hlgraph.errors import InputError, UnknownNameError
from hlgraph.read import is_covered, source_uri
from hlgraph.records import Kind, Source
from hlgraph.stores.protocols import Scope
from hlgraph.where import check_fields

if TYPE_CHECKING:
    from hlgraph.stores.protocols import GraphStore
    from hlgraph.where import Where


def filtered(where: Where | None, *, corpus: str, graph: GraphStore) -> list[Source]:
    """The stored sources that a filter admits.

    Parameters
    ----------
    where : filter over the metadata; None admits all
    corpus : the corpus
    graph : the graph store

    Returns
    -------
    list of Source

    Raises
    ------
    WhereError : no source has a field of the filter
    """
    if where is not None:
        for stats in graph.stats(corpus, has_counts=False):
            check_fields(where, stats.fields)
    return [record for record in graph.find(Kind.SOURCE, Scope(corpus, where)) if isinstance(record, Source)]


def full_name(name: str) -> str:
    """A name as it reads from every folder: the uri of the file of a path; a name that is no path stays as it is."""
    try:
        return source_uri(name)
    except InputError:
        return name


def names_of(name: str) -> set[str]:
    """The uris, and the beginnings of uris, that a name stands for: a file, its rows, a row of it, or a folder."""
    path, mark, row = name.partition("#")
    whole = full_name(name)
    return {whole, f"{whole}/", f"{full_name(path)}{mark}{row}" if path else name}


def named(
    sources: list[Source], names: Sequence[str], *, corpus: str, did: str = "deleted", gone: Collection[str] = ()
) -> dict[str, list[Source]]:
    """Sources by their uri, by the path of their file, or by a folder or file of rows that holds them.

    Parameters
    ----------
    sources : the sources to choose from
    names : what the caller calls them
    corpus, did : for the message of the error: the corpus, and what was not done
    gone : names that need not be there any more

    Returns
    -------
    dict
        The sources of each name, in the order of the names.

    Raises
    ------
    UnknownNameError : a name fits no source
    """
    chosen: dict[str, list[Source]] = {}
    for name in names:
        held = [item for item in sources if item.uri == name]
        if not held:
            wanted = names_of(name)
            held = [item for item in sources if is_covered(item.uri, wanted)]
        if not held and name not in gone:
            raise UnknownNameError(f"{name}: no source of corpus {corpus!r} has this uri or path; nothing was {did}")
        chosen[name] = held
    return chosen
