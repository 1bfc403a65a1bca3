// Makes an imported corpus visible, with a new mark and the scale of its cosines, and forgets what its changes did to its graph,
// of which there is no image; a second time it changes nothing.
// params: name, stamp, calibration
// columns: -
MATCH (c:Corpus {name: $name})
WHERE c.arriving IS NOT NULL
SET c.stamp = $stamp, c.calibration = $calibration, c.arriving = NULL, c.arrived = NULL
WITH c
MATCH (c)-[:CHANGED]->(x:ImageChange)
DETACH DELETE x
