// PART_OF: communities and those of the next level that they lie in.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (c:Community {id: row.id})
CALL (row) {
  MATCH (p:Community {id: row.parent})
  RETURN p
}
MERGE (c)-[:PART_OF]->(p)
