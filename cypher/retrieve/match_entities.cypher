// Which of some ids belong to entities of a corpus.
// params: corpus, ids
// columns: id
UNWIND $ids AS id
MATCH (e:Entity {id: id, corpus: $corpus})
RETURN e.id AS id
