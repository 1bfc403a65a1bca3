// The facts of an entity, as subject or object, those with the most supporting statements first.
// params: corpus, entity, k
// columns: subject, predicate, object, statements, fact_id
// $corpus text = default: the corpus
// $entity entity: the subject or the object
// $k integer 1.. = 25: maximum number of rows
// example: hlgraph cypher run list_facts --entity "Emeric Vaude"
MATCH (:Entity {id: $entity, corpus: $corpus})-[:SUBJECT|OBJECT]->(f:Fact)
WITH DISTINCT f, COUNT { (f)-[:SUPPORTS]->() } AS statements ORDER BY statements DESC, f.id LIMIT $k
MATCH (s:Entity)-[:SUBJECT]->(f)
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
RETURN s.name AS subject, f.predicate AS predicate, coalesce(o.name, f.complement) AS object, statements AS statements,
  f.id AS fact_id
ORDER BY statements DESC, fact_id
