// JUDGED: decisions about pairs of entities that were not merged. A row a decision that was written.
// params: rows, corpus
// columns: id
UNWIND $rows AS row
MATCH (a:Entity {id: row.a})
WHERE a.corpus = $corpus
CALL (row) {
  MATCH (b:Entity {id: row.b})
  WHERE b.corpus = $corpus
  RETURN b
}
MERGE (a)-[r:JUDGED]->(b)
SET r.id = row.id, r.corpus = $corpus, r.verdict = row.verdict, r.by = row.by, r.made_by = row.made_by, r.why = row.why,
  r.score = row.score, r.at = row.at
RETURN row.id AS id
