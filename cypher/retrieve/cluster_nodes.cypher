// Leiden on a projection (GDS): the communities of every node, finest first.
// params: name, resolution, seed, max_levels
// columns: id, communities
CALL gds.leiden.stream($name, {relationshipWeightProperty: 'weight', gamma: $resolution, randomSeed: $seed, concurrency: 1, maxLevels: $max_levels, includeIntermediateCommunities: true})
YIELD nodeId, intermediateCommunityIds
RETURN gds.util.asNode(nodeId).id AS id, intermediateCommunityIds AS communities ORDER BY id
