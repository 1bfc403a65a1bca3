// The sources that assert a fact, with the supporting statements of each.
// params: corpus, fact, where, kinds, k
// columns: title, uri, statements, source_id
// $corpus text = default: the corpus
// $fact text: the id of the fact, as list_facts gives it
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run trace_fact --fact FACT_ID
MATCH (f:Fact {id: $fact, corpus: $corpus})-[r:SUPPORTS]->(s:Statement)
WHERE (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
UNWIND r.chunks AS chunk_id
MATCH (:Chunk {id: chunk_id})-[:FROM_SOURCE]->(d:Source)
WHERE ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
WITH DISTINCT d, s ORDER BY s.text
RETURN d.title AS title, d.uri AS uri, collect(s.text) AS statements, d.id AS source_id ORDER BY uri, source_id LIMIT $k
