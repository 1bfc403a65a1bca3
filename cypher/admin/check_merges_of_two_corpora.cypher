// Decisions about entities of two corpora, or of another corpus than the decision states.
// params: -
// columns: wrong
MATCH (a:Entity)-[r:SAME_AS|JUDGED]->(b:Entity) WHERE a.corpus <> r.corpus OR b.corpus <> r.corpus
RETURN count(r) AS wrong
