// Removes the given statements that no chunk asserts any more.
// params: ids
// columns: id
UNWIND $ids AS id
MATCH (n:Statement {id: id})
WHERE NOT EXISTS { (n)-[:IN_CHUNK]->() }
DETACH DELETE n
RETURN id
