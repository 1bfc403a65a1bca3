// IN_CHUNK: topics in the chunks that name them, with the spelling of each chunk.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (c:Chunk {id: row.chunk_id})
CALL (row) {
  MATCH (t:Topic {id: row.topic_id})
  RETURN t
}
MERGE (t)-[r:IN_CHUNK]->(c)
SET r.name = row.name
