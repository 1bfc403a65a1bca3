// A hidden corpus: the import that writes it, how many of its changes are written, and the version.
// params: name
// columns: arriving, arrived, version
MATCH (c:Corpus {name: $name})
WHERE c.arriving IS NOT NULL
RETURN c.arriving AS arriving, c.arrived AS arrived, c.version AS version
