// Removes the summaries of sources of a corpus of which something is gone: a chunk of the source, or what their words are from.
// params: corpus
// columns: -
MATCH (s:Summary)
WHERE s.corpus = $corpus AND s.id >= '' AND s.source_id IS NOT NULL AND s.parts <> COUNT { (s)-[:RESTS_ON]->() }
DETACH DELETE s
