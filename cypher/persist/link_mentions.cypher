// MENTIONS: one relationship a statement and entity; chunks, surfaces and kinds are lists of one length: who asserts it,
// under which name, as what. The links of these chunks were removed before, so that adding is enough.
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
