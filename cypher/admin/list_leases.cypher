// The leases that have a holder and whose names begin with a prefix.
// params: prefix
// columns: id, token, holder, host, pid, is_running
MATCH (l:Lease)
WHERE l.id STARTS WITH $prefix AND l.token IS NOT NULL
RETURN l.id AS id, l.token AS token, l.holder AS holder, l.host AS host, l.pid AS pid, l.expires >= timestamp() AS is_running
ORDER BY id
