// Removes what was decided about pairs of entities, whichever way round.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (a:Entity {id: row.a})
CALL (a, row) {
  MATCH (a)-[r:SAME_AS|JUDGED]-(b)
  WHERE b.id = row.b
  DELETE r
}
