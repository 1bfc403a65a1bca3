// Writes topics that the database does not have; columns as of create_chunks.
// params: rows, corpus
// columns: ids, numbers
UNWIND $rows AS row
CREATE (n:Topic {id: row.id, corpus: $corpus, source_id: row.source_id, name: row.name})
RETURN collect(row.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers
