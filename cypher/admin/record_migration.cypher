// Records that a migration ran.
// params: version, properties
// columns: -
MERGE (m:Migration {version: $version})
SET m += $properties
