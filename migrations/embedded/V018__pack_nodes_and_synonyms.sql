-- Ids of nodes are kept as those of vectors are (V017): "key" is the 16 bytes of an id, and "id" is computed from it. The cosine of
-- a synonym is a whole number of hundred-thousandths ("value"), to which hlgraph rounds it; any other one is kept as it is.
-- What refers to "node" is made again as it was.

DROP TRIGGER field_insert;
DROP TRIGGER field_delete;
DROP TRIGGER field_before;
DROP TRIGGER field_after;
DROP VIEW field_of;

CREATE TABLE node_keyed (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  key ANY NOT NULL UNIQUE,
  kind INTEGER NOT NULL,
  c INTEGER NOT NULL REFERENCES corpus (c),
  source INTEGER,
  id TEXT GENERATED ALWAYS AS (iif(typeof(key) = 'blob', lower(hex(key)), key)) VIRTUAL
) STRICT;
INSERT INTO node_keyed (n, key, kind, c, source) SELECT n, hlgraph_key(id), kind, c, source FROM node ORDER BY n;
-- A number is never used again.
DELETE FROM sqlite_sequence WHERE name = 'node_keyed';
INSERT INTO sqlite_sequence SELECT 'node_keyed', seq FROM sqlite_sequence WHERE name = 'node';
DROP TABLE node;
ALTER TABLE node_keyed RENAME TO node;
CREATE INDEX node_source ON node (source, kind);
CREATE INDEX node_corpus ON node (c, kind);

CREATE TABLE synonym_packed (
  a INTEGER NOT NULL,
  b INTEGER NOT NULL,
  value ANY NOT NULL,
  similarity REAL GENERATED ALWAYS AS (iif(typeof(value) = 'integer', value / 1e5, value)) VIRTUAL,
  PRIMARY KEY (a, b)
) STRICT, WITHOUT ROWID;
INSERT INTO synonym_packed (a, b, value)
  SELECT a, b, iif(round(1e5 * similarity) / 1e5 = similarity, CAST(round(1e5 * similarity) AS INTEGER), similarity)
  FROM synonym ORDER BY a, b;
DROP TABLE synonym;
ALTER TABLE synonym_packed RENAME TO synonym;
CREATE INDEX synonym_b ON synonym (b);

CREATE VIEW field_of AS
  SELECT source.n, node.c, e.key, coalesce(CASE e.type
    WHEN 'array' THEN (SELECT group_concat(DISTINCT replace(i.type, 'true', 'false')) FROM json_each(e.value) AS i)
    ELSE e.type END, '') AS type
  FROM source JOIN node USING (n), json_each(iif(json_valid(source.metadata), source.metadata, '{}')) AS e;

CREATE TRIGGER field_insert AFTER INSERT ON source WHEN new.metadata <> '{}' BEGIN
  INSERT INTO field SELECT c, key, type, 1 FROM field_of WHERE n = new.n
  ON CONFLICT DO UPDATE SET sources = sources + 1;
END;

CREATE TRIGGER field_delete BEFORE DELETE ON source WHEN old.metadata <> '{}' BEGIN
  UPDATE field SET sources = sources - 1 WHERE (c, key, type) IN (SELECT c, key, type FROM field_of WHERE n = old.n);
  DELETE FROM field WHERE sources < 1;
END;

CREATE TRIGGER field_before BEFORE UPDATE OF metadata ON source BEGIN
  UPDATE field SET sources = sources - 1 WHERE (c, key, type) IN (SELECT c, key, type FROM field_of WHERE n = old.n);
  DELETE FROM field WHERE sources < 1;
END;

CREATE TRIGGER field_after AFTER UPDATE OF metadata ON source BEGIN
  INSERT INTO field SELECT c, key, type, 1 FROM field_of WHERE n = new.n
  ON CONFLICT DO UPDATE SET sources = sources + 1;
END;
