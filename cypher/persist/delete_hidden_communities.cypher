// Removes the hidden communities of a corpus that an interrupted build left behind.
// params: corpus
// columns: -
MATCH (c:HiddenCommunity)
WHERE c.corpus = $corpus AND c.id >= ''
DETACH DELETE c
