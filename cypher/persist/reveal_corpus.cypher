// Makes an imported corpus visible, with the scale of its cosines.
// params: name, calibration
// columns: -
MATCH (c:Corpus {name: $name})
SET c.calibration = $calibration, c.arriving = NULL, c.arrived = NULL
