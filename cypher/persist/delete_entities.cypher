// Removes those of some entities that nothing mentions and no fact joins any more.
// params: ids
// columns: id
UNWIND $ids AS id
MATCH (n:Entity {id: id})
WHERE NOT EXISTS { (n)<-[:MENTIONS]-() } AND NOT EXISTS { (n)-[:SUBJECT|OBJECT]->() }
DETACH DELETE n
RETURN id
