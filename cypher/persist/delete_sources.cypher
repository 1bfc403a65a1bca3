// Removes sources and what still joins them; gives those that were there.
// params: ids
// columns: id
UNWIND $ids AS id
MATCH (n:Source {id: id})
DETACH DELETE n
RETURN id
