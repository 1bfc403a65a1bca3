// New, edited and re-described sources; all properties are replaced.
// params: rows
// columns: -
UNWIND $rows AS row
MERGE (n:Source {id: row.id})
SET n = row.properties
