// The timeline of a topic: the statements about it by the date of their source. Includes every source with a topic of that name.
// The date is a field of the metadata. Then in the order of the text; sources without a date come last.
// Topics are found in the full-text index hlgraph_topic_names.
// params: corpus, topic, field, where, kinds, k
// columns: date, statement, title, uri, statement_id
// $corpus text = default: the corpus
// $topic text: the name of the topic, in upper or lower case
// $field text = any: the metadata field that holds the date of a source; any: date, published, issued, year, or another date
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run trace_topic --topic "Candlemas Flood"
CALL db.index.fulltext.queryNodes('hlgraph_topic_names', '"' + replace(replace($topic, '\\', '\\\\'), '"', '\\"') + '"')
YIELD node AS t
WITH t WHERE t.corpus = $corpus AND toLower(t.name) = toLower($topic)
MATCH (t)<-[a:ABOUT]-(s:Statement)-[r:IN_CHUNK]->(c:Chunk)-[:FROM_SOURCE]->(d:Source)
WHERE c.id IN a.chunks AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
WITH s, d, min(c.start + r.start) AS start
CALL (d) {
  WITH CASE $field WHEN 'any' THEN ['date', 'published', 'published_at', 'issued', 'year', 'created', 'modified'] ELSE [$field] END AS usual
  WITH [name IN usual WHERE toStringOrNull(d['meta_' + name]) =~ '-?\\d{1,3}(\\.0)?|\\d{4}(\\.0|[-/]\\d.*)?' | d['meta_' + name]]
    + [name IN CASE $field WHEN 'any' THEN coalesce(d.metadata_keys, []) ELSE [] END
    WHERE NOT name IN ['history_from', 'history_to'] AND toStringOrNull(d['meta_' + name]) =~ '\\d{4}-\\d{2}-\\d{2}.*' | d['meta_' + name]]
    AS values
  RETURN split(left(toString(head(values)), 10), '.')[0] AS date
}
RETURN date AS date, s.text AS statement, d.title AS title, d.uri AS uri, s.id AS statement_id
ORDER BY toInteger(left(date, 4)), date, uri, start, statement_id LIMIT $k
