// Removes the given topics that no chunk names any more.
// params: ids
// columns: id
UNWIND $ids AS id
MATCH (n:Topic {id: id})
WHERE NOT EXISTS { (n)-[:IN_CHUNK]->() }
DETACH DELETE n
RETURN id
