// The ids of the topics of some sources, in order.
// params: source_ids
// columns: id
UNWIND $source_ids AS source_id
MATCH (n:Topic {source_id: source_id})
RETURN n.id AS id ORDER BY id
