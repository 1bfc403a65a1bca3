// Which of some ids are nodes of a corpus that a pull may start from, by kind and by source in the scope; and the version of
// the corpus before anything else was read.
// params: corpus, ids, kinds, has_scope, listed, admits
// columns: kind, ids, version
MATCH (c:Corpus {name: $corpus})
WITH c.version AS version
CALL (version) {
  UNWIND CASE WHEN 'source' IN $kinds THEN $ids ELSE [] END AS id
  MATCH (n:Source {id: id})
  RETURN n
  UNION ALL
  UNWIND CASE WHEN 'chunk' IN $kinds THEN $ids ELSE [] END AS id
  MATCH (n:Chunk {id: id})
  RETURN n
  UNION ALL
  UNWIND CASE WHEN 'topic' IN $kinds THEN $ids ELSE [] END AS id
  MATCH (n:Topic {id: id})
  RETURN n
  UNION ALL
  UNWIND CASE WHEN 'statement' IN $kinds THEN $ids ELSE [] END AS id
  MATCH (n:Statement {id: id})
  RETURN n
  UNION ALL
  UNWIND CASE WHEN 'fact' IN $kinds THEN $ids ELSE [] END AS id
  MATCH (n:Fact {id: id})
  RETURN n
  UNION ALL
  UNWIND CASE WHEN 'entity' IN $kinds THEN $ids ELSE [] END AS id
  MATCH (n:Entity {id: id})
  RETURN n
}
WITH version, n AS m WHERE m.corpus = $corpus AND (NOT $has_scope OR (m:Entity AND EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $listed) = $admits }
    OR m:Fact AND EXISTS { MATCH (m)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $listed) = $admits }
    OR NOT m:Entity AND NOT m:Fact AND (coalesce(m.source_id, m.id) IN $listed) = $admits))
WITH DISTINCT version, m
RETURN CASE WHEN m:Source THEN 'source' WHEN m:Chunk THEN 'chunk' WHEN m:Topic THEN 'topic' WHEN m:Statement THEN 'statement' WHEN m:Fact THEN 'fact' ELSE 'entity' END AS kind, collect(m.id) AS ids,
  version
