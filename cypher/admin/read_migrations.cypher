// The migrations that ran, by version.
// params: -
// columns: version, name, checksum, applied_at, hlgraph_version
MATCH (m:Migration)
RETURN m.version AS version, m.name AS name, m.checksum AS checksum, m.applied_at AS applied_at, m.hlgraph_version AS hlgraph_version
ORDER BY version
