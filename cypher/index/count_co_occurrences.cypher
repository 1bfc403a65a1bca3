// CO_OCCURS: adds a difference, positive or negative, to the number of common chunks of two entities.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (a:Entity {id: row.a})
CALL (row) {
  MATCH (b:Entity {id: row.b})
  RETURN b
}
MERGE (a)-[r:CO_OCCURS]->(b)
SET r.chunks = coalesce(r.chunks, 0) + row.chunks
