// OBJECT: facts whose object is an entity.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (f:Fact {id: row.id})
CALL (row) {
  MATCH (e:Entity {id: row.object_id})
  RETURN e
}
MERGE (e)-[:OBJECT]->(f)
