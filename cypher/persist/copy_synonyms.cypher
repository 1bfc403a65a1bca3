// The SYNONYM links from some entities to entities of higher ids; for exports.
// params: ids
// columns: a, b, similarity
UNWIND $ids AS id
MATCH (:Entity {id: id})-[r:SYNONYM]->(b:Entity)
RETURN id AS a, b.id AS b, r.similarity AS similarity ORDER BY a, b
