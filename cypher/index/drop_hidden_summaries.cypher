// Some of the summaries that are not visible, with what joins them; gives how many they were.
// params: corpus, size
// columns: dropped
MATCH (s:HiddenSummary)
WHERE s.corpus = $corpus AND s.id >= ''
WITH s LIMIT $size
DETACH DELETE s
RETURN count(*) AS dropped
