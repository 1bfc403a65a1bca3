// MENTIONS: one relationship per statement and entity. Chunks, surfaces and kinds are lists of one length: the chunk that asserts
// it, the name and the kind used there. The old links of these chunks are already removed, so the new ones are only added.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (s:Statement {id: row.statement_id})
CALL (row) {
  MATCH (e:Entity {id: row.entity_id})
  RETURN e
}
MERGE (s)-[r:MENTIONS]->(e)
SET r.chunks = coalesce(r.chunks, []) + row.chunks,
    r.surfaces = coalesce(r.surfaces, []) + row.surfaces,
    r.kinds = coalesce(r.kinds, []) + row.kinds
