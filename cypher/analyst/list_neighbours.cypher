// The entities that stand in a chunk together with an entity, those with most common chunks first.
// params: id, k
// columns: id, name, kind, chunks
MATCH (:Entity {id: $id})-[r:CO_OCCURS]-(e:Entity)
RETURN e.id AS id, e.name AS name, e.kind AS kind, r.chunks AS chunks ORDER BY chunks DESC, id LIMIT $k
