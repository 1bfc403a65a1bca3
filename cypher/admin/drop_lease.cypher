// Releases the right to write.
// params: id, token
// columns: -
MATCH (l:Lease {id: $id})
WHERE l.token = $token
REMOVE l.token, l.holder, l.host, l.pid, l.expires
