// Which of some ids are those of entities of a corpus.
// params: corpus, ids
// columns: id
UNWIND $ids AS id
MATCH (e:Entity {id: id, corpus: $corpus})
RETURN e.id AS id
