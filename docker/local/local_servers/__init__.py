"""Neo4j and OpenSearch from published jars, for machines without Docker: fetch, verify, start and stop."""
