"""Queries for people: the library ``cypher/analyst/`` or a folder of their own, run on a store that only reads.

::

    with hlgraph.connect("neo4j://localhost:7687", vectors="https://localhost:9200") as graph:
        found = graph.cypher("what_connects", source="Mara Quill", target="Orne")
        for row in found.rows:
            print(row["step"], row["start"], row["end"])
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from hlgraph.errors import InputError, ReadError, UnknownNameError
from hlgraph.stores.cypher import CypherReader, Limits, Table
from hlgraph.stores.queries import Query, names, parse
from hlgraph.stores.queries import load as load_own
from hlgraph.stores.query_parameters import Parameter, ParameterValue

_STAGE = "analyst/"
_SUFFIX = ".cypher"
RESERVED = frozenset({"folder", "format", "help", "json", "limits", "max_rows", "timeout"})
"""What a parameter of such a query cannot be called: the command and the SDK have options of these names."""


def load_all(folder: str | Path | None = None) -> dict[str, Query]:
    """The queries for people by name, sorted: those of hlgraph, or of a folder.

    Parameters
    ----------
    folder : files ``<name>.cypher`` in it, or in its folder ``analyst`` where it has one; None: hlgraph's own library

    Raises
    ------
    InputError
        For a folder that is none or holds no query, and for a query that breaks a rule of the library or does not
        describe its parameters.

    Examples
    --------
    >>> "what_connects" in load_all()
    True
    """
    if folder is None:
        found = {name.removeprefix(_STAGE): load_own(name) for name in names() if name.startswith(_STAGE)}
    else:
        found = {path.stem: _read(path) for path in _files(Path(folder))}
    for query in found.values():
        _check_described(query)
    return found


def load(name: str, folder: str | Path | None = None) -> Query:
    """The query of this name. Raises UnknownNameError when there is none, and what :func:`load_all` raises."""
    found = load_all(folder)
    if name not in found:
        near = difflib.get_close_matches(name, found)
        mend = f"did you mean {' or '.join(near)}?" if near else "hlgraph cypher list names all"
        raise UnknownNameError(f"there is no query {name!r}{f' in {folder}' if folder else ''}; {mend}")
    return found[name]


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; name one that holds files <name>{_SUFFIX}")
    inner = folder / _STAGE
    found = sorted((inner if inner.is_dir() else folder).glob(f"[!.]*{_SUFFIX}"))
    if not found:
        raise InputError(f"{folder}: no query lies there; name a folder that holds files <name>{_SUFFIX}")
    return found


def _read(path: Path) -> Query:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(str(path), f"cannot be read as text ({error})", "save it as UTF-8") from error
    return parse(str(path.with_suffix("")), text)


def _check_described(query: Query) -> None:
    """Every parameter is described, so that values can be checked before they are sent."""
    missing = sorted(query.params - {item.name for item in query.parameters})
    if missing:
        raise InputError(
            f"{query.name}{_SUFFIX} does not describe {', '.join(missing)}; write a line '// $name kind: meaning' for each "
            "below '// columns:', such as: // $k integer 1.. = 25: rows at most"
        )
    if taken := sorted(query.params & RESERVED):
        raise InputError(f"{query.name}{_SUFFIX} has a parameter {taken[0]}, which is an option; name it otherwise")


def read_texts(query: Query, given: Mapping[str, str]) -> dict[str, ParameterValue]:
    """Values from the texts that a command line gives.

    Raises InputError for a name that the query does not have, and for a text that is no value of its kind.
    """
    known = _known(query, given)
    return {name: known[name].read(text) for name, text in given.items()}


def bind(query: Query, given: Mapping[str, object], *, corpus: str) -> dict[str, ParameterValue]:
    """All values of a query: those given, the defaults of the others, and ``corpus`` where it is not given.

    Raises InputError for a name that the query does not have, a value that is missing, of another kind, or out of bounds.
    """
    known = _known(query, given)
    values: dict[str, ParameterValue] = {}
    missing = []
    for name, parameter in known.items():
        if given.get(name) is not None:
            values[name] = parameter.check(given[name])
        elif name == "corpus":
            values[name] = corpus
        elif parameter.default is not None:
            values[name] = parameter.default
        else:
            missing.append(parameter)
    if missing:
        raise InputError(
            f"{short_name(query)} needs {' and '.join(f'{item.name} ({item.meaning})' for item in missing)}; give --"
            + " --".join(f"{item.name} VALUE" for item in missing)
        )
    return values


def _known(query: Query, given: Mapping[str, object]) -> dict[str, Parameter]:
    known = {item.name: item for item in query.parameters}
    unknown = sorted(set(given) - set(known))
    if unknown:
        near = difflib.get_close_matches(unknown[0], known)
        raise InputError(
            f"{short_name(query)} has no parameter {unknown[0]!r}"
            + (f"; did you mean {near[0]}?" if near else f"; it takes {', '.join(known) or 'none'}")
        )
    return known


def run(
    query: Query,
    given: Mapping[str, object],
    *,
    reader: CypherReader | None,
    corpus: str,
    limits: Limits | None = None,
) -> Table:
    """What a query gives for these values; parameters that are not given have their defaults.

    Raises
    ------
    InputError
        Without a reader (the embedded store has no Cypher), for values that cannot be used, and for a query that writes
        or that the server cannot run.
    UnknownNameError
        For a corpus, an entity or a source that there is not.
    StoreUnavailableError
        When the query takes longer than it may, or the server does not answer.
    """
    values = bind(query, given, corpus=corpus)
    if reader is None:
        raise InputError(
            "the embedded store has no Cypher; ingest into a Neo4j server and name it, such as "
            "hlgraph --store neo4j://localhost:7687 cypher run ... (hlgraph init --servers writes settings for one)"
        )
    place = values.get("corpus", corpus)
    return reader.read(query, values, corpus=str(place), limits=limits or Limits())


def short_name(query: Query) -> str:
    """The name without the folder."""
    return query.name.rpartition("/")[2]


def browser_lines(query: Query, *, corpus: str) -> list[str]:
    """Lines that set the parameters in Neo4j's browser and in cypher-shell; what has to be filled in is in capitals.

    Examples
    --------
    >>> browser_lines(load("rank_entities"), corpus="default")
    [":param corpus => 'default'", ':param k => 25']
    """
    lines = []
    for item in query.parameters:
        value: ParameterValue = corpus if item.name == "corpus" else item.default if item.default is not None else ""
        if value == "" and item.default is None:
            value = f"ID OF THE {item.kind.upper()}" if item.is_named else item.name.upper()
        lines.append(f":param {item.name} => {_literal(value)}")
    return lines


def _literal(value: ParameterValue) -> str:
    """A value as Cypher writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    return repr(value)
