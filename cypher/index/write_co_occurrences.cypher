// Stores CO_OCCURS from some entities to those with a higher id: the number of chunks that mention both. Of a chunk with very many
// entities the first 100 count: most mentioned first, then by id.
// params: ids
// columns: relationships
UNWIND $ids AS id
MATCH (a:Entity {id: id})
CALL (a) {
  MATCH (a)<-[r:MENTIONS]-(:Statement)
  UNWIND r.chunks AS chunk
  WITH DISTINCT a, chunk
  MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[q:MENTIONS]->(b:Entity)
  WHERE chunk IN q.chunks
  WITH a, chunk, b, count(*) AS mentions ORDER BY mentions DESC, b.id
  WITH a, chunk, collect(b)[..100] AS first
  WHERE a IN first
  UNWIND first AS b
  WITH a, b, count(*) AS chunks
  WHERE a.id < b.id
  RETURN b, chunks
}
MERGE (a)-[r:CO_OCCURS]->(b)
SET r.chunks = chunks
RETURN count(r) AS relationships
