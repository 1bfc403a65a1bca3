// The facts of an entity over time, by the dates of the sources that support them. Each fact has one row per source; its date is
// valid_from, else the metadata field $field. Facts of sources without a date come last.
// params: corpus, entity, field, k
// columns: date, subject, predicate, object, title, uri, fact_id
// $corpus text = default: the corpus
// $entity entity: the subject or the object
// $field text = date: the metadata field of sources that holds their date, such as 2024-03-05 or 1953
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run date_facts --entity "Halfmoon Bridge" --field year
MATCH (:Entity {id: $entity, corpus: $corpus})-[:SUBJECT|OBJECT]->(f:Fact)-[r:SUPPORTS]->(:Statement)
UNWIND r.chunks AS chunk_id
MATCH (:Chunk {id: chunk_id})-[:FROM_SOURCE]->(d:Source)
WITH DISTINCT f, d, left(toString(coalesce(d.valid_from, d['meta_' + $field])), 10) AS date
ORDER BY date, f.id, d.id LIMIT $k
MATCH (s:Entity)-[:SUBJECT]->(f)
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
RETURN date AS date, s.name AS subject, f.predicate AS predicate, coalesce(o.name, f.complement) AS object,
  d.title AS title, d.uri AS uri, f.id AS fact_id
ORDER BY date, fact_id, d.id
