// The statements that mention an entity, the names that they use, and their positions. Source by source, in the order of the text.
// params: corpus, entity, where, kinds, k
// columns: statement, names, title, start, end, statement_id
// $corpus text = default: the corpus
// $entity entity: the entity that is mentioned
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that also mention another entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_mentions --entity "Emeric Vaude"
MATCH (e:Entity {id: $entity, corpus: $corpus})<-[m:MENTIONS]-(s:Statement)-[r:IN_CHUNK]->(c:Chunk)-[:FROM_SOURCE]->(d:Source)
WHERE c.id IN m.chunks AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind <> e AND kind.kind IN $kinds })
WITH s, m, d, min(c.start + r.start) AS start, min(c.start + r.end) AS end
ORDER BY d.title, d.id, start, s.id LIMIT $k
UNWIND m.surfaces AS name
WITH s, d, start, end, name ORDER BY name
RETURN s.text AS statement, collect(DISTINCT name) AS names, d.title AS title, start AS start, end AS end,
  s.id AS statement_id
ORDER BY title, start, statement_id
