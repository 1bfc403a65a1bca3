// Stores the bytes of a change, in parts of bounded size.
// params: rows
// columns: -
UNWIND $rows AS row
MERGE (p:ChangePart {id: row.id})
SET p.data = row.data
