// Removes the summaries of a corpus that an interrupted build left, visible to nobody.
// params: corpus
// columns: -
MATCH (s:HiddenSummary)
WHERE s.corpus = $corpus AND s.id >= ''
DETACH DELETE s
