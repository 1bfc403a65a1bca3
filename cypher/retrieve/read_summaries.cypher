// The summaries of a run, with the vectors of their texts and the parts that they quote; for a source also its chunks.
// params: run
// columns: id, text, level, input_hash, community, vector, parts, source, chunks
MATCH (s:Summary)
WHERE s.run = $run AND s.id >= ''
OPTIONAL MATCH (s)-[:SUMMARISES]->(c:Community)
RETURN s.id AS id, s.text AS text, s.level AS level, s.input_hash AS input_hash, c.id AS community, s.vector AS vector,
  [(s)-[:RESTS_ON]->(n) | n.id] AS parts, s.source_id AS source,
  CASE WHEN s.source_id IS NULL THEN [] ELSE [(s)-[:RESTS_ON]->(n:Chunk) | n.id] END AS chunks ORDER BY id
