// Sources by id, each as: id, corpus, uri, title, checksum, metadata, version, valid_from, valid_to. All in one row, because one
// row per record would be several times slower to read.
// params: lists, corpus
// columns: records
UNWIND $lists.ids AS id
MATCH (n:Source {id: id})
WHERE n.corpus = $corpus
RETURN collect([id, n.corpus, n.uri, n.title, n.checksum, n.metadata, n.version, n.valid_from, n.valid_to]) AS records
