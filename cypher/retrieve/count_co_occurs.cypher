// The CO_OCCURS edges between the entities of a pull, counted from what statements of visible sources mention: of each chunk, the
// 100 entities that it mentions most; columns as of induce_chunks.
// params: lists, admits
// columns: relationship, starts, stops, weights, version
UNWIND $lists.nodes.entities AS id
MATCH (a:Entity {id: id})<-[r:MENTIONS]-(s:Statement)
WHERE (s.source_id IN $lists.listed) = $admits
UNWIND r.chunks AS chunk
WITH DISTINCT a, chunk
MATCH (c:Chunk {id: chunk})<-[:IN_CHUNK]-(:Statement)-[q:MENTIONS]->(b:Entity)
WHERE chunk IN q.chunks
WITH a, chunk, b, count(*) AS mentions ORDER BY mentions DESC, b.id
WITH a, chunk, collect(b)[..100] AS first
WHERE a IN first
UNWIND first AS b
WITH a, b, count(*) AS chunks
WHERE a.id < b.id AND $lists.places[b.id] IS NOT NULL
RETURN 'CO_OCCURS' AS relationship, collect($lists.places[a.id]) AS starts, collect($lists.places[b.id]) AS stops,
  collect(toFloat(chunks)) AS weights, null AS version
