// Removes the communities of a corpus that an interrupted build left, visible to nobody.
// params: corpus
// columns: -
MATCH (c:HiddenCommunity)
WHERE c.corpus = $corpus AND c.id >= ''
DETACH DELETE c
