// The statements about a topic, source by source in the order of the text. A topic belongs to one source; topics of the same name
// in other sources are included. They are found in the full-text index hlgraph_topic_names.
// params: corpus, topic, where, kinds, k
// columns: statement, title, start, end, statement_id
// $corpus text = default: the corpus
// $topic text: the name of the topic, in upper or lower case, or its id
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_statements --topic "Candlemas Flood"
CALL () {
  MATCH (t:Topic {id: $topic, corpus: $corpus})
  RETURN t
UNION
  CALL db.index.fulltext.queryNodes('hlgraph_topic_names', '"' + replace(replace($topic, '\\', '\\\\'), '"', '\\"') + '"')
  YIELD node AS t
  WITH t WHERE t.corpus = $corpus AND toLower(t.name) = toLower($topic)
  RETURN t
}
MATCH (t)<-[a:ABOUT]-(s:Statement)-[r:IN_CHUNK]->(c:Chunk)-[:FROM_SOURCE]->(d:Source)
WHERE c.id IN a.chunks AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
RETURN s.text AS statement, d.title AS title, min(c.start + r.start) AS start, min(c.start + r.end) AS end,
  s.id AS statement_id
ORDER BY title, start, statement_id LIMIT $k
