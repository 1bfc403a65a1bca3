// The growth of a corpus by day, newest first. The date of a source is valid_from, else its metadata field $field; the time of
// ingestion is not stored. Each row has the chunks and statements of that day, and all sources up to it. Sources without a date
// are counted in a separate last row.
// params: corpus, field, k
// columns: day, sources, chunks, statements, sources_so_far
// $corpus text = default: the corpus
// $field text = date: the metadata field of sources that holds their date, such as 2024-03-05 or 1953
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run count_growth --field year
MATCH (d:Source)
WHERE d.corpus = $corpus AND d.id >= ''
CALL (d) {
  MATCH (c:Chunk {source_id: d.id})
  RETURN count(c) AS chunks
}
CALL (d) {
  MATCH (s:Statement {source_id: d.id})
  RETURN count(s) AS statements
}
WITH left(toString(coalesce(d.valid_from, d['meta_' + $field])), 10) AS day, count(d) AS sources, sum(chunks) AS chunks,
  sum(statements) AS statements
ORDER BY day
WITH collect({day: day, sources: sources, chunks: chunks, statements: statements}) AS days
UNWIND range(0, size(days) - 1) AS i
WITH days[i] AS row, reduce(total = 0, each IN days[..i + 1] | total + each.sources) AS sources_so_far
ORDER BY row.day IS NULL, row.day DESC LIMIT $k
RETURN row.day AS day, row.sources AS sources, row.chunks AS chunks, row.statements AS statements,
  sources_so_far AS sources_so_far
