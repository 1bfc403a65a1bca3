// The given chunks that exist, and all chunks of the given sources.
// params: chunk_ids, source_ids
// columns: id
CALL () {
  UNWIND $chunk_ids AS id
  MATCH (c:Chunk {id: id})
  RETURN c.id AS chunk
  UNION
  UNWIND $source_ids AS id
  MATCH (c:Chunk {source_id: id})
  RETURN c.id AS chunk
}
RETURN chunk AS id ORDER BY id
