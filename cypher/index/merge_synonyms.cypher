// SYNONYM: pairs of entities with the cosine of their names, each pair once, from the smaller id.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (a:Entity {id: row.a})
CALL (row) {
  MATCH (b:Entity {id: row.b})
  RETURN b
}
MERGE (a)-[r:SYNONYM]->(b)
SET r.similarity = row.similarity
