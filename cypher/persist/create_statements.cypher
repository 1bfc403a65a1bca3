// Writes statements that the database does not have; columns as of create_chunks.
// params: rows, corpus
// columns: ids, numbers
UNWIND $rows AS row
CREATE (n:Statement {id: row.id, corpus: $corpus, source_id: row.source_id, text: row.text})
RETURN collect(row.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers
