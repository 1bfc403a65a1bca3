// The sizes of a corpus's communities after some of their members went.
// params: corpus
// columns: -
MATCH (c:Community)
WHERE c.corpus = $corpus AND c.id >= ''
WITH c, COUNT { (c)<-[:MEMBER_OF]-() } AS members
WHERE c.size <> members
SET c.size = members
