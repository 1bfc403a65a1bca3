// As expand_entities, with the derived relationships that are counted from what visible sources assert ('counted'): CO_OCCURS
// always, which is not stored, RELATES under a filter. A part that is not asked for starts from an empty list.
// params: lists, fan_out, has_scope, admits
// columns: kind, ids, is_cut, owners, weights
CALL () {
  UNWIND $lists.nodes.entities AS id
  MATCH (n:Entity {id: id})-[r:RELATES|SYNONYM|SAME_AS]-(m:Entity)
  WHERE type(r) IN $lists.relationships
  RETURN id, m, sum(CASE type(r) WHEN 'RELATES' THEN toFloat(r.facts) WHEN 'SYNONYM' THEN r.similarity ELSE 1.0 END) AS weight
  UNION ALL
  UNWIND CASE WHEN 'RELATES' IN $lists.counted THEN $lists.nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})-[a:SUBJECT|OBJECT]->(f:Fact)<-[b:SUBJECT|OBJECT]-(m:Entity)
  WHERE type(a) <> type(b)
  WITH id, m, COUNT { MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits } AS statements
  WHERE statements > 0
  RETURN id, m, toFloat(statements) AS weight
  UNION ALL
  UNWIND CASE WHEN 'CO_OCCURS' IN $lists.counted THEN $lists.nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})<-[r:MENTIONS]-(s:Statement)
  WHERE (s.source_id IN $lists.listed) = $admits
  UNWIND r.chunks AS chunk
  WITH DISTINCT id, n, chunk
  MATCH (c:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[q:MENTIONS]->(m:Entity)
  WHERE chunk IN q.chunks
  WITH id, n, chunk, m, count(*) AS mentions ORDER BY mentions DESC, m.id
  WITH id, n, chunk, collect(m)[..100] AS first
  WHERE n IN first
  UNWIND first AS m
  WITH id, n, m, count(*) AS chunks
  WHERE m <> n
  RETURN id, m, toFloat(chunks) AS weight
}
WITH id, m, sum(weight) AS weight
WHERE 'entity' IN $lists.kinds AND NOT m.id IN $lists.reached
  AND (NOT $has_scope OR EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits })
WITH id, m.id AS name, weight ORDER BY weight DESC, name
WITH id, collect(name)[..$fan_out + 1] AS found, collect(weight)[..$fan_out + 1] AS shares
RETURN 'entity' AS kind, collect(found) AS ids, false AS is_cut, collect(id) AS owners, collect(shares) AS weights
