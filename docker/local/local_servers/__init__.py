"""Neo4j and OpenSearch from published jars, for a machine without Docker: fetched, verified, started and stopped."""
