// The pairs of sources that share the most entities. Entities that more than $most sources mention are left out: they say little,
// and the number of pairs grows with the square of the number of sources. Reads every mention of the corpus.
// params: corpus, most, where, kinds, k
// columns: first, second, entities, names
// $corpus text = default: the corpus
// $most integer 2.. = 20: maximum number of sources of an entity; others are left out
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only entities of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run pair_sources --most 10
MATCH (e:Entity)
WHERE e.corpus = $corpus AND e.id >= '' AND (size($kinds) = 0 OR e.kind IN $kinds)
CALL (e) {
  MATCH (e)<-[:MENTIONS]-(s:Statement)
  WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
  WITH DISTINCT s.source_id AS source_id ORDER BY source_id
  RETURN collect(source_id) AS found
}
WITH e, found WHERE 1 < size(found) <= $most
UNWIND range(0, size(found) - 2) AS i
UNWIND range(i + 1, size(found) - 1) AS j
WITH e, found[i] AS first_id, found[j] AS second_id ORDER BY e.name
WITH first_id, second_id, count(e) AS entities, collect(e.name)[..5] AS names
ORDER BY entities DESC, first_id, second_id LIMIT $k
MATCH (a:Source {id: first_id})
CALL (second_id) {
  MATCH (b:Source {id: second_id})
  RETURN b
}
RETURN a.title AS first, b.title AS second, entities AS entities, names AS names
ORDER BY entities DESC, first_id, second_id
