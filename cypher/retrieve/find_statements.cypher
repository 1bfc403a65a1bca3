// The ids of the statements of some sources, in order.
// params: source_ids
// columns: id
UNWIND $source_ids AS source_id
MATCH (n:Statement {source_id: source_id})
RETURN n.id AS id ORDER BY id
