// Replaces the vectors of summaries.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (s:Summary {id: row.id})
SET s.vector = row.vector
