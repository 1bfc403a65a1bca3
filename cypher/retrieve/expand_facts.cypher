// The statements and the entities of each fact of a frontier that may be entered and were not reached, along some
// relationships: those with the most links first, then by id.
// params: lists, fan_out, has_scope, admits
// columns: kind, ids, is_cut, owners, weights
UNWIND $lists.nodes.facts AS id
MATCH (n:Fact {id: id})-[r:SUPPORTS|SUBJECT|OBJECT]-(m)
WHERE type(r) IN $lists.relationships AND NOT m.id IN $lists.reached
WITH id, m, CASE WHEN m:Statement THEN 'statement' ELSE 'entity' END AS kind, count(*) AS weight
WHERE kind IN $lists.kinds AND (NOT $has_scope
  OR (kind = 'statement' AND (m.source_id IN $lists.listed) = $admits)
  OR (kind = 'entity' AND EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits }))
WITH id, m.id AS name, kind, weight ORDER BY weight DESC, name
WITH id, collect([kind, name]) AS found
WITH found[..$fan_out] AS first, size(found) > $fan_out AS is_more
UNWIND first AS one
RETURN one[0] AS kind, collect(DISTINCT one[1]) AS ids, max(is_more) AS is_cut, null AS owners, null AS weights
