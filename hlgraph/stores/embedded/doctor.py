"""Consistency checks of the embedded store: most are one query that counts violations."""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import MigrationError, StoreCorruptError
from hlgraph.stores import migrate
from hlgraph.stores.batches import batched
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.derived import NAMES_OF_ENTITIES, NAMES_OF_TOPICS, altered_records
from hlgraph.stores.embedded.migrations import SqliteTarget
from hlgraph.stores.embedded.sqlite import STORE, mapped, reading
from hlgraph.stores.embedded.text_rows import all_texts, entries, forget_file, index_rows, is_broken, remove_rows
from hlgraph.stores.embedded.vector_files import (
    State,
    free_rows,
    matrix_path,
    move_rows,
    read_rows,
    set_sources,
    states,
)
from hlgraph.stores.freed_bytes import unwiped
from hlgraph.stores.protocols import Damage, Finding, Remnants, Row

# A repair of the vector store keeps every vector that is as it was written, in a new file, so that only the others are embedded
# again. A broken full-text index is made anew from the texts of the records.

_BATCH = 1_000
_TOLERANCE = 1e-3  # of the length of a vector, which is 1
_WRITTEN = """
    SELECT id, n, source FROM vector LEFT JOIN vector_origin ON o = origin
    WHERE file = ? AND key IN (SELECT hlgraph_key(value) FROM json_each(?))"""


def _altered_vectors(connection: sqlite3.Connection, state: State, matrix: NDArray[np.float32]) -> tuple[set[str], int]:
    """The ids of rows without a slot in the file, with other bytes than were written, or of another length than 1.

    Also returns the last slot of the others; -1 if there is no other.
    """
    rows = connection.execute("SELECT id, slot, checksum FROM vector WHERE file = ? ORDER BY slot", (state.file,))
    altered: set[str] = set()
    last = -1
    while batch := rows.fetchmany(_BATCH):
        for name, slot, checksum in batch:
            if (
                0 <= slot < len(matrix)
                and zlib.crc32(matrix[slot].data) == checksum
                and abs(float(np.linalg.norm(matrix[slot].astype(np.float64))) - 1) <= _TOLERANCE
            ):
                last = slot
            else:
                altered.add(name)
    return altered, last


def examine(database: Database, state: State, *, rows: Iterable[Row], dimensions: int, repair: bool) -> Damage:
    """What :meth:`VectorStore.examine` does for one matrix.

    Parameters
    ----------
    database : database of the store
    state : state of the matrix
    rows : what its rows should hold
    dimensions : length of the vectors of the corpus; 0: it is not known
    repair : mend what is found
    """
    with mapped(database.path):
        reader = database.reader()
        path = matrix_path(database.path, state.file, generation=state.generation)
        width = max(state.dimensions, 1)
        count = path.stat().st_size // (4 * width) if path.exists() else 0
        matrix = read_rows(path, count, dimensions=width)  # all whole rows of the file
        fitting = matrix if dimensions in (0, state.dimensions) else matrix[:0]
        altered, last = _altered_vectors(reader, state, fitting)
        damaged = altered
        if not last < state.slots <= len(matrix):  # then no row can be read, as intact as it may be
            damaged = {name for (name,) in reader.execute("SELECT id FROM vector WHERE file = ?", (state.file,))}
        has_index = not is_broken(reader, state.file)
        with contextlib.nullcontext(reader) if not repair else database.transaction() as connection:
            if repair and not has_index:
                forget_file(connection, state.file)
            texts, strays = _compare(connection, state.file, rows=rows, has_index=has_index, is_repair=repair)
        if repair and (damaged or texts):  # cached files hold the sources: those of the next generation are made anew
            _drop(database, state, altered, matrix=matrix)
    return Damage(frozenset(damaged), frozenset(texts), strays)


def _compare(
    connection: sqlite3.Connection, file: int, *, rows: Iterable[Row], has_index: bool, is_repair: bool
) -> tuple[set[str], int]:
    """The ids of rows with another text or source, written again in a repair; and the number of stray texts.

    If the index is broken, all rows are named: no search can be trusted to find them.
    """
    wrong: set[str] = set()
    digests = {n: _digest(text) for n, text in all_texts(connection, file)} if has_index else {}
    for batch in batched(rows, _BATCH):
        texts = entries([item.text for item in batch])
        wanted = {item.id: (item.source_id, text) for item, text in zip(batch, texts, strict=True)}
        stored = connection.execute(_WRITTEN, (file, json.dumps(list(wanted)))).fetchall()
        altered = {
            name
            for name, n, source in stored
            if source != wanted[name][0] or digests.get(n) != _digest(wanted[name][1])
        }
        wrong |= altered
        if is_repair and altered:
            _write_again(connection, file, {name: wanted[name] for name in sorted(altered)})
    strays = list(digests.keys() - {n for (n,) in connection.execute("SELECT n FROM vector WHERE file = ?", (file,))})
    if strays and is_repair:
        remove_rows(connection, file, rows=strays)
    return wrong, len(strays)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=8).digest()


def _write_again(connection: sqlite3.Connection, file: int, rows: Mapping[str, tuple[str, str]]) -> None:
    places = connection.execute(
        "SELECT n, id FROM vector WHERE file = ? AND key IN (SELECT hlgraph_key(value) FROM json_each(?))",
        (file, json.dumps(list(rows))),
    ).fetchall()
    set_sources(connection, {n: rows[name][0] for n, name in places})
    remove_rows(connection, file, rows=[n for n, _ in places])
    index_rows(connection, file, rows=[(n, rows[name][1]) for n, name in places])


def _drop(database: Database, state: State, altered: Iterable[str], *, matrix: NDArray[np.float32]) -> None:
    """Remove rows, and move the others to a new file, where each has a slot of its own."""
    with database.transaction() as connection:
        free_rows(database, state.file, wanted=json.dumps(list(altered)))
        connection.execute(  # a slot that was altered may be that of another row, whose vector is not to be overwritten
            "DELETE FROM vector_free WHERE file = ?1 AND (slot < 0 OR slot IN (SELECT slot FROM vector WHERE file = ?1))",
            (state.file,),
        )
    move_rows(database, state, matrix=matrix)


_LINKS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("in_chunk", {"chunk": "chunk", "statement": "statement"}),
    ("chunk_topic", {"chunk": "chunk", "topic": "topic"}),
    ("about", {"chunk": "chunk", "statement": "statement", "topic": "topic"}),
    ("mentions", {"chunk": "chunk", "statement": "statement", "entity": "entity"}),
    ("supports", {"chunk": "chunk", "statement": "statement", "fact": "fact"}),
    ("alias", {"entity": "entity"}),
    ("relates", {"subject": "entity", "object": "entity"}),
    ("synonym", {"a": "entity", "b": "entity"}),
    ("decision", {"alias": "entity", "canonical": "entity"}),
    ("fact", {"subject": "entity"}),
    ("member_of", {"node": "node"}),
    ("rests_on", {"node": "node"}),
)
_DIFFERENT = """
    WITH counted AS ({counted})
    SELECT (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM {stored}))
         + (SELECT count(*) FROM (SELECT * FROM {stored} EXCEPT SELECT * FROM counted))"""
_WRONG = {
    "statements without a chunk": "SELECT count(*) FROM statement WHERE n NOT IN (SELECT statement FROM in_chunk)",
    "topics without a chunk": "SELECT count(*) FROM topic WHERE n NOT IN (SELECT topic FROM chunk_topic)",
    "facts without a statement": "SELECT count(*) FROM fact WHERE n NOT IN (SELECT fact FROM supports)",
    "entities without a mention": "SELECT count(*) FROM entity WHERE n NOT IN (SELECT entity FROM mentions)",
    "chunks without a source": "SELECT count(*) FROM node WHERE kind = 1 AND source NOT IN (SELECT n FROM source)",
    "counts of RELATES": _DIFFERENT.format(
        stored="relates",
        counted="""
        SELECT f.subject, f.object, f.predicate, count(DISTINCT s.statement) FROM fact AS f JOIN supports AS s ON s.fact = f.n
        WHERE f.object IS NOT NULL GROUP BY 1, 2, 3""",
    ),
    "counts of names": _DIFFERENT.format(
        stored="alias", counted="SELECT entity, surface, kind, count(*) FROM mentions GROUP BY 1, 2, 3"
    ),
    "names of entities": f"SELECT count(*) {NAMES_OF_ENTITIES}",
    "names of topics": f"SELECT count(*) {NAMES_OF_TOPICS}",
    "merges of two corpora": """
      SELECT count(*) FROM decision AS d JOIN node AS a ON a.n = d.alias JOIN node AS b ON b.n = d.canonical WHERE a.c <> b.c""",
    "counts of fields": _DIFFERENT.format(
        stored="field", counted="SELECT c, key, type, count(*) FROM field_of GROUP BY 1, 2, 3"
    ),
    "communities without a member": """
      SELECT count(*) FROM community
      WHERE m NOT IN (SELECT community FROM member_of) AND m NOT IN (SELECT community FROM summary_member_of)""",
    "communities without a run": "SELECT count(*) FROM community WHERE r NOT IN (SELECT r FROM run)",
    "members of no community": """
      SELECT (SELECT count(*) FROM member_of WHERE community NOT IN (SELECT m FROM community))
           + (SELECT count(*) FROM summary_member_of WHERE community NOT IN (SELECT m FROM community)
              OR summary NOT IN (SELECT s FROM summary WHERE source IS NOT NULL))""",
    "sizes of communities": """
      SELECT count(*) FROM community WHERE size <> (SELECT count(*) FROM member_of WHERE community = m)
        + (SELECT count(*) FROM summary_member_of WHERE community = m)""",
    "levels of communities": """
      SELECT count(*) FROM community AS child LEFT JOIN community AS p ON p.m = child.parent
      WHERE child.parent IS NOT NULL AND (p.m IS NULL OR p.r <> child.r OR p.level <> child.level + 1)""",
    "summaries without a community": "SELECT count(*) FROM summary WHERE community NOT IN (SELECT m FROM community)",
    "summaries without a source": "SELECT count(*) FROM summary WHERE source NOT IN (SELECT n FROM source)",
    "chunks missing from summaries of sources": """
      SELECT count(*) FROM summary AS s JOIN node AS c ON c.source = s.source AND c.kind = 1
      WHERE s.level = -1 AND (s.s, c.n) NOT IN (SELECT summary, node FROM rests_on)""",
    "parts of no summary": "SELECT count(*) FROM rests_on WHERE summary NOT IN (SELECT s FROM summary)",
    "records without a vector": """
      SELECT count(*) FROM node WHERE kind IN (1, 2, 3, 5)
      AND c IN (SELECT c FROM corpus WHERE embedding <> '') AND key NOT IN (SELECT key FROM vector)""",
    "vectors without a record": """
      SELECT count(*) FROM vector WHERE key NOT IN (SELECT key FROM node)
      AND origin NOT IN (SELECT o FROM vector_origin WHERE change IN (SELECT id FROM journal WHERE state = 'staged'))
      AND NOT EXISTS (SELECT 1 FROM journal WHERE state = 'published')""",
    "vectors without a source": "SELECT count(*) FROM vector WHERE origin NOT IN (SELECT o FROM vector_origin)",
    "source descriptions that differ": """
      SELECT count(*) FROM source JOIN node USING (n) LEFT JOIN vector_source AS v ON v.id = node.id
      WHERE v.id IS NULL OR v.metadata <> source.metadata OR v.uri <> source.uri OR v.title <> source.title""",
    "two vectors in one slot": "SELECT count(*) FROM (SELECT 1 FROM vector GROUP BY file, slot HAVING count(*) > 1)",
}
_OF_VECTORS = "two vectors in one slot"


def probed(database: Database, store: str) -> Iterator[Finding]:
    """What the database is. Raises an error of hlgraph if it cannot be read.

    Parameters
    ----------
    database : database of the store
    store : name of the finding
    """
    version = f"SQLite {sqlite3.sqlite_version}"
    with reading(database.path):
        if is_there := database.file.exists():
            SqliteTarget(database.file).history()
    yield Finding(store, True, f"{version}, {database.path}" if is_there else f"{version}; {database.path} is empty")


def check(database: Database, *, has_graph: bool = True) -> Iterator[Finding]:
    """Run all checks; yields their findings. Reads everything, changes nothing.

    Parameters
    ----------
    database : database of the store
    has_graph : False if the graph is on a server and the database holds only vectors
    """
    with reading(database.path):
        is_there = database.file.exists()
    if not is_there:
        yield Finding("store", True, f"{database.path} is empty")
        return
    first = _checked(database, "database file", lambda: _migrations(database))
    yield first
    if not first.is_fine:
        return
    connection = database.reader()
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("schema", lambda: _schema(database)),
        ("database file", lambda: _file(connection)),
        ("freed bytes", lambda: _freed(database)),
    ]
    queries = {**dict(_links()), **_WRONG} if has_graph else {_OF_VECTORS: _WRONG[_OF_VECTORS]}
    if has_graph:
        checks.append(("journal", lambda: _journal(connection)))
    checks += [(name, functools.partial(_counted, connection, name, query=query)) for name, query in queries.items()]
    checks.append(("vector files", lambda: _files(database, connection)))
    if has_graph:
        checks.append(("records as written", lambda: _records(database)))
    for name, run in checks:
        yield _checked(database, name, run)


def _checked(database: Database, name: str, run: Callable[[], Finding]) -> Finding:
    """The finding of one check. If the damage itself stops the check, that is the finding."""
    try:
        with reading(database.path):
            return run()
    except StoreCorruptError as error:
        return Finding(name, False, str(error))


def _migrations(database: Database) -> Finding:
    try:
        plan = migrate.plan(SqliteTarget(database.file))
    except MigrationError as error:
        return Finding("migrations", False, str(error))
    return Finding("migrations", not plan.pending, plan.summary)


def _schema(database: Database) -> Finding:
    wrong = migrate.differences(SqliteTarget(database.file))
    return Finding("schema", not wrong, migrate.described(wrong))


def _file(connection: sqlite3.Connection) -> Finding:
    answer = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    return _judged("database file", [] if answer == "ok" else [" ".join(answer.split())], otherwise=answer)


def remnants(database: Database) -> Remnants:
    """What the files of the store still have of deleted rows; reads all of the database.

    Parameters
    ----------
    database : database of the store
    """
    if not database.exists():
        return Remnants(STORE)
    folders = (database.path / "vectors", database.path / "graph")
    paths = [*database.path.glob(f"{database.file.name}*"), *(path for each in folders for path in each.rglob("*"))]
    database.reader()  # the bytes that no row uses are read by a descriptor that is open
    with mapped(database.path):
        wrong = _unwiped(database)
    return Remnants(STORE, tuple(sorted(path for path in paths if path.is_file())), "; ".join(wrong))


def _freed(database: Database) -> Finding:
    return _judged("freed bytes", _unwiped(database), otherwise="all are zero")


def _unwiped(database: Database) -> list[str]:
    wrong = []
    spans = unwiped(database.file)
    if spans:
        pages = {item.page for item in spans}
        wrong.append(f"{len(pages)} pages of the database hold bytes of rows that were removed or moved")
    log = database.file.with_name(f"{database.file.name}-wal")
    if not database.wiping.is_finished and log.exists() and log.stat().st_size:
        wrong.append("the log holds a change that is being written, or whose writer could not finish")
    return wrong


def _counted(connection: sqlite3.Connection, name: str, *, query: str) -> Finding:
    count = connection.execute(query).fetchone()[0]
    return Finding(name, count == 0, f"{count} wrong")


def _journal(connection: sqlite3.Connection) -> Finding:
    count = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
    return Finding.of_journal(count)


def _links() -> Iterator[tuple[str, str]]:
    for table, ends in _LINKS:
        checks = " OR ".join(f"{column} NOT IN (SELECT n FROM {target})" for column, target in ends.items())
        yield f"links of {table}", f"SELECT count(*) FROM {table} WHERE {checks}"


def _files(database: Database, connection: sqlite3.Connection) -> Finding:
    matrices = states(connection, "ORDER BY corpus, kind")
    wrong = []
    for corpus, kind, state in matrices:
        path = matrix_path(database.path, state.file, generation=state.generation)
        size = path.stat().st_size if path.exists() else 0
        if size < state.slots * state.dimensions * 4:
            wrong.append(f"{corpus}/{kind}: {size} bytes for {state.slots} rows")
    return _judged("vector files", wrong, otherwise=f"{len(matrices)} files")


def _judged(name: str, wrong: list[str], *, otherwise: str) -> Finding:
    return Finding(name, not wrong, f"{'; '.join(wrong)}; next: hlgraph reconcile --repair" if wrong else otherwise)


def _records(database: Database) -> Finding:
    """The sources, chunks and summaries whose rows are not those that were written, by their seals."""
    with database.snapshot():
        connection = database.reader()
        altered = altered_records(connection)
        count = connection.execute("SELECT count(*) FROM seal").fetchone()[0]
    wrong = []
    if altered:
        item = altered[0][1]
        record = f"{'links of ' * item.is_links}{item.kind.value} {item.id} of {item.where or item.corpus}"
        wrong.append(f"{len(altered)} altered, such as {record}")
    return _judged("records as written", wrong, otherwise=f"{count} with their checksums")
