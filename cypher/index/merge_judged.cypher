// JUDGED: decisions about pairs of entities that were not merged.
// params: rows, corpus
// columns: -
UNWIND $rows AS row
MATCH (a:Entity {id: row.alias})
CALL (row) {
  MATCH (b:Entity {id: row.canonical})
  RETURN b
}
MERGE (a)-[r:JUDGED]->(b)
SET r.id = row.id, r.corpus = $corpus, r.verdict = row.verdict, r.by = row.by, r.made_by = row.made_by, r.why = row.why,
  r.score = row.score, r.at = row.at
