// Removes the decisions about pairs of entities, in either direction.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (a:Entity {id: row.a})
CALL (a, row) {
  MATCH (a)-[r:SAME_AS|JUDGED]-(b)
  WHERE b.id = row.b
  DELETE r
}
