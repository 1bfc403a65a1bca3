// Facts by id, each as: id, subject, predicate, object or an empty text, complement; for exports.
// params: ids
// columns: records
UNWIND $ids AS id
MATCH (s:Entity)-[:SUBJECT]->(n:Fact {id: id})
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(n)
RETURN collect([id, s.id, n.predicate, coalesce(o.id, ''), n.complement]) AS records
