// Removes the summaries of a corpus of which something is gone: a member of their community, or what their words are from.
// params: corpus
// columns: -
MATCH (s:Summary)
WHERE s.corpus = $corpus AND s.id >= ''
OPTIONAL MATCH (s)-[:SUMMARISES]->(c:Community)
WITH s, c, COUNT { (s)-[:RESTS_ON]->() } AS parts
WHERE c IS NULL OR s.parts <> parts OR c.size <> COUNT { (c)<-[:MEMBER_OF]-() }
DETACH DELETE s
