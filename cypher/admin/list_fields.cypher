// The metadata fields of the sources of a corpus.
// params: corpus
// columns: field
MATCH (s:Source)
WHERE s.corpus = $corpus AND s.id >= ''
UNWIND s.metadata_keys AS field
RETURN DISTINCT field ORDER BY field
