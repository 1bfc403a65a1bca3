// The facts of a predicate between entities of two kinds, those with the most sources first. $kinds are the kinds of the subject,
// $object_kinds those of the object. Reads every fact of the corpus.
// params: corpus, predicate, object_kinds, where, kinds, k
// columns: subject, predicate, object, sources, statements, fact_id
// $corpus text = default: the corpus
// $predicate text = "": words that the predicate begins with, or all of it, in upper or lower case; empty: any predicate
// $object_kinds kinds = "": only facts whose object is an entity of these kinds, such as place; empty: any object, also a text
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only facts whose subject is an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run find_facts --predicate "was born" --kinds person --object-kinds place
MATCH (f:Fact)
WHERE f.corpus = $corpus AND f.id >= ''
  AND ($predicate = '' OR toLower(f.predicate) + ' ' STARTS WITH toLower($predicate) + ' ')
MATCH (e:Entity)-[:SUBJECT]->(f)
WHERE (size($kinds) = 0 OR e.kind IN $kinds)
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
WITH f, e, o WHERE size($object_kinds) = 0 OR o.kind IN $object_kinds
MATCH (f)-[:SUPPORTS]->(s:Statement)
WHERE ($where IS NULL OR (s.source_id IN $where.listed) = $where.admits)
WITH f, e, o, count(DISTINCT s.source_id) AS sources, count(s) AS statements
ORDER BY sources DESC, statements DESC, f.id LIMIT $k
RETURN e.name AS subject, f.predicate AS predicate, coalesce(o.name, f.complement) AS object, sources AS sources,
  statements AS statements, f.id AS fact_id
ORDER BY sources DESC, statements DESC, fact_id
