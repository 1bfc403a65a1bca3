// CO_OCCURS: adds to (or takes from) the number of chunks in which two entities stand.
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
