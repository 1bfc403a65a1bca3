// The statements that mention each entity of a frontier, may be entered and were not reached: by entity ('owners'), the first by
// id, one more than the fan-out.
// params: lists, fan_out, has_scope, admits
// columns: kind, ids, is_cut, owners, weights
UNWIND $lists.nodes.entities AS id
MATCH (n:Entity {id: id})<-[:MENTIONS]-(m:Statement)
WHERE 'statement' IN $lists.kinds AND NOT m.id IN $lists.reached AND (NOT $has_scope OR (m.source_id IN $lists.listed) = $admits)
WITH id, m.id AS name ORDER BY name
WITH id, collect(name)[..$fan_out + 1] AS found
RETURN 'statement' AS kind, collect(found) AS ids, false AS is_cut, collect(id) AS owners, null AS weights
