// Projects the graph of entities (GDS), undirected: joined by facts, weighted by their number, by each common chunk, of which
// the 100 entities that it mentions most count, with 1, and merged entities by 1. The weights of parallel relationships add up.
// Each node has its kind: 2, an entity.
// params: name, corpus
// columns: nodes, relationships
CALL () {
  MATCH (a:Entity)-[r:RELATES]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= '' AND a <> b
  RETURN a, b, toFloat(r.facts) AS weight
  UNION ALL
  MATCH (c:Chunk)
  WHERE c.corpus = $corpus AND c.id >= ''
  CALL (c) {
    MATCH (c)<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(e:Entity)
    WHERE c.id IN r.chunks
    WITH e, count(*) AS mentions ORDER BY mentions DESC, e.id
    RETURN collect(e)[..100] AS first
  }
  UNWIND first AS a
  UNWIND first AS b
  WITH a, b WHERE a.id < b.id
  RETURN a, b, 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[:SAME_AS]->(b:Entity)
  WHERE a.corpus = $corpus AND a.id >= ''
  RETURN a, b, 1.0 AS weight
}
WITH gds.graph.project($name, a, b, {sourceNodeProperties: {kind: 2}, targetNodeProperties: {kind: 2}, relationshipProperties: {weight: weight}}, {undirectedRelationshipTypes: ['*']}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
