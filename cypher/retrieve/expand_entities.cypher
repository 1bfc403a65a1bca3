// The entities that stored relationships join to each entity of a frontier, that may be entered and were not reached: by entity
// ('owners'), heaviest first, then by id, one more than the fan-out.
// params: lists, fan_out, has_scope, admits
// columns: kind, ids, is_cut, owners, weights
UNWIND $lists.nodes.entities AS id
MATCH (n:Entity {id: id})-[r:RELATES|SYNONYM|SAME_AS]-(m:Entity)
WHERE 'entity' IN $lists.kinds AND type(r) IN $lists.relationships AND NOT m.id IN $lists.reached
WITH id, m, sum(CASE type(r) WHEN 'RELATES' THEN toFloat(r.facts) WHEN 'SYNONYM' THEN r.similarity ELSE 1.0 END) AS weight
WHERE NOT $has_scope OR EXISTS { MATCH (m)<-[:MENTIONS]-(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits }
WITH id, m.id AS name, weight ORDER BY weight DESC, name
WITH id, collect(name)[..$fan_out + 1] AS found, collect(weight)[..$fan_out + 1] AS shares
RETURN 'entity' AS kind, collect(found) AS ids, false AS is_cut, collect(id) AS owners, collect(shares) AS weights
