"""Consistency checks of the embedded store: most are one query that counts violations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

from hlgraph.errors import MigrationError, StoreCorruptError
from hlgraph.stores import migrate
from hlgraph.stores.embedded import damage
from hlgraph.stores.embedded.array_files import matrix_path
from hlgraph.stores.embedded.database import Database
from hlgraph.stores.embedded.migrations import SqliteTarget
from hlgraph.stores.embedded.seals import NAMES_OF_ENTITIES, NAMES_OF_TOPICS, altered_records
from hlgraph.stores.embedded.sqlite import reading
from hlgraph.stores.freed_bytes import unwiped

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
_WRONG = {
    "statements without a chunk": "SELECT count(*) FROM statement WHERE n NOT IN (SELECT statement FROM in_chunk)",
    "topics without a chunk": "SELECT count(*) FROM topic WHERE n NOT IN (SELECT topic FROM chunk_topic)",
    "facts without a statement": "SELECT count(*) FROM fact WHERE n NOT IN (SELECT fact FROM supports)",
    "entities without a mention": "SELECT count(*) FROM entity WHERE n NOT IN (SELECT entity FROM mentions)",
    "chunks without a source": "SELECT count(*) FROM node WHERE kind = 1 AND source NOT IN (SELECT n FROM source)",
    "counts of RELATES": """
      WITH counted AS (
        SELECT f.subject, f.object, f.predicate, count(DISTINCT s.statement) FROM fact AS f JOIN supports AS s ON s.fact = f.n
        WHERE f.object IS NOT NULL GROUP BY 1, 2, 3)
      SELECT (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM relates))
           + (SELECT count(*) FROM (SELECT * FROM relates EXCEPT SELECT * FROM counted))""",
    "counts of names": """
      WITH counted AS (SELECT entity, surface, kind, count(*) FROM mentions GROUP BY 1, 2, 3)
      SELECT (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM alias))
           + (SELECT count(*) FROM (SELECT * FROM alias EXCEPT SELECT * FROM counted))""",
    "names of entities": f"SELECT count(*) {NAMES_OF_ENTITIES}",
    "names of topics": f"SELECT count(*) {NAMES_OF_TOPICS}",
    "merges of two corpora": """
      SELECT count(*) FROM decision AS d JOIN node AS a ON a.n = d.alias JOIN node AS b ON b.n = d.canonical WHERE a.c <> b.c""",
    "counts of fields": """
      WITH counted AS (SELECT c, key, type, count(*) FROM field_of GROUP BY 1, 2, 3)
      SELECT (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM field))
           + (SELECT count(*) FROM (SELECT * FROM field EXCEPT SELECT * FROM counted))""",
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
_VECTORS_ONLY = ("two vectors in one slot",)


def probed(database: Database) -> tuple[bool, str]:
    """Whether the database can be read, and what it is; raises an error of hlgraph if it cannot."""
    said = f"SQLite {sqlite3.sqlite_version}"
    if not database.file.exists():
        return True, f"{said}; {database.path} is empty"
    with reading(database.path):
        SqliteTarget(database.file).history()
    return True, f"{said}, {database.path}"


def check(database: Database, *, has_graph: bool = True) -> Iterator[tuple[str, bool, str]]:
    """Runs all checks; yields the name of each, whether it passed, and what it saw. Reads everything, changes nothing.

    Parameters
    ----------
    database : database of the store
    has_graph : False if the graph is on a server and the database holds only vectors
    """
    if not database.file.exists():
        yield "store", True, f"{database.path} is empty"
        return
    for finding in _told(database, "database file", _migrations(database)):
        yield finding
        if not finding[1]:
            return
    yield from _told(database, "schema", _schema(database))
    connection = database.reader()
    yield from _told(database, "database file", _file(connection))
    yield from _told(database, "freed bytes", _freed(database))
    if has_graph:
        yield from _told(database, "journal", _journal(connection))
    queries = (*_links(), *_WRONG.items()) if has_graph else tuple((name, _WRONG[name]) for name in _VECTORS_ONLY)
    for name, query in queries:
        yield from _told(database, name, _counted(connection, name, query=query))
    yield from _told(database, "vector files", _files(database, connection))
    if has_graph:
        yield from _told(database, "records as written", _records(connection))


_Findings = Iterator[tuple[str, bool, str]]


def _told(database: Database, name: str, findings: _Findings) -> _Findings:
    """The findings of one check; a check that the damage itself stops is a finding, and the next check goes on."""
    try:
        with reading(database.path):
            yield from findings
    except StoreCorruptError as error:
        yield name, False, str(error)


def _migrations(database: Database) -> _Findings:
    try:
        plan = migrate.plan(SqliteTarget(database.file))
    except MigrationError as error:
        yield "migrations", False, str(error)
        return
    yield "migrations", not plan.pending, f"{len(plan.applied)} applied, {len(plan.pending)} pending"


def _schema(database: Database) -> _Findings:
    wrong = migrate.differences(SqliteTarget(database.file))
    said = "; ".join(map(str, wrong))
    yield "schema", not wrong, f"{said}; run: hlgraph migrate repair" if wrong else "as the migrations made it"


def _file(connection: sqlite3.Connection) -> _Findings:
    answer = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    wrong = [] if answer == "ok" else [" ".join(answer.split())]
    yield "database file", not wrong, _said(wrong, answer)


def _freed(database: Database) -> _Findings:
    wrong = []
    found = unwiped(database.file)
    if found:
        pages = {item.page for item in found}
        wrong.append(f"{len(pages)} pages of the database hold bytes of rows that were removed or moved")
    log = database.file.with_name(f"{database.file.name}-wal")
    if not database.wiping.is_finished and log.exists() and log.stat().st_size:
        wrong.append("the log holds a change that is being written, or whose writer could not finish")
    yield "freed bytes", not wrong, _said(wrong, "all are zero")


def _counted(connection: sqlite3.Connection, name: str, *, query: str) -> _Findings:
    count = connection.execute(query).fetchone()[0]
    yield name, count == 0, f"{count} wrong"


def _journal(connection: sqlite3.Connection) -> _Findings:
    count = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
    seen = (
        "nothing unfinished"
        if not count
        else f"{count} unfinished changes; run any ingest or delete again to finish them"
    )
    yield "journal", count == 0, seen


def _links() -> Iterator[tuple[str, str]]:
    for table, ends in _LINKS:
        checks = " OR ".join(f"{column} NOT IN (SELECT n FROM {target})" for column, target in ends.items())
        yield f"links of {table}", f"SELECT count(*) FROM {table} WHERE {checks}"


def _files(database: Database, connection: sqlite3.Connection) -> _Findings:
    held = damage.states(connection)
    wrong = []
    for corpus, kind, state in held:
        path = matrix_path(database.path, state.file, generation=state.generation)
        size = path.stat().st_size if path.exists() else 0
        if size < state.slots * state.dimensions * 4:
            wrong.append(f"{corpus}/{kind}: {size} bytes for {state.slots} rows")
    yield "vector files", not wrong, _said(wrong, f"{len(held)} files")


def _said(wrong: list[str], otherwise: str) -> str:
    return f"{'; '.join(wrong)}; next: hlgraph reconcile --repair" if wrong else otherwise


def _records(connection: sqlite3.Connection) -> Iterator[tuple[str, bool, str]]:
    """The sources, chunks and summaries whose rows are not those that were written, by their seals."""
    found = [item for _, item in altered_records(connection)]
    names = [
        f"{'links of ' * item.is_links}{item.kind.value} {item.id} of {item.where or item.corpus}" for item in found
    ]
    count = connection.execute("SELECT count(*) FROM seal").fetchone()[0]
    wrong = [f"{len(found)} altered, such as {names[0]}"] if found else []
    yield "records as written", not found, _said(wrong, f"{count} with their checksums")
