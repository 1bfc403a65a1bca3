// One breadth-first step: for every node of the frontier its heaviest neighbours (ties by id) that may be entered and were
// not reached before, along some relationships in both directions. 'relationships' are used as stored. 'counted' are derived
// relationships, counted from what visible sources assert: CO_OCCURS always, which is not stored, RELATES under a filter. A part
// that is not asked for starts from an empty list and does no work.
// params: nodes, relationships, counted, kinds, reached, has_scope, listed, admits, fan_out
// columns: kind, ids, is_cut
CALL () {
  UNWIND CASE WHEN 'from_source' IN $relationships THEN $nodes.chunks ELSE [] END AS id
  MATCH (n:Chunk {id: id})-[:FROM_SOURCE]->(m:Source)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'from_source' IN $relationships THEN $nodes.sources ELSE [] END AS id
  MATCH (n:Source {id: id})<-[:FROM_SOURCE]-(m:Chunk)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'next' IN $relationships THEN $nodes.chunks ELSE [] END AS id
  MATCH (n:Chunk {id: id})-[:NEXT]-(m:Chunk)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'in_chunk' IN $relationships THEN $nodes.statements ELSE [] END AS id
  MATCH (n:Statement {id: id})-[:IN_CHUNK]->(m:Chunk)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'in_chunk' IN $relationships THEN $nodes.topics ELSE [] END AS id
  MATCH (n:Topic {id: id})-[:IN_CHUNK]->(m:Chunk)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'in_chunk' IN $relationships THEN $nodes.chunks ELSE [] END AS id
  MATCH (n:Chunk {id: id})<-[:IN_CHUNK]-(m:Statement|Topic)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'about' IN $relationships THEN $nodes.statements ELSE [] END AS id
  MATCH (n:Statement {id: id})-[:ABOUT]->(m:Topic)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'about' IN $relationships THEN $nodes.topics ELSE [] END AS id
  MATCH (n:Topic {id: id})<-[:ABOUT]-(m:Statement)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'supports' IN $relationships THEN $nodes.facts ELSE [] END AS id
  MATCH (n:Fact {id: id})-[:SUPPORTS]->(m:Statement)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'supports' IN $relationships THEN $nodes.statements ELSE [] END AS id
  MATCH (n:Statement {id: id})<-[:SUPPORTS]-(m:Fact)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'subject' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})-[:SUBJECT]->(m:Fact)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'subject' IN $relationships THEN $nodes.facts ELSE [] END AS id
  MATCH (n:Fact {id: id})<-[:SUBJECT]-(m:Entity)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'object' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})-[:OBJECT]->(m:Fact)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'object' IN $relationships THEN $nodes.facts ELSE [] END AS id
  MATCH (n:Fact {id: id})<-[:OBJECT]-(m:Entity)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'mentions' IN $relationships THEN $nodes.statements ELSE [] END AS id
  MATCH (n:Statement {id: id})-[:MENTIONS]->(m:Entity)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'mentions' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})<-[:MENTIONS]-(m:Statement)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'relates' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})-[r:RELATES]-(m:Entity)
  RETURN n, m, toFloat(r.facts) AS weight
  UNION ALL
  UNWIND CASE WHEN 'synonym' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})-[r:SYNONYM]-(m:Entity)
  RETURN n, m, r.similarity AS weight
  UNION ALL
  UNWIND CASE WHEN 'same_as' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})-[:SAME_AS]-(m:Entity)
  RETURN n, m, 1.0 AS weight
  UNION ALL
  UNWIND CASE WHEN 'relates' IN $counted THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})-[:SUBJECT]->(f:Fact)<-[:OBJECT]-(m:Entity)
  WITH n, m, COUNT { MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $listed) = $admits } AS statements
  WHERE statements > 0
  RETURN n, m, toFloat(statements) AS weight
  UNION ALL
  UNWIND CASE WHEN 'relates' IN $counted THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})-[:OBJECT]->(f:Fact)<-[:SUBJECT]-(m:Entity)
  WITH n, m, COUNT { MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $listed) = $admits } AS statements
  WHERE statements > 0
  RETURN n, m, toFloat(statements) AS weight
  UNION ALL
  UNWIND CASE WHEN 'co_occurs' IN $counted THEN $nodes.entities ELSE [] END AS id
  MATCH (n:Entity {id: id})<-[r:MENTIONS]-(s:Statement)
  WHERE (s.source_id IN $listed) = $admits
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
  RETURN n, m, toFloat(chunks) AS weight
}
WITH n, m, sum(weight) AS weight, m.id AS name
WHERE NOT name IN $reached
WITH n, m, name, weight, CASE WHEN m:Source THEN 'source' WHEN m:Chunk THEN 'chunk' WHEN m:Topic THEN 'topic' WHEN m:Statement THEN 'statement' WHEN m:Fact THEN 'fact' ELSE 'entity' END AS kind
WHERE kind IN $kinds AND (NOT $has_scope OR (m:Entity AND EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $listed) = $admits }
    OR m:Fact AND EXISTS { MATCH (m)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $listed) = $admits }
    OR NOT m:Entity AND NOT m:Fact AND (coalesce(m.source_id, m.id) IN $listed) = $admits))
WITH n, kind, name, weight ORDER BY weight DESC, name
WITH n, collect([name, kind]) AS found
WITH found[..$fan_out] AS first, size(found) > $fan_out AS is_cut
UNWIND first AS one
WITH one[1] AS kind, one[0] AS name, max(is_cut) AS is_cut
RETURN kind, collect(name) AS ids, max(is_cut) AS is_cut
