// The edges that begin at chunks, between the nodes of a pull, as positions in the list of their ids.
// params: lists
// columns: relationship, starts, stops, weights, version
UNWIND $lists.nodes.chunks AS id
MATCH (a:Chunk {id: id})-[r:FROM_SOURCE|NEXT]->(b)
WHERE type(r) IN $lists.relationships AND $lists.places[b.id] IS NOT NULL
RETURN type(r) AS relationship, collect($lists.places[id]) AS starts, collect($lists.places[b.id]) AS stops, null AS weights, null AS version
