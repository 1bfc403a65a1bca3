// The predicates of a corpus by the number of their facts, with an example of each. Reads every fact of the corpus.
// params: corpus, where, kinds, k
// columns: predicate, facts, subjects, example
// $corpus text = default: the corpus
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only facts whose subject is an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run rank_predicates --k 10
MATCH (f:Fact)
WHERE f.corpus = $corpus AND f.id >= '' AND ($where IS NULL OR EXISTS {
    MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  })
MATCH (e:Entity)-[:SUBJECT]->(f)
WHERE (size($kinds) = 0 OR e.kind IN $kinds)
WITH toLower(f.predicate) AS predicate, count(f) AS facts, count(DISTINCT e) AS subjects, min(f.id) AS first
ORDER BY facts DESC, predicate LIMIT $k
MATCH (e:Entity)-[:SUBJECT]->(f:Fact {id: first})
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
RETURN predicate AS predicate, facts AS facts, subjects AS subjects,
  e.name + ' ' + f.predicate + ' ' + coalesce(o.name, f.complement) AS example
ORDER BY facts DESC, predicate
