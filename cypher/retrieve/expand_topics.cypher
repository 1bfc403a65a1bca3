// The statements and the chunks of each topic of a frontier that may be entered and were not reached, along some relationships:
// the first by id.
// params: lists, fan_out
// columns: kind, ids, is_cut, owners, weights
UNWIND $lists.nodes.topics AS id
MATCH (n:Topic {id: id})-[r:IN_CHUNK|ABOUT]-(m)
WHERE type(r) IN $lists.relationships AND NOT m.id IN $lists.reached
WITH id, m.id AS name, CASE WHEN m:Statement THEN 'statement' ELSE 'chunk' END AS kind
WHERE kind IN $lists.kinds
WITH id, name, kind ORDER BY name
WITH id, collect([kind, name]) AS found
WITH found[..$fan_out] AS first, size(found) > $fan_out AS is_more
UNWIND first AS one
RETURN one[0] AS kind, collect(DISTINCT one[1]) AS ids, max(is_more) AS is_cut, null AS owners, null AS weights
