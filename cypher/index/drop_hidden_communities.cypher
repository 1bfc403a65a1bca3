// Removes some of the hidden communities of a corpus, with their relationships; returns their number.
// params: corpus, size
// columns: dropped
MATCH (c:HiddenCommunity)
WHERE c.corpus = $corpus AND c.id >= ''
WITH c LIMIT $size
DETACH DELETE c
RETURN count(*) AS dropped
