// The provenance of a statement: every chunk that asserts it, its source, and its span of characters.
// params: corpus, statement, where, kinds, k
// columns: statement, title, uri, page, start, end, details, chunk_id
// $corpus text = default: the corpus
// $statement text: the id of the statement, as list_mentions or hlgraph search --json gives it
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only if the statement mentions an entity of these kinds, such as person, place; empty: in any case
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run trace_statement --statement STATEMENT_ID
MATCH (s:Statement {id: $statement, corpus: $corpus})-[r:IN_CHUNK]->(c:Chunk)-[:FROM_SOURCE]->(d:Source)
WHERE ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
RETURN s.text AS statement, d.title AS title, d.uri AS uri, c.page AS page, c.start + r.start AS start,
  c.start + r.end AS end, r.details AS details, c.id AS chunk_id
ORDER BY c.position, chunk_id LIMIT $k
