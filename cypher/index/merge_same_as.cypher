// SAME_AS: merges, from the alias to the canonical entity. A row a decision that was written.
// params: rows, corpus
// columns: id
UNWIND $rows AS row
MATCH (a:Entity {id: row.a})
WHERE a.corpus = $corpus
CALL (row) {
  MATCH (b:Entity {id: row.b})
  RETURN b
}
WITH a, b, row
WHERE b.corpus = $corpus
MERGE (a)-[r:SAME_AS]->(b)
SET r += row.properties
RETURN r.id AS id
