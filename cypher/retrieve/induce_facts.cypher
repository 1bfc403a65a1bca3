// The edges from facts to statements between the nodes of a pull; columns as of induce_chunks.
// params: lists
// columns: relationship, starts, stops, weights, version
UNWIND $lists.nodes.facts AS id
MATCH (a:Fact {id: id})-[r:SUPPORTS]->(b:Statement)
WHERE $lists.places[b.id] IS NOT NULL
RETURN type(r) AS relationship, collect($lists.places[id]) AS starts, collect($lists.places[b.id]) AS stops, null AS weights, null AS version
