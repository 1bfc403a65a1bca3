// SUPPORTS: one relationship per fact and statement, with the chunks that assert it.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (f:Fact {id: row.fact_id})
CALL (row) {
  MATCH (s:Statement {id: row.statement_id})
  RETURN s
}
MERGE (f)-[r:SUPPORTS]->(s)
SET r.chunks = coalesce(r.chunks, []) + [x IN row.chunks WHERE NOT x IN coalesce(r.chunks, [])]
