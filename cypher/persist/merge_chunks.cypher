// Writes new chunks and those extracted again, each joined to its source.
// params: rows, corpus
// columns: -
UNWIND $rows AS row
MATCH (s:Source {id: row.source})
MERGE (n:Chunk {id: row.id})
SET n.corpus = $corpus, n.source_id = row.source, n.text = row.text, n.start = row.start, n.end = row.end,
    n.position = row.position, n.tokens = row.tokens, n.headings = row.headings, n.page = row.page,
    n.fingerprint = row.fingerprint
MERGE (n)-[:FROM_SOURCE]->(s)
