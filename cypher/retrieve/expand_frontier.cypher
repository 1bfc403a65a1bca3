// One breadth-first step: for every node of the frontier its heaviest neighbours (ties by id) that may be entered and were
// not reached before, along some relationships in both directions. One row of lists: a row a node costs ten times as much to read. 'relationships' are taken as they are stored; 'counted'
// are derived ones under a filter, counted anew from what visible sources assert, as they are counted when stored.
// params: nodes, relationships, counted, kinds, reached, has_scope, listed, admits, fan_out
// columns: ids, kinds, is_cut
CALL () {
  UNWIND $nodes.sources AS id
  MATCH (n:Source {id: id})
  RETURN n
  UNION ALL
  UNWIND $nodes.chunks AS id
  MATCH (n:Chunk {id: id})
  RETURN n
  UNION ALL
  UNWIND $nodes.topics AS id
  MATCH (n:Topic {id: id})
  RETURN n
  UNION ALL
  UNWIND $nodes.statements AS id
  MATCH (n:Statement {id: id})
  RETURN n
  UNION ALL
  UNWIND $nodes.facts AS id
  MATCH (n:Fact {id: id})
  RETURN n
  UNION ALL
  UNWIND $nodes.entities AS id
  MATCH (n:Entity {id: id})
  RETURN n
}
CALL (n) {
  MATCH (n)-[r:FROM_SOURCE]-(m) WHERE 'from_source' IN $relationships
  RETURN m, 1.0 AS weight
  UNION ALL
  MATCH (n)-[r:NEXT]-(m) WHERE 'next' IN $relationships
  RETURN m, 1.0 AS weight
  UNION ALL
  MATCH (n)-[r:IN_CHUNK]-(m) WHERE 'in_chunk' IN $relationships
  RETURN m, 1.0 AS weight
  UNION ALL
  MATCH (n)-[r:ABOUT]-(m) WHERE 'about' IN $relationships
  RETURN m, 1.0 AS weight
  UNION ALL
  MATCH (n)-[r:SUPPORTS]-(m) WHERE 'supports' IN $relationships
  RETURN m, 1.0 AS weight
  UNION ALL
  MATCH (n)-[r:SUBJECT]-(m) WHERE 'subject' IN $relationships
  RETURN m, 1.0 AS weight
  UNION ALL
  MATCH (n)-[r:OBJECT]-(m) WHERE 'object' IN $relationships
  RETURN m, 1.0 AS weight
  UNION ALL
  MATCH (n)-[r:MENTIONS]-(m) WHERE 'mentions' IN $relationships
  RETURN m, 1.0 AS weight
  UNION ALL
  MATCH (n)-[r:RELATES]-(m) WHERE 'relates' IN $relationships
  RETURN m, toFloat(r.facts) AS weight
  UNION ALL
  MATCH (n)-[r:CO_OCCURS]-(m) WHERE 'co_occurs' IN $relationships
  RETURN m, toFloat(r.chunks) AS weight
  UNION ALL
  MATCH (n)-[r:SYNONYM]-(m) WHERE 'synonym' IN $relationships
  RETURN m, r.similarity AS weight
  UNION ALL
  MATCH (n)-[:SUBJECT]->(f:Fact)<-[:OBJECT]-(m:Entity) WHERE 'relates' IN $counted
  WITH m, COUNT { MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $listed) = $admits } AS statements
  WHERE statements > 0
  RETURN m, toFloat(statements) AS weight
  UNION ALL
  MATCH (n)-[:OBJECT]->(f:Fact)<-[:SUBJECT]-(m:Entity) WHERE 'relates' IN $counted
  WITH m, COUNT { MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $listed) = $admits } AS statements
  WHERE statements > 0
  RETURN m, toFloat(statements) AS weight
  UNION ALL
  MATCH (n:Entity)<-[r:MENTIONS]-(s:Statement)
  WHERE 'co_occurs' IN $counted AND (s.source_id IN $listed) = $admits
  UNWIND r.chunks AS chunk
  WITH DISTINCT n, chunk
  MATCH (c:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[q:MENTIONS]->(m:Entity)
  WHERE chunk IN q.chunks
  WITH n, chunk, m, count(*) AS mentions ORDER BY mentions DESC, m.id
  WITH n, chunk, collect(m)[..100] AS first
  WHERE n IN first
  UNWIND first AS m
  WITH n, m, count(*) AS chunks
  WHERE m <> n
  RETURN m, toFloat(chunks) AS weight
}
WITH n, m, sum(weight) AS weight
WITH n, m, weight, CASE WHEN m:Source THEN 'source' WHEN m:Chunk THEN 'chunk' WHEN m:Topic THEN 'topic' WHEN m:Statement THEN 'statement' WHEN m:Fact THEN 'fact' ELSE 'entity' END AS kind
WHERE kind IN $kinds AND NOT m.id IN $reached AND (NOT $has_scope OR (m:Entity AND EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $listed) = $admits }
    OR m:Fact AND EXISTS { MATCH (m)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $listed) = $admits }
    OR NOT m:Entity AND NOT m:Fact AND (coalesce(m.source_id, m.id) IN $listed) = $admits))
WITH n, {id: m.id, kind: kind} AS found, weight ORDER BY weight DESC, m.id
WITH n, collect(found) AS found
WITH found[..$fan_out] AS first, size(found) > $fan_out AS is_cut
UNWIND first AS one
WITH one.id AS id, one.kind AS kind, max(is_cut) AS is_cut ORDER BY id
RETURN collect(id) AS ids, collect(kind) AS kinds, max(is_cut) AS is_cut
