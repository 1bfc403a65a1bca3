// The memory that a projection of this size takes, and PageRank and Leiden on it (GDS).
// params: nodes, relationships
// columns: projection, page_rank, leiden
CALL gds.graph.project.estimate('*', '*', {nodeCount: $nodes, relationshipCount: $relationships, relationshipProperties: 'weight'})
YIELD bytesMax AS projection
CALL gds.pageRank.stream.estimate({nodeCount: $nodes, relationshipCount: $relationships, nodeProjection: '*', relationshipProjection: '*'}, {})
YIELD bytesMax AS page_rank
CALL gds.leiden.stream.estimate({nodeCount: $nodes, relationshipCount: $relationships, nodeProjection: '*', relationshipProjection: '*'}, {})
YIELD bytesMax AS leiden
RETURN projection, page_rank, leiden
