-- Writes one piece of a change, which lies in the temporary tables; publish.sql follows once all pieces are written. A change
-- that fits into memory is one piece. What a piece needs alone (t_old, t_alias) is emptied before it; the rest is collected.
-- Node kinds are the indices of hlgraph.subgraph.KINDS: 0 source, 1 chunk, 2 topic, 3 statement, 4 fact, 5 entity.
-- Parameter: :corpus.
-- CROSS JOIN keeps the order of the tables: the change, which is small, leads into the corpus, which need not be. Left to
-- itself SQLite, which knows no sizes of temporary tables, reads all of node or mentions for a change of one chunk.

-- 1. Chunks that lose their links: removed ones, all of removed sources, and those extracted again.
INSERT OR IGNORE INTO t_gone SELECT node.n FROM t_removed_chunk AS r CROSS JOIN node ON node.key = r.id;
INSERT OR IGNORE INTO t_gone
  SELECT chunk.n FROM t_removed_source AS r CROSS JOIN node AS s ON s.key = r.id CROSS JOIN node AS chunk ON chunk.source = s.n AND chunk.kind = 1;
INSERT OR IGNORE INTO t_old SELECT n FROM t_gone;
INSERT OR IGNORE INTO t_old SELECT node.n FROM t_chunk CROSS JOIN node ON node.key = t_chunk.id;

-- 2. What may lose its last reference with them.
INSERT OR IGNORE INTO t_dirty SELECT statement FROM in_chunk WHERE chunk IN (SELECT n FROM t_old);
INSERT OR IGNORE INTO t_dirty SELECT topic FROM chunk_topic WHERE chunk IN (SELECT n FROM t_old);
INSERT OR IGNORE INTO t_dirty SELECT fact FROM supports WHERE chunk IN (SELECT n FROM t_old);
INSERT OR IGNORE INTO t_dirty SELECT entity FROM mentions WHERE chunk IN (SELECT n FROM t_old);

-- 3. Their share of the counts of names.
INSERT INTO t_alias
  SELECT entity, surface, kind, -count(*) FROM mentions WHERE chunk IN (SELECT n FROM t_old) GROUP BY entity, surface, kind;

-- 4. The links go.
DELETE FROM in_chunk WHERE chunk IN (SELECT n FROM t_old);
DELETE FROM chunk_topic WHERE chunk IN (SELECT n FROM t_old);
DELETE FROM about WHERE chunk IN (SELECT n FROM t_old);
DELETE FROM mentions WHERE chunk IN (SELECT n FROM t_old);
DELETE FROM supports WHERE chunk IN (SELECT n FROM t_old);

-- 5. New nodes, counted before they are there.
INSERT INTO t_added SELECT 0, count(*) FROM t_source WHERE id NOT IN (SELECT key FROM node) ON CONFLICT DO UPDATE SET count = count + excluded.count;
INSERT INTO t_added SELECT 1, count(*) FROM t_chunk WHERE id NOT IN (SELECT key FROM node) ON CONFLICT DO UPDATE SET count = count + excluded.count;
INSERT INTO t_added SELECT 2, count(*) FROM t_topic WHERE id NOT IN (SELECT key FROM node) ON CONFLICT DO UPDATE SET count = count + excluded.count;
INSERT INTO t_added SELECT 3, count(*) FROM t_statement WHERE id NOT IN (SELECT key FROM node) ON CONFLICT DO UPDATE SET count = count + excluded.count;
INSERT INTO t_added SELECT 4, count(*) FROM t_fact WHERE id NOT IN (SELECT key FROM node) ON CONFLICT DO UPDATE SET count = count + excluded.count;
INSERT INTO t_added SELECT 5, count(*) FROM t_entity WHERE id NOT IN (SELECT key FROM node) ON CONFLICT DO UPDATE SET count = count + excluded.count;
INSERT INTO node (key, kind, c) SELECT id, 0, (SELECT c FROM corpus WHERE name = :corpus) FROM t_source WHERE true ON CONFLICT (key) DO NOTHING;
UPDATE node SET source = n WHERE kind = 0 AND source IS NULL AND key IN (SELECT id FROM t_source);
INSERT INTO node (key, kind, c, source) SELECT t.id, 1, s.c, s.n FROM t_chunk AS t CROSS JOIN node AS s ON s.key = t.source WHERE true ON CONFLICT (key) DO NOTHING;
INSERT INTO node (key, kind, c, source) SELECT t.id, 2, s.c, s.n FROM t_topic AS t CROSS JOIN node AS s ON s.key = t.source WHERE true ON CONFLICT (key) DO NOTHING;
INSERT INTO node (key, kind, c, source) SELECT t.id, 3, s.c, s.n FROM t_statement AS t CROSS JOIN node AS s ON s.key = t.source WHERE true ON CONFLICT (key) DO NOTHING;
INSERT INTO node (key, kind, c) SELECT id, 5, (SELECT c FROM corpus WHERE name = :corpus) FROM t_entity WHERE true ON CONFLICT (key) DO NOTHING;
INSERT INTO node (key, kind, c) SELECT id, 4, (SELECT c FROM corpus WHERE name = :corpus) FROM t_fact WHERE true ON CONFLICT (key) DO NOTHING;

-- 6. Their properties.
INSERT OR REPLACE INTO source
  SELECT node.n, t.uri, t.title, t.checksum, t.metadata, t.version, t.valid_from, t.valid_to FROM t_source AS t CROSS JOIN node ON node.key = t.id;
INSERT OR REPLACE INTO chunk
  SELECT node.n, t.text, t.start, t."end", t.position, t.tokens, t.headings, t.page, t.fingerprint FROM t_chunk AS t CROSS JOIN node ON node.key = t.id;
INSERT OR IGNORE INTO topic SELECT node.n, t.name FROM t_topic AS t CROSS JOIN node ON node.key = t.id;
INSERT OR REPLACE INTO statement SELECT node.n, t.text FROM t_statement AS t CROSS JOIN node ON node.key = t.id;
INSERT OR IGNORE INTO entity SELECT node.n, '', '' FROM t_entity AS t CROSS JOIN node ON node.key = t.id;
INSERT OR REPLACE INTO fact
  SELECT node.n, s.n, t.predicate, o.n, t.complement
  FROM t_fact AS t CROSS JOIN node ON node.key = t.id CROSS JOIN node AS s ON s.key = t.subject LEFT JOIN node AS o ON o.key = t.object;
UPDATE chunk SET (start, "end", position, page) = (SELECT m.start, m."end", m.position, m.page FROM node CROSS JOIN t_move AS m ON m.id = node.key WHERE node.n = chunk.n)
  WHERE n IN (SELECT node.n FROM t_move AS m CROSS JOIN node ON node.key = m.id);

-- 7. Their links.
INSERT OR IGNORE INTO t_new SELECT node.n FROM t_chunk CROSS JOIN node ON node.key = t_chunk.id;
INSERT OR IGNORE INTO in_chunk
  SELECT c.n, s.n, t.ordinal, t.start, t."end", t.details FROM t_placement AS t CROSS JOIN node AS c ON c.key = t.chunk CROSS JOIN node AS s ON s.key = t.statement;
INSERT OR IGNORE INTO chunk_topic
  SELECT c.n, o.n, t.name FROM t_about AS t CROSS JOIN node AS c ON c.key = t.chunk CROSS JOIN node AS o ON o.key = t.topic;
INSERT OR IGNORE INTO about
  SELECT c.n, s.n, o.n FROM t_about AS t CROSS JOIN node AS c ON c.key = t.chunk CROSS JOIN node AS o ON o.key = t.topic CROSS JOIN node AS s ON s.key = t.statement;
INSERT OR IGNORE INTO mentions
  SELECT c.n, s.n, e.n, t.surface, t.kind
  FROM t_mention AS t CROSS JOIN node AS c ON c.key = t.chunk CROSS JOIN node AS s ON s.key = t.statement CROSS JOIN node AS e ON e.key = t.entity;
INSERT OR IGNORE INTO supports
  SELECT c.n, s.n, f.n FROM t_support AS t CROSS JOIN node AS c ON c.key = t.chunk CROSS JOIN node AS s ON s.key = t.statement CROSS JOIN node AS f ON f.key = t.fact;

-- 8. The new chunks' share of the counts of names.
INSERT INTO t_alias
  SELECT entity, surface, kind, count(*) FROM mentions WHERE chunk IN (SELECT node.n FROM t_chunk CROSS JOIN node ON node.key = t_chunk.id)
  GROUP BY entity, surface, kind;
INSERT INTO alias
  SELECT entity, surface, kind, sum(d) FROM t_alias GROUP BY entity, surface, kind HAVING sum(d) <> 0
  ON CONFLICT (entity, surface, kind) DO UPDATE SET mentions = mentions + excluded.mentions;
DELETE FROM alias WHERE mentions <= 0 AND entity IN (SELECT entity FROM t_alias WHERE d < 0);
INSERT OR IGNORE INTO t_named SELECT entity FROM t_alias;

-- 9. The facts whose relations are counted anew.
INSERT OR IGNORE INTO t_dirty SELECT f.n FROM t_support AS t CROSS JOIN node AS f ON f.key = t.fact;

-- 10. Synonyms of the new entities, each pair once, smaller n first.
INSERT OR REPLACE INTO synonym (a, b, value)
  SELECT min(a.n, b.n), max(a.n, b.n), iif(round(1e5 * t.similarity) / 1e5 = t.similarity, CAST(round(1e5 * t.similarity) AS INTEGER), t.similarity) FROM t_synonym AS t CROSS JOIN node AS a ON a.key = t.a CROSS JOIN node AS b ON b.key = t.b WHERE a.n <> b.n;
