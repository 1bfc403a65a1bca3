// The kinds of the entities of a corpus. Reads every entity.
// params: corpus
// columns: kind
MATCH (e:Entity)
WHERE e.corpus = $corpus AND e.id >= ''
RETURN DISTINCT e.kind AS kind ORDER BY kind
