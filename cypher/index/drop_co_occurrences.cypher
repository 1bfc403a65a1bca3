// Removes CO_OCCURS between two sets of entities, before it is counted again.
// params: ids, among
// columns: -
UNWIND $ids AS id
MATCH (:Entity {id: id})-[r:CO_OCCURS]->(b:Entity)
WHERE b.id IN $among
DELETE r
