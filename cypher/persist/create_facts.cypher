// Writes facts that the database does not have, each joined to the entity that is its subject; columns as of create_chunks.
// params: rows, prefix, corpus
// columns: ids, numbers
UNWIND $rows AS row
MATCH (e)
WHERE elementId(e) = $prefix + toString(row.subject)
CREATE (n:Fact {id: row.id, corpus: $corpus, predicate: row.predicate, complement: row.complement})
CREATE (e)-[:SUBJECT]->(n)
RETURN collect(row.id) AS ids, collect(toInteger(split(elementId(n), ':')[2])) AS numbers
