// The sources of a corpus by title, with their metadata (JSON), and how often their text changed.
// params: corpus, where, kinds, k
// columns: title, uri, version, valid_from, valid_to, metadata, source_id
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only sources that mention an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_sources --k 10
MATCH (d:Source)
WHERE d.corpus = $corpus AND d.id >= '' AND ($where IS NULL OR (d.id IN $where.listed) = $where.admits) AND (size($kinds) = 0 OR EXISTS {
    MATCH (s:Statement {source_id: d.id})-[:MENTIONS]->(kind:Entity) WHERE kind.kind IN $kinds
  })
RETURN d.title AS title, d.uri AS uri, d.version AS version, d.valid_from AS valid_from, d.valid_to AS valid_to,
  d.metadata AS metadata, d.id AS source_id
ORDER BY title, source_id LIMIT $k
