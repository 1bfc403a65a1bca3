-- Full text as lists of rows by word, in place of FTS5: what a deletion leaves in an index of FTS5 goes only when all of it is
-- merged. "text" holds the indexed words of each row of "vector", "posting" the rows of each word in blocks: row number, count
-- in the row, length of the row, 8 bytes each. What a store holds already is indexed when the migration runs.

CREATE TABLE text (n INTEGER PRIMARY KEY, file INTEGER NOT NULL, words TEXT NOT NULL) STRICT;

CREATE TABLE posting (
  file INTEGER NOT NULL,
  word TEXT NOT NULL,
  first INTEGER NOT NULL,
  entries BLOB NOT NULL,
  PRIMARY KEY (file, word, first)
) STRICT, WITHOUT ROWID;

ALTER TABLE vector_file ADD COLUMN texts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE vector_file ADD COLUMN length INTEGER NOT NULL DEFAULT 0;
