// The chunks, topics, facts and entities of each statement of a frontier that may be entered and were not reached, along some
// relationships: the first by id. The statement may be seen, and so may all that it asserts.
// params: lists, fan_out
// columns: kind, ids, is_cut, owners, weights
UNWIND $lists.nodes.statements AS id
MATCH (n:Statement {id: id})-[r:IN_CHUNK|ABOUT|SUPPORTS|MENTIONS]-(m)
WHERE type(r) IN $lists.relationships AND NOT m.id IN $lists.reached
WITH id, m.id AS name, CASE WHEN m:Entity THEN 'entity' WHEN m:Fact THEN 'fact' WHEN m:Topic THEN 'topic' ELSE 'chunk' END AS kind
WHERE kind IN $lists.kinds
WITH id, name, kind ORDER BY name
WITH id, collect([kind, name]) AS found
WITH found[..$fan_out] AS first, size(found) > $fan_out AS is_more
UNWIND first AS one
RETURN one[0] AS kind, collect(DISTINCT one[1]) AS ids, max(is_more) AS is_cut, null AS owners, null AS weights
