// A corpus may have a second set of vectors (Corpus.vector_sets, JSON), and search the second one. No data changes: this migration
// keeps programs that know only one set from reading the wrong one.

MATCH (c:Corpus) WHERE c.vector_sets IS NOT NULL SET c.vector_sets = NULL;
