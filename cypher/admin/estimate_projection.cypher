// How much memory a projection of so many nodes and relationships, and PageRank or Leiden over it, would take (GDS).
// params: nodes, relationships
// columns: projection, page_rank, leiden
CALL gds.graph.project.estimate('*', '*', {nodeCount: $nodes, relationshipCount: $relationships, relationshipProperties: 'weight'})
YIELD bytesMax AS projection
CALL gds.pageRank.stream.estimate({nodeCount: $nodes, relationshipCount: $relationships, nodeProjection: '*', relationshipProjection: '*'}, {})
YIELD bytesMax AS page_rank
CALL gds.leiden.stream.estimate({nodeCount: $nodes, relationshipCount: $relationships, nodeProjection: '*', relationshipProjection: '*'}, {})
YIELD bytesMax AS leiden
RETURN projection, page_rank, leiden
