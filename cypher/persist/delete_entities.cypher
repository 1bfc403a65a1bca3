// Removes the given entities that no statement mentions and no fact refers to any more.
// params: ids
// columns: id
UNWIND $ids AS id
MATCH (n:Entity {id: id})
WHERE NOT EXISTS { (n)<-[:MENTIONS]-() } AND NOT EXISTS { (n)-[:SUBJECT|OBJECT]->() }
DETACH DELETE n
RETURN id
