// Topics by id.
// params: ids
// columns: id, source_id, name
UNWIND $ids AS id
MATCH (n:Topic {id: id})
RETURN id, n.source_id AS source_id, n.name AS name
