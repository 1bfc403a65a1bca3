// The edges that begin at statements, between the nodes of a pull; columns as of induce_chunks.
// params: lists
// columns: relationship, starts, stops, weights, version
UNWIND $lists.nodes.statements AS id
MATCH (a:Statement {id: id})-[r:IN_CHUNK|ABOUT|MENTIONS]->(b)
WHERE type(r) IN $lists.relationships AND $lists.places[b.id] IS NOT NULL
RETURN type(r) AS relationship, collect($lists.places[id]) AS starts, collect($lists.places[b.id]) AS stops, null AS weights, null AS version
