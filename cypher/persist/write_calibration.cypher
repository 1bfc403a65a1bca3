// Sets the scale of the cosines of a corpus, as JSON.
// params: name, calibration
// columns: -
MATCH (c:Corpus {name: $name})
SET c.calibration = $calibration
