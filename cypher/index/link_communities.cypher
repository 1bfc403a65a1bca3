// PART_OF: from communities to their parents on the next level.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (c:Community {id: row.id})
CALL (row) {
  MATCH (p:Community {id: row.parent})
  RETURN p
}
MERGE (c)-[:PART_OF]->(p)
