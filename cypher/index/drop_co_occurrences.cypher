// Removes CO_OCCURS from some entities to some: before they are counted anew.
// params: ids, among
// columns: -
UNWIND $ids AS id
MATCH (:Entity {id: id})-[r:CO_OCCURS]->(b:Entity)
WHERE b.id IN $among
DELETE r
