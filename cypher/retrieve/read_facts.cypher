// Facts by id, each as: id, corpus, subject, predicate, object, text with the present names of both. All in one row, because one
// row per record would be several times slower to read.
// params: lists, corpus
// columns: records
UNWIND $lists.ids AS id
MATCH (s:Entity)-[:SUBJECT]->(n:Fact {id: id})
WHERE n.corpus = $corpus
OPTIONAL MATCH (o:Entity)-[:OBJECT]->(n)
RETURN collect([id, n.corpus, s.id, n.predicate, o.id, s.name + ' ' + n.predicate + ' ' + coalesce(o.name, n.complement)])
  AS records
