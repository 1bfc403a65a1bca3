// The facts that an entity is the subject or the object of, those with most statements behind them first.
// params: id, k
// columns: subject, predicate, object, statements, fact_id
MATCH (:Entity {id: $id})-[:SUBJECT|OBJECT]->(f:Fact)
WITH DISTINCT f, COUNT { (f)-[:SUPPORTS]->() } AS statements ORDER BY statements DESC, f.id LIMIT $k
MATCH (s:Entity)-[:SUBJECT]->(f)
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(f)
RETURN s.name AS subject, f.predicate AS predicate, coalesce(o.name, f.complement) AS object, statements AS statements,
  f.id AS fact_id
ORDER BY statements DESC, fact_id
