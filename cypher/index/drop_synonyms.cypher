// Removes all SYNONYM relationships of a corpus.
// params: corpus
// columns: -
MATCH (a:Entity)
WHERE a.corpus = $corpus AND a.id >= ''
MATCH (a)-[r:SYNONYM]->(:Entity)
DELETE r
