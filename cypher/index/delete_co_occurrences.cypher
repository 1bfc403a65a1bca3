// Removes CO_OCCURS of those of some pairs that have no common chunk any more.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (a:Entity {id: row.a})
CALL (row) {
  MATCH (b:Entity {id: row.b})
  RETURN b
}
MATCH (a)-[r:CO_OCCURS]->(b)
WHERE r.chunks <= 0
DELETE r
