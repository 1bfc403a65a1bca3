// NEXT: joins the chunks of some sources in the order of their positions.
// params: source_ids
// columns: -
UNWIND $source_ids AS id
MATCH (c:Chunk {source_id: id})
WITH id, c ORDER BY c.position
WITH id, collect(c) AS chunks
UNWIND range(0, size(chunks) - 2) AS i
WITH chunks[i] AS a, chunks[i + 1] AS b
MERGE (a)-[:NEXT]->(b)
