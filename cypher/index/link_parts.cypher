// RESTS_ON: summaries that are not visible yet, and the statements or chunks that their words are from.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (s:HiddenSummary {id: row.summary})
CALL (row) {
  MATCH (n:Statement {id: row.id})
  RETURN n
  UNION ALL
  MATCH (n:Chunk {id: row.id})
  RETURN n
}
MERGE (s)-[:RESTS_ON]->(n)
