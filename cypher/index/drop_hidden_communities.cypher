// Some of the communities that are not visible, with what joins them; gives how many they were.
// params: corpus, size
// columns: dropped
MATCH (c:HiddenCommunity)
WHERE c.corpus = $corpus AND c.id >= ''
WITH c LIMIT $size
DETACH DELETE c
RETURN count(*) AS dropped
