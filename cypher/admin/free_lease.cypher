// Takes a lease from its holder if it has expired, or if that is known to be dead.
// params: id, token, is_dead
// columns: -
MATCH (l:Lease {id: $id})
SET l.asked = timestamp()
WITH l WHERE l.token = $token AND ($is_dead OR l.expires < timestamp())
REMOVE l.token, l.holder, l.host, l.pid, l.expires
