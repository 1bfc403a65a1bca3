// Removes the summaries of sources of a corpus that lost a chunk of the source or a part that they quote.
// params: corpus
// columns: -
MATCH (s:Summary)
WHERE s.corpus = $corpus AND s.id >= '' AND s.source_id IS NOT NULL AND s.parts <> COUNT { (s)-[:RESTS_ON]->() }
DETACH DELETE s
