// Pairs of entities with more than one decision.
// params: -
// columns: wrong
MATCH (a:Entity)-[r:SAME_AS|JUDGED]-(b:Entity) WHERE a.id < b.id
WITH a, b, count(r) AS number WHERE number > 1
RETURN count(*) AS wrong
