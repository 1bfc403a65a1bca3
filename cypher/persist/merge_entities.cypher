// New entities, still without a name; those that are there keep what they have.
// params: rows, corpus
// columns: -
UNWIND $rows AS row
MERGE (n:Entity {id: row.id})
ON CREATE SET n.corpus = $corpus, n.name = '', n.kind = '', n.aliases = []
