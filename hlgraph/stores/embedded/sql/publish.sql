-- Ends the publication of a change whose pieces are written (publish_piece.sql): names, counts, and what lost its last reference.
-- The pieces and this are one transaction, opened and committed by the caller. Parameter: :corpus.

-- 1. For repairs: some entities are counted anew from what is there, since something was lost without being taken away.
DELETE FROM alias WHERE entity IN (SELECT e.n FROM t_recounted AS t CROSS JOIN node AS e ON e.key = t.id);
INSERT INTO alias
  SELECT m.entity, m.surface, m.kind, count(*) FROM t_recounted AS t CROSS JOIN node AS e ON e.key = t.id CROSS JOIN mentions AS m ON m.entity = e.n
  GROUP BY m.entity, m.surface, m.kind;

-- 2. A topic is called what most chunks call it. An entity is called what most mentions call it, and is of the kind that most
-- mentions say (ties by the alphabet).
UPDATE topic SET
  name = coalesce((SELECT t.name FROM chunk_topic AS t WHERE t.topic = topic.n AND t.name <> '' GROUP BY t.name ORDER BY count(*) DESC, t.name LIMIT 1), name)
  WHERE n IN (SELECT n FROM t_dirty) OR n IN (SELECT topic FROM chunk_topic WHERE chunk IN (SELECT n FROM t_new))
  OR n IN (SELECT node.n FROM t_recounted AS t CROSS JOIN node ON node.key = t.id);
UPDATE entity SET
  name = coalesce((SELECT surface FROM alias WHERE entity = entity.n GROUP BY surface ORDER BY sum(mentions) DESC, surface LIMIT 1), name),
  kind = coalesce((SELECT kind FROM alias WHERE entity = entity.n AND kind <> '' GROUP BY kind ORDER BY sum(mentions) DESC, kind LIMIT 1), '')
  WHERE n IN (SELECT entity FROM t_named) OR n IN (SELECT node.n FROM t_recounted AS t CROSS JOIN node ON node.key = t.id);

-- 3. Relations are counted anew for the facts that were touched.
DELETE FROM relates WHERE (subject, object, predicate) IN (SELECT subject, object, predicate FROM fact WHERE n IN (SELECT n FROM t_dirty));
INSERT INTO relates
  SELECT f.subject, f.object, f.predicate, count(DISTINCT s.statement)
  FROM fact AS f JOIN supports AS s ON s.fact = f.n
  WHERE f.object IS NOT NULL AND f.n IN (SELECT n FROM t_dirty) GROUP BY f.subject, f.object, f.predicate;

-- 4. What lost its last reference goes.
INSERT OR IGNORE INTO t_dead SELECT n, id, kind FROM node WHERE n IN (SELECT n FROM t_gone);
INSERT OR IGNORE INTO t_dead SELECT node.n, node.id, 0 FROM t_removed_source AS r CROSS JOIN node ON node.key = r.id;
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

-- 5. Communities lose the members that went; those without members go, and runs without communities; a run of one layer,
-- which has none, goes with the last chunk. Summaries go with the first member of their community, with the first node that they
-- rest on, and, of a whole source, with its first new chunk.
INSERT OR IGNORE INTO t_untrue SELECT o.summary FROM t_dead CROSS JOIN rests_on AS o ON o.node = t_dead.n;
INSERT OR IGNORE INTO t_untrue
  SELECT s.s FROM t_source AS t CROSS JOIN node AS x ON x.key = t.id CROSS JOIN summary AS s ON s.source = x.n
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

-- 6. An empty corpus is bound to no model. The new version is set with the list of the change (image_changes.py).
UPDATE corpus SET embedding = '', dimensions = 0, calibration = NULL
  WHERE name = :corpus AND NOT EXISTS (SELECT 1 FROM node WHERE node.c = corpus.c);
