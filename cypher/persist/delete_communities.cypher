// Removes the communities of a corpus that have no members left.
// params: corpus
// columns: -
MATCH (c:Community)
WHERE c.corpus = $corpus AND c.id >= '' AND NOT EXISTS { (c)<-[:MEMBER_OF]-() }
DETACH DELETE c
