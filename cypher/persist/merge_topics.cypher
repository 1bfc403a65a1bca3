// Writes new topics; existing ones stay unchanged.
// params: rows, corpus
// columns: -
UNWIND $rows AS row
MERGE (n:Topic {id: row.id})
ON CREATE SET n.corpus = $corpus, n.source_id = row.source_id, n.name = row.name
