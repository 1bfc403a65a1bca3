// The edges from topics to chunks between the nodes of a pull; columns as of induce_chunks.
// params: lists
// columns: relationship, starts, stops, weights, version
UNWIND $lists.nodes.topics AS id
MATCH (a:Topic {id: id})-[r:IN_CHUNK]->(b:Chunk)
WHERE $lists.places[b.id] IS NOT NULL
RETURN type(r) AS relationship, collect($lists.places[id]) AS starts, collect($lists.places[b.id]) AS stops, null AS weights, null AS version
