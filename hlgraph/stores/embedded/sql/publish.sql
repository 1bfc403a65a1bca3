-- Publishes the change that lies in the temporary tables: one transaction, opened and committed by the caller.
-- Node kinds are the indices of hlgraph.subgraph.KINDS: 0 source, 1 chunk, 2 topic, 3 statement, 4 fact, 5 entity.
-- Parameter: :corpus.
-- CROSS JOIN keeps the order of the tables: the change, which is small, leads into the corpus, which need not be. Left to
-- itself SQLite, which knows no sizes of temporary tables, reads all of node or mentions for a change of one chunk.

-- 1. Chunks that lose their links: removed ones, all of removed sources, and those extracted again.
INSERT OR IGNORE INTO t_gone SELECT node.n FROM t_removed_chunk AS r CROSS JOIN node ON node.id = r.id;
INSERT OR IGNORE INTO t_gone
  SELECT chunk.n FROM t_removed_source AS r CROSS JOIN node AS s ON s.id = r.id CROSS JOIN node AS chunk ON chunk.source = s.n AND chunk.kind = 1;
INSERT OR IGNORE INTO t_old SELECT n FROM t_gone;
INSERT OR IGNORE INTO t_old SELECT node.n FROM t_chunk CROSS JOIN node ON node.id = t_chunk.id;

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
INSERT INTO t_added SELECT 0, count(*) FROM t_source WHERE id NOT IN (SELECT id FROM node);
INSERT INTO t_added SELECT 1, count(*) FROM t_chunk WHERE id NOT IN (SELECT id FROM node);
INSERT INTO t_added SELECT 2, count(*) FROM t_topic WHERE id NOT IN (SELECT id FROM node);
INSERT INTO t_added SELECT 3, count(*) FROM t_statement WHERE id NOT IN (SELECT id FROM node);
INSERT INTO t_added SELECT 4, count(*) FROM t_fact WHERE id NOT IN (SELECT id FROM node);
INSERT INTO t_added SELECT 5, count(*) FROM t_entity WHERE id NOT IN (SELECT id FROM node);
INSERT INTO node (id, kind, c) SELECT id, 0, (SELECT c FROM corpus WHERE name = :corpus) FROM t_source WHERE true ON CONFLICT (id) DO NOTHING;
UPDATE node SET source = n WHERE kind = 0 AND source IS NULL AND id IN (SELECT id FROM t_source);
INSERT INTO node (id, kind, c, source) SELECT t.id, 1, s.c, s.n FROM t_chunk AS t CROSS JOIN node AS s ON s.id = t.source WHERE true ON CONFLICT (id) DO NOTHING;
INSERT INTO node (id, kind, c, source) SELECT t.id, 2, s.c, s.n FROM t_topic AS t CROSS JOIN node AS s ON s.id = t.source WHERE true ON CONFLICT (id) DO NOTHING;
INSERT INTO node (id, kind, c, source) SELECT t.id, 3, s.c, s.n FROM t_statement AS t CROSS JOIN node AS s ON s.id = t.source WHERE true ON CONFLICT (id) DO NOTHING;
INSERT INTO node (id, kind, c) SELECT id, 5, (SELECT c FROM corpus WHERE name = :corpus) FROM t_entity WHERE true ON CONFLICT (id) DO NOTHING;
INSERT INTO node (id, kind, c) SELECT id, 4, (SELECT c FROM corpus WHERE name = :corpus) FROM t_fact WHERE true ON CONFLICT (id) DO NOTHING;

-- 6. Their properties.
INSERT OR REPLACE INTO source
  SELECT node.n, t.uri, t.title, t.checksum, t.metadata, t.version, t.valid_from, t.valid_to FROM t_source AS t CROSS JOIN node ON node.id = t.id;
INSERT OR REPLACE INTO chunk
  SELECT node.n, t.text, t.start, t."end", t.position, t.tokens, t.headings, t.page, t.fingerprint FROM t_chunk AS t CROSS JOIN node ON node.id = t.id;
INSERT OR IGNORE INTO topic SELECT node.n, t.name FROM t_topic AS t CROSS JOIN node ON node.id = t.id;
INSERT OR REPLACE INTO statement SELECT node.n, t.text FROM t_statement AS t CROSS JOIN node ON node.id = t.id;
INSERT OR IGNORE INTO entity SELECT node.n, '', '' FROM t_entity AS t CROSS JOIN node ON node.id = t.id;
INSERT OR REPLACE INTO fact
  SELECT node.n, s.n, t.predicate, o.n, t.complement
  FROM t_fact AS t CROSS JOIN node ON node.id = t.id CROSS JOIN node AS s ON s.id = t.subject LEFT JOIN node AS o ON o.id = t.object;
UPDATE chunk SET (start, "end", position, page) = (SELECT m.start, m."end", m.position, m.page FROM node CROSS JOIN t_move AS m ON m.id = node.id WHERE node.n = chunk.n)
  WHERE n IN (SELECT node.n FROM t_move AS m CROSS JOIN node ON node.id = m.id);

-- 7. Their links.
INSERT OR IGNORE INTO t_new SELECT node.n FROM t_chunk CROSS JOIN node ON node.id = t_chunk.id;
INSERT OR IGNORE INTO in_chunk
  SELECT c.n, s.n, t.ordinal, t.start, t."end", t.details FROM t_placement AS t CROSS JOIN node AS c ON c.id = t.chunk CROSS JOIN node AS s ON s.id = t.statement;
INSERT OR IGNORE INTO chunk_topic
  SELECT c.n, o.n, t.name FROM t_about AS t CROSS JOIN node AS c ON c.id = t.chunk CROSS JOIN node AS o ON o.id = t.topic;
INSERT OR IGNORE INTO about
  SELECT c.n, s.n, o.n FROM t_about AS t CROSS JOIN node AS c ON c.id = t.chunk CROSS JOIN node AS o ON o.id = t.topic CROSS JOIN node AS s ON s.id = t.statement;
INSERT OR IGNORE INTO mentions
  SELECT c.n, s.n, e.n, t.surface, t.kind
  FROM t_mention AS t CROSS JOIN node AS c ON c.id = t.chunk CROSS JOIN node AS s ON s.id = t.statement CROSS JOIN node AS e ON e.id = t.entity;
INSERT OR IGNORE INTO supports
  SELECT c.n, s.n, f.n FROM t_support AS t CROSS JOIN node AS c ON c.id = t.chunk CROSS JOIN node AS s ON s.id = t.statement CROSS JOIN node AS f ON f.id = t.fact;

-- 8. The new chunks' share of the counts of names.
INSERT INTO t_alias
  SELECT entity, surface, kind, count(*) FROM mentions WHERE chunk IN (SELECT n FROM t_new) GROUP BY entity, surface, kind;
INSERT INTO alias
  SELECT entity, surface, kind, sum(d) FROM t_alias GROUP BY entity, surface, kind HAVING sum(d) <> 0
  ON CONFLICT (entity, surface, kind) DO UPDATE SET mentions = mentions + excluded.mentions;
DELETE FROM alias WHERE mentions <= 0 AND entity IN (SELECT entity FROM t_alias WHERE d < 0);

-- 8b. For repairs: some entities are counted anew from what is there, since something was lost without being taken away.
DELETE FROM alias WHERE entity IN (SELECT e.n FROM t_recounted AS t CROSS JOIN node AS e ON e.id = t.id);
INSERT INTO alias
  SELECT m.entity, m.surface, m.kind, count(*) FROM t_recounted AS t CROSS JOIN node AS e ON e.id = t.id CROSS JOIN mentions AS m ON m.entity = e.n
  GROUP BY m.entity, m.surface, m.kind;

-- 9. A topic is called what most chunks call it. An entity is called what most mentions call it, and is of the kind that most
-- mentions say (ties by the alphabet).
UPDATE topic SET
  name = coalesce((SELECT t.name FROM chunk_topic AS t WHERE t.topic = topic.n AND t.name <> '' GROUP BY t.name ORDER BY count(*) DESC, t.name LIMIT 1), name)
  WHERE n IN (SELECT n FROM t_dirty) OR n IN (SELECT topic FROM chunk_topic WHERE chunk IN (SELECT n FROM t_new))
  OR n IN (SELECT node.n FROM t_recounted AS t CROSS JOIN node ON node.id = t.id);
UPDATE entity SET
  name = coalesce((SELECT surface FROM alias WHERE entity = entity.n GROUP BY surface ORDER BY sum(mentions) DESC, surface LIMIT 1), name),
  kind = coalesce((SELECT kind FROM alias WHERE entity = entity.n AND kind <> '' GROUP BY kind ORDER BY sum(mentions) DESC, kind LIMIT 1), '')
  WHERE n IN (SELECT entity FROM t_alias) OR n IN (SELECT node.n FROM t_recounted AS t CROSS JOIN node ON node.id = t.id);

-- 10. Relations are counted anew for the facts that were touched.
INSERT OR IGNORE INTO t_dirty SELECT f.n FROM t_support AS t CROSS JOIN node AS f ON f.id = t.fact;
DELETE FROM relates WHERE (subject, object, predicate) IN (SELECT subject, object, predicate FROM fact WHERE n IN (SELECT n FROM t_dirty));
INSERT INTO relates
  SELECT f.subject, f.object, f.predicate, count(DISTINCT s.statement)
  FROM fact AS f JOIN supports AS s ON s.fact = f.n
  WHERE f.object IS NOT NULL AND f.n IN (SELECT n FROM t_dirty) GROUP BY f.subject, f.object, f.predicate;

-- 11. What lost its last reference goes.
INSERT OR IGNORE INTO t_dead SELECT n, id, kind FROM node WHERE n IN (SELECT n FROM t_gone);
INSERT OR IGNORE INTO t_dead SELECT node.n, node.id, 0 FROM t_removed_source AS r CROSS JOIN node ON node.id = r.id;
INSERT OR IGNORE INTO t_dead SELECT n, id, kind FROM node
  WHERE kind = 3 AND n IN (SELECT n FROM t_dirty) AND NOT EXISTS (SELECT 1 FROM in_chunk WHERE statement = node.n);
INSERT OR IGNORE INTO t_dead SELECT n, id, kind FROM node
  WHERE kind = 2 AND n IN (SELECT n FROM t_dirty) AND NOT EXISTS (SELECT 1 FROM chunk_topic WHERE topic = node.n);
INSERT OR IGNORE INTO t_dead SELECT n, id, kind FROM node
  WHERE kind = 4 AND n IN (SELECT n FROM t_dirty) AND NOT EXISTS (SELECT 1 FROM supports WHERE fact = node.n);
INSERT OR IGNORE INTO t_dirty SELECT subject FROM fact WHERE n IN (SELECT n FROM t_dead);
INSERT OR IGNORE INTO t_dirty SELECT object FROM fact WHERE object IS NOT NULL AND n IN (SELECT n FROM t_dead);
DELETE FROM fact WHERE n IN (SELECT n FROM t_dead);
INSERT OR IGNORE INTO t_dead SELECT n, id, kind FROM node
  WHERE kind = 5 AND n IN (SELECT n FROM t_dirty)
  AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = node.n)
  AND NOT EXISTS (SELECT 1 FROM fact WHERE subject = node.n)
  AND NOT EXISTS (SELECT 1 FROM fact WHERE object = node.n);
DELETE FROM source WHERE n IN (SELECT n FROM t_dead);
DELETE FROM chunk WHERE n IN (SELECT n FROM t_dead);
DELETE FROM topic WHERE n IN (SELECT n FROM t_dead);
DELETE FROM statement WHERE n IN (SELECT n FROM t_dead);
DELETE FROM entity WHERE n IN (SELECT n FROM t_dead);
DELETE FROM alias WHERE entity IN (SELECT n FROM t_dead);
DELETE FROM synonym WHERE a IN (SELECT n FROM t_dead) OR b IN (SELECT n FROM t_dead);
DELETE FROM decision WHERE alias IN (SELECT n FROM t_dead) OR canonical IN (SELECT n FROM t_dead);
DELETE FROM node WHERE n IN (SELECT n FROM t_dead);

-- 11b. Communities lose the members that went; those without members go, and runs without communities; a run of one layer,
-- which has none, goes with the last chunk. Summaries go with the first member of their community, with the first node that they
-- rest on, and, of a whole source, with its first new chunk.
INSERT OR IGNORE INTO t_untrue SELECT o.summary FROM t_dead CROSS JOIN rests_on AS o ON o.node = t_dead.n;
INSERT OR IGNORE INTO t_untrue
  SELECT s.s FROM t_source AS t CROSS JOIN node AS x ON x.id = t.id CROSS JOIN summary AS s ON s.source = x.n
  WHERE s.level = -1 AND EXISTS (SELECT 1 FROM node AS c WHERE c.source = x.n AND c.kind = 1
    AND NOT EXISTS (SELECT 1 FROM rests_on AS o WHERE o.summary = s.s AND o.node = c.n));
INSERT OR IGNORE INTO t_left SELECT o.community FROM t_untrue CROSS JOIN summary_member_of AS o ON o.summary = t_untrue.s;
INSERT OR IGNORE INTO t_left SELECT o.community FROM t_dead CROSS JOIN member_of AS o ON o.node = t_dead.n;
INSERT OR IGNORE INTO t_untrue SELECT s.s FROM t_left CROSS JOIN summary AS s ON s.community = t_left.m;
DELETE FROM rests_on WHERE summary IN (SELECT s FROM t_untrue);
DELETE FROM summary_member_of WHERE summary IN (SELECT s FROM t_untrue);
DELETE FROM summary WHERE s IN (SELECT s FROM t_untrue);
DELETE FROM member_of WHERE node IN (SELECT n FROM t_dead);
UPDATE community SET size = (SELECT count(*) FROM member_of WHERE member_of.community = community.m)
  + (SELECT count(*) FROM summary_member_of AS o WHERE o.community = community.m) WHERE m IN (SELECT m FROM t_left);
DELETE FROM community WHERE m IN (SELECT m FROM t_left) AND size = 0;
DELETE FROM run WHERE c = (SELECT c FROM corpus WHERE name = :corpus) AND EXISTS (SELECT 1 FROM t_dead)
  AND NOT EXISTS (SELECT 1 FROM community WHERE community.r = run.r)
  AND (levels > 0 OR NOT EXISTS (SELECT 1 FROM node WHERE node.c = run.c AND node.kind = 1));

-- 12. Synonyms of the new entities, each pair once, smaller n first.
INSERT OR REPLACE INTO synonym
  SELECT min(a.n, b.n), max(a.n, b.n), t.similarity FROM t_synonym AS t CROSS JOIN node AS a ON a.id = t.a CROSS JOIN node AS b ON b.id = t.b WHERE a.n <> b.n;

-- 13. An empty corpus is bound to no model. The new version is set with the list of the change (image_changes.py).
UPDATE corpus SET embedding = '', dimensions = 0, calibration = NULL
  WHERE name = :corpus AND NOT EXISTS (SELECT 1 FROM node WHERE node.c = corpus.c);
