// The chunks of each source of a frontier that may be entered and were not reached: the first by id.
// params: lists, fan_out
// columns: kind, ids, is_cut, owners, weights
UNWIND $lists.nodes.sources AS id
MATCH (n:Source {id: id})<-[:FROM_SOURCE]-(m:Chunk)
WHERE 'chunk' IN $lists.kinds AND NOT m.id IN $lists.reached
WITH id, m.id AS name ORDER BY name
WITH id, collect(name) AS found
WITH found[..$fan_out] AS first, size(found) > $fan_out AS is_more
UNWIND first AS name
RETURN 'chunk' AS kind, collect(DISTINCT name) AS ids, coalesce(max(is_more), false) AS is_cut, null AS owners, null AS weights
