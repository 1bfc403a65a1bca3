// Projects some relationships of a corpus into memory (GDS), undirected, each weight times the factor of its kind. CO_OCCURS, which
// is not stored, has one relationship for each common chunk.
// params: name, corpus, relationships, weights
// columns: nodes, relationships
CALL () {
  MATCH (a:Chunk)-[r:FROM_SOURCE]->(b:Source)
  WHERE 'from_source' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.from_source * 1.0 AS weight
  UNION ALL
  MATCH (a:Chunk)-[r:NEXT]->(b:Chunk)
  WHERE 'next' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.next * 1.0 AS weight
  UNION ALL
  MATCH (a:Statement)-[r:IN_CHUNK]->(b:Chunk)
  WHERE 'in_chunk' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.in_chunk * 1.0 AS weight
  UNION ALL
  MATCH (a:Topic)-[r:IN_CHUNK]->(b:Chunk)
  WHERE 'in_chunk' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.in_chunk * 1.0 AS weight
  UNION ALL
  MATCH (a:Statement)-[r:ABOUT]->(b:Topic)
  WHERE 'about' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.about * 1.0 AS weight
  UNION ALL
  MATCH (a:Fact)-[r:SUPPORTS]->(b:Statement)
  WHERE 'supports' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.supports * 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[r:SUBJECT]->(b:Fact)
  WHERE 'subject' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.subject * 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[r:OBJECT]->(b:Fact)
  WHERE 'object' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.object * 1.0 AS weight
  UNION ALL
  MATCH (a:Statement)-[r:MENTIONS]->(b:Entity)
  WHERE 'mentions' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.mentions * 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[r:RELATES]->(b:Entity)
  WHERE 'relates' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.relates * toFloat(r.facts) AS weight
  UNION ALL
  MATCH (c:Chunk)
  WHERE 'co_occurs' IN $relationships AND c.corpus = $corpus AND c.id >= ''
  CALL (c) {
    MATCH (c)<-[:IN_CHUNK]-(:Statement)-[r:MENTIONS]->(e:Entity)
    WHERE c.id IN r.chunks
    WITH e, count(*) AS mentions ORDER BY mentions DESC, e.id
    RETURN collect(e)[..100] AS first
  }
  UNWIND first AS a
  UNWIND first AS b
  WITH a, b WHERE a.id < b.id
  RETURN a, b, $weights.co_occurs * 1.0 AS weight
  UNION ALL
  MATCH (a:Entity)-[r:SYNONYM]->(b:Entity)
  WHERE 'synonym' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.synonym * r.similarity AS weight
  UNION ALL
  MATCH (a:Entity)-[r:SAME_AS]->(b:Entity)
  WHERE 'same_as' IN $relationships AND a.corpus = $corpus AND a.id >= ''
  RETURN a, b, $weights.same_as * 1.0 AS weight
}
WITH gds.graph.project($name, a, b, {relationshipProperties: {weight: weight}}, {undirectedRelationshipTypes: ['*']}) AS made
RETURN made.nodeCount AS nodes, made.relationshipCount AS relationships
