// Removes the communities of a corpus that have no member any more.
// params: corpus
// columns: -
MATCH (c:Community)
WHERE c.corpus = $corpus AND c.id >= '' AND NOT EXISTS { (c)<-[:MEMBER_OF]-() }
DETACH DELETE c
