// Removes what was decided about pairs of entities, whichever way round.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (a:Entity {id: row.a})-[r:SAME_AS|JUDGED]-(b:Entity)
WHERE b.id = row.b
DELETE r
