// The holder of the right to write, and whether it is still valid.
// params: id
// columns: token, holder, host, pid, is_running
MATCH (l:Lease {id: $id})
WHERE l.token IS NOT NULL
RETURN l.token AS token, l.holder AS holder, l.host AS host, l.pid AS pid, l.expires >= timestamp() AS is_running
