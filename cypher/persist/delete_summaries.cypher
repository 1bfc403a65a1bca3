// Removes the summaries of communities of a corpus that lost a member or a part that they quote.
// params: corpus
// columns: -
MATCH (s:Summary)
WHERE s.corpus = $corpus AND s.id >= '' AND s.source_id IS NULL
OPTIONAL MATCH (s)-[:SUMMARISES]->(c:Community)
WITH s, c, COUNT { (s)-[:RESTS_ON]->() } AS parts
WHERE c IS NULL OR s.parts <> parts OR c.size <> COUNT { (c)<-[:MEMBER_OF]-() }
DETACH DELETE s
