// Statements by id, with their span in the source and their details: those of the first chunk that asserts them.
// params: ids
// columns: id, source_id, text, start, end, chunk_id, details
UNWIND $ids AS id
MATCH (n:Statement {id: id})
CALL (n) {
  MATCH (n)-[r:IN_CHUNK]->(c:Chunk)
  RETURN c, r ORDER BY c.position LIMIT 1
}
RETURN id, n.source_id AS source_id, n.text AS text, c.start + r.start AS start, c.start + r.end AS end, c.id AS chunk_id,
  r.details AS details
