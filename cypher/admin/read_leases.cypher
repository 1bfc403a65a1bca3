// The holders of some leases, and whether each lease is still valid.
// params: ids
// columns: id, token, holder, host, pid, is_running
UNWIND $ids AS id
MATCH (l:Lease {id: id})
WHERE l.token IS NOT NULL
RETURN id, l.token AS token, l.holder AS holder, l.host AS host, l.pid AS pid, l.expires >= timestamp() AS is_running
