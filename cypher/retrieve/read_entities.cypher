// Entities by id, each as: id, corpus, name, kind, aliases. All in one row, because one row per record would be several times
// slower to read.
// params: lists, corpus
// columns: records
UNWIND $lists.ids AS id
MATCH (n:Entity {id: id})
WHERE n.corpus = $corpus
RETURN collect([id, n.corpus, n.name, n.kind, n.aliases]) AS records
