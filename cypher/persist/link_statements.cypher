// IN_CHUNK: statements in the chunks that assert them. The span is relative to the chunk, and details are those that it adds.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (c:Chunk {id: row.chunk_id})
CALL (row) {
  MATCH (s:Statement {id: row.statement_id})
  RETURN s
}
MERGE (s)-[r:IN_CHUNK]->(c)
SET r.ordinal = row.ordinal, r.start = row.start, r.end = row.end, r.details = row.details
