// The statements, topics and facts that some chunks assert.
// params: chunk_ids
// columns: kind, id
CALL () {
  UNWIND $chunk_ids AS chunk
  MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(s:Statement)
  RETURN DISTINCT 'statement' AS kind, s.id AS id
  UNION ALL
  UNWIND $chunk_ids AS chunk
  MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(t:Topic)
  RETURN DISTINCT 'topic' AS kind, t.id AS id
  UNION ALL
  UNWIND $chunk_ids AS chunk
  MATCH (:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)<-[r:SUPPORTS]-(f:Fact)
  WHERE chunk IN r.chunks
  RETURN DISTINCT 'fact' AS kind, f.id AS id
}
RETURN kind, id
