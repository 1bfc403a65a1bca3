// Removes sources and their remaining relationships; returns those that existed.
// params: ids
// columns: id
UNWIND $ids AS id
MATCH (n:Source {id: id})
DETACH DELETE n
RETURN id
