// The timeline of a topic: the statements about it by the date of their source. Includes every source with a topic of that name.
// The date is valid_from, else the metadata field $field. Then in the order of the text; sources without a date come last.
// Topics are found in the full-text index hlgraph_topic_names.
// params: corpus, topic, field, k
// columns: date, statement, title, uri, statement_id
// $corpus text = default: the corpus
// $topic text: the name of the topic, in upper or lower case
// $field text = date: the metadata field of sources that holds their date, such as 2024-03-05 or 1953
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run trace_topic --topic "Candlemas Flood" --field year
CALL db.index.fulltext.queryNodes('hlgraph_topic_names', '"' + replace(replace($topic, '\\', '\\\\'), '"', '\\"') + '"')
YIELD node AS t
WITH t WHERE t.corpus = $corpus AND toLower(t.name) = toLower($topic)
MATCH (t)<-[a:ABOUT]-(s:Statement)-[r:IN_CHUNK]->(c:Chunk)-[:FROM_SOURCE]->(d:Source)
WHERE c.id IN a.chunks
WITH s, d, left(toString(coalesce(d.valid_from, d['meta_' + $field])), 10) AS date, min(c.start + r.start) AS start
RETURN date AS date, s.text AS statement, d.title AS title, d.uri AS uri, s.id AS statement_id
ORDER BY date, uri, start, statement_id LIMIT $k
