// Counts the sizes of the communities of a corpus again, after some of their members were deleted.
// params: corpus
// columns: -
MATCH (c:Community)
WHERE c.corpus = $corpus AND c.id >= ''
WITH c, COUNT { (c)<-[:MEMBER_OF]-() } AS members
WHERE c.size <> members
SET c.size = members
