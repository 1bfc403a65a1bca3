// All edges of some relationships between the nodes of a pull, each from its start to its end, as positions in the list of
// their ids; 'counted' as in expand_frontier. One row per relationship (one without a name if there are no edges); no weights
// if all are 1. The version of the corpus is read after all edges.
// params: corpus, nodes, places, relationships, counted, listed, admits
// columns: relationship, starts, stops, weights, version
CALL () {
  UNWIND CASE WHEN 'from_source' IN $relationships THEN $nodes.chunks ELSE [] END AS id
  MATCH (a:Chunk {id: id})-[r:FROM_SOURCE]->(b:Source)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'from_source' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'next' IN $relationships THEN $nodes.chunks ELSE [] END AS id
  MATCH (a:Chunk {id: id})-[r:NEXT]->(b:Chunk)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'next' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'in_chunk' IN $relationships THEN $nodes.statements ELSE [] END AS id
  MATCH (a:Statement {id: id})-[r:IN_CHUNK]->(b:Chunk)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'in_chunk' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'in_chunk' IN $relationships THEN $nodes.topics ELSE [] END AS id
  MATCH (a:Topic {id: id})-[r:IN_CHUNK]->(b:Chunk)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'in_chunk' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'about' IN $relationships THEN $nodes.statements ELSE [] END AS id
  MATCH (a:Statement {id: id})-[r:ABOUT]->(b:Topic)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'about' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'supports' IN $relationships THEN $nodes.facts ELSE [] END AS id
  MATCH (a:Fact {id: id})-[r:SUPPORTS]->(b:Statement)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'supports' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'subject' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (a:Entity {id: id})-[r:SUBJECT]->(b:Fact)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'subject' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'object' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (a:Entity {id: id})-[r:OBJECT]->(b:Fact)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'object' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'mentions' IN $relationships THEN $nodes.statements ELSE [] END AS id
  MATCH (a:Statement {id: id})-[r:MENTIONS]->(b:Entity)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'mentions' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'relates' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (a:Entity {id: id})-[r:RELATES]->(b:Entity)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'relates' AS relationship, $places[id] AS start, $places[b.id] AS stop, toFloat(r.facts) AS weight
  UNION ALL
  UNWIND CASE WHEN 'synonym' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (a:Entity {id: id})-[r:SYNONYM]->(b:Entity)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'synonym' AS relationship, $places[id] AS start, $places[b.id] AS stop, r.similarity AS weight
  UNION ALL
  UNWIND CASE WHEN 'same_as' IN $relationships THEN $nodes.entities ELSE [] END AS id
  MATCH (a:Entity {id: id})-[r:SAME_AS]->(b:Entity)
  WHERE $places[b.id] IS NOT NULL
  RETURN 'same_as' AS relationship, $places[id] AS start, $places[b.id] AS stop, null AS weight
  UNION ALL
  UNWIND CASE WHEN 'relates' IN $counted THEN $nodes.entities ELSE [] END AS id
  MATCH (a:Entity {id: id})-[:SUBJECT]->(f:Fact)<-[:OBJECT]-(b:Entity)
  WHERE $places[b.id] IS NOT NULL
  WITH id, b, COUNT { MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $listed) = $admits } AS statements
  WHERE statements > 0
  RETURN 'relates' AS relationship, $places[id] AS start, $places[b.id] AS stop, toFloat(statements) AS weight
  UNION ALL
  UNWIND CASE WHEN 'co_occurs' IN $counted THEN $nodes.entities ELSE [] END AS id
  MATCH (a:Entity {id: id})<-[r:MENTIONS]-(s:Statement)
  WHERE (s.source_id IN $listed) = $admits
  UNWIND r.chunks AS chunk
  WITH DISTINCT a, chunk
  MATCH (c:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[q:MENTIONS]->(b:Entity)
  WHERE chunk IN q.chunks
  WITH a, chunk, b, count(*) AS mentions ORDER BY mentions DESC, b.id
  WITH a, chunk, collect(b)[..100] AS first
  WHERE a IN first
  UNWIND first AS b
  WITH a, b, count(*) AS chunks
  WHERE a.id < b.id AND $places[b.id] IS NOT NULL
  RETURN 'co_occurs' AS relationship, $places[a.id] AS start, $places[b.id] AS stop, toFloat(chunks) AS weight
}
WITH relationship, collect(start) AS starts, collect(stop) AS stops, collect(weight) AS weights
WITH collect({name: relationship, starts: starts, stops: stops, weights: weights}) AS found
MATCH (c:Corpus {name: $corpus})
UNWIND CASE WHEN found = [] THEN [{}] ELSE found END AS one
RETURN one.name AS relationship, one.starts AS starts, one.stops AS stops, one.weights AS weights, c.version AS version
