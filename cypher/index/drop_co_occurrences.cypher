// Removes the stored CO_OCCURS from some entities to others.
// params: ids
// columns: relationships
UNWIND $ids AS id
MATCH (:Entity {id: id})-[r:CO_OCCURS]->(:Entity)
DELETE r
RETURN count(r) AS relationships
