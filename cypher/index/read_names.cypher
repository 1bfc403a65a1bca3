// The counted names of some entities.
// params: ids
// columns: id, surfaces, kinds, counts
UNWIND $ids AS id
MATCH (n:Entity {id: id})
RETURN id, coalesce(n.name_surfaces, []) AS surfaces, coalesce(n.name_kinds, []) AS kinds, coalesce(n.name_counts, []) AS counts
