// What a bulk load has left in the database, or made: the loads whose corpus is not visible yet, and the mark of a corpus.
// params: corpus
// columns: loads, mark
RETURN COLLECT { MATCH (l:BulkLoad) RETURN l.id } AS loads,
  head(COLLECT { MATCH (c:Corpus {name: $corpus}) RETURN coalesce(c.stamp, '-') }) AS mark
