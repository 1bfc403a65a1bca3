// The edges from entities to facts between the nodes of a pull, found from the facts, which have few; columns as of induce_chunks.
// params: lists
// columns: relationship, starts, stops, weights, version
UNWIND $lists.nodes.facts AS id
MATCH (a:Entity)-[r:SUBJECT|OBJECT]->(b:Fact {id: id})
WHERE type(r) IN $lists.relationships AND $lists.places[a.id] IS NOT NULL
RETURN type(r) AS relationship, collect($lists.places[a.id]) AS starts, collect($lists.places[id]) AS stops, null AS weights, null AS version
