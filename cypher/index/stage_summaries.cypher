// Writes hidden summaries, and SUMMARISES: of communities, which may be hidden too, or of sources.
// params: rows
// columns: -
UNWIND $rows AS row
MERGE (s:HiddenSummary {id: row.id})
SET s.corpus = row.corpus, s.run = row.run, s.level = row.level, s.text = row.text, s.input_hash = row.input_hash,
    s.vector = row.vector, s.parts = size(row.parts), s.source_id = row.source
WITH s, row
CALL (row) {
  MATCH (c:Community {id: row.community})
  RETURN c
  UNION ALL
  MATCH (c:HiddenCommunity {id: row.community})
  RETURN c
  UNION ALL
  MATCH (c:Source {id: row.source})
  RETURN c
}
MERGE (s)-[:SUMMARISES]->(c)
