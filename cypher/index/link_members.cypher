// MEMBER_OF: from nodes (and summaries of sources, visible or not) to their communities that are still hidden.
// params: rows
// columns: -
UNWIND $rows AS row
MATCH (c:HiddenCommunity {id: row.community})
CALL (row) {
  MATCH (n:Entity {id: row.id})
  RETURN n
  UNION ALL
  MATCH (n:Chunk {id: row.id})
  RETURN n
  UNION ALL
  MATCH (n:Statement {id: row.id})
  RETURN n
  UNION ALL
  MATCH (n:Summary {id: row.id})
  RETURN n
  UNION ALL
  MATCH (n:HiddenSummary {id: row.id})
  RETURN n
}
MERGE (n)-[r:MEMBER_OF]->(c)
SET r.level = row.level
