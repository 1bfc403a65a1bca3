// Removes the hidden summaries of a corpus that an interrupted build left behind.
// params: corpus
// columns: -
MATCH (s:HiddenSummary)
WHERE s.corpus = $corpus AND s.id >= ''
DETACH DELETE s
