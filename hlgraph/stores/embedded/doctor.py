"""Consistency checks of the embedded store: most are one query that counts violations."""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from hlgraph.errors import MigrationError, StoreCorruptError
from hlgraph.records import Kind
from hlgraph.stores import migrate
from hlgraph.stores.batches import batched
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.derived import remove_summaries
from hlgraph.stores.embedded.migrations import SqliteTarget
from hlgraph.stores.embedded.sqlite import LINKS, SUMMARY, SYNONYMS, broken_seals, mapped, reading, totals, write_seals
from hlgraph.stores.embedded.text_rows import entries, forget_file, index_rows, is_broken, remove_rows
from hlgraph.stores.embedded.vector_files import State, free_rows, matrix_path, move_rows, read_rows, states
from hlgraph.stores.freed_bytes import unwiped
from hlgraph.stores.protocols import AlteredRecord, Damage, Row, Seals
from hlgraph.subgraph import KINDS

# A repair of the vector store keeps every vector that is as it was written, in a new file, so that only the others are embedded
# again. A broken full-text index is made anew from the texts of the records.

_BATCH = 1_000
_TOLERANCE = 1e-3  # of the length of a vector, which is 1
_WRITTEN = """
    SELECT v.id, v.source, t.words FROM vector AS v LEFT JOIN text AS t ON t.n = v.n AND t.file = v.file
    WHERE v.file = ? AND v.id IN (SELECT value FROM json_each(?))"""
_STRAYS = "SELECT n FROM text WHERE file = ?1 AND n NOT IN (SELECT n FROM vector WHERE file = ?1)"


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
    for batch in batched(rows, _BATCH):
        texts = entries([item.text for item in batch])
        wanted = {item.id: (item.source_id, text) for item, text in zip(batch, texts, strict=True)}
        stored = connection.execute(_WRITTEN, (file, json.dumps(list(wanted)))).fetchall()
        altered = {name for name, *written in stored if not has_index or tuple(written) != wanted[name]}
        wrong |= altered
        if is_repair and altered:
            _write_again(connection, file, {name: wanted[name] for name in sorted(altered)})
    strays = [n for (n,) in connection.execute(_STRAYS, (file,))]
    if strays and is_repair:
        remove_rows(connection, file, rows=strays)
    return wrong, len(strays)


def _write_again(connection: sqlite3.Connection, file: int, rows: Mapping[str, tuple[str, str]]) -> None:
    places = connection.execute(
        "SELECT n, id FROM vector WHERE file = ? AND id IN (SELECT value FROM json_each(?))",
        (file, json.dumps(list(rows))),
    ).fetchall()
    connection.executemany("UPDATE vector SET source = ? WHERE n = ?", ((rows[name][0], n) for n, name in places))
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


# What is gone from the graph has no name here: it is missing elsewhere, or was rightly deleted.
_NAMES = f"""
    SELECT e.value, node.id, node.kind, corpus.name, source.uri FROM json_each(:owners) AS e JOIN node ON node.n = e.value / 4
    JOIN corpus USING (c) LEFT JOIN source ON source.n = node.source WHERE e.value % 4 <> {SUMMARY}
    UNION ALL
    SELECT e.value, summary.id, -1, corpus.name, run.name FROM json_each(:owners) AS e JOIN summary ON summary.s = e.value / 4
    JOIN run USING (r) JOIN corpus USING (c) WHERE e.value % 4 = {SUMMARY}
    ORDER BY 2, 1"""
_JSON = (("source", "metadata", "{}"), ("chunk", "headings", "[]"), ("in_chunk", "details", "[]"))
NAMES_OF_ENTITIES = """
    FROM entity WHERE name <> (
      SELECT surface FROM alias WHERE entity = entity.n GROUP BY surface ORDER BY sum(mentions) DESC, surface LIMIT 1)
    OR kind <> coalesce((
      SELECT kind FROM alias WHERE entity = entity.n AND kind <> '' GROUP BY kind ORDER BY sum(mentions) DESC, kind LIMIT 1), '')"""
"""Entities that are not called, or not of the kind, that most of their mentions say."""
NAMES_OF_TOPICS = """
    FROM topic WHERE name <> (
      SELECT t.name FROM chunk_topic AS t WHERE t.topic = topic.n AND t.name <> '' GROUP BY t.name
      ORDER BY count(*) DESC, t.name LIMIT 1)"""
"""Topics that are not called what most of their chunks call them."""


def altered_records(connection: sqlite3.Connection) -> list[tuple[int, AlteredRecord]]:
    """The owners of broken seals that the store still has, by ascending id. Reads every sealed row.

    Parameters
    ----------
    connection : connection to read with
    """
    records = []
    for owner, name, k, corpus, where in connection.execute(_NAMES, {"owners": json.dumps(broken_seals(connection))}):
        kind = Kind.SUMMARY if k < 0 else KINDS[k]
        is_links = owner % 4 in (LINKS, SYNONYMS)
        records.append((owner, AlteredRecord(kind, name, corpus, where or "", is_links=is_links)))
    return records


class EmbeddedSeals(Seals):
    """The seals of the store in one directory; see :class:`hlgraph.stores.protocols.Seals`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def altered(self, corpus: str) -> tuple[AlteredRecord, ...]:
        """See :meth:`Seals.altered`."""
        if not self._database.exists():
            return ()
        connection = self._database.reader()
        with reading(self._database.path):
            records = {item for _, item in altered_records(connection) if item.corpus == corpus}
            for kind, which in ((Kind.ENTITY, NAMES_OF_ENTITIES), (Kind.TOPIC, NAMES_OF_TOPICS)):
                query = f"SELECT id FROM node JOIN corpus USING (c) WHERE name = ? AND n IN (SELECT n {which})"
                records |= {
                    AlteredRecord(kind, name, corpus, "", is_links=False)
                    for (name,) in connection.execute(query, (corpus,))
                }
        return tuple(sorted(records, key=lambda item: (item.kind, item.id, item.is_links)))

    def restore(self) -> bool:
        """See :meth:`Seals.restore`."""
        if not self._database.exists():
            return False
        with self._database.lock():
            connection = self._database.writer()
            with reading(self._database.path):
                is_whole = bool(connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
                if not is_whole:  # both read the rows alone: indexes are made again, and what no row uses is dropped
                    connection.execute("REINDEX")
                    connection.execute("VACUUM")
            with self._database.transaction():
                self._database.wiping.distrust()
                for table, column, nothing in _JSON:
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE NOT json_valid({column})", (nothing,))
                connection.execute("DELETE FROM field")
                connection.execute(
                    "INSERT INTO field SELECT c, key, type, count(*) FROM field_of GROUP BY c, key, type"
                )
        return not is_whole

    def accept(self, corpus: str, records: Collection[AlteredRecord]) -> None:
        """See :meth:`Seals.accept`."""
        with self._database.lock(), self._database.transaction() as connection:
            remove_summaries(connection, sorted(item.id for item in records if item.kind is Kind.SUMMARY))
        with self._database.lock(), self._database.transaction() as connection:
            wanted = {item.id for item in records}
            owners = [
                owner for owner, item in altered_records(connection) if item.id in wanted and item.corpus == corpus
            ]
            seals = totals(connection)
            write_seals(connection, {owner: seals.get(owner, 0) for owner in owners})


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
      AND c IN (SELECT c FROM corpus WHERE embedding <> '') AND id NOT IN (SELECT id FROM vector)""",
    "vectors without a record": """
      SELECT count(*) FROM vector WHERE id NOT IN (SELECT id FROM node)
      AND change NOT IN (SELECT id FROM journal WHERE state = 'staged')
      AND NOT EXISTS (SELECT 1 FROM journal WHERE state = 'published')""",
    "source descriptions that differ": """
      SELECT count(*) FROM source JOIN node USING (n) LEFT JOIN vector_source AS v ON v.id = node.id
      WHERE v.id IS NULL OR v.metadata <> source.metadata OR v.uri <> source.uri OR v.title <> source.title""",
    "two vectors in one slot": "SELECT count(*) FROM (SELECT 1 FROM vector GROUP BY file, slot HAVING count(*) > 1)",
}
_OF_VECTORS = "two vectors in one slot"


def probed(database: Database) -> tuple[bool, str]:
    """True, and what the database is. Raises an error of hlgraph if it cannot be read."""
    version = f"SQLite {sqlite3.sqlite_version}"
    if not database.file.exists():
        return True, f"{version}; {database.path} is empty"
    with reading(database.path):
        SqliteTarget(database.file).history()
    return True, f"{version}, {database.path}"


def check(database: Database, *, has_graph: bool = True) -> Iterator[tuple[str, bool, str]]:
    """Run all checks; yields the name of each, whether it passed, and what it saw. Reads everything, changes nothing.

    Parameters
    ----------
    database : database of the store
    has_graph : False if the graph is on a server and the database holds only vectors
    """
    if not database.file.exists():
        yield "store", True, f"{database.path} is empty"
        return
    name, is_fine, seen = _checked(database, "database file", lambda: _migrations(database))
    yield name, is_fine, seen
    if not is_fine:
        return
    connection = database.reader()
    checks: list[tuple[str, Callable[[], _Finding]]] = [
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
        checks.append(("records as written", lambda: _records(connection)))
    for name, run in checks:
        yield _checked(database, name, run)


_Finding = tuple[str, bool, str]


def _checked(database: Database, name: str, run: Callable[[], _Finding]) -> _Finding:
    """The finding of one check. If the damage itself stops the check, that is the finding."""
    try:
        with reading(database.path):
            return run()
    except StoreCorruptError as error:
        return name, False, str(error)


def _migrations(database: Database) -> _Finding:
    try:
        plan = migrate.plan(SqliteTarget(database.file))
    except MigrationError as error:
        return "migrations", False, str(error)
    return "migrations", not plan.pending, f"{len(plan.applied)} applied, {len(plan.pending)} pending"


def _schema(database: Database) -> _Finding:
    wrong = migrate.differences(SqliteTarget(database.file))
    text = "; ".join(map(str, wrong))
    return "schema", not wrong, f"{text}; run: hlgraph migrate repair" if wrong else "as the migrations made it"


def _file(connection: sqlite3.Connection) -> _Finding:
    answer = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    return _judged("database file", [] if answer == "ok" else [" ".join(answer.split())], otherwise=answer)


def _freed(database: Database) -> _Finding:
    wrong = []
    spans = unwiped(database.file)
    if spans:
        pages = {item.page for item in spans}
        wrong.append(f"{len(pages)} pages of the database hold bytes of rows that were removed or moved")
    log = database.file.with_name(f"{database.file.name}-wal")
    if not database.wiping.is_finished and log.exists() and log.stat().st_size:
        wrong.append("the log holds a change that is being written, or whose writer could not finish")
    return _judged("freed bytes", wrong, otherwise="all are zero")


def _counted(connection: sqlite3.Connection, name: str, *, query: str) -> _Finding:
    count = connection.execute(query).fetchone()[0]
    return name, count == 0, f"{count} wrong"


def _journal(connection: sqlite3.Connection) -> _Finding:
    count = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
    unfinished = f"{count} unfinished changes; run any ingest or delete again to finish them"
    return "journal", not count, unfinished if count else "nothing unfinished"


def _links() -> Iterator[tuple[str, str]]:
    for table, ends in _LINKS:
        checks = " OR ".join(f"{column} NOT IN (SELECT n FROM {target})" for column, target in ends.items())
        yield f"links of {table}", f"SELECT count(*) FROM {table} WHERE {checks}"


def _files(database: Database, connection: sqlite3.Connection) -> _Finding:
    matrices = states(connection, "ORDER BY corpus, kind")
    wrong = []
    for corpus, kind, state in matrices:
        path = matrix_path(database.path, state.file, generation=state.generation)
        size = path.stat().st_size if path.exists() else 0
        if size < state.slots * state.dimensions * 4:
            wrong.append(f"{corpus}/{kind}: {size} bytes for {state.slots} rows")
    return _judged("vector files", wrong, otherwise=f"{len(matrices)} files")


def _judged(name: str, wrong: list[str], *, otherwise: str) -> _Finding:
    return name, not wrong, f"{'; '.join(wrong)}; next: hlgraph reconcile --repair" if wrong else otherwise


def _records(connection: sqlite3.Connection) -> _Finding:
    """The sources, chunks and summaries whose rows are not those that were written, by their seals."""
    altered = altered_records(connection)
    wrong = []
    if altered:
        item = altered[0][1]
        record = f"{'links of ' * item.is_links}{item.kind.value} {item.id} of {item.where or item.corpus}"
        wrong.append(f"{len(altered)} altered, such as {record}")
    count = connection.execute("SELECT count(*) FROM seal").fetchone()[0]
    return _judged("records as written", wrong, otherwise=f"{count} with their checksums")
