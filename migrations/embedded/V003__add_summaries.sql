-- Summaries of communities, with their vectors and with the statements (or chunks) that their words are from.

ALTER TABLE run ADD COLUMN stamp TEXT NOT NULL DEFAULT '';

CREATE TABLE summary (
  s INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  r INTEGER NOT NULL REFERENCES run (r),
  community INTEGER NOT NULL UNIQUE,
  text TEXT NOT NULL,
  input_hash TEXT NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE INDEX summary_run ON summary (r, id);

CREATE TABLE rests_on (
  summary INTEGER NOT NULL,
  node INTEGER NOT NULL,
  PRIMARY KEY (summary, node)
) STRICT, WITHOUT ROWID;
CREATE INDEX rests_on_node ON rests_on (node);
