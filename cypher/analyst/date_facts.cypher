// The facts of an entity over time, by the dates of the sources that support them. Each fact has one row per source; its date is
// a field of the metadata. Facts of sources without a date come last.
// params: corpus, entity, field, where, kinds, k
// columns: date, subject, predicate, object, title, uri, fact_id
// $corpus text = default: the corpus
// $entity entity: the subject or the object
// $field text = any: the metadata field that holds the date of a source; any: date, published, issued, year, or another date
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only facts whose other end is an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run date_facts --entity "Halfmoon Bridge"
MATCH (e:Entity {id: $entity, corpus: $corpus})-[:SUBJECT|OBJECT]->(f:Fact)-[r:SUPPORTS]->(:Statement)
WHERE size($kinds) = 0 OR EXISTS { MATCH (f)<-[:SUBJECT|OBJECT]-(kind:Entity) WHERE kind <> e AND kind.kind IN $kinds }
UNWIND r.chunks AS chunk_id
MATCH (:Chunk {id: chunk_id})-[:FROM_SOURCE]->(d:Source)
WHERE ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
WITH DISTINCT f, d
CALL (d) {
  WITH CASE $field WHEN 'any' THEN ['date', 'published', 'published_at', 'issued', 'year', 'created', 'modified'] ELSE [$field] END AS usual
  WITH [name IN usual WHERE toStringOrNull(d['meta_' + name]) =~ '-?\\d{1,3}(\\.0)?|\\d{4}(\\.0|[-/]\\d.*)?' | d['meta_' + name]]
    + [name IN CASE $field WHEN 'any' THEN coalesce(d.metadata_keys, []) ELSE [] END
    WHERE NOT name IN ['history_from', 'history_to'] AND toStringOrNull(d['meta_' + name]) =~ '\\d{4}-\\d{2}-\\d{2}.*' | d['meta_' + name]]
    AS values
  RETURN split(left(toString(head(values)), 10), '.')[0] AS date
}
WITH f, d, date ORDER BY toInteger(left(date, 4)), date, f.id, d.id LIMIT $k
MATCH (s:Entity)-[:SUBJECT]->(f)
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
RETURN date AS date, s.name AS subject, f.predicate AS predicate, coalesce(o.name, f.complement) AS object,
  d.title AS title, d.uri AS uri, f.id AS fact_id
ORDER BY toInteger(left(date, 4)), date, fact_id, d.id
