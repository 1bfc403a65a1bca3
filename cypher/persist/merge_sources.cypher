// Writes new and edited sources, and those with new metadata; replaces all properties.
// params: rows
// columns: -
UNWIND $rows AS row
MERGE (n:Source {id: row.id})
SET n = row.properties
