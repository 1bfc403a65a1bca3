// Releases a corpus without sources from its embedding model, and forgets the scale of its cosines.
// params: name
// columns: -
MATCH (c:Corpus {name: $name})
WHERE NOT EXISTS { MATCH (s:Source) WHERE s.corpus = $name AND s.id >= '' }
SET c.embedding = '', c.dimensions = 0, c.calibration = NULL
