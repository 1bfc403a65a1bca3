-- Which fields the metadata of a corpus have, with their types, counted by sources: a search asks for them after every change.
-- A list has the types of its items; "type" is empty if it has none.

CREATE TABLE field (
  c INTEGER NOT NULL,
  key TEXT NOT NULL,
  type TEXT NOT NULL,
  sources INTEGER NOT NULL,
  PRIMARY KEY (c, key, type)
) STRICT, WITHOUT ROWID;

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

INSERT INTO field SELECT c, key, type, count(*) FROM field_of GROUP BY c, key, type;
