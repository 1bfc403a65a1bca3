// RESTS_ON: from summaries that are still hidden to the statements or chunks that they quote.
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
