// The number of entities, or of facts, of a corpus that statements of admitted sources assert. Reads all of them.
// params: lists, corpus, kind, admits
// columns: number
CALL () {
  UNWIND CASE WHEN $kind = 'entity' THEN [$corpus] ELSE [] END AS corpus
  MATCH (n:Entity)
  WHERE n.corpus = corpus AND n.id >= ''
    AND EXISTS { MATCH (n)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits }
  RETURN count(n) AS some
  UNION ALL
  UNWIND CASE WHEN $kind = 'fact' THEN [$corpus] ELSE [] END AS corpus
  MATCH (n:Fact)
  WHERE n.corpus = corpus AND n.id >= ''
    AND EXISTS { MATCH (n)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits }
  RETURN count(n) AS some
}
RETURN sum(some) AS number
