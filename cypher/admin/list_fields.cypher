// The metadata fields of the sources of a corpus, with the types of their values; NULL for a value that is no property.
// params: corpus
// columns: field, types
MATCH (s:Source)
WHERE s.corpus = $corpus AND s.id >= ''
UNWIND s.metadata_keys AS field
RETURN field, collect(DISTINCT valueType(s['meta_' + field])) AS types ORDER BY field
