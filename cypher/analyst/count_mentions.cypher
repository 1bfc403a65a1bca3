// How often an entity is mentioned in each year, by the dates of the sources, the latest first. The date of a source is a field
// of its metadata. Sources without a date are in a separate last row.
// params: corpus, entity, field, where, kinds, k
// columns: year, statements, sources, titles
// $corpus text = default: the corpus
// $entity entity: the entity that is mentioned
// $field text = any: the metadata field that holds the date of a source; any: date, published, issued, year, or another date
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only statements that also mention another entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run count_mentions --entity "Ombry"
MATCH (e:Entity {id: $entity, corpus: $corpus})<-[:MENTIONS]-(s:Statement)
WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  AND (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind <> e AND kind.kind IN $kinds })
WITH s.source_id AS source_id, count(s) AS statements
MATCH (d:Source {id: source_id})
CALL (d) {
  WITH CASE $field WHEN 'any' THEN ['date', 'published', 'published_at', 'issued', 'year', 'created', 'modified'] ELSE [$field] END AS usual
  WITH [name IN usual WHERE toStringOrNull(d['meta_' + name]) =~ '-?\\d{1,3}(\\.0)?|\\d{4}(\\.0|[-/]\\d.*)?' | d['meta_' + name]]
    + [name IN CASE $field WHEN 'any' THEN coalesce(d.metadata_keys, []) ELSE [] END
    WHERE NOT name IN ['history_from', 'history_to'] AND toStringOrNull(d['meta_' + name]) =~ '\\d{4}-\\d{2}-\\d{2}.*' | d['meta_' + name]]
    AS values
  RETURN split(left(toString(head(values)), 10), '.')[0] AS date
}
WITH left(date, 4) AS year, statements, d.title AS title ORDER BY title
WITH year, sum(statements) AS statements, count(*) AS sources, collect(title)[..5] AS titles
RETURN year AS year, statements AS statements, sources AS sources, titles AS titles
ORDER BY year IS NULL, toInteger(year) DESC LIMIT $k
