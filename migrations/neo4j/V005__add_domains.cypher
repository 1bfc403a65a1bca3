// What a corpus is about, as the prompts of an extraction by a chat model name it. It is there before the corpus is. Every
// statement may run twice.

CREATE CONSTRAINT hlgraph_domain_corpus IF NOT EXISTS FOR (n:Domain) REQUIRE n.corpus IS UNIQUE;
