// One uniqueness constraint for every key (Community edition: single-property keys), then the indexes that reads and
// writes are anchored on. Every statement may run twice.

CREATE CONSTRAINT hlgraph_corpus_name IF NOT EXISTS FOR (n:Corpus) REQUIRE n.name IS UNIQUE;
CREATE CONSTRAINT hlgraph_source_id IF NOT EXISTS FOR (n:Source) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_chunk_id IF NOT EXISTS FOR (n:Chunk) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_topic_id IF NOT EXISTS FOR (n:Topic) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_statement_id IF NOT EXISTS FOR (n:Statement) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_fact_id IF NOT EXISTS FOR (n:Fact) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_entity_id IF NOT EXISTS FOR (n:Entity) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_change_id IF NOT EXISTS FOR (n:Change) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_change_part_id IF NOT EXISTS FOR (n:ChangePart) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_lease_id IF NOT EXISTS FOR (n:Lease) REQUIRE n.id IS UNIQUE;
CREATE CONSTRAINT hlgraph_migration_version IF NOT EXISTS FOR (n:Migration) REQUIRE n.version IS UNIQUE;

// A corpus in the order of its ids, page by page.
CREATE INDEX hlgraph_source_corpus IF NOT EXISTS FOR (n:Source) ON (n.corpus, n.id);
CREATE INDEX hlgraph_chunk_corpus IF NOT EXISTS FOR (n:Chunk) ON (n.corpus, n.id);
CREATE INDEX hlgraph_topic_corpus IF NOT EXISTS FOR (n:Topic) ON (n.corpus, n.id);
CREATE INDEX hlgraph_statement_corpus IF NOT EXISTS FOR (n:Statement) ON (n.corpus, n.id);
CREATE INDEX hlgraph_fact_corpus IF NOT EXISTS FOR (n:Fact) ON (n.corpus, n.id);
CREATE INDEX hlgraph_entity_corpus IF NOT EXISTS FOR (n:Entity) ON (n.corpus, n.id);

// All of a source.
CREATE INDEX hlgraph_chunk_source IF NOT EXISTS FOR (n:Chunk) ON (n.source_id);
CREATE INDEX hlgraph_topic_source IF NOT EXISTS FOR (n:Topic) ON (n.source_id);
CREATE INDEX hlgraph_statement_source IF NOT EXISTS FOR (n:Statement) ON (n.source_id);
CREATE INDEX hlgraph_source_uri IF NOT EXISTS FOR (n:Source) ON (n.uri);

// For analysts: entities by their names.
CREATE FULLTEXT INDEX hlgraph_entity_names IF NOT EXISTS FOR (n:Entity) ON EACH [n.name, n.aliases];
