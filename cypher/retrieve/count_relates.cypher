// The RELATES edges between the entities of a pull, counted from the statements of visible sources; columns as of induce_chunks.
// params: lists, admits
// columns: relationship, starts, stops, weights, version
UNWIND $lists.nodes.entities AS id
MATCH (a:Entity {id: id})-[:SUBJECT]->(f:Fact)<-[:OBJECT]-(b:Entity)
WHERE $lists.places[b.id] IS NOT NULL
WITH id, b, COUNT { MATCH (f)-[:SUPPORTS]->(s:Statement) WHERE (s.source_id IN $lists.listed) = $admits } AS statements
WHERE statements > 0
RETURN 'RELATES' AS relationship, collect($lists.places[id]) AS starts, collect($lists.places[b.id]) AS stops,
  collect(toFloat(statements)) AS weights, null AS version
