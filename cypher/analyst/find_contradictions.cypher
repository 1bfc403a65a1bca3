// Facts that may contradict each other: the same subject and predicate with different objects, from different sources. Those
// with the most objects come first. Many are not contradictions: a predicate such as "wrote" can hold for many objects at once.
// Reads every fact of the corpus.
// params: corpus, predicate, k
// columns: subject, predicate, objects, sources, fact_ids
// $corpus text = default: the corpus
// $predicate text = "": only this predicate, in upper or lower case; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_contradictions
MATCH (e:Entity)
WHERE e.corpus = $corpus AND e.id >= ''
MATCH (e)-[:SUBJECT]->(f:Fact)
WHERE $predicate = '' OR toLower(f.predicate) = toLower($predicate)
WITH e, toLower(f.predicate) AS predicate, collect(f) AS facts WHERE size(facts) > 1
UNWIND facts AS f
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
WITH e, predicate, f, coalesce(o.name, f.complement) AS object
MATCH (f)-[:SUPPORTS]->(s:Statement)
WITH e, predicate, f, object, s.source_id AS source_id
ORDER BY object, f.id
WITH e, predicate, collect(DISTINCT object) AS objects, collect(DISTINCT f.id) AS fact_ids,
  collect(DISTINCT source_id) AS source_ids
WHERE size(objects) > 1 AND size(source_ids) > 1
WITH e, predicate, objects, fact_ids, source_ids ORDER BY size(objects) DESC, e.id, predicate LIMIT $k
UNWIND source_ids AS source_id
MATCH (d:Source {id: source_id})
WITH e, predicate, objects, fact_ids, d.title AS title ORDER BY title
WITH e, predicate, objects, fact_ids, collect(title) AS sources
RETURN e.name AS subject, predicate AS predicate, objects AS objects, sources AS sources, fact_ids AS fact_ids
ORDER BY size(objects) DESC, e.id, predicate
