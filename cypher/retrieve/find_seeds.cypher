// Which of some ids are nodes of a corpus that a pull may start from, by kind and by source in the scope; and the version of
// the corpus before anything else was read.
// params: lists, corpus, has_scope, admits
// columns: kind, ids, version
MATCH (c:Corpus {name: $corpus})
WITH c.version AS version
CALL (version) {
  UNWIND CASE WHEN 'source' IN $lists.kinds THEN $lists.ids ELSE [] END AS id
  MATCH (n:Source {id: id})
  WHERE n.corpus = $corpus AND (NOT $has_scope OR (id IN $lists.listed) = $admits)
  RETURN 'source' AS kind, collect(id) AS ids
  UNION ALL
  UNWIND CASE WHEN 'chunk' IN $lists.kinds THEN $lists.ids ELSE [] END AS id
  MATCH (n:Chunk {id: id})
  WHERE n.corpus = $corpus AND (NOT $has_scope OR (n.source_id IN $lists.listed) = $admits)
  RETURN 'chunk' AS kind, collect(id) AS ids
  UNION ALL
  UNWIND CASE WHEN 'topic' IN $lists.kinds THEN $lists.ids ELSE [] END AS id
  MATCH (n:Topic {id: id})
  WHERE n.corpus = $corpus AND (NOT $has_scope OR (n.source_id IN $lists.listed) = $admits)
  RETURN 'topic' AS kind, collect(id) AS ids
  UNION ALL
  UNWIND CASE WHEN 'statement' IN $lists.kinds THEN $lists.ids ELSE [] END AS id
  MATCH (n:Statement {id: id})
  WHERE n.corpus = $corpus AND (NOT $has_scope OR (n.source_id IN $lists.listed) = $admits)
  RETURN 'statement' AS kind, collect(id) AS ids
  UNION ALL
  UNWIND CASE WHEN 'fact' IN $lists.kinds THEN $lists.ids ELSE [] END AS id
  MATCH (n:Fact {id: id})
  WHERE n.corpus = $corpus
    AND (NOT $has_scope OR EXISTS { MATCH (n)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits })
  RETURN 'fact' AS kind, collect(id) AS ids
  UNION ALL
  UNWIND CASE WHEN 'entity' IN $lists.kinds THEN $lists.ids ELSE [] END AS id
  MATCH (n:Entity {id: id})
  WHERE n.corpus = $corpus
    AND (NOT $has_scope OR EXISTS { MATCH (n)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits })
  RETURN 'entity' AS kind, collect(id) AS ids
}
RETURN kind, ids, version
