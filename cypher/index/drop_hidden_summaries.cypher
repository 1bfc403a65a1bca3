// Removes some of the hidden summaries of a corpus, with their relationships; returns their number.
// params: corpus, size
// columns: dropped
MATCH (s:HiddenSummary)
WHERE s.corpus = $corpus AND s.id >= ''
WITH s LIMIT $size
DETACH DELETE s
RETURN count(*) AS dropped
