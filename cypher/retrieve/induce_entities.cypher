// The stored edges between the entities of a pull, with their weights; columns as of induce_chunks.
// params: lists
// columns: relationship, starts, stops, weights, version
UNWIND $lists.nodes.entities AS id
MATCH (a:Entity {id: id})-[r:RELATES|SYNONYM|SAME_AS]->(b:Entity)
WHERE type(r) IN $lists.relationships AND $lists.places[b.id] IS NOT NULL
RETURN type(r) AS relationship, collect($lists.places[id]) AS starts, collect($lists.places[b.id]) AS stops,
  collect(CASE type(r) WHEN 'RELATES' THEN toFloat(r.facts) WHEN 'SYNONYM' THEN r.similarity ELSE 1.0 END) AS weights, null AS version
