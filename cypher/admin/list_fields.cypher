// The metadata fields that the sources of a corpus have.
// params: corpus
// columns: field
MATCH (s:Source)
WHERE s.corpus = $corpus AND s.id >= ''
UNWIND s.metadata_keys AS field
RETURN DISTINCT field ORDER BY field
