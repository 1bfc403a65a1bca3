// Writes new statements and those extracted again.
// params: rows, corpus
// columns: -
UNWIND $rows AS row
MERGE (n:Statement {id: row.id})
SET n.corpus = $corpus, n.source_id = row.source_id, n.text = row.text
