// Facts by id, with the present names of their entities.
// params: ids
// columns: id, corpus, subject_id, predicate, object_id, subject, complement
UNWIND $ids AS id
MATCH (s:Entity)-[:SUBJECT]->(n:Fact {id: id})
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(n)
RETURN id, n.corpus AS corpus, s.id AS subject_id, n.predicate AS predicate, o.id AS object_id, s.name AS subject,
  coalesce(o.name, n.complement) AS complement
