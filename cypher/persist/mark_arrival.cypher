// Records how many changes of an import are written.
// params: name, arrived
// columns: -
MATCH (c:Corpus {name: $name})
SET c.arrived = $arrived
