// Topics by id, each as: id, source, name. All in one row, because one row per record would be several times slower to read.
// params: lists, corpus
// columns: records
UNWIND $lists.ids AS id
MATCH (n:Topic {id: id})
WHERE n.corpus = $corpus
RETURN collect([id, n.source_id, n.name]) AS records
