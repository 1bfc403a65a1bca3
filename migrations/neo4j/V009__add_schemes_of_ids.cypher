// The scheme by which the ids of a corpus are made (hlgraph/ids.py). A corpus that is there already keeps its ids: in both halves
// the name of the corpus is hashed.

MATCH (c:Corpus) SET c.ids = 1;
