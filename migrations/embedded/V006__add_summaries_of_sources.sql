-- Summaries of long sources: about a source in place of a community, and members of communities as chunks are.

CREATE TABLE summary_wider (
  s INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  r INTEGER NOT NULL REFERENCES run (r),
  community INTEGER UNIQUE,
  source INTEGER,
  text TEXT NOT NULL,
  input_hash TEXT NOT NULL,
  vector BLOB NOT NULL,
  CHECK ((community IS NULL) <> (source IS NULL))
) STRICT;
INSERT INTO summary_wider SELECT s, id, r, community, NULL, text, input_hash, vector FROM summary;
DROP TABLE summary;
ALTER TABLE summary_wider RENAME TO summary;
CREATE INDEX summary_run ON summary (r, id);
CREATE UNIQUE INDEX summary_source ON summary (source, r) WHERE source IS NOT NULL;

CREATE TABLE summary_member_of (
  community INTEGER NOT NULL,
  summary INTEGER NOT NULL,
  PRIMARY KEY (community, summary)
) STRICT, WITHOUT ROWID;
CREATE INDEX summary_member_of_summary ON summary_member_of (summary);
