// Removes the given facts that no statement supports any more; also returns their entities, which may be next.
// params: ids
// columns: id, entity_ids
UNWIND $ids AS id
MATCH (n:Fact {id: id})
WHERE NOT EXISTS { (n)-[:SUPPORTS]->() }
WITH n, id, [(e:Entity)-[:SUBJECT|OBJECT]->(n) | e.id] AS entity_ids
DETACH DELETE n
RETURN id, entity_ids
