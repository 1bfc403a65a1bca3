-- Rows of vectors and of full text take less. Ids of 32 hexadecimal digits are kept as the 16 bytes that they stand for ("key"; any
-- other id as its text), and "id" is computed from them. Source and change of a row are one number ("origin"), with the count of
-- its rows. "text" has blocks of entries, compressed, and "posting" blocks of numbers as narrow as they fit; text_rows.py
-- describes both. hlgraph_key, hlgraph_entries and hlgraph_words are functions of hlgraph.

CREATE TABLE vector_origin (
  o INTEGER PRIMARY KEY AUTOINCREMENT,
  change TEXT NOT NULL,
  source TEXT NOT NULL,
  rows INTEGER NOT NULL,
  UNIQUE (change, source)
) STRICT;
INSERT INTO vector_origin (change, source, rows) SELECT change, source, count(*) FROM vector GROUP BY change, source;

CREATE TABLE vector_keyed (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  file INTEGER NOT NULL,
  key ANY NOT NULL,
  origin INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  id TEXT GENERATED ALWAYS AS (iif(typeof(key) = 'blob', lower(hex(key)), key)) VIRTUAL,
  UNIQUE (file, key)
) STRICT;
INSERT INTO vector_keyed (n, file, key, origin, slot, checksum)
  SELECT v.n, v.file, hlgraph_key(v.id), o.o, v.slot, v.checksum FROM vector AS v JOIN vector_origin AS o USING (change, source)
  ORDER BY v.n;
-- A number is never used again.
DELETE FROM sqlite_sequence WHERE name = 'vector_keyed';
INSERT INTO sqlite_sequence SELECT 'vector_keyed', seq FROM sqlite_sequence WHERE name = 'vector';
DROP TABLE vector;
ALTER TABLE vector_keyed RENAME TO vector;

CREATE TABLE posting_packed (
  file INTEGER NOT NULL,
  word TEXT NOT NULL,
  first INTEGER NOT NULL,
  entries BLOB NOT NULL,
  PRIMARY KEY (file, word, first)
) STRICT, WITHOUT ROWID;
INSERT INTO posting_packed SELECT file, word, first, hlgraph_entries(entries) FROM posting ORDER BY file, word, first;
DROP TABLE posting;
ALTER TABLE posting_packed RENAME TO posting;

CREATE TABLE text_packed (first INTEGER PRIMARY KEY, file INTEGER NOT NULL, words BLOB NOT NULL) STRICT;
INSERT INTO text_packed
  SELECT min(n), file, hlgraph_words(n, words)
  FROM (SELECT n, file, words, sum(length(words)) OVER (PARTITION BY file ORDER BY n) / 16384 AS part FROM text)
  GROUP BY file, part;
DROP TABLE text;
ALTER TABLE text_packed RENAME TO text;
CREATE INDEX text_file ON text (file, first);
