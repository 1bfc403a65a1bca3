// The entities that bridge two sources: both mention them. Rare entities come first: those that the fewest other sources mention.
// params: corpus, first, second, where, kinds, k
// columns: id, name, kind, statements_of_first, statements_of_second, sources
// $corpus text = default: the corpus
// $first source: a source
// $second source: another source
// $where filter = "": count only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_bridges --first "Halfmoon Bridge" --second "Emeric Vaude"
MATCH (s:Statement {source_id: $first})-[:MENTIONS]->(e:Entity)
WHERE s.corpus = $corpus AND (size($kinds) = 0 OR e.kind IN $kinds)
WITH e, count(s) AS statements_of_first
CALL (e) {
  MATCH (e)<-[:MENTIONS]-(s:Statement)
  RETURN count(DISTINCT CASE WHEN ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits) THEN s.source_id END) AS sources,
    count(CASE WHEN s.source_id = $second THEN 1 END) AS statements_of_second
}
WITH e, statements_of_first, statements_of_second, sources WHERE statements_of_second > 0 AND sources > 0
RETURN e.id AS id, e.name AS name, e.kind AS kind, statements_of_first AS statements_of_first,
  statements_of_second AS statements_of_second, sources AS sources
ORDER BY sources, id LIMIT $k
