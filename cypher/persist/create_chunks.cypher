// Writes chunks that the database does not have, each joined to its source; returns their ids, and the integers of their element
// ids.
// params: rows, prefix, corpus
// columns: ids, numbers
UNWIND $rows AS row
MATCH (s)
WHERE elementId(s) = $prefix + toString(row.source_number)
CREATE (n:Chunk {id: row.id, corpus: $corpus, source_id: row.source, text: row.text, start: row.start, end: row.end,
  position: row.position, tokens: row.tokens, headings: row.headings, page: row.page, fingerprint: row.fingerprint})
CREATE (n)-[:FROM_SOURCE]->(s)
RETURN collect(row.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers
