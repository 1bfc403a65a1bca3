"""Run analyst queries read-only, from the library ``cypher/analyst/`` or from your own folder.

::

    with hlgraph.connect("neo4j://localhost:7687", vectors="https://localhost:9200") as graph:
        table = graph.cypher("what_connects", source="Mara Quill", target="Orne")
        for row in table.rows:
            print(row["step"], row["start"], row["end"])
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.sdk.arguments import parsed
from hlgraph.stores.protocols import GraphStore, Stores
from hlgraph.stores.queries import Limits, Parameter, ParameterValue, Query, Table, names, parse
from hlgraph.stores.queries import load as load_own
from hlgraph.stores.trace import literal
from hlgraph.where import narrowed, to_text

if TYPE_CHECKING:
    from hlgraph.ingest.history import AsOf

_STAGE = "analyst/"
_SUFFIX = ".cypher"
RESERVED = frozenset({"as_of", "folder", "format", "help", "json", "limits", "max_rows", "timeout"})
"""Parameter names that an analyst query cannot use, because options of the command line and the SDK have these names."""
_EVERYTHING = {
    "filter": "null",
    "kinds": "[]",
    "changes": "{sources: [], statements: [], removed: [], unknown: 0}",
}
"""What a query receives for an empty filter, for no kinds and for no changes."""


def load_all(folder: str | Path | None = None) -> dict[str, Query]:
    """Load the analyst queries, sorted by name.

    Parameters
    ----------
    folder : folder with files ``<name>.cypher``, or with a subfolder ``analyst`` that holds them; None: hlgraph's own library

    Returns
    -------
    dict of Query

    Raises
    ------
    InputError : the folder does not exist or holds no queries, or a query breaks a rule of the library or leaves a parameter
        undescribed

    Examples
    --------
    >>> "what_connects" in load_all()
    True
    """
    if folder is None:
        queries = {name.removeprefix(_STAGE): load_own(name) for name in names() if name.startswith(_STAGE)}
    else:
        queries = {path.stem: _read(path) for path in _files(Path(folder))}
    for query in queries.values():
        _check_described(query)
    return queries


def load(name: str, folder: str | Path | None = None) -> Query:
    """Load one analyst query by name.

    Parameters
    ----------
    name : name of the query, without folder and suffix
    folder : see :func:`load_all`

    Returns
    -------
    Query

    Raises
    ------
    UnknownNameError : no query has this name; the message suggests the closest names
    InputError : see :func:`load_all`
    """
    queries = load_all(folder)
    if name not in queries:
        near = difflib.get_close_matches(name, queries)
        mend = f"did you mean {' or '.join(near)}?" if near else "hlgraph cypher list names all"
        raise UnknownNameError(f"there is no query {name!r}{f' in {folder}' if folder else ''}; {mend}")
    return queries[name]


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; name one that holds files <name>{_SUFFIX}")
    inner = folder / _STAGE
    files = sorted((inner if inner.is_dir() else folder).glob(f"[!.]*{_SUFFIX}"))
    if not files:
        raise InputError(f"{folder}: the folder has no queries; name a folder that holds files <name>{_SUFFIX}")
    return files


def _read(path: Path) -> Query:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(str(path), f"cannot be read as text ({error})", "save it as UTF-8") from error
    return parse(str(path.with_suffix("")), text)


def _check_described(query: Query) -> None:
    """Reject a query with an undescribed parameter, whose value could not be checked, or with a reserved parameter name."""
    missing = sorted(query.params - {parameter.name for parameter in query.parameters})
    if missing:
        raise InputError(
            f"{query.name}{_SUFFIX} does not describe {', '.join(missing)}; write a line '// $name kind: meaning' for each "
            "below '// columns:', such as: // $k integer 1.. = 25: maximum number of rows"
        )
    if taken := sorted(query.params & RESERVED):
        raise InputError(f"{query.name}{_SUFFIX} has a parameter {taken[0]}, which is an option; name it otherwise")


def read_texts(query: Query, arguments: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Convert command-line strings to typed parameter values.

    Parameters
    ----------
    query : the query
    arguments : strings by parameter name

    Returns
    -------
    dict
        Values by parameter name.

    Raises
    ------
    InputError : the query has no such parameter, or a string is not a valid value of its kind
    """
    known = _known(query, arguments)
    return {name: known[name].read(text) for name, text in arguments.items()}


def bind(query: Query, arguments: Mapping[str, object], *, corpus: str) -> dict[str, ParameterValue]:
    """Complete the parameter values of a query with its defaults and the corpus.

    Given values take precedence.

    Parameters
    ----------
    query : the query
    arguments : values by parameter name
    corpus : the corpus

    Returns
    -------
    dict
        Values by parameter name.

    Raises
    ------
    InputError : the query has no such parameter, or a value is missing, of the wrong kind, or out of bounds
    """
    known = _known(query, arguments)
    values: dict[str, ParameterValue] = {}
    missing = []
    for name, parameter in known.items():
        if arguments.get(name) is not None:
            values[name] = parameter.check(arguments[name])
        elif name == "corpus":
            values[name] = corpus
        elif parameter.default is not None:
            values[name] = parameter.default
        else:
            missing.append(parameter)
    if missing:
        raise InputError(
            f"{short_name(query)} needs {' and '.join(f'{unset.name} ({unset.meaning})' for unset in missing)}; give --"
            + " --".join(f"{unset.name} VALUE" for unset in missing)
        )
    return values


def _known(query: Query, arguments: Mapping[str, object]) -> dict[str, Parameter]:
    known = {parameter.name: parameter for parameter in query.parameters}
    unknown = sorted(set(arguments) - set(known))
    if unknown:
        near = difflib.get_close_matches(unknown[0], known)
        raise InputError(
            f"{short_name(query)} has no parameter {unknown[0]!r}"
            + (f"; did you mean {near[0]}?" if near else f"; it takes {', '.join(known) or 'none'}")
        )
    return known


def run(
    query: Query,
    arguments: Mapping[str, object],
    *,
    graph: GraphStore,
    corpus: str,
    limits: Limits | None = None,
) -> Table:
    """Run a query in a read-only transaction.

    Parameters
    ----------
    query : the query
    arguments : values by parameter name; omitted parameters take their defaults
    graph : the graph store
    corpus : the corpus
    limits : limits of running time and rows; None: the defaults

    Returns
    -------
    Table

    Raises
    ------
    InputError : the store does not support Cypher, a value is invalid, the query writes, or the server cannot run it
    UnknownNameError : there is no such corpus, entity or source
    StoreUnavailableError : the query exceeds its time limit, or the server does not answer
    """
    values = bind(query, arguments, corpus=corpus)
    place = values.get("corpus", corpus)
    return graph.cypher(query, values, corpus=str(place), limits=limits or Limits())


def then(
    query: Query, arguments: Mapping[str, object], *, stores: Stores, corpus: str, as_of: AsOf
) -> dict[str, object]:
    """The arguments with which a query asks a moment of the history of a corpus.

    Parameters
    ----------
    query : the query
    arguments : values by parameter name
    stores : the open stores
    corpus : the corpus, unless ``arguments`` names one
    as_of : the moment

    Raises
    ------
    InputError : the query has no filter, no history is kept, or the moment is outside it
    """
    from hlgraph.ingest.history import history_of, known_moment, refuse_own_fields

    filtering = {parameter.name: parameter.kind for parameter in query.parameters}
    if filtering.get("where") != "filter" or "corpus" not in filtering:
        raise InputError(f"{short_name(query)} has no parameters where and corpus, so it cannot be asked of the past")
    name = str(arguments.get("corpus") or corpus)
    moment = known_moment(stores, name, as_of=as_of)
    own = parsed(arguments.get("where") or None)  # type: ignore[arg-type]
    refuse_own_fields(own)
    return {**arguments, "corpus": history_of(name), "where": to_text(narrowed(own, moment))}


def short_name(query: Query) -> str:
    """Return the name of a query without its folder."""
    return query.name.rpartition("/")[2]


def browser_lines(query: Query, *, corpus: str) -> list[str]:
    """Return the lines that set the parameters of a query in Neo4j Browser or cypher-shell.

    Placeholders for values to fill in are in capitals.

    Parameters
    ----------
    query : the query
    corpus : the corpus

    Returns
    -------
    list of str

    Examples
    --------
    >>> browser_lines(load("rank_entities"), corpus="default")
    [":param corpus => 'default'", ':param where => null', ':param kinds => []', ':param k => 25']
    """
    lines = []
    for parameter in query.parameters:
        value: ParameterValue = (
            corpus if parameter.name == "corpus" else parameter.default if parameter.default is not None else ""
        )
        if value == "" and parameter.default is None:
            value = f"ID OF THE {parameter.kind.upper()}" if parameter.is_named else parameter.name.upper()
        lines.append(f":param {parameter.name} => {_EVERYTHING.get(parameter.kind) or literal(value)}")
    return lines
