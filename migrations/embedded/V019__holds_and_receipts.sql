-- Holds on sources, which refuse their deletion, and the last receipt of a deletion, by corpus. Both outlive their corpus.

CREATE TABLE hold (
  h INTEGER PRIMARY KEY,
  corpus TEXT NOT NULL,
  name TEXT NOT NULL,
  uris TEXT NOT NULL,
  filter TEXT NOT NULL,
  ids TEXT NOT NULL,
  at TEXT NOT NULL,
  UNIQUE (corpus, name)
) STRICT;
CREATE TABLE receipt (
  corpus TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT, WITHOUT ROWID;
