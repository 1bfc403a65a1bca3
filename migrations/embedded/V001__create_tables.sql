-- The graph and the vectors of the embedded store, in one database.
-- Ids are text outside and small integers (n) inside. Links name the chunk that asserts them, so that removing a chunk
-- removes exactly its assertions; derived tables (alias, relates, co_occurs) are reference counts over these links.

CREATE TABLE corpus (
  c INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  embedding TEXT NOT NULL DEFAULT '',
  dimensions INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE node (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  kind INTEGER NOT NULL,
  c INTEGER NOT NULL REFERENCES corpus (c),
  source INTEGER
) STRICT;
CREATE INDEX node_source ON node (source, kind);
CREATE INDEX node_corpus ON node (c, kind);

CREATE TABLE source (
  n INTEGER PRIMARY KEY,
  uri TEXT NOT NULL,
  title TEXT NOT NULL,
  checksum TEXT NOT NULL,
  metadata TEXT NOT NULL,
  version INTEGER NOT NULL,
  valid_from TEXT,
  valid_to TEXT
) STRICT;

CREATE TABLE chunk (
  n INTEGER PRIMARY KEY,
  text TEXT NOT NULL,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  position INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  headings TEXT NOT NULL,
  page INTEGER,
  fingerprint TEXT NOT NULL
) STRICT;

CREATE TABLE topic (n INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;

CREATE TABLE statement (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;

CREATE TABLE entity (n INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL) STRICT;

CREATE TABLE fact (
  n INTEGER PRIMARY KEY,
  subject INTEGER NOT NULL,
  predicate TEXT NOT NULL,
  object INTEGER,
  complement TEXT NOT NULL
) STRICT;
CREATE INDEX fact_subject ON fact (subject);
CREATE INDEX fact_object ON fact (object);

CREATE TABLE in_chunk (
  chunk INTEGER NOT NULL,
  statement INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  details TEXT NOT NULL,
  PRIMARY KEY (chunk, statement)
) STRICT, WITHOUT ROWID;
CREATE INDEX in_chunk_statement ON in_chunk (statement);

CREATE TABLE chunk_topic (
  chunk INTEGER NOT NULL,
  topic INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY (chunk, topic)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunk_topic_topic ON chunk_topic (topic);

CREATE TABLE about (
  chunk INTEGER NOT NULL,
  statement INTEGER NOT NULL,
  topic INTEGER NOT NULL,
  PRIMARY KEY (chunk, statement, topic)
) STRICT, WITHOUT ROWID;
CREATE INDEX about_topic ON about (topic, statement);

CREATE TABLE mentions (
  chunk INTEGER NOT NULL,
  statement INTEGER NOT NULL,
  entity INTEGER NOT NULL,
  surface TEXT NOT NULL,
  kind TEXT NOT NULL,
  PRIMARY KEY (chunk, statement, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity);

CREATE TABLE supports (
  chunk INTEGER NOT NULL,
  statement INTEGER NOT NULL,
  fact INTEGER NOT NULL,
  PRIMARY KEY (chunk, statement, fact)
) STRICT, WITHOUT ROWID;
CREATE INDEX supports_fact ON supports (fact, statement);

CREATE TABLE alias (
  entity INTEGER NOT NULL,
  surface TEXT NOT NULL,
  kind TEXT NOT NULL,
  mentions INTEGER NOT NULL,
  PRIMARY KEY (entity, surface, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE relates (
  subject INTEGER NOT NULL,
  object INTEGER NOT NULL,
  predicate TEXT NOT NULL,
  facts INTEGER NOT NULL,
  PRIMARY KEY (subject, object, predicate)
) STRICT, WITHOUT ROWID;

CREATE TABLE co_occurs (
  a INTEGER NOT NULL,
  b INTEGER NOT NULL,
  chunks INTEGER NOT NULL,
  PRIMARY KEY (a, b)
) STRICT, WITHOUT ROWID;

CREATE TABLE synonym (
  a INTEGER NOT NULL,
  b INTEGER NOT NULL,
  similarity REAL NOT NULL,
  PRIMARY KEY (a, b)
) STRICT, WITHOUT ROWID;
CREATE INDEX synonym_b ON synonym (b);

CREATE TABLE journal (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  corpus TEXT NOT NULL,
  state TEXT NOT NULL,
  outcome BLOB NOT NULL
) STRICT;

-- The change of an entry, apart from its state: a new state must not write megabytes anew.
CREATE TABLE journal_change (id TEXT PRIMARY KEY, payload BLOB NOT NULL) STRICT;

-- The vector store. Vectors themselves lie in files vectors/<file>-<generation>.f32, one row a slot.

CREATE TABLE vector_file (
  file INTEGER PRIMARY KEY AUTOINCREMENT,
  corpus TEXT NOT NULL,
  kind TEXT NOT NULL,
  generation INTEGER NOT NULL DEFAULT 1,
  dimensions INTEGER NOT NULL,
  slots INTEGER NOT NULL DEFAULT 0,
  writes INTEGER NOT NULL DEFAULT 0,
  deletes INTEGER NOT NULL DEFAULT 0,
  UNIQUE (corpus, kind)
) STRICT;

CREATE TABLE vector (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  file INTEGER NOT NULL,
  id TEXT NOT NULL,
  source TEXT NOT NULL,
  change TEXT NOT NULL,
  slot INTEGER NOT NULL,
  UNIQUE (file, id)
) STRICT;

CREATE TABLE vector_free (
  file INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  is_zeroed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (file, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE vector_source (
  id TEXT PRIMARY KEY,
  corpus TEXT NOT NULL,
  uri TEXT NOT NULL,
  title TEXT NOT NULL,
  metadata TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX vector_source_corpus ON vector_source (corpus);

CREATE TABLE vector_source_version (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL) STRICT;
INSERT INTO vector_source_version VALUES (1, 0);

-- Full text: one virtual table text_<file> a row of vector_file, made with it, so that term statistics are those of one kind
-- of one corpus. Texts are stored as normalised words.
