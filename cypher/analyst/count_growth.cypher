// The growth of a corpus by day, newest first. The date of a source is a field of its metadata; the time of
// ingestion is not stored. Each row has the chunks and statements of that day, and all sources up to it. Sources without a date
// are counted in a separate last row.
// params: corpus, field, where, kinds, k
// columns: day, sources, chunks, statements, sources_so_far
// $corpus text = default: the corpus
// $field text = any: the metadata field that holds the date of a source; any: date, published, issued, year, or another date
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only sources, chunks and statements that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run count_growth
MATCH (d:Source)
WHERE d.corpus = $corpus AND d.id >= '' AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits)
CALL (d) {
  MATCH (c:Chunk {source_id: d.id})
  WHERE (size($kinds) = 0 OR EXISTS {
    MATCH (c)<-[:IN_CHUNK]-(:Statement)-[m:MENTIONS]->(kind:Entity)
    WHERE kind.kind IN $kinds AND c.id IN m.chunks
  })
  RETURN count(c) AS chunks
}
CALL (d) {
  MATCH (s:Statement {source_id: d.id})
  WHERE (size($kinds) = 0 OR EXISTS { MATCH (s)-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds })
  RETURN count(s) AS statements
}
WITH d, chunks, statements WHERE size($kinds) = 0 OR statements > 0
CALL (d) {
  WITH CASE $field WHEN 'any' THEN ['date', 'published', 'published_at', 'issued', 'year', 'created', 'modified'] ELSE [$field] END AS usual
  WITH [name IN usual WHERE toStringOrNull(d['meta_' + name]) =~ '-?\\d{1,3}(\\.0)?|\\d{4}(\\.0|[-/]\\d.*)?' | d['meta_' + name]]
    + [name IN CASE $field WHEN 'any' THEN coalesce(d.metadata_keys, []) ELSE [] END
    WHERE NOT name IN ['history_from', 'history_to'] AND toStringOrNull(d['meta_' + name]) =~ '\\d{4}-\\d{2}-\\d{2}.*' | d['meta_' + name]]
    AS values
  RETURN split(left(toString(head(values)), 10), '.')[0] AS date
}
WITH date AS day, count(d) AS sources, sum(chunks) AS chunks, sum(statements) AS statements
ORDER BY toInteger(left(day, 4)), day
WITH collect({day: day, sources: sources, chunks: chunks, statements: statements}) AS days
UNWIND range(0, size(days) - 1) AS i
WITH i, days[i] AS row, reduce(total = 0, each IN days[..i + 1] | total + each.sources) AS sources_so_far
ORDER BY row.day IS NULL, i DESC LIMIT $k
RETURN row.day AS day, row.sources AS sources, row.chunks AS chunks, row.statements AS statements,
  sources_so_far AS sources_so_far
