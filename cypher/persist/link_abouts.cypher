// ABOUT: one relationship per statement and topic, with the chunks that assert it.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (s:Statement {id: row.statement_id})
CALL (row) {
  MATCH (t:Topic {id: row.topic_id})
  RETURN t
}
MERGE (s)-[r:ABOUT]->(t)
SET r.chunks = coalesce(r.chunks, []) + [x IN row.chunks WHERE NOT x IN coalesce(r.chunks, [])]
