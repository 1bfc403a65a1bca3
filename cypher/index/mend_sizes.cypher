// Restores the sizes of communities whose members all exist again.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (c:Community {id: row.id})
SET c.size = row.size
