// Removes the communities of a corpus that are not visible and have no member any more.
// params: corpus
// columns: -
MATCH (c:HiddenCommunity)
WHERE c.corpus = $corpus AND c.id >= '' AND NOT EXISTS { (c)<-[:MEMBER_OF]-() }
DETACH DELETE c
