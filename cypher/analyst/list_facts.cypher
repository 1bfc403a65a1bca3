// The facts of an entity, as subject or object, those with the most supporting statements first.
// params: corpus, entity, where, kinds, k
// columns: subject, predicate, object, statements, fact_id
// $corpus text = default: the corpus
// $entity entity: the subject or the object
// $where filter = "": only sources that this filter of metadata admits, such as year >= 1900; empty: all
// $kinds kinds = "": only facts whose other end is an entity of these kinds, such as person, place; empty: all
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_facts --entity "Emeric Vaude"
MATCH (e:Entity {id: $entity, corpus: $corpus})-[:SUBJECT|OBJECT]->(f:Fact)
WHERE size($kinds) = 0 OR EXISTS { MATCH (f)<-[:SUBJECT|OBJECT]-(kind:Entity) WHERE kind <> e AND kind.kind IN $kinds }
WITH DISTINCT f, CASE WHEN $where IS NULL THEN COUNT { (f)-[:SUPPORTS]->() } ELSE COUNT {
    MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $where.listed) = $where.admits
  } END AS statements
WITH f, statements ORDER BY statements DESC, f.id
WITH f, statements WHERE $where IS NULL OR statements > 0 LIMIT $k
MATCH (s:Entity)-[:SUBJECT]->(f)
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
RETURN s.name AS subject, f.predicate AS predicate, coalesce(o.name, f.complement) AS object, statements AS statements,
  f.id AS fact_id
ORDER BY statements DESC, fact_id
