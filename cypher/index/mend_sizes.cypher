// The sizes of communities whose members are all there again.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (c:Community {id: row.id})
SET c.size = row.size
