// Writes new entities, still without a name; existing ones stay unchanged.
// params: rows, corpus
// columns: -
UNWIND $rows AS row
MERGE (n:Entity {id: row.id})
ON CREATE SET n.corpus = $corpus, n.name = '', n.kind = '', n.aliases = []
